/** Comparisons of laws about stores. */
import { Effect, Schema } from "effect"

/**
 * A law about a store does not hold.
 *
 * @category errors
 * @since 0.2.0
 */
export class NotCertified extends Schema.TaggedError<NotCertified>()("NotCertified", {
  law: Schema.String,
  problem: Schema.String,
  /** Earlier operations, if they were random. */
  operations: Schema.Array(Schema.String),
  /** The seed that draws it again. */
  seed: Schema.Int
}) {
  override get message(): string {
    const drawn = this.operations.length === 0 ? [] : ["", `Operations (seed ${this.seed}):`, ...this.operations]
    return [`Law ${this.law} does not hold: ${this.problem}`, ...drawn].join("\n")
  }
}

/** A comparison that does not hold: the caller names the law. */
export class Differs extends Schema.TaggedError<Differs>()("Differs", { problem: Schema.String }) {}

const sorted = (value: unknown): unknown =>
  Array.isArray(value)
    ? value.map(sorted)
    : typeof value === "object" && value !== null
    ? Object.fromEntries(
      Object.entries(value).filter(([, one]) => one !== undefined).toSorted(([a], [b]) => a < b ? -1 : 1).map((
        [key, one]
      ) => [key, sorted(one)])
    )
    : value

/** Fails unless two values are the same JSON. */
export const same = (what: string, actual: unknown, expected: unknown): Effect.Effect<void, Differs> => {
  const [is, should] = [JSON.stringify(sorted(actual)), JSON.stringify(sorted(expected))]
  return is === should
    ? Effect.void
    : Effect.fail(new Differs({ problem: `${what}: expected ${should}, and found ${is}` }))
}
