/** World check: tests the invariants of a world over several runs and processes. */
import { Cause, Context, Effect, Exit, Layer, Logger, Random, Result, Schema } from "effect"
import * as Arbitrary from "effect/Arbitrary"
import { Agent, type Conversation } from "@recourse/core"
import * as ScriptedModel from "../../ScriptedModel.ts"
import * as Faults from "../faults/faults.ts"
import { snapshotKey } from "../simulation/snapshotKey.ts"
import { textOf } from "../text/text.ts"
import * as VirtualTime from "../time/virtualTime.ts"
import { inThread, sharedThreads } from "./chats.ts"
import { Command, drawnCommand, type Executed, type Places, planOf, print, simplerThan } from "./commands.ts"
import { CurrentWorld, type Operations, type SideEffect, type World } from "./model.ts"
import { ask, goOn, type Program, type Provided } from "./program.ts"
import { drawn as drawnFaults } from "../faults/storeFaults.ts"
import { SharedStores } from "../faults/stores.ts"
import { type Waiting, waitingOf } from "./waiting.ts"

/**
 * Options of a checked world.
 *
 * @category options
 * @since 0.2.0
 */
export interface Options {
  /** Number of sequences of commands. Default: 200. */
  readonly runs?: number | undefined
  /** Maximum of commands in a sequence. Default: 5. */
  readonly commands?: number | undefined
  /** Seed of the random numbers. Default: 1. */
  readonly seed?: number | undefined
  /** Plays a broken sequence again: the value of `WorldBroken.replay`. */
  readonly replay?: string | undefined
}

/**
 * Checked parts.
 *
 * @category models
 * @since 0.2.0
 */
export interface Report {
  readonly sequences: number
  readonly sideEffects: number
  /** Runs that waited, that were cancelled, and whose process was killed. */
  readonly paused: number
  readonly cancelled: number
  readonly killed: number
}

/**
 * An invariant does not hold.
 *
 * @category errors
 * @since 0.2.0
 */
export class WorldBroken extends Schema.TaggedError<WorldBroken>()("WorldBroken", {
  invariant: Schema.String,
  /** The shortest sequence of commands that was found to break it. */
  commands: Schema.Array(Command),
  printed: Schema.String,
  history: Schema.String,
  replay: Schema.String
}) {
  override get message(): string {
    return [
      `Not always: ${this.invariant}`,
      "",
      this.printed,
      "",
      "Effects:",
      this.history,
      "",
      `Replay: ${this.replay}`
    ].join("\n")
  }
}

/** State that outlives processes. */
interface Durable {
  readonly stores: SharedStores
  readonly context: Context.Context<never>
  readonly threads: Layer.Layer<Conversation.Conversations>
  now: number
  processes: number
  /** The version of the agent that is deployed. */
  version: number
  waiting: ReadonlyArray<Waiting>
}

const versionsOf = <In, Out, E>({ agent, versions = [] }: Program<In, Out, E>) => [agent, ...versions]

/** Executes a command that no process executes. */
const between = (command: Exclude<Command, Executed>, durable: Durable, versions: number): void => {
  if (command._tag === "Deploy") durable.version = command.version % versions
  else durable.now += command.hours * 3_600_000
}

const commandedOf = <In, Out, E>(program: Program<In, Out, E>) => ({
  scenarios: Object.keys(program.scenarios).length,
  mayWait: Agent.isResumable(program.agent),
  threads: program.chats ?? 0,
  versions: versionsOf(program).length
})

type Counts = { -readonly [K in keyof Omit<Report, "sequences">]: number }

const play = <In, Out, E>(declared: Program<In, Out, E>, places: Places, durable: Durable, counts: Counts) => {
  const scenarios = Object.values(declared.scenarios)
  const versions = versionsOf(declared)
  const process = (
    command: Executed,
    model: ScriptedModel.Behaviour,
    thread: string | undefined,
    effect: Effect.Effect<unknown, unknown, Provided | Conversation.Conversations>
  ): VirtualTime.Process<unknown, unknown, never> => {
    const { ending, jump, skew } = command
    const started = durable.now
    const identity = ++durable.processes
    const services = Faults.layer(planOf(command, places)).pipe(
      Layer.provideMerge(ScriptedModel.layer(thread === undefined ? model : inThread(model, identity))),
      Layer.provideMerge(Layer.mergeAll(
        durable.stores.layer(drawnFaults(command.store)),
        durable.threads,
        snapshotKey,
        Logger.layer([])
      ))
    )
    return {
      effect: effect.pipe(
        Effect.provide(services),
        Effect.provideContext(durable.context as Context.Context<CurrentWorld>),
        Random.withSeed(identity)
      ) as Effect.Effect<unknown, unknown>,
      identity,
      ...(ending.how === "killed" ? { killAt: ending.at } : undefined),
      ...(ending.how === "cancelled" ? { interruptAt: ending.at } : undefined),
      wall: (now) => now + skew + (jump !== undefined && now >= started + jump.after ? jump.by : 0)
    }
  }

  const runAll = (
    { order, twice }: Executed,
    model: ScriptedModel.Behaviour,
    thread: string | undefined,
    one: () => VirtualTime.Process<unknown, unknown, never>
  ) =>
    Effect.map(
      VirtualTime.runAll(twice === true ? [one(), one()] : [one()], {
        startAt: durable.now,
        steps: 50_000,
        order
      }),
      (ended) => {
        durable.now += Math.max(...ended.map(({ elapsed }) => elapsed))
        for (const { exit, stopped } of ended) {
          if (stopped === "killed") counts.killed++
          else if (Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause)) counts.cancelled++
          const waiting = waitingOf(exit, model, thread)
          if (waiting === undefined) continue
          counts.paused++
          durable.waiting = [...durable.waiting, waiting].slice(-4)
        }
        return ended
      }
    )

  return (command: Command): Effect.Effect<unknown> => {
    if (command._tag === "Wait" || command._tag === "Deploy") {
      return Effect.sync(() => between(command, durable, versions.length))
    }
    const program = { ...declared, agent: versions[durable.version]! }
    if (command._tag === "Ask") {
      const { input, model } = scenarios[command.scenario % scenarios.length]!
      const behaviour = typeof model === "function" ? model : ScriptedModel.steps(model)
      const thread = program.chats === undefined ? undefined : `chat ${command.thread ?? 0}`
      const asked = ask(program, input, thread)
      return runAll(command, behaviour, thread, () => process(command, behaviour, thread, asked))
    }
    const waiting = durable.waiting[command.run % Math.max(1, durable.waiting.length)]
    if (waiting === undefined || !Agent.isResumable<In>(program.agent)) return Effect.void
    const resumed = goOn(program, waiting, command)
    const { model, thread } = waiting
    return runAll(command, model, thread, () => process(command, model, thread, resumed))
  }
}

