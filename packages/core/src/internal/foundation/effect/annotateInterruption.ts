/** Annotations of a fiber's interruption: they reach its exit also if the fiber has to wait for its children after the interrupted effect has ended. */
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"

/**
 * Returns whether a fiber was interrupted, also while it runs an uninterruptible effect. The field has no public name.
 */
export const isInterrupted = (fiber: Fiber.Fiber<unknown, unknown>): boolean =>
  (fiber as { readonly _interruptedCause?: unknown })._interruptedCause !== undefined

/**
 * Annotates the interruption of the fiber that runs the effect; has no effect in a fiber that was not interrupted.
 * Effect ends an interrupted fiber with the cause that the fiber has, and drops the cause of the effect, once the fiber
 * has waited for a child.
 */
export const annotateInterruption = (annotations: Context.Context<never>): Effect.Effect<void> =>
  Effect.withFiber((fiber) => {
    if (isInterrupted(fiber)) fiber.interruptUnsafe(undefined, annotations)
    return Effect.void
  })
