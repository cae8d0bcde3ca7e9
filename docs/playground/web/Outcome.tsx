/** The outcome of a run, and its side effects. */
import type { ServiceRequest } from "../src/run/report.ts"
import type { Report } from "../src/run/report.ts"

const effectWords: Readonly<Record<ServiceRequest["effect"], string>> = {
  read: "read",
  done: "done",
  repeated: "known key: not done again",
  compensated: "taken back"
}

const count = (many: number, one: string, more: string): string => `${many} ${many === 1 ? one : more}`

const time = (millis: number): string => {
  if (millis < 1000) return `${millis} ms`
  return millis < 3_600_000 ? `${(millis / 1000).toFixed(1)} s` : `${(millis / 3_600_000).toFixed(1)} h`
}

/** The side effects of a run in one sentence. */
export const effectsOf = (services: ReadonlyArray<ServiceRequest>): string => {
  const many = (effect: ServiceRequest["effect"]): number => services.filter((one) => one.effect === effect).length
  const taken = many("compensated")
  const reads = many("read")
  return [
    count(many("done"), "side effect", "side effects"),
    ...(taken === 0 ? [] : [`${taken} taken back`]),
    ...(reads === 0 ? [] : [count(reads, "read", "reads")])
  ].join(", ")
}

export const Outcome = ({ report }: { readonly report: Report }) => {
  const isSuccess = report.outcome === "success"
  const { services } = report
  return (
    <section className={`panel outcome ${isSuccess ? "good" : "bad"}`} aria-label="Outcome">
      <header>
        <h2>{isSuccess ? "The run succeeds" : `The run ends with ${report.outcome}`}</h2>
        <span className="origin">{time(report.elapsed)} of virtual time</span>
      </header>
      <p className="answer">
        {isSuccess
          ? (
            <>
              The model answers: <q>{report.text}</q>
            </>
          )
          : report.text.split("\n")[0]}
      </p>
      <h3>{effectsOf(services)}</h3>
      {services.length === 0 ? null : (
        <ol className="services" aria-label="Requests that the service has completed">
          {services.map(({ details, effect, key }, index) => (
            <li key={index} className={effect}>
              <code>{details}</code>
              {key === undefined ? null : <span title={key}>key {key.slice(0, 8)}…</span>}
              <strong>{effectWords[effect]}</strong>
            </li>
          ))}
        </ol>
      )}
    </section>
  )
}
