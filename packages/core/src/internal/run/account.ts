/** Budget account of one agent. Each charge also goes to the accounts of its parents. */
import type * as Cause from "effect/Cause"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Semaphore from "effect/Semaphore"
import { type Budget, BudgetExceeded, type Extension, Kind } from "../../Budget.ts"
import { ConfigurationError } from "../../ConfigurationError.ts"
import { signal, signalIn } from "../foundation/signal.ts"

const counted = Kind.literals.filter((kind) => kind !== "duration")

/** Reads caps once, at construction. */
export const caps = (agent: string, budget: Budget): Readonly<Partial<Record<Kind, number>>> => {
  const caps: Partial<Record<Kind, number>> = {}
  for (const kind of counted) {
    const cap = budget[kind]
    if (cap === undefined) continue
    if (!Number.isInteger(cap) || cap < 0) {
      throw new ConfigurationError({ subject: `Agent "${agent}"`, problem: `budget.${kind} must be an integer >= 0` })
    }
    caps[kind] = cap
  }
  if (budget.duration !== undefined) {
    const millis = Duration.toMillis(budget.duration)
    if (!(millis > 0)) {
      throw new ConfigurationError({ subject: `Agent "${agent}"`, problem: "budget.duration must be longer than 0" })
    }
    caps.duration = millis
  }
  for (const threshold of budget.thresholds ?? []) {
    if (!(threshold > 0 && threshold < 1)) {
      throw new ConfigurationError({
        subject: `Agent "${agent}"`,
        problem: "budget.thresholds must lie between 0 and 1"
      })
    }
  }
  return caps
}

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

type Countable = Exclude<Kind, "duration" | "tokens" | "allFailureRounds">

/** What the owner of an account wants to know and decide. */
export interface LedgerOwner {
  readonly onThreshold: (kind: Kind, threshold: number, used: number, limit: number) => Effect.Effect<void>
  readonly onExtended: (kind: Kind, limit: number) => Effect.Effect<void>
  readonly onExceeded: ((error: BudgetExceeded) => Effect.Effect<Extension | undefined>) | undefined
}

/** What an account has counted. */
export interface LedgerState {
  readonly used: Readonly<Record<string, number>>
  readonly retries: Readonly<Record<string, number>>
  readonly extended: Readonly<Record<string, number>>
}

export class Account {
  readonly agent: string
  readonly parent: Account | undefined
  private readonly limits: Partial<Record<Kind, number>>
  private readonly thresholds: ReadonlyArray<number>
  private readonly owner: LedgerOwner
  private readonly used: Record<Exclude<Kind, "retriesPerTool">, number> = {
    turns: 0,
    toolCalls: 0,
    fixes: 0,
    transportRetries: 0,
    allFailureRounds: 0,
    duration: 0,
    tokens: 0
  }
  private readonly retries = new Map<string, number>()
  private readonly extended: Partial<Record<Kind, number>> = {}
  private readonly deciding = Semaphore.makeUnsafe(1)
  private stopped: BudgetStop | undefined
  private began: number | undefined

  constructor(
    agent: string,
    limits: Readonly<Partial<Record<Kind, number>>>,
    thresholds: ReadonlyArray<number>,
    owner: LedgerOwner,
    parent: Account | undefined
  ) {
    this.agent = agent
    this.limits = { ...limits }
    this.thresholds = thresholds
    this.owner = owner
    this.parent = parent
  }

  /** What was used and added so far, for a run that is resumed later. */
  state(): LedgerState {
    return { used: { ...this.used }, retries: Object.fromEntries(this.retries), extended: { ...this.extended } }
  }

  /** Goes on counting where another account stopped. */
  restore(state: LedgerState): void {
    for (const kind of Object.keys(this.used) as Array<keyof typeof this.used>) this.used[kind] = state.used[kind] ?? 0
    for (const [tool, times] of Object.entries(state.retries)) this.retries.set(tool, times)
    for (const [kind, more] of Object.entries(state.extended)) this.extend(kind as Kind, more)
  }

