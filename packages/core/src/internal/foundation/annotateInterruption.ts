/** Annotations of a fiber's interruption: they reach its exit also if the fiber has to wait for its children after the interrupted effect has ended. */
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"

/**
 * Annotates the interruption of the fiber that runs the effect; does nothing in a fiber that was not interrupted. Effect ends an interrupted fiber
 * with the cause that the fiber holds, and forgets the cause of the effect, once the fiber has waited for a child. The field has no public name.
 */
export const annotateInterruption = (annotations: Context.Context<never>): Effect.Effect<void> =>
  Effect.withFiber((fiber) => {
    const { _interruptedCause } = fiber as { readonly _interruptedCause?: unknown }
    if (_interruptedCause !== undefined) fiber.interruptUnsafe(undefined, annotations)
    return Effect.void
  })
