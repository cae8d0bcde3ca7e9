/**
 * Batched operations of a process's claims: one statement renews all leases that are due, and one reads all awaited
 * entries. Other requests of the process use a few connections only, so that no renewal queues behind them until its
 * lease has expired.
 */
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Request from "effect/Request"
import * as RequestResolver from "effect/RequestResolver"
import * as Semaphore from "effect/Semaphore"
import type { Found, Intent, LedgerError, Store } from "./ledgerStore.ts"

/** A store, and its operations for many entries at once. */
export interface Together {
  readonly store: Store
  readonly renew: (intent: Intent) => Effect.Effect<boolean, LedgerError>
  /** Reads an entry that is waited for. Left out: the store cannot read without recording. */
  readonly look: ((id: string) => Effect.Effect<Found | undefined, LedgerError>) | undefined
}

class Renewal extends Request.Class<{ readonly intent: Intent }, boolean, LedgerError> {}

class Look extends Request.Class<{ readonly id: string }, Found | undefined, LedgerError> {}

/** Answers all requests of a batch by one effect. */
const resolver = <R extends Request.Request<unknown, LedgerError>, A>(
  ask: (requests: ReadonlyArray<R>) => Effect.Effect<A, LedgerError>,
  answer: (all: A, request: R) => Request.Success<R>,
  options: { readonly delay: Duration.Input; readonly atMost: number }
): RequestResolver.RequestResolver<R> =>
  RequestResolver.make<R>((entries) =>
    Effect.map(Effect.exit(ask(entries.map(({ request }) => request))), (exit) => {
      for (const entry of entries) {
        entry.completeUnsafe(Exit.map(exit, (all) => answer(all, entry.request)) as never)
      }
    })
  ).pipe(RequestResolver.setDelay(options.delay), RequestResolver.batchN(options.atMost))

/** Number of concurrent operations of a kind in a process. */
const lanes = 4

/** Number of ids in one statement. */
const atMost = 200

/** Batches the operations of a store, if it supports that. */
export const together = (store: Store, lease: Duration.Duration): Together => {
  const { find, renewAll } = store
  if (renewAll === undefined || find === undefined) {
    return { store, renew: (intent) => store.renew(intent, lease), look: undefined }
  }
  const renewals = resolver<Renewal, ReadonlySet<string>>(
    (requests) => renewAll(requests.map(({ intent }) => intent), lease),
    (renewed, { intent }) => renewed.has(intent.claim),
    { delay: "10 millis", atMost }
  )
  const looking = Semaphore.makeUnsafe(1)
  const looks = resolver<Look, ReadonlyMap<string, Found>>(
    (requests) => looking.withPermits(1)(find(requests.map(({ id }) => id))),
    (all, { id }) => all.get(id),
    { delay: "50 millis", atMost }
  )
  const beginning = Semaphore.makeUnsafe(lanes).withPermits(1)
  const ending = Semaphore.makeUnsafe(lanes).withPermits(1)
  return {
    store: {
      ...store,
      begin: (intent, lease) => beginning(store.begin(intent, lease)),
      take: (from, intent, lease) => beginning(store.take(from, intent, lease)),
      complete: (intent, outcome, timeToLive) => ending(store.complete(intent, outcome, timeToLive)),
      release: (intent) => ending(store.release(intent))
    },
    renew: (intent) => Effect.request(new Renewal({ intent }), renewals),
    look: (id) => Effect.request(new Look({ id }), looks)
  }
}
