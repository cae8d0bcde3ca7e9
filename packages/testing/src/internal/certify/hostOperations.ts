/**
 * Random operations on a host, compared with the reference model after each: by the owner of a run, by its former
 * owner, which stays alive, and by others.
 */
import { Effect, Random } from "effect"
import type * as RunStore from "@recourse/durable/RunStore"
import { Differs, same } from "./broken.ts"
import * as Model from "./hostModel.ts"

type Done = Effect.Effect<void, Differs | RunStore.RunStoreError>

const below = (count: number): Effect.Effect<number> => Random.nextIntBetween(0, count, { halfOpen: true })
const oneOf = <A>(all: ReadonlyArray<A>): Effect.Effect<A> => Effect.map(below(all.length), (at) => all[at]!)

const long = 60_000_000
const leavings: ReadonlyArray<Model.ModelLeaving> = [
  "waiting",
  "waiting",
  "queued",
  "lent",
  "asked",
  "completed",
  "failed",
  "cancelled"
]

/** A sequence of operations on a few runs of an agent. */
export class HostOperations {
  private readonly store: RunStore.Store
  private readonly agent: string
  private readonly runs = new Map<string, Model.ModelRun>()
  private steps = 0
  readonly done: Array<string> = []

  constructor(store: RunStore.Store, agent: string) {
    this.store = store
    this.agent = agent
  }

  /** Draws an operation, does it, and compares its answer and the run with the model. */
  readonly next: Done = Effect.suspend(() =>
    Effect.gen({ self: this }, function*() {
      const run = yield* oneOf([...this.runs.values()])
      // Of a former owner, one time in four.
      const epoch = run === undefined ? 0 : run.epoch - ((yield* below(4)) === 0 ? 1 : 0)
      const draw = yield* below(run === undefined ? 1 : 20)
      if (draw === 0) yield* this.insert()
      else if (draw < 5) yield* this.take()
      else if (draw < 8) yield* this.keep(run, epoch)
      else if (draw < 11) yield* this.append(run, epoch)
      else if (draw < 16) yield* this.settle(run, epoch)
      else if (draw < 18) yield* this.decide(run)
      else if (draw < 19) yield* this.load(run, epoch)
      else yield* this.cancel(run)
      for (const one of this.runs.values()) yield* this.compare(one)
    })
  )

  private readonly compare = (run: Model.ModelRun): Done =>
    Effect.flatMap(this.store.get(run.runId), (stored) => {
      const { epoch, isCancelled, segment, status } = stored ?? {}
      return same(`run ${run.runId} after ${this.done.at(-1)}`, { epoch, isCancelled, segment, status }, {
        epoch: run.epoch,
        isCancelled: run.isCancelled,
        segment: run.segment,
        status: Model.statusOf(run)
      })
    })

  private note(operation: string, run: Pick<Model.ModelRun, "runId"> | undefined, more: object): void {
    this.done.push(`${operation} ${run?.runId ?? ""} ${JSON.stringify(more)}`)
  }

  private readonly insert = (): Done =>
    Effect.gen({ self: this }, function*() {
      const isOwned = yield* Random.nextBoolean
      const isOver = yield* Random.nextBoolean
      const known = [...this.runs.keys()]
      const runId = known.length >= 4 ? known[0]! : `${this.agent} ${known.length}`
      this.note("insert", { runId }, { isOwned, isOver })
      const { isNew } = yield* this.store.insert({
        runId,
        agent: this.agent,
        version: "1",
        owner: undefined,
        input: { of: runId },
        leaseMillis: isOwned ? isOver ? -1 : long : undefined
      })
      yield* same("insert of a run that is new", isNew, !this.runs.has(runId))
      if (isNew) this.runs.set(runId, Model.insert(runId, isOwned, isOver))
    })

  private readonly take = (): Done =>
    Effect.gen({ self: this }, function*() {
      const isOver = yield* Random.nextBoolean
      const limit = 1 + (yield* below(3))
      const takable = [...this.runs.values()].filter(Model.isTakable)
      this.note("take", undefined, { isOver, limit })
      const { taken } = yield* this.store.take({
        agents: [{ agent: this.agent, versions: ["1"] }],
        limit,
        leaseMillis: isOver ? -1 : long
      })
      yield* same("runs that are taken", taken.length, Math.min(limit, takable.length))
      for (const { epoch, runId, status } of taken) {
        const run = takable.find((one) => one.runId === runId)
        if (run === undefined) return yield* new Differs({ problem: `${runId} is taken, and is owned or has ended` })
        Model.take(run, isOver)
        yield* same(`run ${runId} as it is taken`, { epoch, status }, { epoch: run.epoch, status: "running" })
      }
    })

