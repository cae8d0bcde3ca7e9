/**
 * Side effects: a record of what tools did to the world in a run. The doubles of services that a test provides write
 * it.
 *
 * It counts what really happened, however it is reported: two recorded e-mails are two e-mails.
 */
import { Context, Effect, Layer } from "effect"
import { CurrentRequests, type ServiceFailed } from "./internal/faults/serviceFaults.ts"
import { CurrentWithin } from "./internal/simulation/within.ts"

/** Something that a tool did, or asked for again with the key of something that was done already. */
export interface SideEffect {
  /** The tool that did it. */
  readonly tool: string
  /** The idempotency key it was asked for with, if any. */
  readonly key: string | undefined
  /** Whether the key was known, so that nothing was done. */
  readonly duplicate: boolean
  /** Whatever says what was done: two calls that do the same thing have the same details. */
  readonly details: unknown
  /** Whether nothing was done: the service was asked for something, which may happen any number of times. */
  readonly read?: true
  /** In a simulation: the executions of tools that it was done within, the outermost first, as places in `Observation.executions`. */
  readonly executions?: ReadonlyArray<number>
  /** In a simulation: the call that it undoes, where a `compensate` has done it. */
  readonly undoes?: { readonly tool: string; readonly callId: string }
}

export { ServiceFailed } from "./internal/faults/serviceFaults.ts"

/** What a tool does, or asks for. */
export interface Request {
  readonly tool: string
  readonly key?: string | undefined
  readonly details?: unknown
  readonly read?: true | undefined
}

/** The record of a run. */
export class SideEffects extends Context.Service<SideEffects, {
  /** Does something for a tool. With a `key` it is done once: `duplicate` says that it had been. */
  readonly perform: (effect: Request) => Effect.Effect<SideEffect>
  /**
   * The same as a request of a service, which may fail, hang, or lose its answer as the plan of the run says. So what an executor makes of
   * the failures of its own service is tested, too: its retries, and what it takes them for.
   */
  readonly request: (effect: Request) => Effect.Effect<SideEffect, ServiceFailed>
  readonly all: Effect.Effect<ReadonlyArray<SideEffect>>
}>()("@recourse/testing/SideEffects") {}

/**
 * An empty record.
 *
 * **Example** (The second e-mail is not sent)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { SideEffects } from "@recourse/testing"
 *
 * const program = Effect.gen(function*() {
 *   const world = yield* SideEffects.SideEffects
 *   yield* world.perform({ tool: "send", key: "k1" })
 *   yield* world.perform({ tool: "send", key: "k1" })
 *   return (yield* world.all).map((effect) => effect.duplicate)
 * })
 *
 * await Effect.runPromise(program.pipe(Effect.provide(SideEffects.layer))) // => [false, true]
 * ```
 */
export const layer: Layer.Layer<SideEffects> = Layer.sync(SideEffects, () => {
  const all: Array<SideEffect> = []
  const perform = ({ details, key, read, tool }: Request): Effect.Effect<SideEffect> =>
    Effect.map(CurrentWithin, (within) => {
      const duplicate = key !== undefined && all.some((effect) => effect.tool === tool && effect.key === key)
      const effect: SideEffect = {
        tool,
        key,
        duplicate,
        details,
        ...(read === true ? { read } : undefined),
        ...(within === undefined || within.executions.length === 0
          ? undefined
          : { executions: within.executions }),
        ...(within?.undoes === undefined ? undefined : { undoes: within.undoes })
      }
      all.push(effect)
      return effect
    })
  return {
    perform,
    request: (effect) => Effect.flatMap(CurrentRequests, (requests) => requests(effect.tool, perform(effect))),
    all: Effect.sync(() => [...all])
  }
})
