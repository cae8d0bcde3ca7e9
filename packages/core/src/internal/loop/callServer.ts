/** Call server: runs the calls of another program's loop within one run, until that loop ends. */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as FiberSet from "effect/FiberSet"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as Response from "effect/ai/Response"
import type { Decision } from "../approval/decision.ts"
import type { DecisionRefused } from "../approval/outcome.ts"
import { match } from "../approval/seal.ts"
import { isInterruption } from "../foundation/effect/signal.ts"
import { type Outcome, outcomeOfFailure, outcomeOfResult, outcomeOfWait } from "../round/callOutcome.ts"
import { callKey } from "../round/roundContext.ts"
import type { CallResult, RequestedCall, Waiting } from "../run/callResult.ts"
import { Session } from "../run/session.ts"
import { runRound } from "../round/round.ts"
import { callsOf } from "./answerCalls.ts"
import { withUniqueIds } from "../model/responseParts.ts"
import type { Conversation } from "./program.ts"
import { answerOf, type GivenCall } from "./singleCall.ts"

/** A call of the server, while it runs and afterwards. */
export interface ServedCall {
  readonly raw: RequestedCall
  readonly fiber: Fiber.Fiber<Outcome<unknown>, unknown>
}

interface Entry extends ServedCall {
  /** The conversation of the call: the call, and its result. */
  readonly session: Session
  fiber: Fiber.Fiber<Outcome<unknown>, unknown>
}

type Served = Effect.Effect<Outcome<unknown>, unknown, unknown>

type Fork = (effect: Effect.Effect<Outcome<unknown>, unknown, unknown>) => Fiber.Fiber<Outcome<unknown>, unknown>

/** The results that a call's conversation has. */
const resultIn = ({ transcript }: Session): unknown => {
  for (const { content, role } of transcript.snapshot().content) {
    if (role !== "tool") continue
    for (const part of content) if (part.type === "tool-result") return part.result
  }
  return undefined
}

/** The calls of one run. */
export class CallServer {
  private readonly state: Conversation
  private readonly fork: Fork
  private readonly end: Deferred.Deferred<void, unknown>
  private readonly entries = new Map<string, Entry>()
  /** The calls that wait for a decision, by their ids. */
  private readonly waiting = new Map<string, Waiting>()
  /** The calls that their callers have interrupted: the run continues. */
  private readonly cancelled = new Set<ServedCall>()
  /** Ids of the loop, and those under which the calls run. */
  private readonly ids = new Map<string, string>()
  /** The call whose failure has ended the run; absent if the run has ended in another way. */
  private endedBy: ServedCall | undefined
  private isClosed = false

  constructor(state: Conversation, fork: Fork, end: Deferred.Deferred<void, unknown>) {
    this.state = state
    this.fork = fork
    this.end = end
  }

  /**
   * Starts a call, or returns the one of the same id, tool and arguments: a loop that repeats a call receives its first
   * outcome.
   */
  submit({ arguments: params, id, name }: GivenCall): ServedCall {
    const known = this.entries.get(this.ids.get(id) ?? "")
    if (known !== undefined && callKey(known.raw) === callKey({ id, name, params })) return known
    const part = Response.makePart("tool-call", { id, name, params, providerExecuted: false })
    const { calls: [raw], content } = withUniqueIds([part], this.state.session.callIds)
    this.ids.set(id, raw!.id)
    return this.start({ raw: raw! }, content, undefined)
  }

  /** Continues a call that waits. */
  decide(decision: Decision): Result.Result<ServedCall, DecisionRefused> {
    const [id, waiting] =
      [...this.waiting].find(([, { pending }]) => pending.some(({ callId }) => callId === decision.callId)) ?? []
    const pending = waiting?.pending ?? []
    return Result.map(match({ round: { pending } } as never, [decision]), (decisions) => {
      const entry = this.entries.get(id!)!
      const { raw, raw: { name, params } } = entry
      const part = Response.makePart("tool-call", { id: raw.id, name, params, providerExecuted: false })
      return this.start(entry, [part], { waiting: waiting!, decisions })
    })
  }

  /** The calls of one answer come one by one: an equal one that comes while the first runs is of the same answer. */
  private equalRunning(raw: RequestedCall): string | undefined {
    for (const other of this.entries.values()) {
      // Absent before the call is started.
      const fiber: Fiber.Fiber<unknown, unknown> | undefined = other.fiber
      if (other.raw.id === raw.id || fiber?.pollUnsafe() !== undefined) continue
      if (!this.cancelled.has(other) && callKey(other.raw) === callKey(raw)) return other.raw.id
    }
    return undefined
  }

