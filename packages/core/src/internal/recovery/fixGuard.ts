/** Guarded requests: what a tool says of its failure is looked at before a fixer reads it, as before any other model does. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { OutputGuard } from "../../OutputGuard.ts"
import type { ExecutionError, InvalidArgs } from "../../ToolError.ts"
import type { Call } from "../call/call.ts"
import { noteAudited, toolName } from "../call/record.ts"
import { randomId } from "../foundation/digest.ts"
import { userTextsOf } from "../projection/audiences.ts"
import { toolFailure } from "../projection/failures.ts"
import { CurrentRun } from "../run/run.ts"
import type { FixRequest } from "./fixRequest.ts"

/** A request without the words of a tool, where the guard blocks them. The fixer is asked all the same: it has the arguments. */
export const looked = (
  context: Context.Context<never>,
  { record }: Call,
  error: InvalidArgs | ExecutionError,
  request: FixRequest
): Effect.Effect<FixRequest> => {
  const guard = Context.get(context, OutputGuard)
  if (guard === undefined || request.message === undefined) return Effect.succeed(request)
  const traceId = Context.get(context, CurrentRun)?.id ?? record.callId
  return Effect.matchEffect(
    guard({
      tool: toolName(record),
      callId: record.callId,
      trust: request.untrusted === undefined ? "trusted" : "untrusted",
      content: toolFailure(error, traceId, userTextsOf(context))
    }),
    {
      onSuccess: () => Effect.succeed(request),
      onFailure: ({ category }) =>
        Effect.map(randomId, (referenceId) => {
          noteAudited(record, { decision: "blocked", referenceId, by: category, security: true })
          const { message: _, untrusted: __, ...rest } = request
          return { ...rest, code: "unsafe_output" }
        })
    }
  )
}
