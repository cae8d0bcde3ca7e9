/**
 * Certificates for stores: of durable runs, and of the idempotency ledger. A store of your own, for another database or
 * service, is proved by the laws that those of Recourse keep.
 */
import { type IdempotencyLedger, OptionCheck } from "@recourse/core"
import * as RunStore from "@recourse/durable/RunStore"
import { Effect, type Layer, Random } from "effect"
import { type Differs, NotCertified } from "./internal/certify/broken.ts"
import * as Executions from "./internal/certify/executions.ts"
import { HostOperations } from "./internal/certify/hostOperations.ts"
import { ledgerLaws } from "./internal/certify/ledgerLaws.ts"
import { listLaws } from "./internal/certify/listLaws.ts"
import { logLaws } from "./internal/certify/logLaws.ts"
import { optionalLaws, remoteLaws } from "./internal/certify/optionalLedgerLaws.ts"
import { takeLaws } from "./internal/certify/takeLaws.ts"

export { NotCertified } from "./internal/certify/broken.ts"

/**
 * Amount of the checks.
 *
 * @category options
 * @since 0.2.0
 */
export interface Options {
  /** Number of random sequences of operations. Default: 30. */
  readonly runs?: number | undefined
  /** Number of operations of each. Default: 40. */
  readonly operations?: number | undefined
  /** At how many of its operations an owner is disturbed, from the first on. Default: all. */
  readonly disturbances?: number | undefined
  /** Seed of the random numbers. Default: 1. */
  readonly seed?: number | undefined
}

/**
 * Checks without a broken law.
 *
 * @category models
 * @since 0.2.0
 */
export interface Certificate {
  readonly laws: ReadonlyArray<string>
  /** Number of checks of each law. */
  readonly tried: Readonly<Record<string, number>>
}

interface Trying {
  readonly store: RunStore.Store
  readonly seed: number
  readonly tried: Record<string, number>
  /** A name for an agent or a run, which no store has. */
  readonly name: () => string
}

const tryLaw = <A>(
  { seed, tried }: Pick<Trying, "seed" | "tried">,
  law: string,
  effect: Effect.Effect<A, Differs | RunStore.RunStoreError | IdempotencyLedger.LedgerError>,
  operations: () => ReadonlyArray<string> = () => []
): Effect.Effect<A, NotCertified> =>
  Effect.mapError(
    Effect.tap(effect, () => Effect.sync(() => tried[law] = (tried[law] ?? 0) + 1)),
    (error) =>
      new NotCertified({
        law,
        problem: error._tag === "Differs" ? error.problem : `${error.message}: ${String(error.reason)}`,
        operations: operations(),
        seed
      })
  )

/** Number of disturbed runs at a time: each waits for a lease to expire more than it computes. */
const concurrency = 8

/** Tries a law at each operation of an owner, until it has no more of them. */
const atEach = (
  trying: Trying,
  law: string,
  most: number,
  one: typeof Executions.ownerChanges
): Effect.Effect<void, NotCertified> =>
  Effect.suspend(() => {
    let hasMore = true
    const tryAt = (at: number, isBehind: boolean) =>
      Effect.suspend(() => {
        if (!hasMore) return Effect.void
        const operations = () => [`disturbed ${isBehind ? "behind" : "before"} operation ${at}`]
        return Effect.map(
          tryLaw(trying, law, one(trying.store, trying.name(), at, isBehind), operations),
          (isReached) => {
            hasMore &&= isReached
          }
        )
      })
    const operations = Array.from({ length: most }, (_, index) => index + 1)
    return Effect.forEach(
      operations.flatMap((at) => [[at, false], [at, true]] as const),
      ([at, isBehind]) => tryAt(at, isBehind),
      { concurrency, discard: true }
    )
  })

const kinds: Readonly<Record<keyof Options, OptionCheck.Kind>> = {
  runs: OptionCheck.aCount,
  operations: OptionCheck.aPositiveCount,
  disturbances: OptionCheck.aCap,
  seed: OptionCheck.aNumber
}

const certify = <E, R>(
  layer: Layer.Layer<RunStore.RunStore, E, R>,
  options: Options | undefined,
  laws: (trying: Trying) => Effect.Effect<void, NotCertified>
): Effect.Effect<Certificate, NotCertified | E, R> =>
  Effect.gen(function*() {
    OptionCheck.checkOptions("Certify", options ?? {}, { kinds, otherNames: {} })
    const store = yield* RunStore.RunStore
    const seed = options?.seed ?? 1
    // Not random by seed: a store may contain an earlier check's rows.
    const unique = globalThis.crypto.randomUUID().slice(0, 8)
    let names = 0
    const trying: Trying = { store, seed, tried: {}, name: () => `certify ${unique} ${++names}` }
    yield* laws(trying)
    return { laws: Object.keys(trying.tried), tried: trying.tried }
  }).pipe(Effect.provide(layer))

