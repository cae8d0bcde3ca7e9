/** A ledger on a store with few connections, in virtual time: many calls wait, and those that run keep their keys. */
import { assert, it } from "@effect/vitest"
import { Drive } from "@recourse/testing"
import { Clock, Duration, Effect, Exit, Layer, Schema, Semaphore } from "effect"
import { IdempotencyLedger, Tool, ToolCall } from "@recourse/core"

/** A store with a pool of four connections, on each of which a statement takes 20 milliseconds, whatever it names. */
const pooled = () => {
  const entries = new Map<string, IdempotencyLedger.Entry>()
  const pool = Semaphore.makeUnsafe(4)
  const statement = <A>(answer: (now: number) => A): Effect.Effect<A> =>
    pool.withPermits(1)(Effect.andThen(Effect.sleep("20 millis"), Effect.map(Clock.currentTimeMillis, answer)))
  const holds = (intent: IdempotencyLedger.Intent): IdempotencyLedger.Entry | undefined => {
    const entry = entries.get(intent.id)
    return entry?.claim === intent.claim && entry.outcome === undefined ? entry : undefined
  }
  const renewed = (intent: IdempotencyLedger.Intent, lease: Duration.Duration, now: number): boolean => {
    const entry = holds(intent)
    if (entry !== undefined) entries.set(intent.id, { ...entry, leasedUntil: now + Duration.toMillis(lease) })
    return entry !== undefined
  }
  const store: IdempotencyLedger.Store = {
    begin: (intent, lease) =>
      statement((now) => {
        const entry = entries.get(intent.id)
        if (entry !== undefined) return { entry, now }
        entries.set(intent.id, { ...intent, startedAt: now, leasedUntil: now + Duration.toMillis(lease) })
        return undefined
      }),
    renew: (intent, lease) => statement((now) => renewed(intent, lease, now)),
    renewAll: (intents, lease) =>
      statement((now) => new Set(intents.filter((intent) => renewed(intent, lease, now)).map(({ claim }) => claim))),
    find: (ids) =>
      statement((now) =>
        new Map(ids.flatMap((id) => {
          const entry = entries.get(id)
          return entry === undefined ? [] : [[id, { entry, now }] as const]
        }))
      ),
    take: (from, intent, lease) =>
      statement((now) => {
        const entry = entries.get(from.id)
        if (entry?.claim !== from.claim || entry.outcome !== undefined || entry.leasedUntil > now) return false
        entries.set(from.id, { ...entry, claim: intent.claim, leasedUntil: now + Duration.toMillis(lease) })
        return true
      }),
    complete: (intent, outcome) =>
      statement((now) => {
        const entry = entries.get(intent.id)
        if (entry !== undefined && entry.claim !== intent.claim) return "lost" as const
        entries.set(intent.id, { ...intent, startedAt: now, leasedUntil: now, outcome })
        return entry === undefined ? "restored" as const : "recorded" as const
      }),
    release: (intent) =>
      statement(() => {
        if (holds(intent) !== undefined) entries.delete(intent.id)
      })
  }
  return store
}

it.effect("no call loses its key because others wait for theirs", () =>
  Effect.gen(function*() {
    const store = pooled()
    const runs = new Map<string, number>()
    const pay = Tool.make("pay", {
      parameters: Schema.Struct({ order: Schema.String }),
      success: Schema.String,
      effects: "write",
      idempotency: { key: ({ order }) => order },
      execute: ({ order }) =>
        Effect.delay(
          Effect.sync(() => {
            runs.set(order, (runs.get(order) ?? 0) + 1)
            return order
          }),
          "10 seconds"
        )
    })
    const orders = Array.from({ length: 300 }, (_, n) => `order ${n}`)
    /** A process that makes all the payments at once. */
    const process = (name: string) =>
      Effect.forEach(orders, (order) =>
        Effect.exit(
          pay.call.pipe(
            Effect.provideService(ToolCall.ToolCall, ToolCall.make({ id: `${name} ${order}`, arguments: { order } }))
          )
        ), { concurrency: "unbounded" }).pipe(
          Effect.provide(Layer.fresh(IdempotencyLedger.layer(store, { lease: "2 seconds", waitFor: "5 minutes" })))
        )
    const all = yield* Drive.drive(
      Effect.all(["a", "b", "c"].map(process), { concurrency: "unbounded" }),
      { step: "20 millis" }
    )
    assert.deepStrictEqual(all.map((exits) => exits.filter(Exit.isSuccess).length), [300, 300, 300])
    assert.deepStrictEqual([...new Set(runs.values())], [1])
  }), 60_000)
