/** Scheduler: runs fibers one at a time, in the order in which they are ready or in an order that a seed draws. */
import type { Fiber } from "effect"
import type { Scheduler } from "effect/Scheduler"

/** Numbers from 0 to 1 by a seed: mulberry32 (public domain, Tommy Ettinger). */
export const chanceOf = (seed: number): () => number => {
  let state = seed | 0
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
}

interface Turn {
  readonly run: () => void
  readonly priority: number
}

/**
 * Probability that a fiber yields to others in a random order, at each of its operations. It is low for an even seed,
 * so that it runs far before others, and high for an odd one, so that others run between two neighbouring operations.
 */
const givesWayIn = (order: number): number => order % 2 === 0 ? 1 / 24 : 1 / 4

/** Ready fibers of all processes. */
export class Turns {
  private readonly turns: Array<Turn> = []
  readonly chance: (() => number) | undefined
  readonly givesWay: number

  constructor(order: number | undefined) {
    this.chance = order === undefined ? undefined : chanceOf(order)
    this.givesWay = givesWayIn(order ?? 0)
  }

  add(turn: Turn): void {
    const { turns } = this
    let at = turns.length
    while (at > 0 && turns[at - 1]!.priority > turn.priority) at--
    if (at === turns.length) turns.push(turn)
    else turns.splice(at, 0, turn)
  }

  get isIdle(): boolean {
    return this.turns.length === 0
  }

  /** Gives one fiber its turn; answers whether there was one. */
  next(): boolean {
    const first = this.turns[0]
    if (first === undefined) return false
    if (this.chance === undefined) this.turns.shift()!.run()
    else {
      const end = this.turns.findIndex(({ priority }) => priority !== first.priority)
      const among = end < 0 ? this.turns.length : end
      this.turns.splice(Math.floor(this.chance() * among), 1)[0]!.run()
    }
    return true
  }
}

/** The scheduler of one process. */
export class VirtualScheduler implements Scheduler {
  readonly executionMode = "async"
  /** Operations of all its fibers so far. */
  operations = 0
  /** True if the process was killed: no fiber of it continues, and no finalizer runs. */
  isDead = false
  private readonly turns: Turns
  private readonly onOperation: (operations: number, fiber: Fiber.Fiber<unknown, unknown>) => void

  constructor(turns: Turns, onOperation: (operations: number, fiber: Fiber.Fiber<unknown, unknown>) => void) {
    this.turns = turns
    this.onOperation = onOperation
  }

  shouldYield(fiber: Fiber.Fiber<unknown, unknown>): boolean {
    if (this.isDead) return true
    this.onOperation(++this.operations, fiber)
    if (this.isDead) return true
    if (this.turns.chance === undefined) return fiber.currentOpCount >= 2048
    // Not at its first operation: effect loses the interruption of a fiber that yields there before its start.
    return this.turns.chance() < this.turns.givesWay && fiber.currentOpCount > 1
  }

  makeDispatcher() {
    return {
      scheduleTask: (run: () => void, priority: number) => {
        if (!this.isDead) this.turns.add({ priority, run: () => this.isDead ? undefined : run() })
      },
      flush: () => {
        while (this.turns.next()) { /* until no fiber is ready */ }
      }
    }
  }
}