  private start(
    { raw }: Pick<Entry, "raw">,
    content: ReadonlyArray<Response.AnyPart>,
    decided: { readonly waiting: Waiting; readonly decisions: ReadonlyMap<string, Decision> } | undefined
  ): ServedCall {
    const { state } = this
    const session = new Session(state.session)
    const { tools } = state.program
    const calls = callsOf({ ...state, session, transcript: session.transcript }, tools, tools.names)
    const messages = () => [...state.transcript.snapshot().content, ...session.transcript.snapshot().content]
    const resumed = decided && {
      results: new Map(),
      waiting: new Map([[raw.id, decided.waiting]]),
      decisions: decided.decisions
    }
    const ran = runRound(
      { ...calls, gate: { ...calls.gate, messages, canKeep: false }, equalRunning: (raw) => this.equalRunning(raw) },
      [raw],
      () => session.transcript.assistant(content, state.run.reading.taintedBy),
      resumed,
      (round) => round
    )
    const entry: Entry = { raw, session, fiber: undefined as never }
    this.entries.set(raw.id, entry)
    this.waiting.delete(raw.id)
    const served = Effect.flatMap(ran, ({ results: [result], waiting: [waiting] }): Served => {
      if (waiting !== undefined) this.waiting.set(raw.id, waiting)
      return waiting === undefined
        ? Effect.map(this.withValue(result!), outcomeOfResult)
        : Effect.succeed(outcomeOfWait(raw, waiting, resultIn(session)))
    })
    entry.fiber = this.fork(Effect.onExit(served, (exit) => Effect.sync(() => this.note(entry, exit))))
    return entry
  }

  /** Decodes the value of a result that was read from a log, or that a person gave. */
  private withValue(result: CallResult): Effect.Effect<CallResult, never, unknown> {
    const { structured } = answerOf([result])
    const success = this.state.program.tools.byName.get(result.call.name)?.tool.success
    if ("value" in result || structured === undefined || success === undefined) return Effect.succeed(result)
    const decoded: Effect.Effect<unknown, unknown, unknown> = Schema.decodeUnknownEffect(Schema.toCodecJson(success))(
      structured
    )
    return Effect.map(Effect.orElseSucceed(decoded, () => structured), (value) => ({ ...result, value }))
  }

  /** Writes the call and its result into the conversation of the run. A failure of the call ends the run. */
  private note(entry: Entry, exit: Exit.Exit<Outcome<unknown>, unknown>): void {
    if (this.waiting.has(entry.raw.id)) return
    this.state.transcript.prompt(entry.session.transcript.snapshot())
    if (Exit.isSuccess(exit) || (this.cancelled.has(entry) && exit.cause.reasons.every(isInterruption))) return
    if (!this.isClosed && Deferred.doneUnsafe(this.end, Exit.asVoid(exit))) this.endedBy = entry
  }

  get runId(): string {
    return this.state.run.id
  }

  /** True if the run ends: no call starts. */
  get isEnding(): boolean {
    return this.isClosed || Deferred.isDoneUnsafe(this.end)
  }

  /** True if the error of the run is the error of the call: its own, or that of the whole run, such as a deadline. */
  hasErrorOfRun(call: ServedCall): boolean {
    return this.endedBy === undefined || this.endedBy === call
  }

  /** Interrupts a call for its caller. */
  cancel(call: ServedCall): Effect.Effect<void> {
    return Effect.suspend(() => {
      if (call.fiber.pollUnsafe() === undefined) this.cancelled.add(call)
      return Fiber.interrupt(call.fiber)
    })
  }

  /** True if its caller has interrupted a call. */
  isCancelled(call: ServedCall): boolean {
    return this.cancelled.has(call)
  }

  /** The outcome of a call that its caller has interrupted. */
  outcomeOfCancelled(call: ServedCall): Outcome<unknown> {
    return outcomeOfFailure(call.raw, resultIn((call as Entry).session))
  }

  /** Withdraws the questions of the calls that wait, and writes their results. */
  readonly close: Effect.Effect<void> = Effect.suspend(() => {
    this.isClosed = true
    const waiting = [...this.entries.values()].filter(({ raw }) => this.waiting.has(raw.id))
    for (const { session } of waiting) this.state.transcript.prompt(session.transcript.snapshot())
    return Effect.forEach(waiting, ({ session }) => session.withdraw ?? Effect.void, { discard: true })
  })
}

/** The connection between a run and the loop whose calls it runs. */
export interface CallPort {
  /** Completed when the run has started. */
  readonly opened: Deferred.Deferred<CallServer>
  /** Completed when the loop has ended. */
  readonly end: Deferred.Deferred<void, unknown>
}

/** Runs the calls of a loop until the loop ends. */
export const serveCalls = (state: Conversation, port: CallPort): Effect.Effect<void, unknown, unknown> =>
  Effect.scoped(Effect.gen(function*() {
    const fork = yield* FiberSet.makeRuntime<unknown, Outcome<unknown>, unknown>()
    const server = new CallServer({ ...state, canPause: true }, fork, port.end)
    yield* Effect.addFinalizer(() => server.close)
    Deferred.doneUnsafe(port.opened, Exit.succeed(server))
    yield* Deferred.await(port.end)
  }))
