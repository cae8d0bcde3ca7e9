/** The requests to the model. The newest one shows the model's view of the failure. */
import { useState } from "react"
import type { ModelRequest } from "../src/run/report.ts"

export const Requests = ({ requests }: { readonly requests: ReadonlyArray<ModelRequest> }) => {
  const [chosen, setChosen] = useState<number>()
  const index = Math.min(chosen ?? requests.length - 1, requests.length - 1)
  const request = requests[index]
  return (
    <section className="panel requests" aria-label="Requests to the model">
      <header>
        <h2>Request {index + 1} to the model</h2>
        <div className="segments small" role="group" aria-label="Request">
          {requests.map((_, other) => (
            <button
              key={other}
              type="button"
              aria-pressed={other === index}
              onClick={() => setChosen(other)}
            >
              {other + 1}
            </button>
          ))}
        </div>
      </header>
      <ol className="messages">
        {request?.messages.map(({ parts, role }, at) => (
          <li key={at} className={at < request.from ? "known" : "new"}>
            <span className="role">{role}</span>
            <div>
              {parts.map(({ isFailure, kind, text }, part) => (
                <div key={part} className={isFailure ? "failure" : ""}>
                  {kind === "text" ? <p>{text}</p> : (
                    <>
                      <span className="kind">{kind}</span>
                      <pre tabIndex={0}>{text}</pre>
                    </>
                  )}
                </div>
              ))}
            </div>
          </li>
        ))}
      </ol>
    </section>
  )
}
