/** Checks laws on drawn programs. */
import { Effect, Schema } from "effect"
import * as Arbitrary from "effect/Arbitrary"
import { render } from "../simulation/timeline.ts"
import { type Law, type ProgramLaw, programLaws, type Trial } from "./laws.ts"
import { drawnProgram } from "./draw.ts"
import { print, Program } from "./program.ts"
import { observe } from "./run.ts"

/**
 * Options of checked programs.
 *
 * @category options
 * @since 0.2.0
 */
export interface Options {
  /** Number of programs. Default: 200. */
  readonly runs?: number | undefined
  /** Seed of the random numbers: the same seed checks the same programs. Default: 1. */
  readonly seed?: number | undefined
  /** Checked laws. Default: all of them. */
  readonly laws?: ReadonlyArray<ProgramLaw> | undefined
  /** Laws of your own, by name. */
  readonly more?: Readonly<Record<string, Law>> | undefined
  /** Fixed fields of every program. */
  readonly only?: ((program: Program) => Program) | undefined
  /** Plays a broken trial again: the value of `ProgramBroken.replay`. */
  readonly replay?: string | undefined
}

/**
 * Checked parts.
 *
 * @category models
 * @since 0.2.0
 */
export interface Report {
  readonly programs: number
  readonly laws: ReadonlyArray<string>
  /** Executions of tools, runs that waited, operations: how much there was to see. */
  readonly sideEffects: number
  readonly pauses: number
  readonly operations: number
}

/**
 * A law does not hold for a program.
 *
 * @category errors
 * @since 0.2.0
 */
export class ProgramBroken extends Schema.TaggedError<ProgramBroken>()("ProgramBroken", {
  law: Schema.String,
  problem: Schema.String,
  /** The smallest program that was found to break it. */
  program: Program,
  /** The operation at which the run was interrupted, if the interrupted run breaks the law. */
  interruptAt: Schema.optionalKey(Schema.Int),
  timeline: Schema.String,
  replay: Schema.String
}) {
  override get message(): string {
    return [
      `Law ${this.law} does not hold: ${this.problem}`,
      "",
      print(this.program),
      ...(this.interruptAt === undefined ? [] : [`interrupted at operation ${this.interruptAt}`]),
      "",
      "Timeline:",
      this.timeline,
      "",
      `Replay: ${this.replay}`
    ].join("\n")
  }
}

/**
 * Runs a program as it is, streamed, and interrupted at one of its operations.
 *
 * @category running
 * @since 0.2.0
 */
export const tryProgram = (program: Program): Effect.Effect<Trial & { readonly interruptAt: number }> =>
  Effect.gen(function*() {
    const plain = yield* observe(program)
    // Each part of a chat is a run of its own, and the chat continues behind an interrupted one.
    const operations = (program.chat.length > 0 ? plain.parts : plain.parts.slice(0, 1))
      .reduce((sum, part) => sum + part.operations, 0)
    const interruptAt = 1 + program.interruptAt % Math.max(1, operations)
    return {
      plain,
      streamed: yield* observe(program, { streaming: true }),
      interrupted: yield* observe(program, { interruptAt }),
      interruptAt
    }
  })

/**
 * Checks laws on drawn programs.
 *
 * @category running
 * @since 0.2.0
 */
export const check = (options?: Options): Effect.Effect<Report, ProgramBroken> => {
  const names = options?.laws ?? Object.keys(programLaws) as ReadonlyArray<ProgramLaw>
  const laws: ReadonlyArray<readonly [string, Law]> = [
    ...names.map((name) => [name, programLaws[name]] as const),
    ...Object.entries(options?.more ?? {})
  ]
  let sideEffects = 0
  let pauses = 0
  let operations = 0
  const property = (drawn: Program) =>
    Effect.gen(function*() {
      const program = options?.only?.(drawn) ?? drawn
      const trial = yield* tryProgram(program)
      sideEffects += trial.plain.sideEffects.length
      pauses += trial.plain.pauses.length
      operations += trial.plain.parts.reduce((sum, part) => sum + part.operations, 0)
      for (const [law, evaluate] of laws) {
        const violation = evaluate(trial)[0]
        if (violation !== undefined) {
          return yield* new ProgramBroken({
            law,
            problem: `${violation.problem} (${violation.run} run)`,
            program,
            ...(violation.run === "interrupted" ? { interruptAt: trial.interruptAt } : undefined),
            timeline: render({ events: trial[violation.run].events, injected: [] }),
            replay: ""
          })
        }
      }
      return true
    })
  return Effect.flatMap(
    Arbitrary.checkEffect(drawnProgram, property, {
      runs: options?.runs ?? 200,
      seed: options?.seed ?? 1,
      maxShrinks: 400,
      ...(options?.replay === undefined ? undefined : { replay: options.replay })
    }),
    (result): Effect.Effect<Report, ProgramBroken> => {
      switch (result._tag) {
        case "Passed":
          return Effect.succeed({
            programs: result.runs,
            laws: laws.map(([name]) => name),
            sideEffects,
            pauses,
            operations
          })
        case "Falsified":
          return result.failure._tag === "PropertyError"
            ? Effect.fail(new ProgramBroken({ ...result.failure.error, replay: result.replay }))
            : Effect.die(new Error("A law answered neither yes nor no"))
        default:
          return Effect.die(new Error(Arbitrary.formatCheckFailure(result)))
      }
    }
  )
}
