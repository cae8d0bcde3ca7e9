/** Faults of the next run: only if the server is one of development. */
import { useEffect, useState } from "react"
import { get, request } from "../shared/api.ts"
import { announce } from "../shared/announce.ts"
import { Icon } from "../shared/Icon.tsx"
import { Button } from "../shared/Button.tsx"

interface Known {
  readonly next: ReadonlyArray<string>
  readonly ofTools: ReadonlyArray<string>
  readonly ofModels: ReadonlyArray<string>
  readonly reasons: ReadonlyArray<string>
}

interface Agents {
  readonly agents: ReadonlyArray<{ readonly tools: ReadonlyArray<{ readonly name: string }> }>
}

const words = (name: string): string => name.replaceAll("_", " ")

const faultOf = (type: string, reason: string) =>
  type === "model_error" ? { type, reason } : type === "stream_cut" ? { type, after: 2 } : { type }

export const NextFaults = () => {
  const [known, setKnown] = useState<Known>()
  const [tools, setTools] = useState<ReadonlyArray<string>>([])
  const [tool, setTool] = useState("")
  const [type, setType] = useState("rate_limit")
  const [reason, setReason] = useState("InternalProviderError")
  const [from, setFrom] = useState(1)
  const [problem, setProblem] = useState<string>()
  useEffect(() => {
    const leaving = new AbortController()
    const { signal } = leaving
    get<Known>("_studio/faults", signal).then(setKnown, () => setKnown(undefined))
    get<Agents>("agents", signal).then(
      ({ agents }) => setTools([...new Set(agents.flatMap(({ tools }) => tools.map(({ name }) => name)))]),
      () => setTools([])
    )
    return () => leaving.abort()
  }, [])
  if (known === undefined) return null
  const types = tool === "" ? known.ofModels : known.ofTools
  const send = (injections: ReadonlyArray<object>): void => {
    request("POST", "_studio/faults", { body: { injections } }).then(
      async (response) => {
        const now = await response.json() as Known
        setKnown(now)
        setProblem(undefined)
        announce(now.next.length === 0 ? "The next run has no faults." : `The next run has: ${now.next.join(", ")}`)
      },
      (error: Error) => setProblem(error.message)
    )
  }
  return (
    <details className="faults">
      <summary>
        <Icon name="chevron" />{" "}
        Inject a fault{known.next.length === 0 ? null : <span className="chip warn">armed</span>}
      </summary>
      <form
        aria-label="Fault of the next run"
        onSubmit={(event) => {
          event.preventDefault()
          const at = { fault: faultOf(type, reason), from, times: 1 }
          send([tool === "" ? at : { tool, ...at }])
        }}
      >
        <label>
          Where
          <select
            className="field"
            value={tool}
            onChange={({ target }) => {
              setTool(target.value)
              setType(target.value === "" ? "rate_limit" : "failure")
            }}
          >
            <option value="">the model</option>
            {tools.map((name) => <option key={name}>{name}</option>)}
          </select>
        </label>
        <label>
          What
          <select className="field" value={type} onChange={({ target }) => setType(target.value)}>
            {types.map((name) => <option key={name} value={name}>{words(name)}</option>)}
          </select>
        </label>
        {type === "model_error"
          ? (
            <label>
              Reason
              <select className="field" value={reason} onChange={({ target }) => setReason(target.value)}>
                {known.reasons.map((name) => <option key={name}>{name}</option>)}
              </select>
            </label>
          )
          : null}
        <label>
          {tool === "" ? "At model call" : "At execution"}
          <input
            className="field"
            type="number"
            min={1}
            max={100}
            value={from}
            onChange={({ target }) => setFrom(Math.max(1, Number(target.value)))}
          />
        </label>
        <Button type="submit" size="small">Inject into the next run</Button>
        {known.next.length === 0
          ? null
          : (
            <p>
              <code>{known.next.join(", ")}</code>
              <Button size="small" onClick={() => send([])}>Take back</Button>
            </p>
          )}
        {problem === undefined ? null : <p className="problem" role="alert">{problem}</p>}
      </form>
    </details>
  )
}
