/** A world for agents of all libraries: a service with faults, and processes that die. */
import type { Fault } from "../adapters/shop.ts"

/** A plan: the faults of the service, the death of the process, and the behaviour of the model and of people. */
export interface Plan {
  readonly reads: ReadonlyArray<Fault>
  readonly writes: ReadonlyArray<Fault>
  /** True if the process dies when the service has done the write, before its answer. */
  readonly dies: boolean
  /** True if the model repeats a failed write whatever it reads; otherwise only if the text does not advise against it. */
  readonly isStubborn: boolean
  /** True if the agent reads a mail of an outsider first. */
  readonly readsMail: boolean
  /** True if the program says that a person approves each refund. No person does. */
  readonly needsApproval: boolean
  /** True if the service has closed for good: an error that no declaration expects. */
  readonly isClosed: boolean
}

/** The service has closed. */
export class ServiceClosed extends Error {
  readonly _tag = "ServiceClosed"
}

const draw = (seed: number) => {
  let state = seed * 2_654_435_761 >>> 0
  return (below: number): number => {
    state = (state * 1_664_525 + 1_013_904_223) >>> 0
    return Math.floor(state / 2 ** 32 * below)
  }
}

const faults: ReadonlyArray<Fault> = ["works", "down", "lost", "silent"]

/** Draws a plan: the same for the same seed. */
export const planOf = (seed: number): Plan => {
  const next = draw(seed)
  const one = (of: number) => next(of) === 0
  return {
    reads: [faults[next(2)]!, faults[next(2)]!],
    writes: [faults[next(4)]!, faults[next(4)]!],
    dies: one(4),
    isStubborn: one(3),
    readsMail: one(5),
    needsApproval: one(6),
    isClosed: one(8)
  }
}

const nothing = new Promise<never>(() => {})

/** Effects and processes of one plan. */
export class World {
  readonly plan: Plan
  /** Calls of each effect at the service: one effect for each key, and for each request without a key. */
  readonly effects: Array<{ readonly key: string | undefined; readonly process: number; readonly callNumber: number }> =
    []
  private reads = 0
  private writes = 0
  private hasDied = false
  process = 0
  /** Settles when the process dies. */
  death = new Promise<void>(() => {})
  private die: () => void = () => {}

  constructor(plan: Plan) {
    this.plan = plan
  }

  /** Starts a process. */
  start(): void {
    this.process++
    this.death = new Promise((die) => {
      this.die = die
    })
  }

  async read(): Promise<string> {
    if (this.plan.isClosed) throw new ServiceClosed("closed")
    const fault = this.plan.reads[this.reads++] ?? "works"
    if (fault === "down") throw new Error("503 Service Unavailable")
    return "shipped"
  }

  /** A request to refund. `key`: the service does a refund once for each. */
  async write(process: number, callNumber: number, key: string | undefined): Promise<string> {
    if (process !== this.process) return nothing
    const fault = this.plan.writes[this.writes++] ?? "works"
    if (fault === "down") throw new Error("503 Service Unavailable")
    if (key === undefined || !this.effects.some((effect) => effect.key === key)) {
      this.effects.push({ key, process, callNumber })
    }
    if (this.plan.dies && !this.hasDied) {
      this.hasDied = true
      this.die()
      return nothing
    }
    if (fault === "silent") return nothing
    if (fault === "lost") throw new Error("socket hang up")
    return "refunded 7"
  }
}
