/** Listeners: functions that hear the events of the runs below them. `AgentEvent` has them too. */
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { AgentEvent } from "./AgentEventSchema.ts"
import { aFunction, aTimeLimit, checkArgument, checkOptions } from "./internal/foundation/options/optionCheck.ts"

/**
 * Hears each event of the runs below it, in order. A run waits for it, at most as long as its time limit; how it ends does
 * not reach the run: a failure, a defect or a time limit that is over is logged, once for each listener and run.
 *
 * @category models
 * @since 0.2.0
 */
export type Listener = (event: AgentEvent) => Effect.Effect<unknown>

/**
 * Default time that a run waits for a listener.
 *
 * @category constants
 * @since 0.2.0
 */
export const defaultTimeLimit: Duration.Input = "5 seconds"

/**
 * Options of a listener.
 *
 * @category options
 * @since 0.2.0
 */
export interface ListenOptions {
  /**
   * Time that a run waits for the listener at each event. A listener that takes longer receives no more events of that
   * run. Default: 5 seconds.
   */
  readonly timeLimit?: Duration.Input | undefined
}

/**
 * A listener of the context, in addition to those of `listen`. Default: none. Without listeners no event is built.
 *
 * @category services
 * @since 0.2.0
 */
export const CurrentListener: Context.Reference<Listener | undefined> = Context.Reference<Listener | undefined>(
  "@recourse/core/AgentEvent/CurrentListener",
  { defaultValue: () => undefined }
)

/**
 * A plain function that hears events.
 *
 * @category models
 * @since 0.2.0
 */
export type SyncListener = (event: AgentEvent) => void

/**
 * A plain function of the context that receives each event of the runs below it, synchronously and in order. A run
 * neither waits for it nor fails by it. Its exceptions are logged, once for each run. A listener costs a fiber for each
 * event, this function a call: use it to store or count events. Default: none.
 *
 * **Example** (Counting events)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Agent, AgentEvent } from "@recourse/core"
 *
 * const shout = Agent.fromFunction("shout", (text: string) => Effect.succeed(text.toUpperCase()))
 * let events = 0
 *
 * await Effect.runPromise(shout.run("hi").pipe(Effect.provideService(AgentEvent.CurrentSyncListener, () => void events++))) // => "HI"
 * events // => 2
 * ```
 *
 * @category services
 * @since 0.2.0
 */
export const CurrentSyncListener: Context.Reference<SyncListener | undefined> = Context.Reference<
  SyncListener | undefined
>(
  "@recourse/core/AgentEvent/CurrentSyncListener",
  { defaultValue: () => undefined }
)

/** @internal A listener and how it is heard. */
export interface Listening extends ListenOptions {
  readonly listener: Listener
}

/**
 * True if events contain details for operators: model requests (`ModelRequested`), redacted causes of failures
 * (`operatorMessage`), and caps of agents (`limits`). Default: false. A program that passes events on to users names
 * the fields that leave.
 *
 * @category services
 * @since 0.2.0
 */
export const Details: Context.Reference<boolean> = Context.Reference<boolean>("@recourse/core/AgentEvent/Details", {
  defaultValue: () => false
})

/** True if the context has listeners of `listen`. They are looked up only then. */
const HasListeners = Context.Reference<boolean>("@recourse/core/AgentEvent/HasListeners", { defaultValue: () => false })

/**
 * @internal Listeners that receive no events of this context: a listener does not receive the events of its own work.
 */
export const Deaf: Context.Reference<ReadonlySet<Listener>> = Context.Reference<ReadonlySet<Listener>>(
  "@recourse/core/AgentEvent/Deaf",
  { defaultValue: () => new Set() }
)

const prefix = "@recourse/core/AgentEvent/Listener/"
let listeners = 0

/** @internal The listeners of a context, the outermost first. */
export const listenersOf = (context: Context.Context<never>): ReadonlyArray<Listening> => {
  const current = Context.get(context, CurrentListener)
  const has = Context.get(context, HasListeners)
  if (current === undefined && !has) return []
  const found: Array<Listening> = []
  if (has) context.mapUnsafe.forEach((value, key) => key.startsWith(prefix) && found.push(value as Listening))
  if (current !== undefined) found.push({ listener: current })
  const deaf = Context.get(context, Deaf)
  return deaf.size === 0 ? found : found.filter(({ listener }) => !deaf.has(listener))
}

/**
 * A layer that sends the events of all runs below it to a function. Several of them are all heard.
 *
 * **Example** (Collecting the events of a run)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Agent, AgentEvent } from "@recourse/core"
 *
 * const shout = Agent.fromFunction("shout", (text: string) => Effect.succeed(text.toUpperCase()))
 * const tags: Array<string> = []
 *
 * await Effect.runPromise(
 *   shout.run("hi").pipe(
 *     Effect.provide(AgentEvent.listen((event) => Effect.sync(() => tags.push(event._tag))))
 *   )
 * ) // => "HI"
 * tags // => ["RunStarted", "RunFinished"]
 * ```
 *
 * @category layers
 * @since 0.2.0
 */
export const listen = (listener: Listener, options?: ListenOptions): Layer.Layer<never> => {
  checkArgument("AgentEvent.listen", "its listener", listener, aFunction)
  checkOptions("AgentEvent.listen", options ?? {}, {
    kinds: { timeLimit: aTimeLimit },
    otherNames: { timeout: "timeLimit" }
  })
  // A key of its own, so that one listener does not take the place of another.
  const Heard = Context.Service<Listening>(`${prefix}${++listeners}`)
  return Layer.succeedContext(Context.make(HasListeners, true).pipe(Context.add(Heard, { ...options, listener })))
}
