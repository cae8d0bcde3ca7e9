/** The errors that can end a run, by the compiler; or its reason to refuse the program. */
import { sentenceOf } from "../src/types/sentence.ts"
import type { Compiled } from "./compiled.ts"
import type { PlacedProblem } from "./useChecked.ts"

/** The tag of a member of an error type: `ExecutionError` of `ExecutionError<BankDown>`. */
export const tagOf = (member: string): string => member.replace(/<.*/s, "")

interface Props {
  readonly compiled: Compiled | undefined
  /** The errors without any declaration. */
  readonly base: ReadonlyArray<string>
  /** The tag with which the run has ended. */
  readonly outcome: string | undefined
  /** Problems of an edited text. */
  readonly problems?: ReadonlyArray<PlacedProblem>
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

const Problems = ({ problems }: { readonly problems: ReadonlyArray<PlacedProblem> }) => (
  <div className="refused">
    {problems.map(({ line, message }, index) => (
      <details key={index}>
        <summary>
          <strong>Line {line}:</strong> {sentenceOf(message)}
        </summary>
        <pre tabIndex={0}>{message}</pre>
      </details>
    ))}
  </div>
)

const none: ReadonlyArray<PlacedProblem> = []

export const ErrorType = ({ base, compiled, isChecking = false, origin, outcome, problems = none, reason }: Props) => {
  const isRefused = compiled !== undefined && "messages" in compiled
  const errors = compiled === undefined || isRefused ? [] : compiled.errors
  const handled = isRefused ? [] : base.filter((member) => !errors.includes(member))
  return (
    <section className="panel errors" aria-label="Error type" aria-busy={compiled === undefined || isChecking}>
      <header>
        <h2>Errors that can end a run</h2>
        <span className="origin">{origin}</span>
      </header>
      {problems.length === 0 ? null : <Problems problems={problems} />}
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
