/** The errors that can end a run, by the compiler; or its reason to refuse the program. */
import type { Compiled } from "./compiled.ts"

/** The tag of a member of an error type: `ExecutionError` of `ExecutionError<BankDown>`. */
export const tagOf = (member: string): string => member.replace(/<.*/s, "")

interface Props {
  readonly compiled: Compiled | undefined
  /** The errors without any declaration. */
  readonly base: ReadonlyArray<string>
  /** The tag with which the run has ended. */
  readonly outcome: string | undefined
  /** Set while the compiler works. */
  readonly isChecking?: boolean
  readonly origin: string
  /** Explanation of the compiler's messages. */
  readonly reason?: string | undefined
}

const Refused = (
  { messages, reason }: { readonly messages: ReadonlyArray<string>; readonly reason: string | undefined }
) => (
  <div className="refused">
    <p>
      <strong>The compiler refuses this program.</strong> {reason}
    </p>
    {messages.map((message) => <pre key={message} tabIndex={0}>{message}</pre>)}
  </div>
)

export const ErrorType = ({ base, compiled, isChecking = false, origin, outcome, reason }: Props) => {
  const isRefused = compiled !== undefined && "messages" in compiled
  const errors = compiled === undefined || isRefused ? [] : compiled.errors
  const handled = isRefused ? [] : base.filter((member) => !errors.includes(member))
  return (
    <section className="panel errors" aria-label="Error type" aria-busy={compiled === undefined || isChecking}>
      <header>
        <h2>Errors that can end a run</h2>
        <span className="origin">{origin}</span>
      </header>
      {compiled === undefined ? <p className="quiet">The compiler is loading.</p> : isRefused
        ? <Refused messages={compiled.messages} reason={reason} />
        : (
          <ul>
            {errors.map((member) => (
              <li
                key={member}
                className={tagOf(member) === outcome ? "hit" : base.includes(member) ? "" : "added"}
              >
                <code>{member}</code>
                {tagOf(member) === outcome ? <span>ended this run</span> : null}
              </li>
            ))}
            {handled.map((member) => (
              <li key={member} className="handled">
                <s>
                  <code>{member}</code>
                </s>{" "}
                <span>handled</span>
              </li>
            ))}
          </ul>
        )}
    </section>
  )
}
