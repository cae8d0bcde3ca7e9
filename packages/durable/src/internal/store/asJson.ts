/** Values of programs as JSON: a value that JSON does not hold is refused before a store has it, which would refuse it each time. */
import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"

/** A value that JSON does not hold: cyclic, nested too deep, or of a kind that it has not. */
export class NoJson {
  readonly _tag = "NoJson"
}

const copyOf = (value: unknown): Effect.Effect<Schema.Json, NoJson> => {
  try {
    const text = JSON.stringify(value) as string | undefined
    return text === undefined ? Effect.fail(new NoJson()) : Effect.succeed(JSON.parse(text) as Schema.Json)
  } catch {
    return Effect.fail(new NoJson())
  }
}

/** Returns a copy of the JSON of an encoder. An encoder that dies has failed. */
export const asJson = <E, R>(encoded: Effect.Effect<unknown, E, R>): Effect.Effect<Schema.Json, E | NoJson, R> =>
  Effect.catchDefect(Effect.flatMap(encoded, copyOf), () => Effect.fail(new NoJson()))
