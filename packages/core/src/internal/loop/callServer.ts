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
import { callKey, newRoundContext } from "../round/roundContext.ts"
import { type CallResult, type RequestedCall, uncertainCodes, type Waiting } from "../run/callResult.ts"
import { Session } from "../run/session.ts"
import { runRound } from "../round/round.ts"
import { withUniqueIds } from "../model/responseParts.ts"
import type { Conversation } from "./program.ts"
import { answerOf, type GivenCall } from "./singleCall.ts"

/** A call of the server, while it runs and afterwards. */
export interface ServedCall {
  readonly raw: RequestedCall
  readonly fiber: Fiber.Fiber<Outcome<unknown>, unknown>
}

/** Progress of a call. */
type Progress =
  & (
    | { readonly _tag: "Running" }
    /** It waits for a decision. */
    | { readonly _tag: "Waiting"; readonly waiting: Waiting }
    | { readonly _tag: "Ended" }
    /** Its failure has ended the run. */
    | { readonly _tag: "EndedRun" }
  )
  & {
    /** True if its caller has interrupted it: the run continues. */
    readonly isCancelled: boolean
  }

type Served = Effect.Effect<Outcome<unknown>, unknown, unknown>

type ServedFiber = Fiber.Fiber<Outcome<unknown>, unknown>

class Entry implements ServedCall {
  /** The call as the loop has given it. */
  readonly given: GivenCall
  readonly raw: RequestedCall
  /** The conversation of the call: the call, and its result. */
  readonly session: Session
  readonly fiber: ServedFiber
  progress: Progress = { _tag: "Running", isCancelled: false }

