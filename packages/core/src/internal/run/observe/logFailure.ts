/** Log of failed runs: one redacted record for each, for the operator of a server. */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { Redaction } from "../../../Redaction.ts"
import { cutText } from "../../foundation/json/jsonShape.ts"
import { forOperator } from "../../projection/audiences.ts"
import { errorName } from "./errorName.ts"

/** A longer text of a cause is cut. */
const maxLength = 8_000

/**
 * Logs that a run has failed: agent, run id, the error's tag and the operator's text of the cause, without secrets. A warning; an error if the run has
 * ended with a defect. A run that was only interrupted is not logged. For engines that run agents: `MemoryRuns` and durable runs call it.
 *
 * **Example** (An engine of your own)
 *
 * ```ts
 * import { Cause, Data, Effect, Logger } from "effect"
 * import { Runs } from "@recourse/core"
 *
 * class Down extends Data.TaggedError("Down")<{ readonly message: string }> {}
 *
 * const lines: Array<string> = []
 * const logger = Logger.make(({ logLevel, message }) => void lines.push(`${logLevel} ${String(message).split("\n", 1)[0]}`))
 *
 * const program = Runs.logFailure({ agent: "clerk", runId: "r1" }, Cause.fail(new Down({ message: "key sk-123456789012345678901234" })))
 * await Effect.runPromise(Effect.provide(program, Logger.layer([logger])))
 * lines // => ["Warn Run r1 of agent \"clerk\" failed with Down: Down: key [redacted: api key]"]
 * ```
 *
 * @category running
 * @since 0.2.0
 */
export const logFailure = (
  { agent, runId }: Readonly<Record<"agent" | "runId", string>>,
  cause: Cause.Cause<unknown>
): Effect.Effect<void> =>
  Effect.contextWith((context: Context.Context<never>) => {
    if (cause.reasons.length > 0 && Cause.hasInterruptsOnly(cause)) return Effect.void
    const redactor = Context.get(context, Redaction)
    const text = cutText(redactor.text(forOperator(cause, runId).text, runId), maxLength)
    const isDefect = Cause.hasDies(cause)
    const error = isDefect ? "Defect" : errorName(cause, redactor)
    const run = `Run ${runId} of agent "${agent}"`
    const log = isDefect
      ? Effect.logError(`${run} ended with a defect: ${text}`)
      : Effect.logWarning(`${run} failed with ${error}: ${text}`)
    return Effect.annotateLogs(log, { agent, run_id: runId, error })
  })
