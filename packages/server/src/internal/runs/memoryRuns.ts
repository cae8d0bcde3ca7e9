/** Runs in this process, with their events in memory. */
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import type * as Scope from "effect/Scope"
import type * as Stream from "effect/Stream"
import * as WebCrypto from "effect/crypto/WebCrypto"
import type { InvalidInput } from "@recourse/core/AgentError"
import type { AgentEvent } from "@recourse/core/AgentEvent"
import type * as Approval from "@recourse/core/Approval"
import { CurrentJournal } from "@recourse/core/Journal"
import { check } from "@recourse/core/RunInbox"
import {
  checkQuery,
  isEnded,
  logFailure,
  type NumberedEvent,
  type Query,
  RunConflict,
  type RunInfo,
  type RunsService,
  RunsUnavailable,
  type StartRequest,
  UnknownAgent,
  type UnknownRun,
  unknownRun,
  type UserMessage
} from "@recourse/core/Runs"
import { cancelled, needsEnd } from "./cancelledRun.ts"
import { following, Log } from "./log.ts"
import { MemoryInbox } from "./memoryInbox.ts"
import { endOf, type Finished, notWaiting, refusedBy } from "./runEnd.ts"
import { type Run, RunTable } from "./runTable.ts"
import type { Around, Ended, Served } from "./served.ts"

const unavailable = (operation: string, reason: string) => new RunsUnavailable({ operation, reason: new Error(reason) })

/** Runs of agents in this process. */
export class MemoryRuns implements RunsService {
  private readonly runs: RunTable
  private isClosing = false
  private readonly agents: ReadonlyMap<string, Served>
  private readonly capacity: number
  private readonly scope: Scope.Scope

  constructor(agents: ReadonlyMap<string, Served>, capacity: number, scope: Scope.Scope) {
    this.agents = agents
    this.capacity = capacity
    this.runs = new RunTable(capacity)
    this.scope = scope
  }

  readonly start = Effect.fnUntraced(
    { self: this },
    function*(request: StartRequest): Effect.fn.Return<
      { readonly runId: string; readonly isNew: boolean },
      UnknownAgent | InvalidInput | RunConflict | RunsUnavailable
    > {
      const { agent, owner } = request
      const served = this.agents.get(agent)
      if (served === undefined) return yield* new UnknownAgent({ agent, registered: [...this.agents.keys()] })
      const decoded = yield* served.read(request.input)
      const input = JSON.stringify(request.input)
      const runId = request.runId ?? (yield* WebCrypto.WebCrypto).randomUUID()
      const known = this.runs.get(runId)
      if (known !== undefined) {
        if (known.info.agent !== agent) return yield* new RunConflict({ runId, differs: "agent" })
        if (known.input !== input || known.info.owner !== owner) {
          return yield* new RunConflict({ runId, differs: "input" })
        }
        return { runId, isNew: false }
      }
      if (this.isClosing) return yield* unavailable("start", "The server is shutting down")
      if (!this.runs.makeRoom()) return yield* unavailable("start", `${this.capacity} runs are running or waiting`)
      const now = yield* Clock.currentTimeMillis
      const run: Run = {
        info: {
          runId,
          agent,
          status: "running",
          startedAt: now,
          updatedAt: now,
          pending: [],
          ...(owner === undefined ? undefined : { owner })
        },
        served,
        input,
        log: new Log(),
        inbox: new MemoryInbox(runId),
        snapshot: undefined,
        fiber: undefined
      }
      this.runs.add(run)
      yield* Effect.orDie(this.drive(run, (around) => served.start(decoded, runId, around)))
      return { runId, isNew: true }
    },
    // The caller may leave at any moment: a run is started, or does not exist.
    Effect.uninterruptible
  )

  readonly get = (runId: string): Effect.Effect<RunInfo, UnknownRun> =>
    Effect.map(this.runs.find(runId), ({ info }) => info)

  readonly wait = (runId: string): Effect.Effect<RunInfo, UnknownRun> =>
    Effect.flatMap(this.runs.find(runId), (run) => Effect.map(run.log.until(0, () => false), () => run.info))

  readonly events = (runId: string, from = 0): Stream.Stream<NumberedEvent, UnknownRun> =>
    following(() => this.runs.get(runId)?.log, from, () => unknownRun(runId))

  readonly decide = (
    runId: string,
    decisions: ReadonlyArray<Approval.Decision>
  ): Effect.Effect<void, UnknownRun | Approval.DecisionRefused | RunsUnavailable> =>
    Effect.flatMap(
      this.runs.find(runId),
      (run): Effect.Effect<void, Approval.DecisionRefused | RunsUnavailable> => {
        const { snapshot } = run
        if (this.isClosing) return Effect.fail(unavailable("decide", "The server is shutting down"))
        return snapshot === undefined
          ? Effect.fail(notWaiting())
          : this.proceed(run, (around) => run.served.resume(snapshot, decisions, around))
      }
    )

