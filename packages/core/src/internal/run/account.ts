/** Budget account of one agent. Each charge also goes to the accounts of its parents. */
/* oxlint-disable max-lines -- the limits and the usage of a run are one account */
import type * as Cause from "effect/Cause"
import type * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Semaphore from "effect/Semaphore"
import { BudgetExceeded, type Caps, type Extension, type Kind } from "../../Budget.ts"
import { signal, signalIn } from "../foundation/effect/signal.ts"
import { isLongerThan } from "../foundation/json/jsonShape.ts"
import { monotonicMillis } from "../foundation/monotonicTime.ts"

/**
 * The signal of a used-up budget, for the run of the agent whose budget it is. The account stays stopped, so that
 * swallowing the signal does not help.
 */
export class BudgetStop {
  readonly account: Account
  readonly error: BudgetExceeded
  constructor(account: Account, error: BudgetExceeded) {
    this.account = account
    this.error = error
  }
}

/** Kinds without a count in an account: a single value is measured, not a sum. */
type Measured = "maxDepth" | "argumentSize"

type Countable = Exclude<Kind, Measured | "duration" | "tokens" | "cost" | "allFailureRounds" | "sameToolInARow">

/** Functions of the owner of an account. */
export interface LedgerOwner {
  readonly onThreshold: (kind: Kind, threshold: number, used: number, limit: number) => Effect.Effect<void>
  readonly onExtended: (kind: Kind, limit: number) => Effect.Effect<void>
  readonly onExceeded: ((error: BudgetExceeded) => Effect.Effect<Extension | undefined>) | undefined
}

/** Counts of an account. */
export interface LedgerState {
  readonly used: Readonly<Record<string, number>>
  readonly retries: Readonly<Record<string, number>>
  readonly extended: Readonly<Record<string, number>>
  /** The tool that was called last, while its calls in a row are counted. */
  readonly lastTool?: string
}

export class Account {
  readonly agent: string
  readonly parent: Account | undefined
  /** Agents around this one that have levels, itself included. */
  readonly level: number
  /** The present caps, including extensions. */
  readonly limits: Partial<Record<Kind, number>>
  private readonly thresholds: ReadonlyArray<number>
  private readonly owner: LedgerOwner | undefined
  private readonly used: Record<Exclude<Kind, "retriesPerTool" | Measured>, number> = {
    turns: 0,
    toolCalls: 0,
    fixes: 0,
    transportRetries: 0,
    allFailureRounds: 0,
    duration: 0,
    tokens: 0,
    cost: 0,
    sameToolInARow: 0
  }
  private lastTool: string | undefined
  private retries: Map<string, number> | undefined
  private readonly extended: Partial<Record<Kind, number>> = {}
  private deciding: Semaphore.Semaphore | undefined
  private stopped: BudgetStop | undefined
  private readonly clock: Clock.Clock | undefined
  /** When it began, by the monotonic clock; earlier by the time that it ran before it was resumed. */
  private began: number

  constructor(
    agent: string,
    limits: Caps,
    thresholds: ReadonlyArray<number>,
    owner: LedgerOwner | undefined,
    parent: Account | undefined,
    isLevel = false,
    clock?: Clock.Clock
  ) {
    this.agent = agent
    this.limits = { ...limits }
    this.level = (parent?.level ?? 0) + (isLevel ? 1 : 0)
    this.thresholds = thresholds
    this.owner = owner
    this.parent = parent
    this.clock = clock
    this.began = clock === undefined ? 0 : monotonicMillis(clock)
  }

  /** A part of the run with caps of its own, without events. */
  section(agent: string, caps: Caps): Account {
    return new Account(agent, caps, [], undefined, this)
  }

  /** Returns the usage and the extensions so far, for a run that is resumed later. */
  state(): LedgerState {
    return {
      used: { ...this.used },
      retries: Object.fromEntries(this.retries ?? []),
      extended: { ...this.extended },
      ...(this.lastTool === undefined ? undefined : { lastTool: this.lastTool })
    }
  }

  /** Continues the counts of another account. */
  restore(state: LedgerState): void {
    for (const kind of Object.keys(this.used) as Array<keyof typeof this.used>) this.used[kind] = state.used[kind] ?? 0
    this.began -= this.used.duration
    this.lastTool = state.lastTool
    for (const [tool, times] of Object.entries(state.retries)) this.setRetries(tool, times)
    for (const [kind, more] of Object.entries(state.extended)) this.extend(kind as Kind, more)
  }

  /** Counts, here and in every parent, the usage of an earlier execution of the run, without extensions and events. */
  countReplayed({ extended, retries, used }: LedgerState): void {
    for (let account: Account | undefined = this; account !== undefined; account = account.parent) {
      for (const [kind, amount] of Object.entries(used)) {
        if (kind !== "duration" && kind !== "allFailureRounds") account.used[kind as "turns"] += amount
      }
      for (const [tool, times] of Object.entries(retries)) {
        account.setRetries(tool, (account.retries?.get(tool) ?? 0) + times)
      }
    }
    for (const [kind, more] of Object.entries(extended)) this.extend(kind as Kind, more)
  }

