/**
 * Replays of random programs: recorded, stored and run again. They take the same way to the same end, without effects.
 */
import { Cause, Effect, Exit, Layer, Logger, Option, Random, Schema } from "effect"
import * as Arbitrary from "effect/Arbitrary"
import { Approval } from "@recourse/core"
import * as Replay from "../../Replay.ts"
import * as ScriptedModel from "../../ScriptedModel.ts"
import { snapshotKey } from "../simulation/snapshotKey.ts"
import * as VirtualTime from "../time/virtualTime.ts"
import { drawn } from "../faults/storeFaults.ts"
import { SharedStores } from "../faults/stores.ts"
import { build, type Built } from "./build.ts"
import { drawnProgram } from "./draw.ts"
import { calledBy, print, type Program, toolName } from "./program.ts"
import { World } from "./world.ts"

/**
 * A replay of a program differs from its recording, or has done something.
 *
 * @category errors
 * @since 0.2.0
 */
export class ReplayBroken extends Schema.TaggedError<ReplayBroken>()("ReplayBroken", {
  problem: Schema.String,
  /** The smallest failing program, in text form. */
  program: Schema.String
}) {
  override get message(): string {
    return `${this.problem}\n\n${this.program}`
  }
}

const decide = (program: Program): NonNullable<Replay.RecordOptions["decide"]> => {
  let nth = 0
  const decisionOf = (call: Approval.PendingCall): ReadonlyArray<Approval.Decision> => {
    switch (program.decisions[nth++] ?? "approve") {
      case "later":
        return []
      case "reject":
        return [Approval.reject(call, "no")]
      case "edit":
        return [Approval.edit(call, { order: "edited" })]
      default:
        return [Approval.approve(call)]
    }
  }
  return (pending) => Effect.delay(Effect.sync(() => pending.flatMap(decisionOf)), "10 minutes")
}

/** Empty stores, and the same random numbers each time. */
const fresh = <A, E>(effect: Effect.Effect<A, E, never>): Effect.Effect<A, E> => {
  const shared = new SharedStores()
  return effect.pipe(
    Effect.provide(Layer.mergeAll(
      shared.layer(drawn([])),
      snapshotKey,
      Logger.layer([])
    )),
    Random.withSeed(1)
  )
}

/** A secret by its format: tools answer it, and the model says it. */
const secret = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"

const secretOrPlaceholder = /\b[a-z]{3}_[A-Za-z0-9]{36}\b|\[redacted: github token 1\]/g

const builtIn = (world: World, program: Program): Built =>
  build(program, world, { events: () => 0, agents: () => 0, requests: () => 0 })

/** End of a run, in words by which two runs can be compared. */
const endOf = (exit: Exit.Exit<unknown, unknown>): string => {
  if (Exit.isSuccess(exit)) return JSON.stringify(exit.value).replaceAll(secretOrPlaceholder, "a secret")
  return exit.cause.reasons.map((reason) => {
    if (!Cause.isFailReason(reason)) return reason._tag
    const { error } = reason
    return typeof error === "object" && error !== null && "_tag" in error ? String(error._tag) : "an error"
  }).join()
}

/** Tools that call tools are run again, with their own effects. */
const hasDone = (program: Program, { compensated, sideEffects }: World): boolean =>
  compensated.length > 0 ||
  sideEffects.some(({ done, tool }) =>
    done && calledBy(program, program.tools.findIndex((_, index) => toolName(program, index) === tool)).length === 0
  )

/**
 * Records a program and replays it; returns the fault of the replay, if there is one.
 *
 * @category running
 * @since 0.2.0
 */
export const tryReplay = (drawn: Program, streaming: boolean): Effect.Effect<string | undefined> =>
  Effect.gen(function*() {
    const program: Program = {
      ...drawn,
      runs: 1,
      asks: "outside",
      chat: [],
      store: [],
      observers: "fine",
      order: 0
    }
    const { agent, model, tools } = builtIn(new World(secret), program)
    const { exit } = yield* VirtualTime.run(
      fresh(Effect.provide(
        Replay.record(agent, "Do it", { tools, decide: decide(program), streaming }),
        ScriptedModel.layer(model)
      )),
      { limit: Infinity, steps: 50_000 }
    )
    if (Exit.isFailure(exit)) return `The recording itself failed: ${Cause.pretty(exit.cause)}`
    const json = yield* Effect.orDie(Replay.stringify(exit.value.recording))
    if (json.includes(secret.slice(0, 8))) return `A part of the secret is in the recording: ${json}`
    const recording = yield* Effect.orDie(Replay.parse(json))
    const world = new World()
    const again = builtIn(world, program)
    const replayed = yield* fresh(Replay.run(again.agent, recording, { tools: again.tools }))
    if (Option.isSome(replayed.difference)) return Replay.print(replayed.difference.value)
    const ends = [endOf(exit.value.exit), endOf(replayed.exit)]
    if (ends[0] !== ends[1]) return `The recorded run ended with ${ends[0]}, the replay with ${ends[1]}`
    return hasDone(program, world)
      ? `Done in the replay: ${JSON.stringify(world.sideEffects)}; undone: ${JSON.stringify(world.compensated)}`
      : undefined
  })

/**
 * Checks replays of drawn programs. Answers how many. Half of them stream.
 *
 * @category running
 * @since 0.2.0
 */
export const checkReplays = (
  options?: { readonly runs?: number | undefined; readonly seed?: number | undefined }
): Effect.Effect<number, ReplayBroken> => {
  const property = (program: Program) =>
    Effect.flatMap(
      tryReplay(program, program.order % 2 === 1),
      (problem) =>
        problem === undefined
          ? Effect.succeed(true)
          : Effect.fail(new ReplayBroken({ problem, program: print(program) }))
    )
  const { runs = 200, seed = 1 } = options ?? {}
  return Effect.flatMap(
    Arbitrary.checkEffect(drawnProgram, property, { runs, seed, maxShrinks: 300 }),
    (result) =>
      result._tag === "Passed"
        ? Effect.succeed(result.runs)
        : result._tag === "Falsified" && result.failure._tag === "PropertyError"
        ? Effect.fail(result.failure.error)
        : Effect.die(new Error(Arbitrary.formatCheckFailure(result)))
  )
}
