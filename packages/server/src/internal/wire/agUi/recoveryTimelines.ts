/** Recovery timelines: activities with the steps of each call. */
import type { AgentEvent } from "@recourse/core/AgentEvent"
import { Recoveries } from "../recoveries.ts"
import type { Names, Untimed } from "./names.ts"

/**
 * Activities of this type hold the steps of a call.
 *
 * @category constants
 * @since 0.2.0
 */
export const recoveryActivity = "recourse.recovery"

/** The timelines of a run. */
export class RecoveryTimelines {
  private readonly names: Names
  private readonly recoveries = new Recoveries()
  /** Number of emitted steps of each timeline. */
  private readonly emitted = new Map<string, number>()

  constructor(names: Names) {
    this.names = names
  }

  /** Forgets the emitted steps: each run on a page starts its timelines again. */
  clear(): void {
    this.emitted.clear()
  }

  /** Returns the change of a timeline by an event. */
  next(event: AgentEvent): Untimed | undefined {
    const recovered = this.recoveries.receive(event)
    if (recovered === undefined) return undefined
    const { callId, key, steps, tool } = recovered
    // A timeline belongs to the agent that has started it: a continuing one emits it again.
    const messageId = `recovery:${key}${this.names.again(event)}`
    const base = { ...this.names.by(event), messageId, activityType: recoveryActivity }
    const known = this.emitted.get(messageId)
    this.emitted.set(messageId, steps.length)
    // A timeline that has lost its middle is emitted again.
    return known === undefined || known + 1 !== steps.length
      ? { type: "ACTIVITY_SNAPSHOT", ...base, content: { callId, tool, steps } }
      : { type: "ACTIVITY_DELTA", ...base, patch: [{ op: "add", path: "/steps/-", value: steps.at(-1) }] }
  }
}