  private extend(kind: Kind, more: number): void {
    const now = this.limits[kind]
    if (now === undefined) return
    this.limits[kind] = now + more
    this.extended[kind] = (this.extended[kind] ?? 0) + more
  }

  /** Adds the milliseconds that the agent ran in earlier executions. */
  continueAfter(millis: number): void {
    this.used.duration += millis
    this.began -= millis
  }

  /** Records how long the agent has run, for a run that is resumed later. */
  noteElapsed(): void {
    this.used.duration = this.ran
  }

  private setRetries(tool: string, times: number): void {
    ;(this.retries ??= new Map()).set(tool, times)
  }

  private usedOf(kind: Exclude<Kind, Measured>, tool: string | undefined): number {
    return kind === "retriesPerTool" ? this.retries?.get(tool ?? "") ?? 0 : this.used[kind]
  }

  /** True if one more of a kind fits, here and in every parent. */
  fits(kind: Exclude<Kind, Measured>, tool?: string): boolean {
    const limit = this.limits[kind]
    if (limit !== undefined && this.usedOf(kind, tool) >= limit) return false
    return this.parent === undefined || this.parent.fits(kind, tool)
  }

  /** Counts one of a kind, here and in every parent; ends the run of the agent whose cap it would break. */
  charge(kind: Countable, tool?: string): Effect.Effect<void> {
    return Effect.suspend(() => this.chargeNow(kind, tool))
  }

  /** {@link charge}, counted at once if it fits: for use inside of a suspended effect. */
  chargeNow(kind: Countable, tool?: string): Effect.Effect<void> {
    return this.isStopped() || !this.fits(kind, tool)
      ? Effect.andThen(this.require(kind, tool), this.charge(kind, tool))
      : this.add(kind, 1, tool)
  }

  /** Reverts the charge of a call that did not start. */
  refund(kind: "toolCalls"): void {
    for (let account: Account | undefined = this; account !== undefined; account = account.parent) account.used[kind]--
  }

  /** Ends the run if a kind is exhausted, here or in a parent. */
  require(kind: Exclude<Kind, Measured>, tool?: string): Effect.Effect<void> {
    if (!this.isStopped() && this.fits(kind, tool)) return Effect.void
    return Effect.suspend((): Effect.Effect<void> => {
      if (this.stopped !== undefined) return signal(this.stopped)
      const limit = this.limits[kind]
      const here = limit !== undefined && this.usedOf(kind, tool) >= limit ? this.exceed(kind, tool) : Effect.void
      return this.parent === undefined ? here : Effect.andThen(here, this.parent.require(kind, tool))
    })
  }

  /** Records tokens that a provider reported; the next `require("tokens")` looks at them. */
  addTokens(amount: number): Effect.Effect<void> {
    return this.add("tokens", amount, undefined)
  }

  /** Records the cost of tokens; the next `require("cost")` checks it. */
  addCost(amount: number): Effect.Effect<void> {
    return this.add("cost", amount, undefined)
  }

  /** True if there is a cap of a kind, here or in a parent. */
  hasCap(kind: Kind): boolean {
    return this.limits[kind] !== undefined || (this.parent?.hasCap(kind) ?? false)
  }

  /** Ends the run of an agent that has this one too many levels within it. */
  requireLevel(): Effect.Effect<void> {
    return this.requireSize("maxDepth", (account) => this.level - account.level, undefined)
  }

  /** Ends the run if the arguments of a call are too large, here or for a parent. */
  requireArguments(tool: string, params: unknown): Effect.Effect<void> {
    for (let account: Account | undefined = this; account !== undefined; account = account.parent) {
      const limit = account.limits.argumentSize
      if (limit !== undefined && (typeof params === "string" ? params.length > limit : isLongerThan(params, limit))) {
        const size = typeof params === "string" ? params.length : JSON.stringify(params).length
        return this.requireSize("argumentSize", () => Math.max(size, limit + 1), tool)
      }
    }
    return Effect.void
  }

  /** Ends the run if its tokens, or its cost, are used up; else charges a turn of the model. */
  chargeTurn(requireCost: (() => Effect.Effect<void>) | undefined): Effect.Effect<void> {
    const required = requireCost === undefined
      ? this.require("tokens")
      : Effect.andThen(this.require("tokens"), Effect.suspend(requireCost))
    return Effect.flatMapEager(required, () => this.chargeNow("turns"))
  }

  /** Ends the run if a call of the model has too large arguments, or is one too many of its tool in a row. */
  chargeRequest(tool: string, params: unknown): Effect.Effect<void> {
    const required = this.requireArguments(tool, params)
    return this.limits.sameToolInARow === undefined
      ? required
      : Effect.flatMapEager(required, () => this.chargeRow(tool))
  }

  /** Counts the calls of one tool that the model makes in a row; ends the run at one too many. */
  private chargeRow(tool: string): Effect.Effect<void> {
    return Effect.suspend((): Effect.Effect<void> => {
      if (this.stopped !== undefined) return signal(this.stopped)
      if (this.lastTool !== tool) this.used.sameToolInARow = 0
      this.lastTool = tool
      return this.used.sameToolInARow < this.limits.sameToolInARow!
        ? this.count("sameToolInARow", 1, tool)
        : Effect.andThen(this.exceed("sameToolInARow", tool), this.chargeRow(tool))
    })
  }

