/**
 * Signals: external values for a running run, each under a name and once. A tool waits for one without a slot of its
 * runner; late readers get it too, and so does each execution of the run.
 */
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import * as Schema from "effect/Schema"
import type { InvalidInput } from "@recourse/core/AgentError"
import { ConfigurationError } from "@recourse/core/ConfigurationError"
import { CurrentJournal } from "@recourse/core/Journal"
import { isStorable, RunsUnavailable, UnknownRun } from "@recourse/core/Runs"
import { ended } from "./internal/store/unemittedEnds.ts"
import * as Requests from "./internal/store/requests.ts"
import { Slot } from "./internal/queue/slot.ts"
import { RunStore, type RunStoreError } from "./RunStore.ts"

const available = <A>(effect: Effect.Effect<A, RunStoreError>): Effect.Effect<A, RunsUnavailable> =>
  Effect.mapError(effect, ({ operation, reason }) => new RunsUnavailable({ operation, reason }))

/**
 * Sends a value to a run, from any process. `false` if it has one under the name: the first one stays. Also `false` if
 * the run has ended: it receives no value. A name has at most 255 characters. A value that JSON does not hold is `InvalidInput`.
 *
 * @category running
 * @since 0.2.0
 */
export const send = (
  runId: string,
  name: string,
  value: Schema.Json
): Effect.Effect<boolean, UnknownRun | InvalidInput | RunsUnavailable, RunStore> =>
  Effect.flatMap(RunStore, (store) =>
    Effect.flatMap(
      isStorable(runId) ? available(store.get(runId)) : Effect.undefined,
      (run): Effect.Effect<boolean, UnknownRun | InvalidInput | RunsUnavailable> =>
        run === undefined
          ? Effect.fail(new UnknownRun({ runId: String(runId) }))
          : Effect.andThen(
            Requests.signalled(run.agent, name, value),
            () => ended.has(run.status) ? Effect.succeed(false) : available(store.signal(runId, name, value))
          )
    ))

/**
 * Options of a wait for a signal.
 *
 * @category options
 * @since 0.2.0
 */
export interface ReceiveOptions {
  /**
   * Interval of reading the store if no process reports a value of the run: a wake-up may be lost. Default: 500
   * milliseconds.
   */
  readonly poll?: Duration.Input | undefined
}

/**
 * Waits, in the executor of a tool, for the value of a name, of the running durable run. Declare the tool `effects:
 * "read"`: it waits again after a crash of its process. A value that does not fit is a `SchemaError`.
 *
 * **Example** (A run that waits for a parcel)
 *
 * ```ts
 * import { Effect, Layer, Schema } from "effect"
 * import { Agent, Recovery, Tool } from "@recourse/core"
 * import { Durable, RunStore, Signal } from "@recourse/durable"
 * import { ScriptedModel } from "@recourse/testing"
 *
 * const Parcel = Tool.make("parcel", {
 *   success: Schema.String,
 *   effects: "read",
 *   execute: () => Signal.receive("parcel", Schema.String)
 * })
 * const Clerk = Durable.make(Agent.make("clerk", { tools: [Parcel], defaults: { onError: Recovery.keepGoing } }))
 *
 * const Model = ScriptedModel.layer([ScriptedModel.call("parcel", {}), ScriptedModel.text("It is here.")])
 * const Runners = Durable.layer([Clerk]).pipe(Layer.provide(Model), Layer.provideMerge(RunStore.layerMemory))
 *
 * const program = Effect.gen(function*() {
 *   yield* Clerk.start("r1", "Wait for the parcel")
 *   yield* Signal.send("r1", "parcel", "at the door")
 *   return yield* Clerk.await("r1")
 * })
 * await Effect.runPromise(program.pipe(Effect.provide(Runners))) // => "It is here."
 * ```
 *
 * @category running
 * @since 0.2.0
 */
export const receive = <A, R>(
  name: string,
  schema: Schema.Codec<A, unknown, R, unknown>,
  options?: ReceiveOptions
): Effect.Effect<A, Schema.SchemaError | RunsUnavailable, RunStore | R> => {
  const decode = Schema.decodeUnknownEffect(Schema.toCodecJson(schema))
  return Effect.gen(function*() {
    const store = yield* RunStore
    const journal = yield* CurrentJournal
    const slot = yield* Slot
    if (journal === undefined) {
      return yield* Effect.die(
        new ConfigurationError({ subject: `Signal "${name}"`, problem: "only a durable run receives signals" })
      )
    }
    const poll = Requests.timeOf(`Signal "${name}"`, "poll", options?.poll ?? "500 millis", {
      atLeast: Number.MIN_VALUE
    })
    Requests.checkName(`Signal "${name}"`, "its name", name)
    const awaited = Effect.scoped(Effect.gen(function*() {
      const changes = yield* Queue.dropping<void>(1)
      yield* store.listen((wakeUp) => {
        if (wakeUp._tag === "Changed" && wakeUp.runId === journal.runId) Queue.offerUnsafe(changes, undefined)
      })
      while (true) {
        const found = yield* available(store.signalled(journal.runId, name))
        if (found !== undefined) return found.value
        yield* Effect.raceFirst(Queue.take(changes), Effect.sleep(poll))
      }
    }))
    return yield* decode(yield* slot.lent(awaited)) as Effect.Effect<A, Schema.SchemaError, R>
  })
}