  readonly addMessage = (runId: string, message: UserMessage): Effect.Effect<boolean, UnknownRun | InvalidInput> =>
    Effect.flatMap(this.runs.find(runId), ({ inbox, info: { agent, status } }) =>
      Effect.andThen(
        check(agent, message),
        Effect.suspend(() => status === "running" ? inbox.offer(message) : Effect.succeed(inbox.hasJoined(message.id)))
      ))

  readonly cancel = (runId: string): Effect.Effect<boolean, UnknownRun> =>
    Effect.flatMap(this.runs.find(runId), (run) => {
      if (run.fiber !== undefined) {
        return Effect.map(Fiber.interrupt(run.fiber), () => run.info.status === "cancelled")
      }
      const { info, snapshot } = run
      if (info.status !== "waiting") return Effect.succeed(false)
      if (snapshot !== undefined && needsEnd(info, snapshot)) return this.endCancelled(run, snapshot)
      return Effect.map(Clock.currentTimeMillis, (updatedAt) => {
        run.snapshot = undefined
        this.runs.place(run, { ...info, status: "cancelled", pending: [], updatedAt })
        run.log.close()
        return true
      })
    })

  readonly list = (query: Query = {}): Effect.Effect<ReadonlyArray<RunInfo>, InvalidInput> =>
    Effect.map(checkQuery(query), () => this.runs.list(query))

  readonly drain = (within: Duration.Duration): Effect.Effect<void> =>
    Effect.suspend(() => {
      this.isClosing = true
      const { fibers } = this.runs
      return Effect.andThen(
        Effect.timeoutOption(Fiber.awaitAll(fibers), within),
        Fiber.interruptAll(fibers)
      )
    })

  /** Resumes a run that is cancelled while it is paused: it compensates its writes, and reports calls that a page may have executed. */
  private endCancelled(run: Run, snapshot: Approval.Snapshot): Effect.Effect<boolean> {
    const ended = this.proceed(
      run,
      (around) =>
        Effect.provideService(run.served.resume(snapshot, [], around), CurrentJournal, cancelled(run.info.runId))
    )
    return Effect.andThen(
      Effect.orDie(ended),
      Effect.suspend(() =>
        Effect.map(
          run.fiber === undefined ? Effect.void : Fiber.await(run.fiber),
          () => run.info.status === "cancelled"
        )
      )
    )
  }

  /**
   * Resumes a waiting run; it still waits if that is refused. The caller may leave at any moment: the run resumes, or
   * it waits.
   */
  private proceed(
    run: Run,
    effect: (around: Around) => Effect.Effect<Ended, unknown>
  ): Effect.Effect<void, Approval.DecisionRefused> {
    return Effect.uninterruptible(Effect.suspend(() => {
      const { info: waited, snapshot } = run
      run.snapshot = undefined
      this.runs.place(run, { ...waited, status: "running", pending: [] })
      return Effect.tapError(
        this.drive(run, effect),
        () =>
          Effect.sync(() => {
            this.runs.place(run, waited)
            run.snapshot = snapshot
          })
      )
    }))
  }

  /** Runs in the server's scope, and answers when the first event is there, or why there is none. */
  private drive(
    run: Run,
    effect: (around: Around) => Effect.Effect<Ended, unknown>
  ): Effect.Effect<void, Approval.DecisionRefused> {
    return Effect.suspend(() => {
      const startSignal = Deferred.makeUnsafe<void, Approval.DecisionRefused>()
      let last: Finished | undefined
      const append = (event: AgentEvent) => run.log.append({ number: run.log.items.length, event })
      const listener = (event: AgentEvent): void => {
        if (event._tag === "RunFinished") {
          last = event
        } else {
          append(event)
          Deferred.doneUnsafe(startSignal, Exit.void)
        }
      }
      const ended = (exit: Exit.Exit<Ended, unknown>): Effect.Effect<void> => {
        run.fiber = undefined
        const refused = last === undefined ? refusedBy(exit) : undefined
        if (refused !== undefined) return Effect.asVoid(Deferred.fail(startSignal, refused))
        const settled = Effect.map(Clock.currentTimeMillis, (updatedAt) => {
          run.snapshot = Exit.isSuccess(exit) ? exit.value : undefined
          this.runs.place(run, { ...run.info, ...endOf(run.info, last, exit), updatedAt })
          run.inbox.close()
          // Readers that hear of the end find the run as it is then.
          if (last !== undefined) append(last)
          if (isEnded(run.info.status)) run.log.close()
          Deferred.doneUnsafe(startSignal, Exit.void)
        })
        return Exit.isFailure(exit) && endOf(run.info, last, exit).status === "failed"
          ? Effect.andThen(Effect.provideContext(logFailure(run.info, exit.cause), run.served.services), settled)
          : settled
      }
      const fork = Effect.forkIn(
        effect({ syncListener: listener, owner: run.info.owner, inbox: run.inbox }).pipe(
          Effect.interruptible,
          Effect.onExit(ended),
          Effect.ignoreCause
        ),
        this.scope
      )
      const forked = Effect.map(fork, (fiber) => {
        run.fiber = fiber
      })
      return Effect.andThen(forked, Deferred.await(startSignal))
    })
  }
}
