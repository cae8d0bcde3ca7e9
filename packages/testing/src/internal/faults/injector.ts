/** Fault injector: the faults of one plan, the progress of each, and the log. */
import { Effect } from "effect"
import * as FaultPlan from "../../FaultPlan.ts"

/**
 * A fault that was injected.
 *
 * @category models
 * @since 0.2.0
 */
export interface Injected {
  /** When, in milliseconds since the epoch by Effect's `Clock`. */
  readonly at: number
  /** Index among the plan's injections. */
  readonly index: number
  /** The tool, if it is a fault of a tool, of its callbacks, or of an approval. */
  readonly tool: string | undefined
  /** The store, if it is a fault of a store. */
  readonly store: FaultPlan.Store | undefined
  /** The callback, if it is a fault of one. */
  readonly callback: FaultPlan.Callback | undefined
  readonly type: FaultPlan.Injection["fault"]["type"]
  /**
   * Number of the execution of the tool, call of the model, question about the tool, or operation of the store; 1 is
   * the first.
   */
  readonly n: number
  /** The call of the tool, if there is one. */
  readonly callId: string | undefined
  /** The attempt of that call, if there was one: arguments are spoilt before any. */
  readonly attempt: number | undefined
  /** True if the fault had an effect: an answer without any text cannot contain a prompt injection, for example. */
  readonly applied: boolean
}

/** Place of a fault, in its displayed form. */
export const placeOf = ({ callback, store, tool }: Pick<Injected, "callback" | "store" | "tool">): string =>
  callback === undefined ? tool ?? store ?? "model" : FaultPlan.callbackName(callback, tool)

/** A fault that is to happen. */
export interface Found {
  readonly index: number
  readonly n: number
  readonly fault: FaultPlan.Injection["fault"]
}

export interface Injector {
  /** Counts one more of a counter, and returns the fault that it is to have. */
  readonly next: (counter: string, applies: (injection: FaultPlan.Injection) => boolean) => Found | undefined
  /** Returns a count. */
  readonly counted: (counter: string) => number
  /** All that was counted. */
  readonly counts: () => ReadonlyMap<string, number>
  readonly log: (
    found: Found,
    where: {
      readonly tool?: string
      readonly store?: FaultPlan.Store
      readonly callback?: FaultPlan.Callback
      readonly callId?: string
      readonly attempt?: number
    },
    applied?: boolean
  ) => Effect.Effect<void>
  readonly injected: Effect.Effect<ReadonlyArray<Injected>>
}

export const make = (plan: FaultPlan.FaultPlan): Injector => {
  const injected: Array<Injected> = []
  const counts = new Map<string, number>()
  return {
    next: (counter, applies) => {
      const n = (counts.get(counter) ?? 0) + 1
      counts.set(counter, n)
      const index = plan.injections.findIndex((injection, index) =>
        applies(injection) && FaultPlan.happens(plan, index, n)
      )
      return index < 0 ? undefined : { index, n, fault: plan.injections[index]!.fault }
    },
    counted: (counter) => counts.get(counter) ?? 0,
    counts: () => counts,
    log: ({ fault: { type }, index, n }, { attempt, callId, callback, store, tool }, applied = true) =>
      Effect.clockWith((clock) =>
        Effect.sync(() => {
          const at = clock.currentTimeMillisUnsafe()
          injected.push({ at, index, n, type, tool, store, callback, callId, attempt, applied })
        })
      ),
    injected: Effect.sync(() => [...injected])
  }
}
