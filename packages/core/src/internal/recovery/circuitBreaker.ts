/** Circuit breaker: stops calling a service that keeps failing. */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Result from "effect/Result"
import type * as CircuitBreaker from "effect/persistence/CircuitBreaker"
import * as Arguments from "../call/arguments/toolArguments.ts"
import { nextFailure } from "../call/replay/replayedFailures.ts"
import { CallStopped, errorFields, subjectOf, toolName } from "../call/record/record.ts"
import { signalIn } from "../foundation/effect/signal.ts"
import { BudgetStop } from "../run/account.ts"
import { askLedgerOnly, isKeyed } from "../call/ledger/ledgerLookup.ts"
import { CurrentRun, emit } from "../run/run.ts"
import * as Telemetry from "../run/observe/telemetry.ts"
import type { KnownCall, Misplaced, OnCalls } from "../foundation/errorTags.ts"
import { type Call, ToolCall } from "../call/call.ts"
import { CircuitOpen, ExecutionError, OutcomeUnknown, Timeout } from "../../ToolError.ts"
import { hideTool } from "../run/state/runState.ts"

/**
 * Circuit of a call, and the errors that open it.
 *
 * @category options
 * @since 0.2.0
 */
export interface CircuitBreakerOptions<in E> {
  /** The circuit of a call, from its arguments as they came. Default: one for the tool. */
  readonly key?: ((args: Readonly<Record<string, unknown>>) => string) | undefined
  /** Predicate of counted failures. Default: timeouts, unknown outcomes, and failures of the executor. */
  readonly isFailure?: ((error: E) => boolean) | undefined
  /** True if the tool is left out of the model's next requests until the circuit may be tried again. Not with `key`. */
  readonly hide?: boolean | undefined
}

/**
 * Effect's service by its key. Importing its module would load stores over Redis, files and configuration in each program that imports
 * `Recovery`.
 */
const Breaker = Context.Service<CircuitBreaker.CircuitBreaker>(
  "~effect/persistence/CircuitBreaker" satisfies CircuitBreaker.TypeId
)

const ignored: CircuitBreaker.Outcome = { _tag: "Ignored" }
const success: CircuitBreaker.Outcome = { _tag: "Success" }
const failure: CircuitBreaker.Outcome = { _tag: "Failure", retryAfter: undefined }

/** Wait without advice of the breaker: while another call probes the service. */
const probeWait = Duration.seconds(1)

const isServiceFailure = (error: unknown): boolean =>
  error instanceof Timeout || error instanceof OutcomeUnknown || error instanceof ExecutionError

/** True if something else than the service ended the call: a budget, or a stop of the call. */
const isControl = (value: object): value is BudgetStop | CallStopped =>
  value instanceof BudgetStop || value instanceof CallStopped

const circuitOf = (call: Call, key: CircuitBreakerOptions<never>["key"]): string => {
  const tool = toolName(call.record)
  if (key === undefined) return tool
  return Result.match(Arguments.read(call.arguments), {
    onFailure: () => tool,
    onSuccess: (args) => `${tool}/${key(args)}`
  })
}

/**
 * Runs a call through a circuit of effect's `CircuitBreaker`, whose layer sets the thresholds and the duration of open
 * circuits. While a circuit is open its calls are not run and fail with `CircuitOpen`, which advises the model not to
 * call before a time.
 *
 * A call with an idempotency key that has a result is answered with it, also while the circuit is open.
 *
 * A defect is a failure too. Calls that never reached the executor (invalid arguments, a replayed result) do not count.
 * Put retries inside: the circuit sees one outcome for each call. With retries outside, an executed write keeps its
 * last error when the circuit has opened in between.
 *
 * **Example** (The third call is not made)
 *
 * ```ts
 * import { Effect, Layer } from "effect"
 * import { CircuitBreaker } from "effect/persistence"
 * import { Recovery, Tool, ToolCall } from "@recourse/core"
 *
 * let runs = 0
 * const Down = Tool.make("down", {
 *   effects: "read",
 *   execute: () => Effect.suspend(() => Effect.fail(++runs))
 * }).pipe(Tool.onError(Recovery.circuitBreaker()))
 *
 * const breaker = CircuitBreaker.layer({
 *   tripPolicy: CircuitBreaker.consecutive(2),
 *   openDuration: "30 seconds"
 * }).pipe(Layer.provide(CircuitBreaker.layerStoreMemory()))
 *
 * const call = Effect.suspend(() =>
 *   Down.call.pipe(
 *     Effect.provideService(ToolCall.ToolCall, ToolCall.make({ id: "c1", arguments: {} })),
 *     Effect.flip,
 *     Effect.map((error) => error._tag)
 *   )
 * )
 *
 * await Effect.runPromise(
 *   Effect.all([call, call, call]).pipe(Effect.provide(breaker))
 * ) // => ["ExecutionError", "ExecutionError", "CircuitOpen"]
 * runs // => 2
 * ```
 *
 * @category combinators
 * @since 0.2.0
 */
