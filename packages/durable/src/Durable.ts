/**
 * Durable agents: runs that survive their process. Each answer of a model and each outcome of a call is recorded once;
 * a run whose process is killed continues in another, behind its entries.
 */
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Function from "effect/Function"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import type * as Agent from "@recourse/core/Agent"
import type { InvalidInput } from "@recourse/core/AgentError"
import * as Compensation from "@recourse/core/Compensation"
import type { Decision, DecisionRefused, SnapshotKey } from "@recourse/core/Approval"
import {
  type RunConflict,
  type RunInfo,
  Runs,
  type RunsService,
  type RunsUnavailable,
  type UnknownAgent,
  type UnknownRun
} from "@recourse/core/Runs"
import { type CronOptions, starting } from "./internal/service/cron.ts"
import { type HaveSchemas, RunCancelled, RunFailed, VersionStopped } from "./internal/agent/errors.ts"
import {
  type Approvals,
  askingOf,
  checkAgent,
  checkAgents,
  checkOptionNames,
  type Options,
  queueOf
} from "./internal/agent/options.ts"
import { compensationOf } from "./internal/run/compensation.ts"
import { checkingOf, explainingOf, proceedingOf } from "./internal/run/startOrResume.ts"
import { Changes } from "./internal/run/changes.ts"
import { KnownConversations } from "./internal/store/conversation.ts"
import { type Definition, inputCodec, invalidInput } from "./internal/agent/definition.ts"
import * as Runner from "./internal/runner/runner.ts"
import * as Service from "./internal/service/service.ts"
import { checkCount, checkName, timeOf } from "./internal/store/requests.ts"
import { Versions } from "./internal/agent/versions.ts"
import { RunStore } from "./RunStore.ts"

export type { Question } from "./internal/agent/approvalReminders.ts"
export { type HaveSchemas, type LibraryTag, RunCancelled, RunFailed, VersionStopped } from "./internal/agent/errors.ts"
export type { Approvals, Options, Queue } from "./internal/agent/options.ts"
export { childId } from "./internal/run/childRuns.ts"
export type { CronOptions } from "./internal/service/cron.ts"

/**
 * Errors of `await` and `run`, besides those that have a schema.
 *
 * @category errors
 * @since 0.2.0
 */
export type EndError = RunFailed | RunCancelled | VersionStopped | UnknownRun | RunsUnavailable

/**
 * Errors of `start`.
 *
 * @category errors
 * @since 0.2.0
 */
export type StartError = UnknownAgent | InvalidInput | RunConflict | RunsUnavailable

/**
 * A durable agent. `R` are the services of its runners.
 *
 * @category models
 * @since 0.2.0
 */
export interface Durable<in In, out Out, out E, out R> {
  readonly name: string
  /** Starts a run, or joins the one with the id. Comes back when the run is recorded. */
  readonly start: (
    runId: string,
    input: In,
    options?: {
      readonly owner?: string | undefined
      /** Delay before the run starts. */
      readonly delay?: Duration.Input | undefined
    }
  ) => Effect.Effect<{ readonly runId: string; readonly isNew: boolean }, StartError, Runs>
  /** Waits for a run's output, in any process. */
  readonly await: (runId: string) => Effect.Effect<Out, E | EndError, Runs>
  /** Starts a run, or joins the one with the id, and waits for its output. Interrupting it does not cancel the run. */
  readonly run: (runId: string, input: In) => Effect.Effect<Out, E | EndError | StartError, Runs>
  /** State of a run. */
  readonly poll: (runId: string) => Effect.Effect<RunInfo, UnknownRun | RunsUnavailable, Runs>
  /** Decides about calls that wait, in any process. */
  readonly decide: (
    runId: string,
    decisions: ReadonlyArray<Decision>
  ) => Effect.Effect<void, UnknownRun | DecisionRefused | RunsUnavailable, Runs>
  /** Cancels a run; `false` if it has already ended. */
  readonly cancel: (runId: string) => Effect.Effect<boolean, UnknownRun | RunsUnavailable, Runs>
  /** @internal */
  readonly definition: Definition
  /** @internal The agent that compensates its ended runs. */
  readonly compensation: Definition | undefined
  /** @internal */
  readonly "~services": (_: never) => R
}

/**
 * Any durable agent.
 *
 * @category models
 * @since 0.2.0
 */
export interface Any extends Durable<never, unknown, unknown, unknown> {}

/**
 * Services of a durable agent's runners.
 *
 * @category utility types
 * @since 0.2.0
 */
export type Services<D> = D extends Durable<never, infer _Out, infer _E, infer R> ? R : never

/**
 * Makes a durable agent of an agent. The agent does not change, and runs as before if it is run by itself.
 *
 * Its errors, input and output are stored, so each has a schema. A tool that does not declare its `effects` is not run again
 * after its process was killed in it: declare them.
 *
 * **Example** (A durable agent and its errors)
 *
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { Agent } from "@recourse/core"
 * import { Durable } from "@recourse/durable"
 *
 * class Closed extends Schema.TaggedError<Closed>()("Closed", {}) {}
 *
 * const shop = Agent.fromFunction("shop", (hour: number) => hour < 8 ? Effect.fail(new Closed()) : Effect.succeed("open"))
 * const Shop = Durable.make(shop, { input: Schema.Number, errors: Closed })
 *
 * Shop.name // => "shop"
 * ```
 *
 * @category constructors
 * @since 0.2.0
 */
