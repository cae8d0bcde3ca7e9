/**
 * Nested runs: the runs that have started within a run, their questions, and their pending cleanups. Most runs have
 * none.
 */
import type * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import * as Equal from "effect/Equal"
import type * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"

/** A nested run: its agent's declaration, the call in which it ran, and its input. */
export interface NestedRun {
  readonly declaration: object
  readonly call: object | undefined
  readonly input: unknown
}

/** The end of an agent that is abandoned. */
export interface Cleanup {
  /** Compensates its writes. */
  readonly end: Effect.Effect<void, never, unknown>
  /** The context when it was abandoned. The services of its own agent are closed since, and `end` makes them again. */
  readonly context: Context.Context<never>
  /** The scope of its run, if it was interrupted. */
  readonly scope?: string | undefined
}

export class NestedRuns {
  private counts: Map<string, number> | undefined
  private failures: Array<NestedRun & { readonly exit: Exit.Exit<never, unknown> }> | undefined
  private fibers: Set<Fiber.Fiber<unknown, unknown>> | undefined
  private cleanups: Array<Cleanup> | undefined
  private withdrawals: Array<Effect.Effect<void>> | undefined
  /** Set when the run around them has ended; called when the last of them ends. */
  private onLast: (() => void) | undefined

  /** True if the run's steps are runs with ids of their own. */
  readonly hasSteps: boolean

  constructor(hasSteps: boolean, counts?: Readonly<Record<string, number>>) {
    this.hasSteps = hasSteps
    if (counts !== undefined) this.counts = new Map(Object.entries(counts))
  }

  /** Number of runs, by name. */
  state(): Readonly<Record<string, number>> {
    return Object.fromEntries(this.counts ?? [])
  }

  /** Counts one more run by a name, and answers how many there are. */
  count(name: string): number {
    const counts = this.counts ??= new Map()
    const nth = (counts.get(name) ?? 0) + 1
    counts.set(name, nth)
    return nth
  }

  /** Notes the end of a nested run that has written and that did not succeed. */
  failed(run: NestedRun, exit: Exit.Exit<never, unknown>): void {
    ;(this.failures ??= []).push({ ...run, exit })
  }

  get hasFailures(): boolean {
    return this.failures !== undefined
  }

  /** The end of an equal run in the same call that has written and did not succeed, if there was one. */
  failureOf({ call, declaration, input }: NestedRun): Exit.Exit<never, unknown> | undefined {
    return this.failures?.find((failed) =>
      failed.declaration === declaration && failed.call === call && Equal.equals(failed.input, input)
    )?.exit
  }

  /** Notes the fiber in which a run begins. */
  began(fiber: Fiber.Fiber<unknown, unknown>): void {
    ;(this.fibers ??= new Set()).add(fiber)
  }

  ended(fiber: Fiber.Fiber<unknown, unknown>): void {
    this.fibers?.delete(fiber)
    if (!this.areRunning) this.onLast?.()
  }

  /** Notes that the run around them has ended. Calls `onLast` when the last of them ends. */
  end(onLast: () => void = () => {}): void {
    this.onLast = onLast
  }

  /** True if the outer run has ended. */
  get hasEnded(): boolean {
    return this.onLast !== undefined
  }

  /** Notes the end of an agent that is abandoned. It is run when it is known that the run does not resume the agent. */
  registerCleanup(cleanup: Cleanup): void {
    ;(this.cleanups ??= []).push(cleanup)
  }

  /** True if a cleanup is pending. */
  get hasPendingEnd(): boolean {
    return this.cleanups !== undefined && this.cleanups.length > 0
  }

  /** Returns the pending cleanups that match a predicate, once. */
  takeCleanups(isTaken: (cleanup: Cleanup) => boolean = () => true): ReadonlyArray<Cleanup> {
    const all = this.cleanups ?? []
    this.cleanups = all.filter((one) => !isTaken(one))
    return all.filter(isTaken)
  }

  /** Notes the withdrawal of the questions of an agent that runs within the run other than as its tool. */
  addQuestion(withdraw: Effect.Effect<void>): void {
    ;(this.withdrawals ??= []).push(withdraw)
  }

  /** The withdrawals of their questions. */
  get questions(): ReadonlyArray<Effect.Effect<void>> {
    return this.withdrawals ?? []
  }

  /** True if some of them run. */
  get areRunning(): boolean {
    return this.fibers !== undefined && this.fibers.size > 0
  }

  interrupt(): void {
    for (const fiber of this.fibers ?? []) fiber.interruptUnsafe()
  }
}
