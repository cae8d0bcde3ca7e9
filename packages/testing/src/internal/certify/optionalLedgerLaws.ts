/** Laws of the optional operations of ledger stores, and of answers that are lost. A store without an operation keeps its law. */
import { Duration, Effect } from "effect"
import { same } from "./broken.ts"
import { entryOf, hour, intent, intents, type Law, over, paid } from "./ledgerEntries.ts"

const reopens: Law = (store, id) =>
  Effect.gen(function*() {
    const { reopen } = store
    if (reopen === undefined) return
    const [a, b] = intents(id)
    yield* store.begin(a, hour)
    yield* store.complete(a, paid, hour)
    yield* reopen(b, hour)
    yield* same("the outcome after another's reopen", (yield* entryOf(store, id)).outcome, paid)
    yield* reopen(a, hour)
    const reopened = yield* entryOf(store, id)
    yield* same("the reopened entry", [reopened.claim, reopened.outcome], ["a", undefined])
    yield* same("take within its lease", yield* store.take(reopened, b, hour), false)
    const short = { ...a, id: `${id}1` }
    yield* store.begin(short, hour)
    yield* store.complete(short, paid, Duration.millis(20))
    yield* reopen(short, over)
    yield* Effect.sleep("30 millis")
    const left = yield* entryOf(store, short.id)
    yield* same("a reopened entry behind its time to live", [left.claim, left.outcome], ["a", undefined])
    yield* same("take after its lease", yield* store.take(left, { ...b, id: short.id }, hour), true)
  })

const renewsMany: Law = (store, id) =>
  Effect.gen(function*() {
    const { find, renewAll } = store
    if (renewAll === undefined || find === undefined) return
    const one = (claim: string, index: number) => intent(`${id}${index}`, claim)
    const [own, taken, done, none] = [one("own", 1), one("taken", 2), one("done", 3), one("none", 4)]
    const expired = one("expired", 5)
    const ids = [own, taken, done, none, expired].map((each) => each.id)
    for (const each of [own, { ...taken, claim: "other" }, done]) yield* store.begin(each, over)
    yield* store.complete(done, paid, hour)
    yield* store.begin(expired, hour)
    yield* store.complete(expired, paid, over)
    yield* Effect.sleep("5 millis")
    const before = yield* find(ids)
    yield* same("found entries", [...before.keys()].toSorted(), [own.id, taken.id, done.id].toSorted())
    yield* same("a found outcome", before.get(done.id)?.entry.outcome, paid)
    const renewed = yield* renewAll([{ ...own, callId: "second" }, taken, done, none], hour)
    yield* same("renewed claims", [...renewed], ["own"])
    const after = yield* find(ids)
    const lease = (found: typeof after) => found.get(own.id)?.entry.leasedUntil ?? 0
    yield* same("the longer lease", lease(after) > lease(before), true)
    yield* same("the call of a renewed entry", after.get(own.id)?.entry.callId, own.callId)
    for (const { id } of [taken, done]) yield* same("others", after.get(id)?.entry, before.get(id)?.entry)
  })

const listsAbandoned: Law = (store, id) =>
  Effect.gen(function*() {
    const { abandoned } = store
    if (abandoned === undefined) return
    const names = ["1", "2", "3", "4"].map((name) => `${id}${name}`)
    for (const [index, name] of names.entries()) {
      yield* store.begin(intent(name, "a"), index === 1 ? hour : over)
      yield* Effect.sleep("5 millis")
    }
    yield* store.complete(intent(names[2]!, "a"), paid, hour)
    const found = (yield* abandoned(10_000)).map((entry) => entry.id).filter((name) => names.includes(name))
    yield* same("abandoned entries, the newest first", found, [names[3], names[0]])
    yield* same("entries within a limit", (yield* abandoned(1)).length, 1)
  })

const repeatsAnswers: Law = (store, id) =>
  Effect.gen(function*() {
    const [a, b, c] = intents(id)
    yield* store.begin(a, over)
    const found = yield* store.begin(a, over)
    yield* same("the claim of a repeated begin", found?.entry.claim, "a")
    const { entry } = found!
    for (const time of ["first", "second"]) {
      yield* same(`${time} take`, yield* store.take(entry, b, hour), true)
    }
    yield* same("take by a third claim", yield* store.take(entry, c, hour), false)
    for (const time of ["first", "second"]) yield* same(`${time} renew`, yield* store.renew(b, hour), true)
    for (const time of ["first", "second"]) {
      yield* same(`${time} complete`, yield* store.complete(b, paid, hour), "recorded")
    }
    const released = { ...a, id: `${id}4` }
    yield* store.begin(released, hour)
    for (let times = 0; times < 2; times++) yield* store.release(released)
    yield* same("begin after two releases", yield* store.begin({ ...b, id: released.id }, hour), undefined)
  })

/** The laws of optional operations, by name. */
export const optionalLaws = {
  claims_reopen_their_own: reopens,
  many_are_renewed_as_one: renewsMany,
  abandoned_entries_are_listed: listsAbandoned
} as const satisfies Readonly<Record<string, Law>>

/** The law of a store whose answers may be lost on their way. */
export const remoteLaws = { answers_are_repeated: repeatsAnswers } as const satisfies Readonly<Record<string, Law>>
