/** Shared services: builds the layer of an agent for its runs, and keeps the state in it from run to run. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import { type Entries, programServices, SharedLayers } from "./sharedLayers.ts"

/** Returns how an agent builds a layer. No service of a run is visible while it is built, so that none is shared with another run. */
export const sharedServices = <ROut, E, RIn>(layer: Layer.Layer<ROut, E, RIn>) => {
  const entries: Entries = new Map()
  return (scope: Scope.Scope): Effect.Effect<Context.Context<ROut>, E, RIn> =>
    Effect.contextWith((context: Context.Context<never>) => {
      const layers = new SharedLayers(entries, Context.getOrUndefined(context, Layer.CurrentMemoMap))
      return Effect.updateContext(
        Layer.buildWithMemoMap(layer, layers, scope),
        () => Context.makeUnsafe<RIn>(programServices(context))
      )
    })
}
