/** Laws of stores of the idempotency ledger: for any calling process, no claim changes another one's entry. */
import { Duration, Effect } from "effect"
import type { IdempotencyLedger } from "@recourse/core"
import { same } from "./broken.ts"
import { entryOf, hour, intent, intents, lastsAnHour, type Law, over, paid } from "./ledgerEntries.ts"

const begins: Law = (store, id) =>
  Effect.gen(function*() {
    const [a, b] = intents(id)
    yield* same("a key without an entry", yield* store.begin(a, hour), undefined)
    const found = yield* store.begin(b, hour)
    yield* same("the entry", [found?.entry.claim, found?.entry.callId], ["a", "call of a"])
    const { entry, now } = found!
    yield* same("its outcome", entry.outcome, undefined)
    yield* lastsAnHour("its lease", entry.startedAt, entry.leasedUntil)
    yield* same("the clock behind its start", now >= entry.startedAt, true)
    yield* same("the entry after a second begin", yield* entryOf(store, id), entry)
  })

const takesAfterLease: Law = (store, id) =>
  Effect.gen(function*() {
    const [a, b, c] = intents(id)
    yield* store.begin(a, hour)
    const first = yield* entryOf(store, id)
    yield* same("take within the lease", yield* store.take(first, b, hour), false)
    yield* same("the entry", yield* entryOf(store, id), first)
    yield* same("renew by its claim", yield* store.renew(a, over), true)
    yield* same("take after the lease", yield* store.take(first, b, over), true)
    const second = yield* entryOf(store, id)
    yield* same("the taken entry", [second.claim, second.callId, second.startedAt], ["b", "call of a", first.startedAt])
    yield* same("take from its former claim", yield* store.take(first, c, hour), false)
    yield* same("take of the taken entry", yield* store.take({ ...first, claim: "b" }, c, hour), true)
    const third = yield* entryOf(store, id)
    yield* same("its lease", third.leasedUntil >= first.startedAt + Duration.toMillis(hour), true)
    yield* same("take within the new lease", yield* store.take(third, a, hour), false)
  })

const takesOnce: Law = (store, id) =>
  Effect.gen(function*() {
    const [a, b, c] = intents(id)
    yield* store.begin(a, over)
    const seen = yield* entryOf(store, id)
    const taken = yield* Effect.all([store.take(seen, b, hour), store.take(seen, c, hour)], { concurrency: 2 })
    yield* same("takers of one entry", taken.filter((isTaken) => isTaken).length, 1)
    yield* same("its claim", (yield* entryOf(store, id)).claim, taken[0] ? "b" : "c")
  })

const beginsOnce: Law = (store, id) =>
  Effect.gen(function*() {
    const claimed = yield* Effect.all(
      Array.from({ length: 8 }, (_, index) => store.begin(intent(id, `claim ${index}`), hour)),
      { concurrency: "unbounded" }
    )
    yield* same("claims without an earlier entry", claimed.filter((found) => found === undefined).length, 1)
  })

const keepsFinished: Law = (store, id) =>
  Effect.gen(function*() {
    const [a, b] = intents(id)
    yield* store.begin(a, over)
    const seen = yield* entryOf(store, id)
    yield* same("complete", yield* store.complete(a, paid, hour), "recorded")
    for (const taker of [b, a]) yield* same("take of a finished entry", yield* store.take(seen, taker, hour), false)
    const finished = yield* entryOf(store, id)
    yield* same("the entry", [finished.claim, finished.outcome], ["a", paid])
    yield* same("renew of a finished entry", yield* store.renew(a, over), false)
    yield* store.release(a)
    yield* same("the entry after a release", yield* entryOf(store, id), finished)
  })

const renewsForClaim: Law = (store, id) =>
  Effect.gen(function*() {
    const [a, b] = intents(id)
    yield* store.begin(a, over)
    yield* same("renew by another claim", yield* store.renew(b, hour), false)
    const { leasedUntil } = yield* entryOf(store, id)
    yield* same("renew by its claim", yield* store.renew({ ...a, callId: "second" }, hour), true)
    const renewed = yield* entryOf(store, id)
    yield* same("the longer lease", renewed.leasedUntil >= leasedUntil + Duration.toMillis(hour), true)
    yield* same("the call", renewed.callId, "second")
    yield* same("renew without an entry", yield* store.renew({ ...a, id: `${id}0` }, hour), false)
  })

const recordsForClaim: Law = (store, id) =>
  Effect.gen(function*() {
    const [a, b] = intents(id)
    const other: IdempotencyLedger.Outcome = { _tag: "Result", value: "other" }
    yield* store.begin(a, hour)
    yield* same("complete by another claim", yield* store.complete(b, other, hour), "lost")
    yield* same("the outcome", (yield* entryOf(store, id)).outcome, undefined)
    yield* same("complete by its claim", yield* store.complete(a, paid, hour), "recorded")
    yield* same("complete by another claim", yield* store.complete(b, other, hour), "lost")
    const { claim, expiresAt = 0, outcome, startedAt } = yield* entryOf(store, id)
    yield* same("the entry", [claim, outcome], ["a", paid])
    yield* same("its time to live", expiresAt >= startedAt + Duration.toMillis(hour), true)
  })

