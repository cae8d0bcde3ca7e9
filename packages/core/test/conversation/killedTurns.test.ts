/** A turn of a chat whose process dies: the next turn reads its calls, after a death at any step. */
import { assert, describe, it } from "@effect/vitest"
import { Conversation } from "@recourse/core"
import { Effect, Layer } from "effect"
import { KeyValueStore } from "effect/persistence"
import { TestClock } from "effect/testing"
import { agents, killedTurn } from "../support/killedTurns.ts"

const stores = {
  "in memory": Conversation.layerMemory,
  "in a key/value store": Conversation.layerKeyValueStore().pipe(Layer.provide(KeyValueStore.layerMemory))
}

for (const [store, layer] of Object.entries(stores)) {
  describe(`a killed turn ${store}`, () => {
    it.effect.each(Object.entries(agents))(
      "tells the next turn of a write by %s",
      ([, agentOf]) =>
        Effect.gen(function*() {
          let steps = 0
          while (yield* killedTurn(agentOf as never, steps, TestClock.adjust("3 seconds"))) steps++
          // Create, start, read, and one append each for message, start and end, in pairs; the executor; the end of the turn.
          assert.isAbove(steps, 10)
        }).pipe(Effect.provide(Layer.fresh(layer)))
    )
  })
}