  private requireSize(
    kind: Measured,
    sizeFor: (account: Account) => number,
    tool: string | undefined
  ): Effect.Effect<void> {
    let ended: Effect.Effect<void> = Effect.void
    for (let account: Account | undefined = this; account !== undefined; account = account.parent) {
      const limit = account.limits[kind]
      const size = sizeFor(account)
      if (limit !== undefined && size > limit) {
        ended = Effect.andThen(ended, account.exceed(kind, tool, size))
      }
    }
    return ended
  }

  /** Counts a round of calls: all failed, or not. Ends the run if too many rounds in a row have failed. */
  round(allFailed: boolean): Effect.Effect<void> {
    return Effect.flatMapEager(
      allFailed ? this.add("allFailureRounds", 1, undefined) : this.endFailures(),
      () => this.require("allFailureRounds")
    )
  }

  private endFailures(): Effect.Effect<void> {
    for (let account: Account | undefined = this; account !== undefined; account = account.parent) {
      account.used.allFailureRounds = 0
    }
    return Effect.void
  }

  /** Milliseconds that the agent has run, the time before it was resumed included. */
  get ran(): number {
    return this.clock === undefined ? this.used.duration : Math.floor(monotonicMillis(this.clock) - this.began)
  }

  /** True if a wait ends before the deadlines, here and in every parent. A movable deadline does not count. */
  hasTime(millis: number): boolean {
    const { duration } = this.limits
    return (duration === undefined || this.clock === undefined || this.owner?.onExceeded !== undefined ||
      this.ran + millis < duration) &&
      (this.parent === undefined || this.parent.hasTime(millis))
  }

  /** Asks for more time at the deadline: returns if there is, ends the run if not. */
  outOfTime(elapsed: number): Effect.Effect<void> {
    this.used.duration = elapsed
    return this.exceed("duration", undefined)
  }

  private isStopped(): boolean {
    return this.stopped !== undefined || (this.parent?.isStopped() ?? false)
  }

  private add(
    kind: Exclude<Kind, "duration" | Measured>,
    amount: number,
    tool: string | undefined
  ): Effect.Effect<void> {
    let events: Effect.Effect<void> = Effect.void
    for (let account: Account | undefined = this; account !== undefined; account = account.parent) {
      const thresholdEvents = account.count(kind, amount, tool)
      if (thresholdEvents !== Effect.void) {
        events = events === Effect.void
          ? thresholdEvents
          : Effect.andThen(events, thresholdEvents)
      }
    }
    return events
  }

  /** Adds to the usage of this account alone, and emits the thresholds that it passes. */
  private count(
    kind: Exclude<Kind, "duration" | Measured>,
    amount: number,
    tool: string | undefined
  ): Effect.Effect<void> {
    const before = this.usedOf(kind, tool)
    const after = before + amount
    if (kind === "retriesPerTool") this.setRetries(tool ?? "", after)
    else this.used[kind] = after
    const limit = this.limits[kind]
    let events: Effect.Effect<void> = Effect.void
    if (limit === undefined) return events
    for (const threshold of this.thresholds) {
      const at = threshold * limit
      if (after >= at && (before < at || (at === 0 && before === 0 && after > 0))) {
        events = Effect.andThen(events, this.owner!.onThreshold(kind, threshold, after, limit))
      }
    }
    return events
  }

  /** `size`: the measured value, if it is not a count. */
  private exceed(kind: Kind, tool: string | undefined, size?: number): Effect.Effect<void> {
    // Only one of several parallel calls asks; the others find the cap extended, or the account stopped.
    return (this.deciding ??= Semaphore.makeUnsafe(1)).withPermit(Effect.suspend(() => {
      if (this.stopped !== undefined) return signal(this.stopped)
      const limit = this.limits[kind] ?? 0
      const used = size ?? this.usedOf(kind as Exclude<Kind, Measured>, tool)
      const fits = (limit: number) => size === undefined ? used < limit : used <= limit
      if (fits(limit)) return Effect.void
      const error = new BudgetExceeded({
        reason: kind,
        agent: this.agent,
        limit,
        used,
        ...(tool === undefined ? undefined : { tool })
      })
      const stop = Effect.suspend(() => signal(this.stopped = new BudgetStop(this, error)))
      const { owner } = this
      return owner?.onExceeded === undefined
        ? stop
        : Effect.flatMap(owner.onExceeded(error), (extension) => {
          for (const [name, more] of Object.entries(extension ?? {})) this.extend(name as Kind, more)
          const extendedTo = this.limits[kind] ?? 0
          return fits(extendedTo) ? owner.onExtended(kind, extendedTo) : stop
        })
    }))
  }
}

/** Returns the stop of an account in a cause, if it ended the run. */
export const stopOf = (cause: Cause.Cause<unknown>, account: Account): BudgetStop | undefined =>
  signalIn(cause, (value): value is BudgetStop => value instanceof BudgetStop && value.account === account)
