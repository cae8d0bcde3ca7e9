/** The runs that have begun within a run. Most runs have none: what counts them is made with the first. */
import * as Equal from "effect/Equal"
import type * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"

/** A nested run: its agent's declaration, the call in which it ran, and its input. */
export interface NestedRun {
  readonly declaration: object
  readonly call: object | undefined
  readonly input: unknown
}

export class NestedRuns {
  private counts: Map<string, number> | undefined
  private failures: Array<NestedRun & { readonly exit: Exit.Exit<never, unknown> }> | undefined
  private fibers: Set<Fiber.Fiber<unknown, unknown>> | undefined

  /** Whether the run's steps are runs with ids of their own. */
  readonly hasSteps: boolean

  constructor(hasSteps: boolean, counts?: Readonly<Record<string, number>>) {
    this.hasSteps = hasSteps
    if (counts !== undefined) this.counts = new Map(Object.entries(counts))
  }

  /** How many runs there are, by name. */
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
  }

  /** Whether some of them run. */
  get areRunning(): boolean {
    return this.fibers !== undefined && this.fibers.size > 0
  }

  interrupt(): void {
    for (const fiber of this.fibers ?? []) fiber.interruptUnsafe()
  }
}
