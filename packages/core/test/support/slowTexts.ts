/** A ledger over a store of texts, each operation of which takes some turns of the fibers, or some time. */
import { Effect, Layer } from "effect"
import { KeyValueStore } from "effect/persistence"
import { IdempotencyLedger } from "@recourse/core"
import { random } from "./kit.ts"

export const slowTexts = (seed: number) => {
  const next = random(seed)
  const kept = new Map<string, string>()
  const turns: Effect.Effect<void> = Effect.suspend(() => {
    const drawn = next()
    return drawn < 0.4 ? Effect.void : Effect.andThen(drawn < 0.9 ? Effect.yieldNow : Effect.sleep(drawn * 300), turns)
  })
  const slowly = <A>(operation: () => A) => Effect.andThen(turns, Effect.sync(operation))
  const store = KeyValueStore.makeStringOnly({
    get: (key: string) => slowly(() => kept.get(key)),
    set: (key: string, text: string) => slowly(() => void kept.set(key, text)),
    remove: (key: string) => slowly(() => void kept.delete(key)),
    clear: Effect.sync(() => kept.clear()),
    size: Effect.sync(() => kept.size)
  } as never)
  return {
    entries: () => [...kept.values()].map((text) => JSON.parse(text) as IdempotencyLedger.Entry),
    layer: Layer.provide(
      IdempotencyLedger.layerKeyValueStore(),
      Layer.succeed(KeyValueStore.KeyValueStore, store)
    )
  }
}
