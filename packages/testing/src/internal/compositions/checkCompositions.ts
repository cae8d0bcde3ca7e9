/** Check of the laws about compositions, on drawn ones. */
import { Effect, Schema } from "effect"
import * as Arbitrary from "effect/Arbitrary"
import { render } from "../simulation/timeline.ts"
import { Composition, printComposition } from "./composition.ts"
import { type CompositionLaw, compositionLaws } from "./compositionLaws.ts"
import { drawnComposition } from "./drawnCompositions.ts"
import type { Hands } from "./executors.ts"
import { observeComposition, type ObservedComposition, undisturbed } from "./observeComposition.ts"

/**
 * Options of {@link checkCompositions}.
 *
 * @category options
 * @since 0.2.0
 */
export interface CompositionOptions {
  /** Number of compositions. Default: 200. */
  readonly runs?: number | undefined
  /** Seed of the draws: the same seed checks the same compositions. Default: 1. */
  readonly seed?: number | undefined
  /** Laws to check, by name. Default: all. */
  readonly laws?: ReadonlyArray<CompositionLaw> | undefined
  /** Changes each drawn composition, for example to draw one kind only. Default: no change. */
  readonly only?: ((composition: Composition) => Composition) | undefined
  /** Number of simpler compositions that are tried once a law is broken. Default: 300. */
  readonly shrinks?: number | undefined
  /** Plays a broken composition again: `CompositionBroken.replay`. */
  readonly replay?: string | undefined
  /** @internal How executors make calls and run agents. */
  readonly hands?: Hands | undefined
}

/**
 * Numbers of a check: compositions, payments, pauses for approvals, compensated payments, and processes that were stopped.
 *
 * @category models
 * @since 0.2.0
 */
export interface CompositionReport {
  readonly compositions: number
  readonly laws: ReadonlyArray<CompositionLaw>
  readonly payments: number
  readonly pauses: number
  readonly compensated: number
  readonly stopped: number
}

/**
 * A law does not hold for a composition.
 *
 * @category errors
 * @since 0.2.0
 */
export class CompositionBroken extends Schema.TaggedError<CompositionBroken>()("CompositionBroken", {
  law: Schema.String,
  problem: Schema.String,
  /** The smallest composition that was found to break it. */
  composition: Composition,
  /** The number of the drawn composition that broke it first, from 1. */
  nth: Schema.Int,
  timeline: Schema.String,
  replay: Schema.String
}) {
  override get message(): string {
    return [
      `Law ${this.law} does not hold: ${this.problem}`,
      "",
      printComposition(this.composition),
      "",
      "Timeline:",
      this.timeline,
      "",
      `Replay: ${this.replay}`
    ].join("\n")
  }
}

const timelineOf = ({ events }: ObservedComposition): string =>
  render({ events: events.map(({ event }) => event), injected: [] })

/** Runs a composition undisturbed, and as it is. */
const tryComposition = (composition: Composition, hands: Hands | undefined) =>
  Effect.gen(function*() {
    const plain = yield* observeComposition(undisturbed(composition), undefined, hands)
    if (composition.executions.length === 0 && composition.interruptAt === 0) return [plain]
    const { operations } = plain.executions[0]!
    return [plain, yield* observeComposition(composition, operations, hands)]
  })

type Counts = { -readonly [K in "payments" | "pauses" | "compensated" | "stopped"]: number }

const count = (counts: Counts, { executions, pauses, payments }: ObservedComposition): void => {
  counts.payments += payments.all.length
  counts.pauses += pauses.length
  counts.compensated += payments.compensated.size
  counts.stopped += executions.length - 1
}

/**
 * Checks laws on drawn compositions: executors that run agents by hand, call tools of one name, obey untrusted text, repeat, race and detach
 * their steps; recoveries with fixers that read untrusted text; callbacks that throw or hang; processes that are killed, and deployments
 * between two executions. Fails with `CompositionBroken`, which has the smallest composition.
 *
 * It checks the library, not a program of yours: for that there is `Laws`.
 *
 * **Example** (Fixers that read untrusted text)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Programs } from "@recourse/testing"
 *
 * const report = await Effect.runPromise(
 *   Programs.checkCompositions({
 *     runs: 5,
 *     laws: ["untrusted_is_not_obeyed"],
 *     only: (composition) => ({ ...composition, payRecovery: ["fix"], onTainted: "deny" })
 *   })
 * )
 *
 * report.compositions // => 5
 * ```
 *
 * @category running
 * @since 0.2.0
 */
export const checkCompositions = (
  options?: CompositionOptions
): Effect.Effect<CompositionReport, CompositionBroken> => {
  const laws = options?.laws ?? Object.keys(compositionLaws) as ReadonlyArray<CompositionLaw>
  const counts: Counts = { payments: 0, pauses: 0, compensated: 0, stopped: 0 }
  let tried = 0
  let nth: number | undefined
  const property = (drawn: Composition) =>
    Effect.gen(function*() {
      const composition = options?.only?.(drawn) ?? drawn
      tried++
      for (const run of yield* tryComposition(composition, options?.hands)) {
        count(counts, run)
        for (const law of laws) {
          const [problem] = compositionLaws[law](run)
          if (problem === undefined) continue
          nth ??= tried
          return yield* new CompositionBroken({
            law,
            problem,
            composition: run.composition,
            nth,
            timeline: timelineOf(run),
            replay: ""
          })
        }
      }
      return true
    })
  const { replay, runs = 200, seed = 1, shrinks = 300 } = options ?? {}
  return Effect.flatMap(
    Arbitrary.checkEffect(drawnComposition, property, {
      runs,
      seed,
      maxShrinks: shrinks,
      ...(replay === undefined ? {} : { replay })
    }),
    (result): Effect.Effect<CompositionReport, CompositionBroken> => {
      if (result._tag === "Passed") return Effect.succeed({ compositions: result.runs, laws, ...counts })
      return result._tag === "Falsified" && result.failure._tag === "PropertyError"
        ? Effect.fail(new CompositionBroken({ ...result.failure.error, replay: result.replay }))
        : Effect.die(new Error(Arbitrary.formatCheckFailure(result) ?? "A law answered neither yes nor no"))
    }
  )
}