export const make = <
  In,
  Out,
  E,
  R,
  Input extends Schema.Codec<In, unknown, unknown, unknown> = Schema.Codec<In, unknown, unknown, unknown>,
  Output extends Schema.Codec<Out, unknown, unknown, unknown> = Schema.Codec<Out, unknown, unknown, unknown>,
  Errors extends Schema.Top = typeof Schema.Never,
  AR = never
>(
  agent: Agent.Agent<In, Out, E, R> & HaveSchemas<NoInfer<E>, Errors["Type"]>,
  ...[options]: [In, Out] extends [string, string] ? [options?: Options<Input, Output, Errors, AR>]
    : [options: Options<Input, Output, Errors, AR>]
): Durable<In, Out, Errors["Type"], Exclude<R, SnapshotKey> | NoInfer<AR>> => {
  checkAgent(agent)
  const input = inputCodec((options?.input ?? Schema.String) as Schema.Top)
  const output = Schema.toCodecJson((options?.output ?? Schema.String) as Schema.Top)
  const errors = Schema.toCodecJson((options?.errors ?? Schema.Never) as Schema.Top)
  const subject = `Durable agent "${agent.name}"`
  checkOptionNames(subject, options)
  checkName(subject, "its name", agent.name)
  if (options?.version !== undefined) checkName(subject, "its `version`", options.version)
  const definition: Definition = {
    name: agent.name,
    version: options?.version ?? "1",
    previousVersions: options?.previousVersions ?? {},
    queue: queueOf(agent.name, options?.queue),
    asking: askingOf(subject, options?.approvals as Approvals<unknown> | undefined),
    decodeInput: input.decode,
    encodeOutput: Schema.encodeUnknownEffect(output) as Definition["encodeOutput"],
    encodeError: Schema.encodeUnknownEffect(errors) as Definition["encodeError"],
    check: checkingOf(agent),
    explain: explainingOf(agent),
    proceed: proceedingOf(agent, options?.streaming ?? true)
  }
  const decodeOutput = Schema.decodeUnknownEffect(output)
  const decodeError = Schema.decodeUnknownEffect(errors)
  const compensator = Compensation.agent(agent)
  const outputOf = (
    { failure, output, runId, status, version = "" }: RunInfo
  ): Effect.Effect<Out, Errors["Type"] | EndError> => {
    if (status === "cancelled") return Effect.fail(new RunCancelled({ runId }))
    if (failure === undefined) return Effect.orDie(decodeOutput(output ?? null)) as Effect.Effect<Out>
    const { code, error, userMessage, value } = failure
    if (code === "version_stopped") return Effect.fail(new VersionStopped({ runId, version }))
    const failed = new RunFailed({ runId, error, code, userMessage })
    return value === undefined
      ? Effect.fail(failed)
      : Effect.flatMap(
        Effect.orElseSucceed(decodeError(value), () => failed),
        (error) => Effect.fail(error)
      ) as Effect.Effect<never, Errors["Type"] | RunFailed>
  }
  const start: Durable<In, Out, Errors["Type"], R>["start"] = (runId, value, more) =>
    Effect.flatMap(Runs, (runs) =>
      Effect.flatMap(
        Effect.mapError(input.encode(value), () => invalidInput(agent.name)) as Effect.Effect<unknown, InvalidInput>,
        (input) => runs.start({ agent: agent.name, input, runId, ...more })
      ))
  const wait: Durable<In, Out, Errors["Type"], R>["await"] = (runId) =>
    Effect.flatMap(Runs, (runs) => Effect.flatMap(runs.wait(runId), outputOf))
  return {
    name: agent.name,
    start,
    await: wait,
    run: (runId, value) => Effect.andThen(start(runId, value), wait(runId)),
    poll: (runId) => Effect.flatMap(Runs, (runs) => runs.get(runId)),
    decide: (runId, decisions) => Effect.flatMap(Runs, (runs) => runs.decide(runId, decisions)),
    cancel: (runId) => Effect.flatMap(Runs, (runs) => runs.cancel(runId)),
    definition,
    compensation: compensator && compensationOf(compensator, definition),
    "~services": undefined as never
  }
}

/**
 * Options of this process's runner.
 *
 * @category options
 * @since 0.2.0
 */
export interface RunnerOptions {
  /**
   * Lease of a run without renewal. A run whose process was killed is taken over after it. Default: 15 seconds.
   */
  readonly lease?: Duration.Input | undefined
  /** Interval at which the store is read for other processes' changes. Default: 500 milliseconds. */
  readonly poll?: Duration.Input | undefined
  /**
   * Number of concurrent runs in this process. Those that wait for people, runs or signals do not count. Default: 100.
   */
  readonly concurrency?: number | undefined
  /**
   * Time in which runs may end when the process is to stop, before they are interrupted and released. Default: 5
   * seconds.
   */
  readonly grace?: Duration.Input | undefined
}

