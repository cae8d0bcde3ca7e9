/** Host over a cluster: messages place runs and wake their owners, over the rows and the fence of another host. */
import type * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { monotonicMillis } from "@recourse/core/Runs"
import type { Claimable, Host, Lease, Leaving, Store, StoredRun, Take } from "../store/store.ts"
import { WakeUps } from "../store/wakeUps.ts"

/** A run, in messages. */
export type Named = Pick<StoredRun, "agent" | "runId" | "version">

/** Messages to the process at which the cluster has placed a run. */
export interface Messages {
  readonly wake: (address: string, run: Named) => Effect.Effect<unknown, unknown>
  readonly cancel: (address: string, run: Named) => Effect.Effect<unknown, unknown>
  /** The run has changed: it has a signal. */
  readonly change: (address: string, run: Named) => Effect.Effect<unknown, unknown>
  readonly wakeLater: (address: string, run: Named, millis: number) => Effect.Effect<unknown, unknown>
}

/** Number of runs by id in one statement. */
const most = 100

/** Time limit to send a message: the process may be gone, and the sweep finds the run. */
const patience = "5 seconds"

/** An entity id is a column of 255 characters. Runs that share one share a place only. */
const addressOf = ({ agent, runId, version }: Named): string =>
  [agent, version, runId].map((part) => encodeURIComponent(part).slice(0, 80)).join("/")

/** A run that a message has named. */
type InboxEntry = Named & { readonly at: number }

/** A host whose runs are placed by messages. */
export class ClusterHost {
  private readonly base: Store
  private readonly messages: Messages
  private readonly sweepMillis: number
  private readonly clock: Clock.Clock
  private readonly fork: (effect: Effect.Effect<void>) => void
  private readonly wakeUps = new WakeUps()
  /** Runs that a message has named, and when. */
  private readonly inbox = new Map<string, InboxEntry>()
  /** When the runs of these agents were looked for without a message. */
  private readonly sweptAt = new Map<string, number>()
  readonly store: Store

  constructor(
    base: Store,
    messages: Messages,
    sweepMillis: number,
    clock: Clock.Clock,
    fork: (effect: Effect.Effect<void>) => void
  ) {
    this.base = base
    this.messages = messages
    this.sweepMillis = sweepMillis
    this.clock = clock
    this.fork = fork
    const { insert, settle } = this
    this.store = {
      ...base,
      insert,
      settle,
      take: (wanted) => this.take(wanted),
      decide: (runId, segment, decisions) =>
        Effect.tap(
          base.decide(runId, segment, decisions),
          ({ decidedBefore }) => decidedBefore === undefined ? this.notify(runId, this.messages.wake) : Effect.void
        ),
      cancel: (runId) =>
        Effect.tap(
          base.cancel(runId),
          (isCancelled) => isCancelled ? this.notify(runId, this.messages.cancel) : Effect.void
        ),
      signal: (runId, name, value) =>
        Effect.tap(
          base.signal(runId, name, value),
          (isAdded) => isAdded ? this.notify(runId, this.messages.change) : Effect.void
        ),
      listen: (listener) =>
        Effect.andThen(
          base.listen((wakeUp) => {
            if (wakeUp._tag === "Queued" && wakeUp.released !== undefined) this.addToInbox(wakeUp.released)
            listener(wakeUp)
          }),
          this.wakeUps.listen(listener)
        )
    }
  }

  /** A message says that a run may be taken, or is due. */
  hearWake(run: Named): Effect.Effect<void> {
    return Effect.sync(() => {
      this.addToInbox(run)
      this.wakeUps.emit({ _tag: "Queued" })
    })
  }

  /** A message says that a run was cancelled. */
  hearCancel(run: Named): Effect.Effect<void> {
    return Effect.suspend(() => {
      this.wakeUps.emit({ _tag: "Cancelled", runId: run.runId })
      return this.hearWake(run)
    })
  }

  /** A message says that a run has changed. */
  hearChange({ runId }: Named): Effect.Effect<void> {
    return Effect.sync(() => this.wakeUps.emit({ _tag: "Changed", runId }))
  }

  private addToInbox({ agent, runId, version }: Named): void {
    this.inbox.set(runId, { runId, agent, version, at: monotonicMillis(this.clock) })
  }

