/** `Runs` over a store: from any process that has the store, whether it runs agents or not. */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as WebCrypto from "effect/crypto/WebCrypto"
import type * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import type { InvalidInput } from "@recourse/core/AgentError"
import * as EventJson from "@recourse/core/EventJson"
import { DecisionRefused, decodeDecisions } from "@recourse/core/Approval"
import {
  type NumberedEvent,
  RunConflict,
  type RunInfo,
  type RunsService,
  RunsUnavailable,
  UnknownAgent,
  type UnknownRun,
  unknownRun
} from "@recourse/core/Runs"
import { type Changes, eventsOf } from "./changes.ts"
import { inputToStored, type KnownConversations, namesConversation } from "./conversation.ts"
import { countEnded } from "./counting.ts"
import { ended } from "./unemittedEnds.ts"
import { canonical } from "./references.ts"
import type { RunStoreError, Store, StoredRun } from "./store.ts"
import type { Runner } from "./host/runner.ts"
import { Parent, Slot } from "./slot.ts"
import { inputOf, noKey } from "./definition.ts"
import * as Inbox from "./inbox.ts"
import * as Requests from "./requests.ts"
import { currentTrace } from "./trace.ts"
import { Waiting } from "./waiting.ts"
import type { Versions } from "./versions.ts"
import { wholeEvents, withOutcomes, withSnapshot } from "./wholeRuns.ts"

const infoOf = (run: StoredRun): RunInfo => ({
  runId: run.runId,
  agent: run.agent,
  version: run.version,
  status: run.status,
  ...(run.isCancelled && !ended.has(run.status) ? { cancelling: true as const } : undefined),
  ...(run.owner === undefined ? undefined : { owner: run.owner }),
  startedAt: run.startedAt,
  updatedAt: run.updatedAt,
  ...(run.askedOf === undefined ? undefined : { askedOf: run.askedOf }),
  pending: run.status === "waiting" ? run.pending as unknown as RunInfo["pending"] : [],
  ...run.outcome as object
})

const available = <A>(effect: Effect.Effect<A, RunStoreError>): Effect.Effect<A, RunsUnavailable> =>
  Effect.mapError(effect, ({ operation, reason }) => new RunsUnavailable({ operation, reason }))

/** True if a run was started with an input. A database may return an object with its keys in another order. */
const isInput = (run: StoredRun, input: Schema.Json): Effect.Effect<boolean> =>
  namesConversation(run.input)
    ? Effect.map(inputToStored(input, run.owner), (stored) => canonical(run.input) === canonical(stored.input))
    : Effect.succeed(canonical(run.input) === canonical(input))

/** This process's facts for the service. */
export interface Here {
  readonly agents: () => Versions
  readonly changes: Changes
  readonly conversations: KnownConversations
  readonly poll: Duration.Duration
  readonly starting: Runner["start"]
  readonly isHeld: (runId: string) => boolean
}

/** Time for which a run counts as read after its reader's last request. */
const readFor = 10_000

