/** Surroundings of a program: failing stores, a deciding person, and listeners. */
import { Clock, Effect, Layer } from "effect"
import * as KeyValueStore from "effect/persistence/KeyValueStore"
import { Approval, IdempotencyLedger } from "@recourse/core"
import { Approver } from "../faults/approver.ts"
import { drawn } from "../faults/storeFaults.ts"
import { SharedStores } from "../faults/stores.ts"
import type { Program } from "./program.ts"

/**
 * A stored entry of the ledger.
 *
 * @category models
 * @since 0.2.0
 */
export interface Entry {
  readonly tool: string
  readonly callId: string
  readonly finished: boolean
}

const storeError = new KeyValueStore.KeyValueStoreError({ method: "drawn", message: "The store is not there" })

interface Ledger {
  readonly layer: Layer.Layer<IdempotencyLedger.IdempotencyLedger>
  readonly all: () => ReadonlyArray<Entry>
}

const entryOf = ({ callId, outcome, tool }: { callId: string; tool: string; outcome?: unknown }): Entry => ({
  callId,
  tool,
  finished: outcome !== undefined
})

/** A ledger over a store of texts, which can only be read and written. */
const textLedger = ({ store }: Program): Ledger => {
  const entries = new Map<string, string>()
  const operation = drawn(store)("ledger")
  const at = <A>(change: () => A) => operation(Effect.sync(change), () => storeError)
  const texts = KeyValueStore.makeStringOnly({
    get: (key: string) => at(() => entries.get(key)),
    set: (key: string, value: string) => at(() => void entries.set(key, value)),
    remove: (key: string) => at(() => void entries.delete(key)),
    clear: Effect.sync(() => entries.clear()),
    size: Effect.sync(() => entries.size)
  } as never)
  return {
    layer: Layer.provide(
      IdempotencyLedger.layerKeyValueStore(),
      Layer.succeed(KeyValueStore.KeyValueStore, texts)
    ),
    all: () => [...entries.values()].map((text) => entryOf(JSON.parse(text)))
  }
}

/** The stores of a program, which fail as it says. */
export const storesOf = (program: Program) => {
  const shared = new SharedStores()
  const ledger: Ledger = program.ledger === "texts"
    ? textLedger(program)
    : { layer: shared.layerLedger(drawn(program.store)), all: () => shared.all().map(entryOf) }
  return {
    all: ledger.all,
    unansweredClaims: () => shared.unansweredClaims,
    layer: Layer.merge(ledger.layer, shared.layerResumptions(drawn(program.store)))
  }
}

/** A person who decides as the program says, and approves after that. */
export const person = (program: Program, onWaited: (millis: number) => void) => {
  let nth = 0
  const sleep = (millis: number) =>
    Effect.flatMap(Clock.currentTimeMillis, (start) =>
      Effect.onExit(
        Effect.sleep(millis),
        () => Effect.map(Clock.currentTimeMillis, (end) => onWaited(end - start))
      ))
  return Layer.succeed(Approver, {
    decide: (pending) =>
      Effect.gen(function*() {
        const decisions: Array<Approval.Decision> = []
        for (const call of pending) {
          switch (program.decisions[nth++] ?? "approve") {
            case "later":
              break
            case "reject":
              decisions.push(Approval.reject(call, "no"))
              break
            case "edit":
              decisions.push(Approval.edit(call, { order: "edited" }))
              break
            case "late": {
              const now = yield* Clock.currentTimeMillis
              yield* sleep(Math.max(0, call.expiresAt + 1 - now))
              decisions.push(Approval.approve(call))
              break
            }
            default:
              decisions.push(Approval.approve(call))
          }
        }
        return decisions
      })
  })
}

export const observer = (program: Program): Effect.Effect<void> =>
  program.observers === "die"
    ? Effect.die(new Error("injected"))
    : program.observers === "hang"
    ? Effect.never
    : Effect.void
