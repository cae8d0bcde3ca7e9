/** Model output: the texts, pictures and files that a tool gives the model in place of its result. */
import * as Schema from "effect/Schema"
import * as Prompt from "effect/ai/Prompt"
import type * as AiTool from "effect/ai/Tool"
import type { InvalidResult } from "../../ToolError.ts"

const areParts = Schema.is(Schema.Array(Prompt.ToolModelOutputPart))

/** Issue of a result for which {@link modelOutputOf} returns none. */
export const noParts: InvalidResult["issues"] = [{
  path: [],
  expected: "expected text parts and file parts of toModelOutput",
  problem: "invalid"
}]

/** Returns the parts of a tool's `toModelOutput` for a result; `undefined` if it throws, or returns another value. */
export const modelOutputOf = (
  { toModelOutput }: AiTool.Any,
  value: unknown
): ReadonlyArray<Prompt.ToolModelOutputPart> | undefined => {
  try {
    const parts = toModelOutput?.(value)
    return areParts(parts) ? parts : undefined
  } catch {
    return undefined
  }
}