// oxlint-disable-next-line max-lines-per-function -- the operations on one agent share its codecs and its store
export const make = (
  store: Store,
  { agents, changes, conversations, isHeld, poll, starting }: Here
): RunsService => {
  const get = (runId: string): Effect.Effect<StoredRun, UnknownRun | RunsUnavailable> =>
    Effect.flatMap(
      Requests.isStorable(runId) ? available(store.get(runId)) : Effect.undefined,
      (run) => run === undefined ? Effect.fail(unknownRun(String(runId))) : Effect.succeed(run)
    )
  const eventsFrom = (run: StoredRun, from: number, readMillis: number | undefined) =>
    Effect.flatMap(
      store.events(run.runId, from, readMillis),
      (found) => found.length === 0 ? Effect.succeed(found) : wholeEvents(store, conversations, run, found)
    )
  /** Known facts of runs. */
  const described = (runs: ReadonlyArray<StoredRun>): Effect.Effect<ReadonlyArray<RunInfo>, RunsUnavailable> =>
    Effect.map(available(withOutcomes(store, runs)), (whole) => whole.map(infoOf))
  const describedOne = (run: StoredRun) => Effect.map(described([run]), ([info]) => info!)
  /** For how long a run is marked as read now: at most once in half of that time. */
  const markerOf = (): (run: StoredRun) => Effect.Effect<number | undefined> => {
    let markedAt = -Infinity
    return ({ runId, status }) =>
      Effect.map(Clock.currentTimeMillis, (now) => {
        // The owner of the run emits its events early while they are read.
        if (status !== "running" || isHeld(runId) || now - markedAt < readFor / 2) return undefined
        markedAt = now
        return readFor
      })
  }
  /** A page of events; `undefined` when the run has ended and all were read. */
  const page = Effect.fnUntraced(function*(
    runId: string,
    from: number,
    mark: ReturnType<typeof markerOf>
  ): Effect.fn.Return<
    readonly [ReadonlyArray<NumberedEvent>, Option.Option<number>],
    UnknownRun | RunsUnavailable
  > {
    const run = yield* get(runId)
    const found = yield* available(eventsFrom(run, from, yield* mark(run)))
    const events = found.flatMap(({ event, number }) =>
      Option.match(EventJson.decode(event), {
        onNone: () => [],
        onSome: (event): ReadonlyArray<NumberedEvent> => [{ number, event: { ...event, sequence: number } }]
      })
    )
    const last = found.at(-1)
    if (last !== undefined) return [events, Option.some(last.number + 1)]
    if (ended.has(run.status)) return [[], Option.none()]
    yield* changes.next(eventsOf(runId), poll)
    return [[], Option.some(from)]
  })
  const waiting = new Waiting(store, changes, poll)
  const cancelled = Effect.fnUntraced(function*(runId: string): Effect.fn.Return<boolean, RunsUnavailable> {
    const isCancelled = yield* available(store.cancel(runId))
    const run = isCancelled ? yield* available(store.get(runId)) : undefined
    // One that is held is counted by its holder.
    if (run?.status === "cancelled") yield* countEnded({ agent: run.agent, status: "cancelled" })
    yield* Effect.forEach(yield* available(store.children(runId)), cancelled, { discard: true })
    return isCancelled
  })
  return {
    start: Effect.fnUntraced(function*({ agent, delay, input, owner, runId }) {
      const registered = agents().starts(agent)
      if (registered === undefined) {
        return yield* Effect.fail(new UnknownAgent({ agent, registered: agents().names }))
      }
      yield* Effect.provideContext(
        inputOf(registered.definition, input),
        registered.context
      ) as Effect.Effect<unknown, InvalidInput>
      const id = runId === undefined
        ? `run_${(yield* WebCrypto.WebCrypto).randomUUID().replaceAll("-", "")}`
        : runId
      const delayMillis = yield* Requests.started(agent, { runId: id, owner, delay })
      const { version } = registered.definition
      const toStored = yield* inputToStored(input as Schema.Json, owner)
      const added = {
        runId: id,
        agent,
        version,
        owner,
        ...toStored,
        parent: yield* Parent,
        trace: yield* currentTrace,
        delayMillis
      }
      const insert = (leaseMillis?: number) =>
        Effect.tap(store.insert({ ...added, leaseMillis }), ({ isNew }) =>
          Effect.sync(() => {
            if (isNew) conversations.begin(id, toStored)
          }))
      const { isNew, run } = yield* available(
        added.delayMillis === undefined ? starting(agent, insert) : insert()
      )
      if (run.agent !== agent) return yield* Effect.fail(new RunConflict({ runId: id, differs: "agent" }))
      if (!isNew && !(yield* isInput(run, input as Schema.Json))) {
        return yield* Effect.fail(new RunConflict({ runId: id, differs: "input" }))
      }
      return { runId: id, isNew }
    }),
    get: (runId) => Effect.flatMap(get(runId), describedOne),
    wait: (runId) =>
      Effect.flatMap(get(runId), (run) =>
        ended.has(run.status)
          ? describedOne(run)
          : Effect.flatMap(
            Slot,
            (slot) => Effect.andThen(slot.lent(waiting.ended(runId)), Effect.flatMap(get(runId), describedOne))
          )),
    events: (runId, from = 0) =>
      Requests.isNumber(from)
        ? Stream.unwrap(Effect.map(changes.reading(runId), () => {
          const mark = markerOf()
          return Stream.paginate(from, (number) => page(runId, number, mark))
        }))
        : Stream.fromEffect(Effect.flatMap(get(runId), ({ agent }) => Requests.noNumber(agent))),
    decide: Effect.fnUntraced(function*(runId, decisions) {
      const run = yield* get(runId)
      const decoded = yield* Effect.fromResult(decodeDecisions(decisions))
      const pending = new Map(infoOf({ ...run, status: "waiting" }).pending.map((call) => [call.callId, call]))
      const seen = new Set<string>()
      for (const { argumentsHash, callId } of decoded) {
        const call = ended.has(run.status) || run.isCancelled ? undefined : pending.get(callId)
        const reason = call === undefined
          ? "unknown_call"
          : call.argumentsHash !== argumentsHash
          ? "other_arguments"
          : seen.has(callId)
          ? "twice"
          : undefined
        if (reason !== undefined) return yield* Effect.fail(new DecisionRefused({ callId, reason }))
        seen.add(callId)
      }
      const taken = agents().takes(run)
      if (taken !== undefined && taken.how !== "stop") {
        const { registered: { context, definition } } = taken
        const { snapshot } = yield* available(withSnapshot(store, conversations, run))
        yield* Effect.provideContext(
          definition.check(snapshot, decoded),
          Context.merge(noKey, context)
        ) as Effect.Effect<void, DecisionRefused>
      }
      const stored = decoded.map((decision) => ({
        callId: decision.callId,
        decision: decision as unknown as Schema.Json
      }))
      if (stored.length === 0) return
      const { decidedBefore } = yield* available(store.decide(runId, run.segment, stored))
      if (decidedBefore !== undefined) {
        return yield* Effect.fail(new DecisionRefused({ callId: decidedBefore, reason: "twice" }))
      }
    }),
    addMessage: (runId, message) =>
      Effect.flatMap(get(runId), (run) => available(Inbox.send(store, changes, poll, run, message))),
    cancel: (runId) => Effect.andThen(get(runId), cancelled(runId)),
    list: (query = {}) =>
      Effect.andThen(
        Requests.listed(query),
        Effect.suspend(() => Effect.flatMap(available(store.list(query)), described))
      )
  }
}
