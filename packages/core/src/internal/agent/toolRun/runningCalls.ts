/** A tool run that has started: answers its calls by the call server, in Effect and in promises. */
import * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Result from "effect/Result"
import { ConfigurationError } from "../../../ConfigurationError.ts"
import type { Decision } from "../../approval/decision.ts"
import { anObject } from "../../foundation/options/optionCheck.ts"
import type { CallPort, CallServer, ServedCall } from "../../loop/callServer.ts"
import type { GivenCall } from "../../loop/singleCall.ts"
import type { Outcome } from "../../round/callOutcome.ts"
import type { RunReport } from "../../run/runEntries.ts"
import type * as Tool from "../../tool/tool.ts"
import { type ToolRun, TypeId, type Unhandled } from "./toolRun.ts"
import { ToolRunEnded } from "./toolRunEnded.ts"

type Report = RunReport<void, unknown>
type Answered = Effect.Effect<Outcome<unknown>, unknown>
type Aborting = { readonly signal?: AbortSignal | undefined } | undefined

const unhandled = <E>(cause: Cause.Cause<E>): Unhandled<E> => ({
  _tag: "Unhandled",
  error: Cause.squash(cause) as E,
  cause
})

const asPromise = <A, E>(effect: Effect.Effect<A, E>): Promise<A | Unhandled<E>> =>
  Effect.runPromise(Effect.matchCause(effect, {
    onFailure: (cause): A | Unhandled<E> => unhandled(cause),
    onSuccess: (value) => value
  }))

/** Interrupts the call of a fiber when a signal is aborted, until the fiber has ended. */
const interruptAt = (signal: AbortSignal, server: CallServer, call: ServedCall): void => {
  const interrupt = () => void Effect.runFork(server.cancel(call))
  signal.addEventListener("abort", interrupt, { once: true })
  call.fiber.addObserver(() => signal.removeEventListener("abort", interrupt))
}

/** Throws `ConfigurationError` for a call in the form of another library, which would end the run. */
const checkCall = (call: unknown): void => {
  if (anObject.is(call) && typeof Reflect.get(call as object, "name") === "string") return
  const problem = "a call is { id, name, arguments }. Of a call of OpenAI, name and arguments are in its function"
  throw new ConfigurationError({ subject: "A tool run", problem })
}

interface Started {
  readonly id: string
  readonly name: string
  readonly tools: ReadonlyArray<Tool.Any>
  readonly server: CallServer
  readonly port: CallPort
  readonly fiber: Fiber.Fiber<Report>
}

/** State of a run that has started. */
class RunningCalls implements ToolRun<Tool.Any, unknown> {
  readonly [TypeId] = TypeId
  readonly id: string
  readonly name: string
  readonly tools: ReadonlyArray<Tool.Any>
  readonly report: Effect.Effect<Report>
  private readonly abort = new AbortController()
  private readonly server: CallServer
  private readonly port: CallPort
  /** The end of the run, once it is known: no call starts from then on. */
  private because: ToolRunEnded["because"] | undefined

  constructor({ fiber, id, name, port, server, tools }: Started) {
    this.id = id
    this.name = name
    this.tools = tools
    this.server = server
    this.port = port
    this.report = Fiber.join(fiber)
    fiber.addObserver((exit) => this.noteEnd(Exit.isSuccess(exit) ? exit.value.exit : exit))
  }

  get signal(): AbortSignal {
    return this.abort.signal
  }

  private noteEnd(exit: Exit.Exit<void, unknown>): void {
    if (Exit.isSuccess(exit)) this.because ??= "ended"
    else {
      this.because ??= Cause.hasInterruptsOnly(exit.cause) ? "cancelled" : "failed"
      this.abort.abort(this.because === "cancelled" ? this.endedError() : Cause.squash(exit.cause))
    }
  }

  private endedError(): ToolRunEnded {
    return new ToolRunEnded({ run: this.name, runId: this.id, because: this.because ?? "failed" })
  }

  /** Starts a call unless the run has ended, and returns its outcome. */
  private answer(start: () => Result.Result<ServedCall, unknown>, signal?: AbortSignal | undefined): Answered {
    return Effect.suspend(() => {
      if (this.because !== undefined || this.server.isEnding) return this.afterEnd()
      if (signal?.aborted === true) return Effect.interrupt
      const started = start()
      if (Result.isFailure(started)) return Effect.fail(started.failure)
      const call = started.success
      if (signal !== undefined) interruptAt(signal, this.server, call)
      const awaited = Effect.onInterrupt(Fiber.await(call.fiber), () => this.server.cancel(call))
      return Effect.flatMap(
        awaited,
        (exit) => Exit.isSuccess(exit) ? Effect.succeed(exit.value) : this.failed(call)
      )
    })
  }

  /**
   * A call without a result has the error of the run that it has ended, unless its caller has interrupted it. A call
   * that the end of the run has interrupted has its outcome if it may have been done.
   */
  private failed(call: ServedCall): Answered {
    if (this.server.isCancelled(call)) return Effect.sync(() => this.server.outcomeOfCancelled(call))
    return Effect.flatMap(this.report, ({ exit }) => {
      if (Exit.isFailure(exit) && !Cause.hasInterruptsOnly(exit.cause) && this.server.hasErrorOfRun(call)) {
        return Effect.failCause(exit.cause)
      }
      const outcome = this.server.outcomeOfInterrupted(call)
      return outcome === undefined ? this.afterEnd() : Effect.succeed(outcome)
    })
  }

  private afterEnd(): Answered {
    return Effect.andThen(this.report, Effect.suspend(() => Effect.fail(this.endedError())))
  }

  call(call: GivenCall): Effect.Effect<never, unknown> {
    checkCall(call)
    return this.answer(() => Result.succeed(this.server.submit(call))) as Effect.Effect<never, unknown>
  }

  decide(decision: Decision): Answered {
    return this.answer(() => this.server.decide(decision))
  }

  get end(): Effect.Effect<Report> {
    return Effect.suspend(() => {
      this.because ??= "ended"
      Deferred.doneUnsafe(this.port.end, Exit.void)
      return this.report
    })
  }

  get cancel(): Effect.Effect<Report> {
    return Effect.suspend(() => {
      this.because ??= "cancelled"
      Deferred.doneUnsafe(this.port.end, Exit.interrupt())
      return this.report
    })
  }

  callPromise(call: GivenCall, options?: Aborting): Promise<never> {
    checkCall(call)
    return asPromise(this.answer(() => Result.succeed(this.server.submit(call)), options?.signal)) as Promise<never>
  }

  decidePromise(decision: Decision, options?: Aborting): Promise<never> {
    return asPromise(this.answer(() => this.server.decide(decision), options?.signal)) as Promise<never>
  }

  endPromise(): Promise<Report> {
    return Effect.runPromise(this.end)
  }

  cancelPromise(): Promise<Report> {
    return Effect.runPromise(this.cancel)
  }
}

/** Returns the run as programs use it. */
export const runningCalls = (started: Started): ToolRun<Tool.Any, unknown> => new RunningCalls(started)