export const circuitBreaker: {
  (): <A, E, R>(
    call: Effect.Effect<A, E, R>
  ) => Effect.Effect<A, E | CircuitOpen, R | ToolCall | CircuitBreaker.CircuitBreaker>
  <Known, Taken = Known>(options?: OnCalls<Known> & CircuitBreakerOptions<Taken>): <A, E, R>(
    call:
      | (Effect.Effect<A, E, R> & KnownCall<A, Known, R> & KnownCall<A, NoInfer<Taken>, R>)
      | Misplaced<Known>
  ) => Effect.Effect<A, E | CircuitOpen, R | ToolCall | CircuitBreaker.CircuitBreaker>
} = ((options?: CircuitBreakerOptions<never>) =>
  Effect.fnUntraced(function*<A, E, R>(
    call: Effect.Effect<A, E, R>
  ): Effect.fn.Return<A, E | CircuitOpen, R | ToolCall | CircuitBreaker.CircuitBreaker> {
    const current = yield* ToolCall
    const breaker = yield* Breaker
    const run = yield* CurrentRun
    // An earlier execution of the run was admitted: its entries do not count for the circuit any more.
    if (nextFailure(run, current) !== undefined) return yield* call
    const circuit = circuitOf(current, options?.key)
    const isFailure = (options?.isFailure ?? isServiceFailure) as (error: unknown) => boolean

    const classify = (exit: Exit.Exit<A, E>): CircuitBreaker.Outcome => {
      if (!current.record.outcome.executed) return ignored
      if (Exit.isSuccess(exit)) return success
      if (Cause.hasInterruptsOnly(exit.cause) || signalIn(exit.cause, isControl) !== undefined) {
        return ignored
      }
      return exit.cause.reasons.some((reason) =>
          reason._tag === "Die" || (reason._tag === "Fail" && isFailure(reason.error))
        )
        ? failure
        : success
    }

    const hide = (until: number): void => {
      if (options?.hide === true && options.key === undefined) {
        if (run !== undefined) hideTool(run, toolName(current.record), until)
      }
    }

    const hideIfOpen = Effect.flatMap(Effect.option(breaker.state(circuit)), (state) =>
      Effect.map(Clock.currentTimeMillis, (now) => {
        if (state._tag === "Some" && state.value._tag === "Open") {
          hide(now + Duration.toMillis(state.value.retryAfter))
        }
      }))

    const rejected = (error: CircuitBreaker.CircuitBreakerError): Effect.Effect<never, CircuitOpen> =>
      Effect.flatMap(Clock.currentTimeMillis, (now) => {
        const retryAfter = error.reason._tag === "CircuitOpen" ? error.reason.retryAfter : probeWait
        const until = now + Duration.toMillis(retryAfter)
        hide(until)
        const open = new CircuitOpen({
          ...errorFields(current.record),
          circuit,
          retryAfter,
          until
        })
        return emit(run, () => ({
          _tag: "ToolCircuitOpen",
          ...subjectOf(current.record),
          circuit,
          retryAfter: Duration.toMillis(retryAfter)
        })).pipe(
          Effect.andThen(Telemetry.spanEvent("recourse.circuit_open", { "recourse.circuit": circuit })),
          Effect.andThen(Effect.fail(open))
        )
      })

    // As an exit, so that an error of the call that is a breaker's, too, is not taken for this one's.
    const outcome = yield* Effect.result(
      breaker.execute(Effect.exit(call), {
        key: circuit,
        classify: (exit) =>
          Exit.isSuccess(exit) ? classify(exit.value) : ignored
      })
    )
    if (Result.isFailure(outcome)) {
      // A circuit that opened later does not change the known outcome of an executed write.
      if (current.record.outcome.executed && current.record.attempts.tool?.effects === "write") {
        return yield* Effect.provideService(call, ToolCall, { ...current, closed: true })
      }
      const found = isKeyed(current) && current.record.attempts.count === 0
        ? yield* askLedgerOnly(current, call)
        : undefined
      if (found !== undefined) {
        return yield* found
      }
      return yield* rejected(outcome.failure)
    }
    if (Exit.isFailure(outcome.success) && options?.hide === true) {
      yield* hideIfOpen
    }
    return yield* outcome.success
  })) as never
