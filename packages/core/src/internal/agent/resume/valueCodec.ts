/** Forms of values: how what agents take and answer is written as JSON, and read back. */
import type * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import type * as Schema from "effect/Schema"

/** How values are kept. */
export interface Form {
  /** The JSON of a value. Nothing where JSON would lose some of it. */
  readonly keep: (value: unknown) => Effect.Effect<Option.Option<Schema.Json>, never, unknown>
  /** The value that was kept. Dies for JSON that is none: only what was signed is read. */
  readonly read: (json: Schema.Json) => Effect.Effect<unknown, never, unknown>
}

/** How an agent's input and output are kept. */
export interface Forms {
  readonly input: Form
  readonly output: Form
}