  /** Counts, here and in every parent, what an earlier life of the run has used: nobody is asked or told. */
  countAgain({ extended, retries, used }: LedgerState): void {
    for (let account: Account | undefined = this; account !== undefined; account = account.parent) {
      for (const [kind, amount] of Object.entries(used)) {
        if (kind !== "duration" && kind !== "allFailureRounds") account.used[kind as "turns"] += amount
      }
      for (const [tool, times] of Object.entries(retries)) {
        account.retries.set(tool, (account.retries.get(tool) ?? 0) + times)
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

  /** Milliseconds that the agent ran before it was resumed. */
  get elapsedBefore(): number {
    return this.used.duration
  }

  /** Records how long the agent has run, for a run that is resumed later. */
  elapsed(millis: number): void {
    this.used.duration = millis
  }

  private usedOf(kind: Kind, tool: string | undefined): number {
    return kind === "retriesPerTool" ? this.retries.get(tool ?? "") ?? 0 : this.used[kind]
  }

  /** Whether one more of a kind fits, here and in every parent. */
  fits(kind: Kind, tool?: string): boolean {
    const limit = this.limits[kind]
    if (limit !== undefined && this.usedOf(kind, tool) >= limit) return false
    return this.parent === undefined || this.parent.fits(kind, tool)
  }

  /** Counts one of a kind, here and in every parent; ends the run of the agent whose cap it would break. */
  charge(kind: Countable, tool?: string): Effect.Effect<void> {
    return Effect.suspend(() => this.chargeNow(kind, tool))
  }

  /** {@link charge}, counted at once where it fits: for use inside of something suspended. */
  chargeNow(kind: Countable, tool?: string): Effect.Effect<void> {
    return this.isStopped() || !this.fits(kind, tool)
      ? Effect.andThen(this.require(kind, tool), this.charge(kind, tool))
      : this.add(kind, 1, tool)
  }

  /** Takes a charge back, of what was not begun. */
  refund(kind: "toolCalls"): void {
    for (let account: Account | undefined = this; account !== undefined; account = account.parent) account.used[kind]--
  }

  /** Ends the run if nothing of a kind is left, here or in a parent. */
  require(kind: Kind, tool?: string): Effect.Effect<void> {
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

  /** Counts a round of calls: all failed, or not. */
  round(allFailed: boolean): Effect.Effect<void> {
    if (allFailed) return this.add("allFailureRounds", 1, undefined)
    for (let account: Account | undefined = this; account !== undefined; account = account.parent) {
      account.used.allFailureRounds = 0
    }
    return Effect.void
  }

  /** The deadline, as milliseconds from the start of the agent. */
  get duration(): number | undefined {
    return this.limits.duration
  }

  /** Notes when the agent began, in milliseconds since the epoch, the time before it was resumed included. */
  begin(at: number): void {
    this.began = at
  }

  /** Whether a wait ends before the deadlines, here and in every parent. One that can be moved is none. */
  hasTime(now: number, millis: number): boolean {
    const { duration } = this.limits
    return (duration === undefined || this.began === undefined || this.owner.onExceeded !== undefined ||
      now + millis < this.began + duration) &&
      (this.parent === undefined || this.parent.hasTime(now, millis))
  }

  /** Asks for more time at the deadline: returns if there is, ends the run if not. */
  outOfTime(elapsed: number): Effect.Effect<void> {
    this.used.duration = elapsed
    return this.exceed("duration", undefined)
  }

  private isStopped(): boolean {
    return this.stopped !== undefined || (this.parent?.isStopped() ?? false)
  }

  private add(kind: Exclude<Kind, "duration">, amount: number, tool: string | undefined): Effect.Effect<void> {
    let events: Effect.Effect<void> = Effect.void
    for (let account: Account | undefined = this; account !== undefined; account = account.parent) {
      const before = account.usedOf(kind, tool)
      const after = before + amount
      if (kind === "retriesPerTool") account.retries.set(tool ?? "", after)
      else account.used[kind] = after
      const limit = account.limits[kind]
      if (limit === undefined) continue
      for (const threshold of account.thresholds) {
        if (before < threshold * limit && after >= threshold * limit) {
          events = Effect.andThen(events, account.owner.onThreshold(kind, threshold, after, limit))
        }
      }
    }
    return events
  }

  private exceed(kind: Kind, tool: string | undefined): Effect.Effect<void> {
    // Only one of several parallel calls asks; the others find the cap extended, or the account stopped.
    return this.deciding.withPermit(Effect.suspend(() => {
      if (this.stopped !== undefined) return signal(this.stopped)
      const limit = this.limits[kind] ?? 0
      const used = this.usedOf(kind, tool)
      if (used < limit) return Effect.void
      const error = new BudgetExceeded({
        reason: kind,
        agent: this.agent,
        limit,
        used,
        ...(tool === undefined ? undefined : { tool })
      })
      const stop = Effect.suspend(() => signal(this.stopped = new BudgetStop(this, error)))
      return this.owner.onExceeded === undefined
        ? stop
        : Effect.flatMap(this.owner.onExceeded(error), (extension) => {
          for (const [name, more] of Object.entries(extension ?? {})) this.extend(name as Kind, more)
          const extendedTo = this.limits[kind] ?? 0
          return extendedTo > used ? this.owner.onExtended(kind, extendedTo) : stop
        })
    }))
  }
}

/** The stop of an account in a cause, if that is what ended it. */
export const stopOf = (cause: Cause.Cause<unknown>, account: Account): BudgetStop | undefined =>
  signalIn(cause, (value): value is BudgetStop => value instanceof BudgetStop && value.account === account)