  private send(run: Named, message: (address: string, run: Named) => Effect.Effect<unknown, unknown>): void {
    const { agent, runId, version } = run
    const sent = message(addressOf(run), { agent, runId, version })
    this.fork(Effect.ignoreCause(Effect.timeout(sent, patience)))
  }

  private readonly notify = (runId: string, message: Messages["wake"]) =>
    Effect.map(this.base.get(runId), (run) => {
      if (run !== undefined) this.send(run, message)
    })

  private readonly insert: Host["insert"] = (run) =>
    Effect.tap(this.base.insert(run), ({ isNew, run: { status } }) =>
      Effect.sync(() => {
        if (!isNew || status !== "queued") return
        const { wake, wakeLater } = this.messages
        const { delayMillis = 0 } = run
        this.send(run, delayMillis > 0 ? (address, named) => wakeLater(address, named, delayMillis) : wake)
      }))

  /** Sends a message for a run that is due later, at that time. A wake-up names one that may be taken at once. */
  private readonly settle = (hold: Lease, leaving: Leaving) =>
    Effect.tap(this.base.settle(hold, leaving), (isLeft) => {
      const millis = "wakeInMillis" in leaving ? leaving.wakeInMillis : undefined
      return !isLeft || millis === undefined
        ? Effect.void
        : this.notify(hold.runId, (address, run) => this.messages.wakeLater(address, run, millis))
    })

  /** True if runs of these agents are searched without a message: at each interval. */
  private isSweep(what: string, agents: ReadonlyArray<Claimable> | undefined, now: number): boolean {
    if (agents === undefined) return false
    const key = `${what} ${JSON.stringify(agents)}`
    if (now - (this.sweptAt.get(key) ?? -Infinity) < this.sweepMillis) return false
    this.sweptAt.set(key, now)
    for (const [runId, { at }] of this.inbox) if (now - at > 2 * this.sweepMillis) this.inbox.delete(runId)
    return true
  }

  /** Runs of these agents that a message has named. */
  private namedOf(agents: ReadonlyArray<Claimable> = []): ReadonlyArray<InboxEntry> {
    return [...this.inbox.values()].filter(({ agent, version }) =>
      agents.some((one) => one.agent === agent && one.versions.includes(version))
    ).slice(0, most)
  }

  /** Removes entries, and keeps those of runs that another message has named since. */
  private remove(entries: ReadonlyArray<InboxEntry>): void {
    for (const entry of entries) if (this.inbox.get(entry.runId) === entry) this.inbox.delete(entry.runId)
  }

  /**
   * Takes the runs that messages have named, unless the caller names some; and all, once in a while. The limits of a queue count over all processes, so of its agent any run is taken
   * that is permitted: a place that is free here is not kept for a run that was named to another process.
   */
  private take(wanted: Take): ReturnType<Host["take"]> {
    return Effect.suspend(() => {
      const now = monotonicMillis(this.clock)
      if (wanted.only !== undefined) return this.base.take(wanted)
      const { agents, due, limit = 0, onlyCancelled } = wanted
      const free = agents?.filter(({ queue }) => queue === undefined)
      const limited = agents?.filter(({ queue }) => queue !== undefined) ?? []
      const named = this.namedOf(free ?? due)
      const only = this.isSweep("all", agents, now) ? undefined : named.map(({ runId }) => runId)
      const isAny = free !== undefined && free.length > 0 && only?.length !== 0
      const first = this.base.take({
        ...wanted,
        agents: isAny ? free : undefined,
        only,
        due: named.length > 0 || this.isSweep("due", due, now) ? due : undefined
      })
      return Effect.flatMap(first, (answer) => {
        const { taken } = answer
        // The others have ended, or are another's.
        const isWhole = taken.length < limit && onlyCancelled !== true
        const ids = new Set(taken.map(({ runId }) => runId))
        if (isAny) this.remove(isWhole ? named : named.filter(({ runId }) => ids.has(runId)))
        if (limited.length === 0 || taken.length >= limit) return Effect.succeed(answer)
        this.remove(this.namedOf(limited))
        return Effect.map(
          this.base.take({
            ...wanted,
            agents: limited,
            limit: limit - taken.length,
            due: undefined,
            leases: undefined
          }),
          (more) => ({ ...answer, taken: [...taken, ...more.taken] })
        )
      })
    })
  }
}
