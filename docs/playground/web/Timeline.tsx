/** The timeline of a run, as the test kit prints it. */
import type { TimelineLine } from "../src/run/report.ts"

const marks = { event: "", fault: "fault", request: "service" } as const

export const Timeline = ({ lines }: { readonly lines: ReadonlyArray<TimelineLine> }) => (
  <section className="panel timeline" aria-label="Timeline">
    <header>
      <h2>Timeline</h2>
    </header>
    <ol tabIndex={0} aria-label="Steps of the run">
      {lines.map(({ at, kind, text }, index) => (
        <li key={index} className={kind}>
          <span className="at">{at}</span>
          <span className="text">{kind === "event" ? null : <em>{marks[kind]}</em>}{text}</span>
        </li>
      ))}
    </ol>
  </section>
)
