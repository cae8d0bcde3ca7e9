/**
 * Side effects: a record of tools' external effects in a run. The doubles of services in a test write it.
 *
 * It counts real effects, regardless of reports: two recorded e-mails are two e-mails.
 */
import { Context, Effect, Layer } from "effect"
import { CurrentRequests, type ServiceFailed } from "./internal/faults/serviceFaults.ts"
import { CurrentWithin } from "./internal/simulation/within.ts"

/**
 * Something that a tool did, or asked for again with the key of something that was done already.
 *
 * @category models
 * @since 0.2.0
 */
export interface SideEffect {
  /** The tool that did it. */
  readonly tool: string
  /** The idempotency key it was asked for with, if any. */
  readonly key: string | undefined
  /** True if the key was known, so that it had no effect. */
  readonly duplicate: boolean
  /** Any description of the effect: two calls with the same effect have the same details. */
  readonly details: unknown
  /** Set for a read: the service received a request, which may be repeated. */
  readonly read?: true
  /**
   * In a simulation: the surrounding executions of tools, the outermost first, by their indexes in
   * `Observation.executions`.
   */
  readonly executions?: ReadonlyArray<number>
  /** In a simulation: the compensated call, if a `compensate` has done it. */
  readonly compensates?: { readonly tool: string; readonly callId: string }
}

export { ServiceFailed } from "./internal/faults/serviceFaults.ts"

/**
 * A tool's effect, or its request.
 *
 * @category models
 * @since 0.2.0
 */
export interface Request {
  readonly tool: string
  readonly key?: string | undefined
  readonly details?: unknown
  readonly read?: true | undefined
}

/**
 * The record of a run.
 *
 * @category services
 * @since 0.2.0
 */
export class SideEffects extends Context.Service<SideEffects, {
  /** Does something for a tool. With a `key` it is done once: `duplicate` says that it had been. */
  readonly perform: (effect: Request) => Effect.Effect<SideEffect>
  /**
   * The same for a request to a service, which may fail, hang, or lose its answer by the plan of the run. So an
   * executor's handling of its own service's failures is tested too: its retries, and its classification.
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
 *
 * @category layers
 * @since 0.2.0
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
        ...(within?.compensates === undefined ? undefined : { compensates: within.compensates })
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
