/** Tool faults, in the place of the executor. */
import { Cause, type Duration, Effect, Schema } from "effect"
import { ToolCall, ToolError, type ToolInterceptor } from "@recourse/core"
import * as FaultPlan from "../../FaultPlan.ts"
import type { Injector } from "./injector.ts"
import { writtenByModel } from "./modelFaults.ts"
import {
  firstList,
  halfDone,
  inFirstText,
  InjectedFailure,
  ofSchema,
  planted,
  promptInjection,
  withSecret
} from "./spoil.ts"

/**
 * Options of injected faults.
 *
 * @category options
 * @since 0.2.0
 */
export interface Options {
  /** Makes the typed failures of the program, by tag, if they have to be instances of its own classes. */
  readonly failures?: Readonly<Record<string, (fields: Readonly<Record<string, unknown>>) => unknown>> | undefined
  /** A text in every injected error and defect, so that a leak of one is visible. */
  readonly secret?: string | undefined
}

/** The defect of an executor, named by the library. */
const executorDefect = ({ attempt, callId, tool }: ToolInterceptor.Execution, secret: string | undefined) =>
  new ToolError.ExecutorDefect({
    tool,
    callId,
    attempt,
    reason: new Error(`Injected defect${secret ? ` ${secret}` : ""}`)
  })

/** Has executors fail as a plan says. */
export const faultyTools = ({ log, next }: Injector, options: Options | undefined): ToolInterceptor.Interceptor => {
  const secret = options?.secret

  const failure = (
    fault: { readonly error?: { readonly _tag: string; readonly [field: string]: unknown } | undefined },
    tag: string,
    declared: Schema.Top | undefined
  ) =>
    Effect.suspend(() => {
      const fields = fault.error ?? { _tag: tag }
      const { _tag, ...rest } = fields
      const make = options?.failures?.[_tag]
      const error = make === undefined
        ? Effect.map(
          ofSchema(declared, fields, () => new InjectedFailure(fields, secret)),
          (error) => withSecret(error, secret)
        )
        : Effect.sync(() => planted(make, rest, secret))
      return Effect.flatMap(error, Effect.fail)
    })

  const noAnswer = (timeout: Duration.Duration | undefined): Effect.Effect<never, Cause.TimeoutError> =>
    timeout === undefined
      ? Effect.andThen(Effect.sleep("30 seconds"), Effect.fail(new Cause.TimeoutError(secret)))
      : Effect.never

  const isOfExecution = (injection: FaultPlan.Injection) =>
    !writtenByModel.has(injection.fault.type) && !FaultPlan.isOfApproval(injection) &&
    !FaultPlan.isOfService(injection) && !FaultPlan.isOfCallback(injection)

  return (execution, execute) =>
    Effect.suspend(() => {
      const { attempt, callId, failure: declared, timeout, tool } = execution
      const where = { attempt, callId, tool }
      const found = next(
        `tool ${tool}`,
        (injection) => "tool" in injection && injection.tool === tool && isOfExecution(injection)
      )
      if (found === undefined) return execute
      // An executor without an answer makes no external call.
      if (execution.success === Schema.Never) return Effect.andThen(log(found, where, false), execute)
      const fault = found.fault as FaultPlan.ToolFault
      const spoilt = (spoil: (value: unknown) => unknown) =>
        Effect.flatMap(execute, (value) => {
          const other = spoil(value)
          return Effect.as(log(found, where, other !== undefined), other === undefined ? value : other)
        })
      const logged = log(found, where)
      switch (fault.type) {
        case "failure":
          return Effect.andThen(logged, failure(fault, "InjectedFailure", declared))
        case "network_error":
          return Effect.andThen(logged, failure(fault, "NetworkError", declared))
        case "network_error_after_commit":
          return execute.pipe(Effect.andThen(logged), Effect.andThen(failure(fault, "NetworkError", declared)))
        case "timeout":
          return Effect.andThen(logged, noAnswer(timeout))
        case "timeout_after_commit":
          return execute.pipe(Effect.andThen(logged), Effect.andThen(noAnswer(timeout)))
        case "hang":
          return Effect.andThen(logged, Effect.never)
        case "delay":
          return logged.pipe(Effect.andThen(Effect.sleep(fault.millis ?? 1000)), Effect.andThen(execute))
        case "invalid_result":
          return spoilt(() => Symbol("invalid result"))
        case "prompt_injection":
          return spoilt((value) => inFirstText(value, (text) => `${text}\n${fault.text ?? promptInjection}`))
        case "partial_success":
          return Effect.flatMap(execute, (value) => {
            const parts = firstList(value) ?? firstList(execution.params)
            return Effect.andThen(
              log(found, where, parts !== undefined),
              parts === undefined ? Effect.succeed(value) : ToolCall.partial(halfDone(parts, fault))
            )
          })
        case "defect":
          return Effect.andThen(logged, Effect.die(executorDefect(execution, secret)))
        case "interruption":
          return Effect.andThen(logged, Effect.interrupt)
        default:
          return execute
      }
    })
}