  constructor(
    given: GivenCall,
    raw: RequestedCall,
    session: Session,
    fork: (entry: Entry) => ServedFiber
  ) {
    this.given = given
    this.raw = raw
    this.session = session
    this.fiber = fork(this)
  }
}

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
  private readonly fork: (served: Served) => ServedFiber
  /** Done when no call starts any more. */
  private readonly end: Deferred.Deferred<void, unknown>
  /** The calls by the loop's ids. Several calls may have one id. */
  private readonly entries = new Map<string, ReadonlyArray<Entry>>()

  constructor(state: Conversation, fork: (served: Served) => ServedFiber, end: Deferred.Deferred<void, unknown>) {
    this.state = state
    this.fork = fork
    this.end = end
  }

  /**
   * Starts a call, or returns the one of the same id, tool and arguments: a loop that repeats a call receives its first
   * outcome. Some models use their ids in each answer: a call of another answer is another call.
   */
  submit(given: GivenCall): ServedCall {
    const { answer, arguments: params, id, name } = given
    const key = callKey({ id, name, params })
    const known = this.entries.get(id)?.findLast(({ raw }) => callKey(raw) === key)
    if (known !== undefined && !this.isOfAnother(answer, known)) return known
    const part = Response.makePart("tool-call", { id, name, params, providerExecuted: false })
    const { calls: [raw], content } = withUniqueIds([part], this.state.session.callIds)
    return this.start({ given, raw: raw! }, content)
  }

  /**
   * True if a call is of another answer than an equal one. Without answers, a read that succeeded is executed again: a
   * loop that retries would have no reason to repeat it, and a model may poll.
   */
  private isOfAnother(answer: unknown, { fiber, given, raw }: Entry): boolean {
    if (answer !== undefined && given.answer !== undefined) return answer !== given.answer
    const exit = fiber.pollUnsafe()
    return exit !== undefined && Exit.isSuccess(exit) && exit.value._tag === "Success" &&
      this.state.program.tools.byName.get(raw.name)?.tool.info.effects === "read"
  }

  /** Continues a call that waits. */
  decide(decision: Decision): Result.Result<ServedCall, DecisionRefused> {
    const found = this.waiting.find(({ waiting }) => waiting.pending.some(({ callId }) => callId === decision.callId))
    const pending = found?.waiting.pending ?? []
    return Result.map(match({ round: { pending } } as never, [decision]), (decisions) => {
      const { entry, entry: { raw: { id, name, params } }, waiting } = found!
      const part = Response.makePart("tool-call", { id, name, params, providerExecuted: false })
      return this.start(entry, [part], { waiting, decisions })
    })
  }

  private get all(): ReadonlyArray<Entry> {
    return [...this.entries.values()].flat()
  }

  /** The calls that wait for a decision. */
  private get waiting() {
    return this.all.flatMap((entry) => {
      const { progress } = entry
      return progress._tag === "Waiting" ? [{ entry, waiting: progress.waiting }] : []
    })
  }

  /** The calls of one answer come one by one: an equal one that comes while the first runs is of the same answer. */
  private equalRunning(raw: RequestedCall): string | undefined {
    for (const { progress: { _tag, isCancelled }, raw: other } of this.all) {
      if (other.id === raw.id || _tag !== "Running" || isCancelled) continue
      if (callKey(other) === callKey(raw)) return other.id
    }
    return undefined
  }

  /** Starts a call, in the place of the earlier part of it. */
  private start(
    { given, raw }: Pick<Entry, "given" | "raw">,
    content: ReadonlyArray<Response.AnyPart>,
    decided?: { readonly waiting: Waiting; readonly decisions: ReadonlyMap<string, Decision> }
  ): ServedCall {
    const { state } = this
    const session = new Session(state.session)
    const { tools } = state.program
    const calls = newRoundContext({ ...state, session }, tools.byName, tools.names)
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
      ([waiting]) => waiting!
    )
    return new Entry(given, raw, session, (entry) => {
      const others = (this.entries.get(given.id) ?? []).filter((other) => other.raw !== raw)
      this.entries.set(given.id, [...others, entry])
      const served = Effect.flatMap(ran, (waitingOrResults): Served => {
        if (!("_tag" in waitingOrResults)) return Effect.map(this.withValue(waitingOrResults[0]!), outcomeOfResult)
        entry.progress = { ...entry.progress, _tag: "Waiting", waiting: waitingOrResults }
        return Effect.succeed(outcomeOfWait(raw, waitingOrResults, resultIn(session)))
      })
      return this.fork(Effect.onExit(served, (exit) => Effect.sync(() => this.note(entry, exit))))
    })
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
    const { progress: { _tag, isCancelled }, session } = entry
    if (_tag === "Waiting") return
    this.state.transcript.prompt(session.transcript.snapshot())
    const isOver = Exit.isSuccess(exit) || (isCancelled && exit.cause.reasons.every(isInterruption))
    const endsRun = !isOver && Deferred.doneUnsafe(this.end, Exit.asVoid(exit))
    entry.progress = { _tag: endsRun ? "EndedRun" : "Ended", isCancelled }
  }

  get runId(): string {
    return this.state.run.id
  }

  /** True if the run ends: no call starts. */
  get isEnding(): boolean {
    return Deferred.isDoneUnsafe(this.end)
  }

  /** True if the error of the run is the error of the call: its own, or that of the whole run, such as a deadline. */
  hasErrorOfRun(call: ServedCall): boolean {
    const endedBy = this.all.find(({ progress }) => progress._tag === "EndedRun")
    return endedBy === undefined || endedBy === call
  }

  /** Interrupts a call for its caller. */
  cancel(call: ServedCall): Effect.Effect<void> {
    return Effect.suspend(() => {
      const entry = call as Entry
      if (call.fiber.pollUnsafe() === undefined) entry.progress = { ...entry.progress, isCancelled: true }
      return Fiber.interrupt(call.fiber)
    })
  }

  /** True if its caller has interrupted a call. */
  isCancelled(call: ServedCall): boolean {
    return (call as Entry).progress.isCancelled
  }

  /** The outcome of a call that its caller has interrupted. */
  outcomeOfCancelled(call: ServedCall): Outcome<unknown> {
    return outcomeOfFailure(call.raw, resultIn((call as Entry).session))
  }

  /** The outcome of a call that the end of the run has interrupted; `undefined` if it was not done. */
  outcomeOfInterrupted(call: ServedCall): Outcome<unknown> | undefined {
    const failure = resultIn((call as Entry).session)
    return uncertainCodes.has(Object(failure)["code"]) ? outcomeOfFailure(call.raw, failure) : undefined
  }

  /** Withdraws the questions of the calls that wait, and writes their results. */
  readonly close: Effect.Effect<void> = Effect.suspend(() => {
    Deferred.doneUnsafe(this.end, Exit.void)
    const sessions = this.waiting.map(({ entry: { session } }) => session)
    for (const { transcript } of sessions) this.state.transcript.prompt(transcript.snapshot())
    return Effect.forEach(sessions, ({ withdraw = Effect.void }) => withdraw, { discard: true })
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
