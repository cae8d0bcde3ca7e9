/** Laws about untrusted text, and about the preliminary results of calls. */
import { Predicate } from "effect"
import type { Prompt } from "effect/ai"
import { Quarantine } from "@recourse/core"
import { textOf } from "../text/text.ts"
import {
  eventsOf,
  hasOneChat,
  hasOneConversation,
  isApproved,
  isReadBefore,
  type Law,
  ofEachRun,
  requestsWith,
  specOf
} from "./judging.ts"
import { outside, soFar } from "./planted.ts"

const isUnmarked = (result: unknown): boolean =>
  textOf(result).includes(outside) && !(Predicate.hasProperty(result, "untrusted") && result.untrusted === true)

/** True if parts contain an outsider's text outside of two marking lines. */
const areUnmarked = (parts: ReadonlyArray<Prompt.ToolModelOutputPart>): boolean => {
  const texts = parts.flatMap((part) => part.type === "text" ? [part.text] : [])
  const from = texts.findIndex((text) => text.startsWith(Quarantine.notice))
  const to = texts.findLastIndex((text) => text.startsWith("The content from outside ends here"))
  return texts.some((text, index) => text.includes(outside) && !(from >= 0 && from < index && index < to))
}

export const untrustedLaws = {
  /** A conversation that has read an outsider's text stays tainted, over its runs. */
  tainted_stays_tainted: ofEachRun((run) => {
    if (!hasOneConversation(run.program) && !hasOneChat(run.program)) return []
    const read = run.requests.flatMap(({ prompt }, index) => textOf(prompt.content).includes(outside) ? [index] : [])
    return run.sideEffects.flatMap((effect) =>
      read.some((index) => isReadBefore(run, effect, index)) && specOf(run.program, effect.tool).effects !== "read" &&
        (run.program.onTainted === "deny" || !isApproved(run, effect))
        ? [`${effect.tool} ${effect.callId} ran in a conversation that had read untrusted text`]
        : []
    )
  }),

  /** An outsider's text reaches the model and all listeners in a marked envelope. */
  untrusted_content_labelled: ofEachRun((run) => [
    ...run.requests.flatMap(({ prompt }, index) =>
      prompt.content.flatMap((message) =>
        message.role !== "tool" ?
          [] :
          message.content.flatMap((part) =>
            part.type === "tool-result" && (isUnmarked(part.result) || areUnmarked(part.modelOutput ?? []))
              ? [`request ${index + 1} holds unmarked text of an outsider, in the result of ${part.name} ${part.id}`]
              : []
          )
      )
    ),
    ...eventsOf(run, "ToolPreliminaryResult").flatMap(({ callId, result, tool }) =>
      isUnmarked(result) ? [`what ${tool} ${callId} has so far contains unmarked text of an outsider`] : []
    ),
    ...eventsOf(run, "ToolProgress").flatMap(({ callId, message, tool, untrusted }) =>
      message?.includes(outside) === true && untrusted === undefined
        ? [`the progress of ${tool} ${callId} holds unmarked text of an outsider`]
        : []
    )
  ]),

  /** A call's preliminary result is emitted while an attempt of it runs, and never reaches the model. */
  said_before_the_result: ofEachRun((run) => {
    if (run.program.observers !== "fine") return []
    const running = new Map<string, Set<number>>()
    const late = run.events.flatMap((event) => {
      if (!("callId" in event) || !("attempt" in event)) return []
      const { agentRunId, attempt, callId, tool } = event
      const key = `${agentRunId}/${callId}`
      const attempts = running.get(key) ?? new Set()
      running.set(key, attempts)
      if (event._tag === "ToolAttempt") attempts.add(attempt)
      if (event._tag === "ToolAttemptSucceeded" || event._tag === "ToolAttemptFailed") attempts.delete(attempt)
      return (event._tag === "ToolProgress" || event._tag === "ToolPreliminaryResult") && !attempts.has(attempt)
        ? [`${tool} ${callId} says something of attempt ${attempt}, which does not run`]
        : []
    })
    const asked = requestsWith(run, soFar)
    return asked < 0 ? late : [...late, `request ${asked + 1} contains a tool's preliminary result`]
  })
} as const satisfies Readonly<Record<string, Law>>
