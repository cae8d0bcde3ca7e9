/** Budgets: the used part of each agent's caps, nested agents included. */
import type { Event, Meter } from "./types.ts"
import type { RunUsage } from "@recourse/core/RunUsage"
import { usedBy } from "./usage.ts"

type Open = { -readonly [K in keyof Meter]: Meter[K] }

/** Caps of counts over a run. The others are checked one call, or one level, at a time. */
const counted: ReadonlySet<string> = new Set([
  "turns",
  "toolCalls",
  "fixes",
  "transportRetries",
  "tokens",
  "cost",
  "duration"
])

/** Used amount of each budget. */
const budgetsOf = ({ cost, fixes, toolCalls, totalTokens, transportRetries, turns }: Partial<RunUsage>) => ({
  turns,
  toolCalls,
  fixes,
  transportRetries,
  tokens: totalTokens,
  cost
})

/** The meters of a run. */
export class Budgets {
  readonly list: Array<Open> = []
  private readonly byKey = new Map<string, Open>()
  private readonly parents = new Map<string, string>()
  private readonly startedAt = new Map<string, number>()

  receive(event: Event): void {
    const { agentRunId, path } = event
    const agent = path.at(-1) ?? ""
    switch (event._tag) {
      case "RunStarted":
      case "AgentStarted": {
        if (event.parent !== undefined) this.parents.set(agentRunId, event.parent.agentRunId)
        if (!this.startedAt.has(agentRunId)) this.startedAt.set(agentRunId, event.at)
        for (const [budget, limit] of Object.entries(event.limits ?? {})) {
          if (counted.has(budget)) this.meter(agentRunId, agent, budget).limit = limit
        }
        return
      }
      case "RunFinished":
      case "AgentFinished": {
        const duration = event.at - (this.startedAt.get(agentRunId) ?? event.at)
        this.set(agentRunId, { ...budgetsOf(event.usage), duration })
        return
      }
      case "BudgetThreshold": {
        const meter = this.meter(agentRunId, agent, event.budget)
        meter.used = Math.max(meter.used, event.used)
        meter.limit = event.limit
        return
      }
      case "BudgetExtended":
        this.meter(agentRunId, agent, event.budget).limit = event.limit
        return
      default:
        this.add(agentRunId, budgetsOf(usedBy(event)))
    }
  }

  private meter(agentRunId: string, agent: string, budget: string): Open {
    const key = `${agentRunId} ${budget}`
    const known = this.byKey.get(key)
    if (known !== undefined) return known
    const meter: Open = { agentRunId, agent, budget, used: 0, limit: Infinity }
    this.byKey.set(key, meter)
    this.list.push(meter)
    return meter
  }

  private set(agentRunId: string, used: Readonly<Record<string, number | undefined>>): void {
    for (const [budget, amount] of Object.entries(used)) {
      const meter = this.byKey.get(`${agentRunId} ${budget}`)
      if (meter !== undefined && amount !== undefined) meter.used = amount
    }
  }

  private add(agentRunId: string, used: Readonly<Record<string, number | undefined>>): void {
    for (const [budget, amount] of Object.entries(used)) {
      if (amount === undefined) continue
      for (let id: string | undefined = agentRunId; id !== undefined; id = this.parents.get(id)) {
        const meter = this.byKey.get(`${id} ${budget}`)
        if (meter !== undefined) meter.used += amount
      }
    }
  }
}
