/**
 * Durable runs over effect's cluster: a run is an entity, and the cluster decides which process receives its messages.
 * Unstable like `effect/cluster`: it may change in any release.
 *
 * The rows stay the truth. A process owns a run by its lease and its number, just like without a cluster, and late
 * entries of a former owner are refused. Messages place runs and wake their owners. They may be lost: each process
 * regularly looks for runs without an owner, which is the sweep.
 */
import * as Clock from "effect/Clock"
import * as DateTime from "effect/DateTime"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as ClusterCron from "effect/cluster/ClusterCron"
import * as ClusterSchema from "effect/cluster/ClusterSchema"
import * as DeliverAt from "effect/cluster/DeliverAt"
import * as Entity from "effect/cluster/Entity"
import type { Sharding } from "effect/cluster/Sharding"
import * as Rpc from "effect/rpc/Rpc"
import type { Runs } from "@recourse/core/Runs"
import type { CronOptions, Durable } from "./Durable.ts"
import { ClusterHost, type Messages } from "./internal/runner/clusterHost.ts"
import { timeOf } from "./internal/store/requests.ts"
import { RunStore, type Store } from "./RunStore.ts"

export type { CronOptions } from "./Durable.ts"

const aRun = { runId: Schema.String, agent: Schema.String, version: Schema.String }

/** A run that may be taken later. */
class Later extends Schema.Class<Later>("@recourse/durable/Later")({
  ...aRun,
  at: Schema.DateTimeUtc
}) {
  [DeliverAt.symbol]() {
    return this.at
  }
}

const Run = Entity.make("RecourseRun", [
  Rpc.make("wake", { payload: aRun }),
  Rpc.make("cancel", { payload: aRun }),
  Rpc.make("change", { payload: aRun }),
  Rpc.make("wakeLater", { payload: Later }).annotate(ClusterSchema.Persisted, true)
]).annotate(ClusterSchema.ClientTracingEnabled, false)

/**
 * Search for runs without a message.
 *
 * @category options
 * @since 0.2.0
 */
export interface Options {
  /**
   * Interval of a process's search for runs without an owner: those whose process was killed, those whose message was
   * lost, and those that wait for a slot in the queue of their agent. Default: 5 seconds.
   */
  readonly sweep?: Duration.Input | undefined
}

const hostOf = (
  store: Store,
  options: Options | undefined
): Effect.Effect<ClusterHost, never, Sharding | Scope.Scope> =>
  Effect.gen(function*() {
    const client = yield* Run.client
    const sweep = timeOf("Cluster.layer", "sweep", options?.sweep ?? "5 seconds", { atLeast: 0 })
    const messages: Messages = {
      wake: (address, run) => client(address).wake(run, { discard: true }),
      cancel: (address, run) => client(address).cancel(run, { discard: true }),
      change: (address, run) => client(address).change(run, { discard: true }),
      wakeLater: (address, run, millis) =>
        Effect.flatMap(Clock.currentTimeMillis, (now) =>
          client(address).wakeLater(new Later({ ...run, at: DateTime.makeUnsafe(now + Math.ceil(millis)) }), {
            discard: true
          }))
    }
    const fork = Effect.runForkWith(yield* Effect.context<never>())
    return new ClusterHost(store, messages, sweep, yield* Clock.Clock, (effect) =>
      void fork(effect))
  })

/**
 * A layer that places the runs of a `RunStore` by the cluster, for a process that executes runs. It takes a `RunStore` and returns one: put it between `Durable.layer` and
 * `RunStore.layerSql`.
 *
 * **Example** (A cluster of one process, in memory)
 *
 * ```ts
 * import { Effect, Layer } from "effect"
 * import { TestRunner } from "effect/cluster"
 * import { Agent } from "@recourse/core"
 * import { Durable, RunStore } from "@recourse/durable"
 * import * as Cluster from "@recourse/durable/Cluster"
 *
 * const Echo = Durable.make(Agent.fromFunction("echo", (text: string) => Effect.succeed(text)))
 * const Store = Cluster.layer().pipe(Layer.provide([RunStore.layerMemory, TestRunner.layer]))
 *
 * const program = Echo.run("r1", "hello").pipe(Effect.provide(Durable.layer([Echo]).pipe(Layer.provide(Store))))
 * await Effect.runPromise(program) // => "hello"
 * ```
 *
 * @category layers
 * @since 0.2.0
 */
export const layer = (options?: Options): Layer.Layer<RunStore, never, RunStore | Sharding> =>
  Layer.unwrap(Effect.gen(function*() {
    const host = yield* hostOf(yield* RunStore, options)
    const entity = Run.toLayer({
      wake: ({ payload }) => host.hearWake(payload),
      cancel: ({ payload }) => host.hearCancel(payload),
      change: ({ payload }) => host.hearChange(payload),
      wakeLater: ({ payload }) => host.hearWake(payload)
    }, { maxIdleTime: "5 seconds" })
    return Layer.merge(entity, Layer.succeed(RunStore, host.store))
  }))

/**
 * The same for a process that executes no runs: `Durable.layerClient`, with a cluster that is client only.
 *
 * @category layers
 * @since 0.2.0
 */
export const layerClient: Layer.Layer<RunStore, never, RunStore | Sharding> = Layer.effect(
  RunStore,
  Effect.flatMap(RunStore, (store) => Effect.map(hostOf(store, undefined), (host) => host.store))
)

/**
 * A layer that starts a run at each time of a cron expression, by `ClusterCron`: in order, the missed times too. A start that fails is tried again.
 *
 * @category layers
 * @since 0.2.0
 */
export const layerCron = <In, Out, E, R>(
  durable: Durable<In, Out, E, R>,
  { catchUp, cron, input, name, owner }: CronOptions<In>
): Layer.Layer<never, never, Runs | Sharding> =>
  ClusterCron.make({
    name: `recourse ${name}`,
    cron,
    calculateNextRunFromPrevious: true,
    skipIfOlderThan: catchUp ?? "1 hour",
    execute: Effect.flatMap(ClusterCron.CurrentScheduledTime, (time) => {
      const at = DateTime.toDateUtc(time)
      return durable.start(`${name} ${at.toISOString()}`, input(at), { owner })
    })
  })