  private readonly keep = (run: Model.ModelRun, epoch: number): Done =>
    Effect.gen({ self: this }, function*() {
      const place = yield* oneOf([undefined, 1, 9])
      const leaseMillis = epoch === run.epoch ? yield* oneOf([undefined, long, -1]) : undefined
      this.note("keep", run, { epoch, place, leaseMillis })
      const { leases } = yield* this.store.take({ leases: [{ runId: run.runId, epoch, place }], leaseMillis })
      if (Model.owns(run, epoch)) {
        const others = [...this.runs.values()].filter(({ state }) => state === "running").length
        if (place !== undefined) Model.regain(run, others, place)
        if (leaseMillis !== undefined) run.isLeaseOver = leaseMillis < 0
        yield* same(
          "a run that is held",
          leases.map(({ hasPlace, isCancelled, runId }) => ({ hasPlace, isCancelled, runId })),
          [{ runId: run.runId, isCancelled: run.isCancelled, hasPlace: run.state === "running" }]
        )
      } else yield* same("a run that another process owns, or none", leases, [])
    })

  private step(run: Model.ModelRun, epoch: number, kind: string): RunStore.Step {
    const key = `k${++this.steps}`
    const position = run.steps.length
    return {
      runId: run.runId,
      epoch,
      segment: run.segment,
      position,
      kind,
      key,
      value: { key },
      elapsed: 1,
      firstEvent: position,
      events: [{ _tag: "Certified", key }]
    }
  }

  private readonly append = (run: Model.ModelRun, epoch: number): Done =>
    Effect.gen({ self: this }, function*() {
      const startsWrite = yield* Random.nextBoolean
      const step = this.step(run, epoch, startsWrite ? "write" : "read")
      this.note("append", run, { epoch, startsWrite })
      const given = startsWrite ? { ...step, startsWrite } as const : step
      const expected = Model.append(run, { ...step, startsWrite })
      yield* same("a step that is added", yield* this.store.append([given]), [expected])
      // An answer that was lost is the same again.
      yield* same("the same step once more", yield* this.store.append([given]), [expected])
      const other = { ...given, key: `${step.key} other` }
      if (expected !== "lost") yield* same("another step in its place", yield* this.store.append([other]), ["lost"])
    })

  private readonly settle = (run: Model.ModelRun, epoch: number): Done =>
    Effect.gen({ self: this }, function*() {
      const leaving = yield* oneOf(leavings)
      const last = this.step(run, epoch, "end")
      this.note("settle", run, { epoch, leaving })
      const given: RunStore.Leaving = leaving === "queued" || leaving === "lent"
        ? { status: leaving }
        : leaving === "asked"
        ? { status: leaving, asked: 1, askedOf: "ada", wakeInMillis: undefined }
        : { status: leaving, pending: [], snapshot: leaving === "waiting" ? {} : undefined, last }
      const expected = Model.settle(run, epoch, leaving, last.key)
      yield* same(
        `a run that is left as ${leaving}`,
        yield* this.store.settle({ runId: run.runId, epoch }, given),
        expected
      )
      if (expected && "last" in given) {
        yield* same("the same end once more", yield* this.store.settle({ runId: run.runId, epoch }, given), true)
      }
    })

  private readonly decide = (run: Model.ModelRun): Done =>
    Effect.gen({ self: this }, function*() {
      const callId = `c${yield* below(3)}`
      const segment = run.segment - ((yield* below(4)) === 0 ? 1 : 0)
      const isOver = run.state === "completed" || run.state === "failed" || run.state === "cancelled"
      // Decisions about a run that has ended are refused before a host is asked.
      if (isOver) return
      this.note("decide", run, { callId, segment })
      const { decidedBefore } = yield* this.store.decide(run.runId, segment, [{ callId, decision: { callId } }])
      yield* same("a call that was decided before", decidedBefore ?? null, Model.decide(run, segment, callId) ?? null)
    })

  private readonly cancel = (run: Model.ModelRun): Done =>
    Effect.gen({ self: this }, function*() {
      this.note("cancel", run, {})
      yield* same("a run that is cancelled", yield* this.store.cancel(run.runId), Model.cancel(run))
    })

  private readonly load = (run: Model.ModelRun, epoch: number): Done =>
    Effect.gen({ self: this }, function*() {
      this.note("load", run, { epoch })
      const { decisions, positions, steps } = yield* this.store.load({ runId: run.runId, segment: run.segment, epoch })
      const calls = decisions.map((decision) => (decision as { readonly callId: string }).callId)
      yield* same("the entries that an owner loads", {
        calls: calls.toSorted(),
        positions,
        keys: steps.map(({ key }) => key)
      }, {
        calls: Model.decisionsOf(run, epoch).toSorted(),
        positions: run.steps.length,
        keys: run.steps.filter(({ segment }) => segment === run.segment).map(({ key }) => key)
      })
    })
}
