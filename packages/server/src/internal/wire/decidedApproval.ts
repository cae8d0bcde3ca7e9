/** Decided approvals: a person's decision about a call, in a page's form. */
import type { AgentEvent } from "@recourse/core/AgentEvent"
import type { DecidedApproval } from "../../UiMessageChunk.ts"

type Decided = Extract<AgentEvent, { readonly _tag: "ApprovalDecided" }>

const fields = (text: string): ReadonlyMap<string, unknown> => {
  const value: unknown = JSON.parse(text)
  return new Map(typeof value === "object" && value !== null ? Object.entries(value) : [])
}

/** The arguments that a person has changed. */
export const editsOf = ({ arguments: after, before }: Decided): NonNullable<DecidedApproval["edits"]> => {
  if (after === undefined || after === before) return []
  const shown = fields(before)
  const executed = fields(after)
  return [...new Set([...shown.keys(), ...executed.keys()])].flatMap((name) => {
    const [from, to] = [shown.get(name), executed.get(name)]
    return JSON.stringify(from) === JSON.stringify(to) ? [] : [{
      name,
      ...(from === undefined ? undefined : { from }),
      ...(to === undefined ? undefined : { to })
    }]
  })
}

/** The decision as a page may see it. `shows`: whether it may see the arguments of a tool. */
export const decidedApproval = (event: Decided, shows: (tool: string) => boolean): DecidedApproval => {
  const { at, by, decision, pendingCallId, reason, tool } = event
  return {
    callId: pendingCallId.split("/", 1)[0]!,
    tool,
    decision,
    ...(by === undefined ? undefined : { by }),
    ...(reason === undefined ? undefined : { reason }),
    at,
    ...(decision === "edited" && shows(tool) ? { edits: editsOf(event) } : undefined)
  }
}
