/** Content of a chat message, and its shown parts. Pure: tests need no browser. */
import type {
  Budget,
  DecidedApproval,
  JoinedMessage,
  MessageMetadata,
  ModelTrouble,
  NestedAgent,
  Recovery,
  UnknownOutcome
} from "@recourse/server/UiMessageChunk"
import { questionIn } from "./questionForm.ts"
import type { DynamicToolUIPart, FileUIPart, UIMessage } from "ai"

export type DataParts = {
  readonly recovery: Recovery
  readonly approval: DecidedApproval
  readonly outcome: UnknownOutcome
  readonly agent: NestedAgent
  readonly budget: Budget
  readonly skill: { readonly skill: string }
  readonly joined: JoinedMessage
  readonly model: ModelTrouble
  readonly output: unknown
}

export type ChatMessage = UIMessage<Partial<MessageMetadata>, DataParts>

/** A call, with how it recovered and with the agents that run within it. */
export interface ShownCall {
  readonly part: DynamicToolUIPart
  readonly recovery: Recovery | undefined
  readonly agents: ReadonlyArray<NestedAgent>
  /** People's decisions about it, or about inner calls. */
  readonly approvals: ReadonlyArray<DecidedApproval>
  /** Its outcome is unknown, or was until a person has checked it. */
  readonly outcome: UnknownOutcome | undefined
}

/** Shown parts, in order. */
export type Shown =
  | { readonly kind: "text"; readonly key: string; readonly text: string; readonly isWritten: boolean }
  | { readonly kind: "reasoning"; readonly key: string; readonly text: string; readonly isWritten: boolean }
  | { readonly kind: "call"; readonly key: string; readonly call: ShownCall }
  | { readonly kind: "agent"; readonly key: string; readonly agent: NestedAgent }
  | { readonly kind: "budget"; readonly key: string; readonly budget: Budget }
  | { readonly kind: "skill"; readonly key: string; readonly skill: string }
  | { readonly kind: "joined"; readonly key: string; readonly text: string }
  | { readonly kind: "output"; readonly key: string; readonly output: unknown }
  | { readonly kind: "file"; readonly key: string; readonly file: FileUIPart }
  | { readonly kind: "sources"; readonly key: string; readonly sources: ReadonlyArray<Source> }

export interface Source {
  readonly id: string
  readonly title: string
  readonly url: string | undefined
}

/** Shown parts of a message. Each call is shown once, regardless of its number of parts. */
export const shownOf = ({ parts }: Pick<ChatMessage, "parts">): ReadonlyArray<Shown> => {
  const recoveries = new Map<string, Recovery>()
  const agents = new Map<string, Array<NestedAgent>>()
  const approvals = new Map<string, Array<DecidedApproval>>()
  const outcomes = new Map<string, UnknownOutcome>()
  const calls = new Map<string, DynamicToolUIPart>()
  for (const part of parts) {
    if (part.type === "data-recovery") recoveries.set(part.data.callId, part.data)
    if (part.type === "data-approval") {
      approvals.set(part.data.callId, [...approvals.get(part.data.callId) ?? [], part.data])
    }
    if (part.type === "data-outcome") outcomes.set(part.data.callId, part.data)
    if (part.type === "data-agent" && part.data.callId !== undefined) {
      agents.set(part.data.callId, [...agents.get(part.data.callId) ?? [], part.data])
    }
    // The newest state of a call has the position of its first one.
    if (part.type === "dynamic-tool") calls.set(part.toolCallId, part)
  }
  const shown: Array<Shown> = []
  const sources: Array<Source> = []
  const seen = new Set<string>()
  for (const [index, part] of parts.entries()) {
    const key = String(index)
    switch (part.type) {
      case "text":
      case "reasoning":
        if (part.text !== "") {
          shown.push({ kind: part.type, key, text: part.text, isWritten: part.state !== "streaming" })
        }
        break
      case "dynamic-tool": {
        const id = part.toolCallId
        if (seen.has(id)) break
        seen.add(id)
        const call = {
          part: calls.get(id)!,
          recovery: recoveries.get(id),
          agents: agents.get(id) ?? [],
          approvals: approvals.get(id) ?? [],
          outcome: outcomes.get(id)
        }
        shown.push({ kind: "call", key: id, call })
        break
      }
      case "data-agent":
        if (part.data.callId === undefined || !calls.has(part.data.callId)) {
          shown.push({ kind: "agent", key, agent: part.data })
        }
        break
      case "data-budget":
        shown.push({ kind: "budget", key, budget: part.data })
        break
      case "data-skill":
        shown.push({ kind: "skill", key, skill: part.data.skill })
        break
      case "data-joined":
        shown.push({ kind: "joined", key, text: part.data.text })
        break
      case "data-output":
        shown.push({ kind: "output", key, output: part.data })
        break
      case "file":
        shown.push({ kind: "file", key, file: part })
        break
      case "source-url":
        sources.push({ id: part.sourceId, title: part.title ?? part.url, url: part.url })
        break
      case "source-document":
        sources.push({ id: part.sourceId, title: part.title, url: undefined })
        break
      default:
        break
    }
  }
  if (sources.length > 0) shown.push({ kind: "sources", key: "sources", sources })
  return shown
}

/** The text of a message. */
export const textOf = ({ parts }: Pick<ChatMessage, "parts">): string =>
  parts.flatMap((part) => part.type === "text" ? [part.text] : []).join("\n\n")

/** The calls of client tools of a message that ask the reader. */
export const formsOf = ({ parts }: Pick<ChatMessage, "parts">): ReadonlyArray<DynamicToolUIPart> =>
  parts.flatMap((part) =>
    part.type === "dynamic-tool" && part.state === "input-available" && questionIn(part.input) !== undefined
      ? [part]
      : []
  )

/** The unanswered questions of a message. */
export const questionsOf = ({ parts }: Pick<ChatMessage, "parts">): ReadonlyArray<DynamicToolUIPart> =>
  parts.flatMap((part) => part.type === "dynamic-tool" && part.state === "approval-requested" ? [part] : [])
