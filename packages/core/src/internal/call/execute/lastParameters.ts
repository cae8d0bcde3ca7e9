/** Parameters of the last attempt: the arguments that were really used, decoded. For recovery, which knows the call and not its tool. */
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type * as Schema from "effect/Schema"
import { InvalidArgs, type Issue } from "../../../ToolError.ts"
import { decoderOfJson } from "../../foundation/json/jsonForm.ts"
import { fromIssue } from "../../foundation/schema/schemaIssues.ts"
import { stackless } from "../../foundation/stacklessError.ts"
import * as Arguments from "../arguments/toolArguments.ts"
import { ToolCall } from "../call.ts"
import { errorFields } from "../record/record.ts"

/** Decodes the arguments of the last attempt, the model's or a fixer's. Fails if they never fitted. */
export const parametersOf = (parameters: Schema.Top): Effect.Effect<unknown, InvalidArgs, unknown> => {
  const decode = decoderOfJson(parameters as Schema.Decoder<unknown, unknown>)
  return Effect.flatMap(ToolCall, (call) => {
    const { record } = call
    const invalid = (issues: ReadonlyArray<Issue>) =>
      Effect.fail(stackless(() => new InvalidArgs({ ...errorFields(record), issues })))
    const read = Arguments.read((record.attempts.requested ?? call).arguments)
    return Result.isFailure(read)
      ? invalid(read.failure)
      : Effect.catch(decode(read.success), (error) => invalid(fromIssue(error.issue, { messages: true })))
  })
}