const restores: Law = (store, id) =>
  Effect.gen(function*() {
    const [a] = intents(id)
    const short = { ...a, id: `${id}1` }
    yield* same("complete without an entry", yield* store.complete(short, paid, hour), "restored")
    const { expiresAt, startedAt } = yield* entryOf(store, short.id)
    yield* lastsAnHour("its time to live", startedAt, expiresAt ?? 0)
    yield* same("complete for ever", yield* store.complete(a, paid, Duration.infinity), "restored")
    const entry = yield* entryOf(store, id)
    yield* same("the entry", [entry.claim, entry.callId, entry.outcome], ["a", "call of a", paid])
    yield* same("its end", entry.expiresAt, undefined)
    yield* same("its lease", Math.abs(entry.leasedUntil - entry.startedAt) <= 1000, true)
  })

const keepsOutcomes: Law = (store, id) =>
  Effect.gen(function*() {
    const marks = { taintedBy: ["fetch"], degraded: [{ source: "cache", asOf: "2026-01-01T00:00:00.000Z" }] }
    const outcomes: ReadonlyArray<IdempotencyLedger.Outcome> = [
      { ...paid, marks },
      { _tag: "PartialSuccess", succeeded: [1], failed: [{ item: "é", code: "x", reason: "\"" }], marks },
      { _tag: "Pending", taskId: "t", marks: { taintedBy: ["fetch"] } },
      { _tag: "Result", value: "é\u2028 🙂".repeat(1000) },
      paid
    ]
    for (const [index, outcome] of outcomes.entries()) {
      const one = intent(`${id}${index}`, "a")
      yield* store.begin(one, hour)
      yield* same("complete", yield* store.complete(one, outcome, hour), "recorded")
      yield* same("the outcome", (yield* entryOf(store, one.id)).outcome, outcome)
    }
  })

const keepsIntents: Law = (store, id) =>
  Effect.gen(function*() {
    const [a, b] = intents(id)
    const wide = { ...a, tool: "pay ".repeat(100) }
    const refusal = yield* Effect.matchEffect(store.begin(wide, over), {
      onFailure: Effect.succeed,
      onSuccess: () => Effect.undefined
    })
    const found = yield* store.begin(b, over)
    if (refusal === undefined) yield* same("the tool of the entry", found?.entry.tool, wide.tool)
    else {yield* same("a refused intent", [refusal.operation, refusal.isTransient, found], [
        "begin",
        undefined,
        undefined
      ])}
  })

const releases: Law = (store, id) =>
  Effect.gen(function*() {
    const [a, b] = intents(id)
    yield* store.release(a)
    const none = { ...a, startedAt: 0, leasedUntil: 0 }
    yield* same("take without an entry", yield* store.take(none, b, hour), false)
    yield* store.begin(a, hour)
    yield* store.release(b)
    yield* same("its claim after another's release", (yield* entryOf(store, id)).claim, "a")
    yield* store.release(a)
    yield* same("begin after its own release", yield* store.begin(b, hour), undefined)
  })

const expires: Law = (store, id) =>
  Effect.gen(function*() {
    const open = intent(`${id}2`, "a")
    const [short, long] = [intent(`${id}1`, "a"), intent(`${id}3`, "a")]
    yield* store.begin(open, over)
    for (const one of [short, long]) {
      yield* store.begin(one, hour)
      yield* store.complete(one, paid, one === short ? over : hour)
    }
    yield* Effect.sleep("5 millis")
    if (store.purge !== undefined) yield* same("purged entries", (yield* store.purge) >= 1, true)
    yield* same("begin after the end of a result", yield* store.begin({ ...short, claim: "b" }, hour), undefined)
    const { claim, outcome } = yield* entryOf(store, short.id)
    yield* same("the new entry", [claim, outcome], ["b", undefined])
    yield* same("an entry without an outcome", (yield* entryOf(store, open.id)).claim, "a")
    yield* same("a result that lasts", (yield* entryOf(store, long.id)).outcome, paid)
    // The ledger forgets a compensated write by a second outcome.
    const other: IdempotencyLedger.Outcome = { _tag: "Result", value: "other" }
    yield* same("a second outcome", yield* store.complete(long, other, hour), "recorded")
    yield* same("the outcome of the entry", (yield* entryOf(store, long.id)).outcome, other)
    yield* store.complete(long, other, over)
    yield* Effect.sleep("5 millis")
    yield* same("begin after the end of the second", yield* store.begin({ ...long, claim: "b" }, hour), undefined)
  })

/** The laws of each store, by name. */
export const ledgerLaws = {
  entries_are_answered: begins,
  keys_begin_once: beginsOnce,
  leases_protect_entries: takesAfterLease,
  entries_are_taken_once: takesOnce,
  finished_entries_stay: keepsFinished,
  claims_renew_their_own: renewsForClaim,
  claims_record_their_own: recordsForClaim,
  lost_entries_are_restored: restores,
  outcomes_are_read_back: keepsOutcomes,
  intents_are_whole: keepsIntents,
  claims_release_their_own: releases,
  results_expire: expires
} as const satisfies Readonly<Record<string, Law>>
