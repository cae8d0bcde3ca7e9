/** Decoding of arguments by the schema of a tool. */
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { decoderOfJson } from "../../foundation/json/jsonForm.ts"
import { valueOf } from "../../foundation/effect/sequence.ts"
import type { RawArguments } from "./rawArguments.ts"

/** Returns the decoder of a tool's arguments. It looks for all issues only if there is one: decoding up to the first issue takes half as long. */
export const argumentsDecoder = <Params, R>(
  parameters: Schema.Decoder<Params, R>,
  onExcessProperty: "error" | "ignore"
): (args: RawArguments) => Effect.Effect<Params, Schema.SchemaError, R> => {
  const decode = Schema.decodeUnknownEffect(parameters)
  const decodeJson = decoderOfJson(parameters)
  return ({ isLarge, object }) => {
    // Options of any kind take the slower of effect's two ways through a struct.
    const decoded = onExcessProperty === "ignore" ? decode(object) : decode(object, { onExcessProperty })
    return valueOf(decoded) !== undefined
      ? decoded
      : decodeJson(object, { errors: isLarge ? "first" : "all", onExcessProperty, reportInput: true })
  }
}
