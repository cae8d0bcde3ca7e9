/** Faults of stores, around their operations: as a plan says, or as is drawn for one of them. */
import { Effect, Schema } from "effect"
import type * as FaultPlan from "../../FaultPlan.ts"
import type { Injector } from "./injector.ts"

/** An operation of a store, with its fault. `error` is the store's error. */
export type Operations = <A, E>(operation: Effect.Effect<A>, error: () => E) => Effect.Effect<A, E>

const faulty = <A, E>(
  type: FaultPlan.StoreFault["type"],
  operation: Effect.Effect<A>,
  error: () => E
): Effect.Effect<A, E> => {
  switch (type) {
    case "store_fails":
      return Effect.fail(error())
    case "store_answer_lost":
      return Effect.andThen(operation, Effect.fail(error()))
    case "store_does_twice":
      return Effect.andThen(operation, operation)
    case "store_hangs":
      return Effect.never
  }
}

const counterOf = (store: FaultPlan.Store): string => `store ${store}`

/** Number of operations of each store. */
export const operationsOf = ({ counted }: Injector): Readonly<Record<FaultPlan.Store, number>> => ({
  ledger: counted(counterOf("ledger")),
  resumptions: counted(counterOf("resumptions"))
})

/** The operations of the stores of a run, with the faults of a plan. */
export const injected = ({ log, next }: Injector) => (store: FaultPlan.Store): Operations => (operation, error) =>
  Effect.suspend(() => {
    const found = next(counterOf(store), (injection) => "store" in injection && injection.store === store)
    return found === undefined
      ? operation
      : Effect.andThen(log(found, { store }), faulty((found.fault as FaultPlan.StoreFault).type, operation, error))
  })

/** A fault that is drawn for one operation of a store: it fails; does it, and fails; does it twice; or does not answer. */
export const Drawn = Schema.Struct({
  store: Schema.Literals(["ledger", "resumptions"]),
  at: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 8 })),
  fault: Schema.Literals(["fails", "lost", "twice", "hangs"])
})

/** A fault that is drawn for one operation of a store. */
export type Drawn = typeof Drawn.Type

const typeOf = {
  fails: "store_fails",
  lost: "store_answer_lost",
  twice: "store_does_twice",
  hangs: "store_hangs"
} as const

/** The operations of stores, with random faults for some of them. */
export const drawn = (faults: ReadonlyArray<Drawn>) => (store: FaultPlan.Store): Operations => {
  let operations = 0
  return (operation, error) =>
    Effect.suspend(() => {
      const nth = ++operations
      const found = faults.find((fault) => fault.store === store && fault.at === nth)
      return found === undefined ? operation : faulty(typeOf[found.fault], operation, error)
    })
}