const runnerOptionsOf = (options: RunnerOptions | undefined): Runner.RunnerOptions => {
  const subject = "Runners of durable agents"
  const { concurrency = 100, grace = "5 seconds", lease = "15 seconds", poll = "500 millis" } = options ?? {}
  const above = { atLeast: Number.MIN_VALUE }
  checkCount(subject, "concurrency", concurrency)
  return {
    concurrency,
    poll: Duration.millis(timeOf(subject, "poll", poll, above)),
    lease: Duration.millis(timeOf(subject, "lease", lease, above)),
    grace: Duration.millis(timeOf(subject, "grace", grace, { atMost: Infinity }))
  }
}

const versionsOf = (agents: ReadonlyArray<Any>, context: Context.Context<never>): Versions =>
  new Versions(
    agents.flatMap(({ compensation, definition }) =>
      compensation === undefined ? [definition] : [definition, compensation]
    ),
    context
  )

/**
 * A layer that runs durable agents in this process, with their services: any number of processes on one store share the
 * runs. An agent may have several versions: each continues its own runs, and new ones start with the first. It provides
 * {@link Runs}.
 *
 * **Example** (A run that is started, and awaited by its id)
 *
 * ```ts
 * import { Effect, Layer } from "effect"
 * import { Agent } from "@recourse/core"
 * import { Durable, RunStore } from "@recourse/durable"
 *
 * const Report = Durable.make(Agent.fromFunction("report", (day: string) => Effect.succeed(`Report of ${day}`)))
 * const Runners = Durable.layer([Report]).pipe(Layer.provide(RunStore.layerMemory))
 *
 * const program = Effect.gen(function*() {
 *   yield* Report.start("run 1", "Monday")
 *   return yield* Report.await("run 1")
 * })
 *
 * await Effect.runPromise(program.pipe(Effect.provide(Runners))) // => "Report of Monday"
 * ```
 *
 * @category layers
 * @since 0.2.0
 */
export const layer = <const Agents extends ReadonlyArray<Any>>(
  agents: Agents,
  options?: RunnerOptions
): Layer.Layer<Runs, never, RunStore | Exclude<Services<Agents[number]>, Runs>> => {
  checkAgents(agents)
  const runnerOptions = runnerOptionsOf(options)
  const { poll } = runnerOptions
  return Layer.effect(
    Runs,
    Effect.gen(function*() {
      const store = yield* RunStore
      const changes = new Changes()
      const conversations = new KnownConversations()
      // Agents start runs, too.
      const runs: RunsService = Service.make(store, {
        agents: () => known,
        changes,
        conversations,
        poll,
        starting: (agent, add) => runner.start(agent, add),
        isOwned: (runId) => runner.isOwned(runId)
      })
      const context = Context.add(Context.add(yield* Effect.context<never>(), Runs, runs), RunStore, store)
      const known = versionsOf(agents, context)
      const runner: Runner.Runner = yield* Runner.make(store, known, changes, conversations, runnerOptions)
      return runs
    })
  ) as Layer.Layer<Runs, never, RunStore | Exclude<Services<Agents[number]>, Runs>>
}

/**
 * A layer that starts runs at the times of a cron expression. The id of each run is its time, so any number of processes may do
 * the same.
 *
 * **Example** (A report at six)
 *
 * ```ts
 * import { Cron, Effect } from "effect"
 * import { Agent } from "@recourse/core"
 * import { Durable } from "@recourse/durable"
 *
 * const Report = Durable.make(Agent.fromFunction("report", (day: string) => Effect.succeed(`Report of ${day}`)))
 * const Daily = Durable.layerCron(Report, {
 *   name: "report",
 *   cron: Cron.parseUnsafe("0 6 * * *", "UTC"),
 *   input: (at) => at.toISOString().slice(0, 10)
 * })
 * ```
 *
 * @category layers
 * @since 0.2.0
 */
export const layerCron = <In, Out, E, R>(
  durable: Durable<In, Out, E, R>,
  options: CronOptions<In>
): Layer.Layer<never, never, Runs> =>
  Layer.effectDiscard(
    Effect.forkScoped(starting(durable.name, options, durable.start))
  )

/**
 * {@link Runs} in a process that runs none: it starts, watches and decides, and others run.
 *
 * @category layers
 * @since 0.2.0
 */
export const layerClient = <const Agents extends ReadonlyArray<Any>>(
  agents: Agents,
  options?: Pick<RunnerOptions, "poll">
): Layer.Layer<Runs, never, RunStore> => {
  const { poll } = runnerOptionsOf(options)
  return Layer.effect(
    Runs,
    Effect.gen(function*() {
      const store = yield* RunStore
      const changes = new Changes()
      yield* store.listen((wakeUp) => changes.receive(wakeUp))
      return Service.make(store, {
        agents: Function.constant(versionsOf(agents, Context.empty())),
        changes,
        conversations: new KnownConversations(),
        poll,
        starting: (_, add) => add(),
        isOwned: () => false
      })
    })
  )
}
