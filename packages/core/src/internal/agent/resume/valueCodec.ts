/** Value codecs: encode inputs and outputs of agents to JSON, and decode them. */
import type * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import type * as Schema from "effect/Schema"

/** Codec of values. */
export interface Form {
  /** Encodes a value as JSON. `None` if JSON would lose a part of it. */
  readonly keep: (value: unknown) => Effect.Effect<Option.Option<Schema.Json>, never, unknown>
  /** Decodes a stored value. Dies for invalid JSON: only signed values are decoded. */
  readonly read: (json: Schema.Json) => Effect.Effect<unknown, never, unknown>
}

/** Codecs of an agent's input and output. */
export interface Forms {
  readonly input: Form
  readonly output: Form
}