/**
 * Checks a host: the ownership of runs, queues, versions, reminders and lists. Random operations are compared with a reference model. Runs are also executed
 * in these situations: their owner changes at each of its operations while both processes live; the host fails; without
 * wake-ups; among processes of other versions; with cancellations. The store may contain other runs, which do not
 * change. It takes some 6 seconds over SQLite.
 *
 * **Example** (The host in memory)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { RunStore } from "@recourse/durable"
 * import * as Certify from "@recourse/testing/Certify"
 *
 * const program = Certify.host(RunStore.layerMemory, { runs: 2, disturbances: 1 })
 *
 * const { laws } = await Effect.runPromise(program)
 * laws.includes("owner_may_change") // => true
 * ```
 *
 * @category running
 * @since 0.2.0
 */
export const host = <E, R>(
  layer: Layer.Layer<RunStore.RunStore, E, R>,
  options?: Options
): Effect.Effect<Certificate, NotCertified | E, R> =>
  certify(layer, options, (trying) =>
    Effect.gen(function*() {
      const { store } = trying
      const { disturbances = 100, operations = 40, runs = 30 } = options ?? {}
      for (let run = 0; run < runs; run++) {
        const drawn = new HostOperations(store, trying.name())
        const all = Effect.forEach(Array.from({ length: operations }), () => drawn.next, { discard: true })
        yield* tryLaw(
          trying,
          "operations_keep_the_table",
          Random.withSeed(all, `${trying.seed} ${run}`),
          () => drawn.done
        )
      }
      yield* tryLaw(trying, "lost_wake_ups_are_found", Executions.wakeUpsAreLost(store, trying.name()))
      yield* tryLaw(trying, "others_leave_a_run_alone", Executions.mixedFleet(store, trying.name()))
      for (const [name, law] of Object.entries({ ...takeLaws, ...listLaws })) {
        yield* tryLaw(trying, name, law(store, trying.name()))
      }
      for (const isDeaf of [false, true]) {
        yield* tryLaw(trying, "cancelled_runs_end", Executions.cancelsAreHeard(store, trying.name(), isDeaf))
      }
      yield* atEach(trying, "owner_may_change", disturbances, Executions.ownerChanges)
      yield* atEach(trying, "host_may_fail", disturbances, Executions.hostFails)
    }))

/**
 * Checks a log: steps are read back as they were recorded, once, in order, and only from the owner of their run; so are events, signals and messages.
 *
 * **Example** (The log in memory)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { RunStore } from "@recourse/durable"
 * import * as Certify from "@recourse/testing/Certify"
 *
 * const { laws } = await Effect.runPromise(Certify.runLog(RunStore.layerMemory))
 * laws[0] // => "log_is_read_back"
 * ```
 *
 * @category running
 * @since 0.2.0
 */
export const runLog = <E, R>(
  layer: Layer.Layer<RunStore.RunStore, E, R>,
  options?: Pick<Options, "seed">
): Effect.Effect<Certificate, NotCertified | E, R> =>
  certify(
    layer,
    options,
    (trying) =>
      Effect.forEach(Object.entries(logLaws), ([name, law]) => tryLaw(trying, name, law(trying.store, trying.name())), {
        discard: true
      })
  )

/**
 * Options of the check of a ledger's store.
 *
 * @category options
 * @since 0.2.0
 */
export interface LedgerOptions {
  /**
   * True if an answer of the store may be lost on its way: a repeated operation has its answer again. Default: true.
   * `false` for a store within the process.
   */
  readonly isRemote?: boolean | undefined
}

/**
 * Checks a store of the idempotency ledger: a key begins once, a lease protects its entry, and no claim changes another
 * one's entry. Optional operations are checked if the store has them. The store may contain other entries, of which
 * `purge` deletes those that have expired. It needs the live clock, and takes less than a second in memory.
 *
 * **Example** (A store that forgets to protect entries)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { type IdempotencyLedger } from "@recourse/core"
 * import * as Certify from "@recourse/testing/Certify"
 *
 * const careless: IdempotencyLedger.Store = {
 *   begin: () => Effect.undefined,
 *   renew: () => Effect.succeed(true),
 *   take: () => Effect.succeed(true),
 *   complete: () => Effect.succeed("recorded"),
 *   release: () => Effect.void
 * }
 *
 * const { law } = await Effect.runPromise(Effect.flip(Certify.ledger(careless)))
 * law // => "entries_are_answered"
 * ```
 *
 * @category running
 * @since 0.2.0
 */
export const ledger = (
  store: IdempotencyLedger.Store,
  options?: LedgerOptions
): Effect.Effect<Certificate, NotCertified> =>
  Effect.suspend(() => {
    OptionCheck.checkOptions("Certify.ledger", options ?? {}, {
      kinds: { isRemote: OptionCheck.aBoolean },
      otherNames: {}
    })
    const trying = { seed: 1, tried: {} as Record<string, number> }
    const laws = { ...ledgerLaws, ...optionalLaws, ...(options?.isRemote === false ? undefined : remoteLaws) }
    // Not random by seed: a store may contain an earlier check's entries. Ids are hexadecimal like those of the ledger.
    const id = () => globalThis.crypto.randomUUID().replaceAll("-", "")
    return Effect.map(
      Effect.forEach(Object.entries(laws), ([name, law]) => tryLaw(trying, name, law(store, id())), { discard: true }),
      () => ({ laws: Object.keys(trying.tried), tried: trying.tried })
    )
  })