const historyOf = (sideEffects: ReadonlyArray<SideEffect>): string =>
  sideEffects.map(({ broken, duplicate, input, key, operation }) =>
    [
      `${operation} ${textOf(input)}`,
      ...(key === undefined ? [] : [`key ${key}`]),
      ...(duplicate ? ["known already"] : []),
      ...broken.map((name) => `BREAKS: ${name}`)
    ].join("; ")
  ).join("\n")

const Sequence = Schema.Array(Command)
const decodeSequence = Schema.decodeEffect(Schema.fromJsonString(Sequence))
const encodeSequence = Schema.encodeSync(Schema.fromJsonString(Sequence))

/**
 * Checks that the invariants of a world hold after every action: after users' requests, approvals, rejections, edits,
 * cancellations and returns, over several runs, conversations and processes. Processes are killed and restarted, in
 * random orders, over deployments of other versions of the agent. Stores fail, hang, lose their answers, or repeat
 * them. A sequence that breaks an invariant is shrunk to a short one.
 *
 * @category running
 * @since 0.2.0
 */
export const check = <S, Ops extends Operations<S>, In, Out, E>(
  world: World<S, Ops>,
  program: Program<In, Out, E>,
  options?: Options
): Effect.Effect<Report, WorldBroken> => {
  const counts: Counts = { sideEffects: 0, paused: 0, cancelled: 0, killed: 0 }
  const scenarios = Object.keys(program.scenarios)
  const places = { tools: program.tools, operations: world.operations }
  const property = (commands: ReadonlyArray<Command>) =>
    Effect.gen(function*() {
      const instance = world.instance()
      const durable: Durable = {
        stores: new SharedStores(),
        context: Context.make(CurrentWorld, instance) as Context.Context<never>,
        threads: yield* sharedThreads,
        now: 0,
        processes: 0,
        version: 0,
        waiting: []
      }
      const follow = play(program, places, durable, counts)
      for (const [nth, command] of commands.entries()) {
        yield* follow(command)
        const sideEffects = instance.sideEffects()
        const broken = sideEffects.find(({ broken }) => broken.length > 0)
        if (broken === undefined) continue
        const followed = commands.slice(0, nth + 1)
        return yield* new WorldBroken({
          invariant: broken.broken[0]!,
          commands: followed,
          printed: followed.map((command, index) => `${index + 1}. ${print(command, scenarios, places)}`).join(
            "\n"
          ),
          history: historyOf(sideEffects),
          replay: encodeSequence(followed)
        })
      }
      counts.sideEffects += instance.sideEffects().length
      return true
    })
  if (options?.replay !== undefined) {
    return Effect.orDie(decodeSequence(options.replay)).pipe(
      Effect.flatMap(property),
      Effect.map(() => ({ sequences: 1, ...counts }))
    )
  }
  /** Effect's shrinking takes long; removing parts of a command here needs fewer tries. */
  const shortest = (found: WorldBroken) =>
    Effect.gen(function*() {
      let smallest = found
      let tries = 300
      search: while (tries > 0) {
        for (const simpler of simplerThan(smallest.commands)) {
          if (--tries < 0) break
          const tried = yield* Effect.result(property(simpler))
          if (Result.isFailure(tried) && tried.failure.invariant === smallest.invariant) {
            smallest = tried.failure
            continue search
          }
        }
        break
      }
      return smallest
    })
  const drawn = Arbitrary.array(drawnCommand(commandedOf(program)), {
    minLength: 2,
    maxLength: options?.commands ?? 5
  })
  return Effect.flatMap(
    Arbitrary.checkEffect(drawn, property, { runs: options?.runs ?? 200, seed: options?.seed ?? 1, maxShrinks: 300 }),
    (result): Effect.Effect<Report, WorldBroken> => {
      if (result._tag === "Passed") return Effect.succeed({ sequences: result.runs, ...counts })
      return result._tag === "Falsified" && result.failure._tag === "PropertyError"
        ? Effect.flatMap(shortest(result.failure.error), Effect.fail)
        : Effect.die(new Error(Arbitrary.formatCheckFailure(result) ?? "An invariant answered neither yes nor no"))
    }
  )
}
