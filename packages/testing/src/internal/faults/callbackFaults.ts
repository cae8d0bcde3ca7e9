/** Faults of callbacks: around `compensate` and `reconcile` of tools, and around the audit. */
import { Effect } from "effect"
import type { Audit, ToolInterceptor } from "@recourse/core"
import * as FaultPlan from "../../FaultPlan.ts"
import type { Injector } from "./injector.ts"
import { InjectedFailure } from "./spoil.ts"

type Any = Effect.Effect<unknown, unknown, unknown>

const prefix = "callback "

/** Number of calls of each callback, by its name. */
export const callbacksOf = ({ counts }: Injector): Readonly<Record<string, number>> =>
  Object.fromEntries(
    [...counts()].flatMap(([counter, times]) =>
      counter.startsWith(prefix) ? [[counter.slice(prefix.length), times] as const] : []
    )
  )

const faulty = (type: FaultPlan.CallbackFault["type"], callback: Any, error: unknown): Any => {
  switch (type) {
    case "callback_fails":
      return Effect.fail(error)
    case "callback_answer_lost":
      return Effect.andThen(callback, Effect.fail(error))
    case "callback_dies":
      return Effect.die(error)
    case "callback_hangs":
      return Effect.never
    case "callback_interrupted":
      return Effect.interrupt
  }
}

interface About {
  readonly callback: FaultPlan.Callback
  readonly tool?: string
  readonly callId: string
}

/** The callbacks of a run, with the faults of a plan. */
export const faultyCallbacks = ({ log, next }: Injector, secret: string | undefined) => {
  const injected = ({ callId, callback, tool }: About, call: Any): Any =>
    Effect.suspend(() => {
      const found = next(
        `${prefix}${FaultPlan.callbackName(callback, tool)}`,
        (injection) => FaultPlan.isOfCallback(injection) && injection.callback === callback && injection.tool === tool
      )
      if (found === undefined) return call
      const { type } = found.fault as FaultPlan.CallbackFault
      const error = new InjectedFailure({ _tag: "InjectedFailure" }, secret)
      return Effect.andThen(
        log(found, { callback, callId, ...(tool === undefined ? undefined : { tool }) }),
        faulty(type, call, error)
      )
    })
  const compensate =
    (outer: ToolInterceptor.CompensationIntercept | undefined): ToolInterceptor.CompensationIntercept =>
    (compensation, undo) => injected({ ...compensation, callback: "compensate" }, outer?.(compensation, undo) ?? undo)
  const reconcile = (
    outer: ToolInterceptor.ReconciliationIntercept | undefined
  ): ToolInterceptor.ReconciliationIntercept =>
  (reconciliation, look) =>
    injected({ ...reconciliation, callback: "reconcile" }, outer?.(reconciliation, look) ?? look)
  /** An audit has no error to fail with. */
  const audit = (write: Audit.Writer): Audit.Writer => (record) =>
    Effect.orDie(injected({ callback: "audit", callId: record.callId }, write(record))) as Effect.Effect<void>
  return { audit, compensate, reconcile }
}
