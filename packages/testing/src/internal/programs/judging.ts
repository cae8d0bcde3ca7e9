/** Inputs of laws about programs: calls, the model's results of them, their approvals. */
import { Cause, Exit, Predicate } from "effect"
import type { AgentEvent } from "@recourse/core"
import { textOf } from "../text/text.ts"
import { type Program, toolName, type ToolSpec } from "./program.ts"
import type { Observed, Part } from "./observed.ts"
import type { SideEffect } from "./world.ts"

/**
 * The runs of one program.
 *
 * @category models
 * @since 0.2.0
 */
export interface Trial {
  readonly plain: Observed
  readonly streamed: Observed
  readonly interrupted: Observed
}

/**
 * A way in which a law is broken.
 *
 * @category models
 * @since 0.2.0
 */
export interface Violation {
  readonly run: keyof Trial
  readonly problem: string
}

/**
 * A law: the ways in which a trial breaks it.
 *
 * @category models
 * @since 0.2.0
 */
export type Law = (trial: Trial) => ReadonlyArray<Violation>

export const ofEachRun = (law: (run: Observed) => ReadonlyArray<string>): Law => (trial) =>
  (["plain", "streamed", "interrupted"] as const).flatMap((run) => law(trial[run]).map((problem) => ({ run, problem })))

export type Event<Tag extends AgentEvent.AgentEvent["_tag"]> = Extract<AgentEvent.AgentEvent, { readonly _tag: Tag }>

export const eventsOf = <Tag extends AgentEvent.AgentEvent["_tag"]>(
  run: Observed,
  tag: Tag
): ReadonlyArray<Event<Tag>> => run.events.filter((event): event is Event<Tag> => event._tag === tag)

export const specOf = (program: Program, tool: string): ToolSpec =>
  program.tools.find((_, index) => toolName(program, index) === tool)!

export const isOfCall = (id: string, callId: string): boolean =>
  id === callId || id.startsWith(`${callId}/`) || callId.startsWith(`${id}/`) || id.endsWith(`/${callId}`)

/**
 * True if ids and events distinguish calls: not if the same agent runs twice at the same time, and not if a listener is
 * given up.
 */
export const distinguishesCalls = (program: Program): boolean =>
  program.observers === "fine" && !runsTwiceAtOnce(program)

/** True if the same agent runs twice at the same time, so that its calls have the same ids. */
const runsTwiceAtOnce = ({ beside: neighbour, concurrency, form }: Program): boolean =>
  form === "tool" ? concurrency === 3 : (form === "all" || form === "race") && neighbour === "same"

/** True if there is one conversation: of one agent, which continues it in each run. */
export const hasOneConversation = ({ chat, form, undoesAround }: Program): boolean =>
  form === "alone" && (!undoesAround || chat.length > 0)

/** True if it is a chat with one agent in each turn, which receives all of it. */
export const hasOneChat = ({ chat, form }: Program): boolean =>
  chat.length > 0 && (form === "alone" || form === "branch" || form === "route")

/** True if a model reuses ids: it reads neither calls that a guard has dropped, nor those removed by compaction. */
export const renewsCallIds = ({ compact, guards }: Program): boolean => compact !== "no" && guards === "replace"

export const isAmbiguous = ({ state }: SideEffect): boolean => state !== "ok" && state !== "declined"

export const codeOf = (result: unknown): string | undefined =>
  Predicate.hasProperty(result, "code") && typeof result.code === "string" ? result.code : undefined

/** The model's result of a call, or its next one if the conversation continued. */
export const reportedResult = (
  run: Observed,
  effect: SideEffect
): { readonly isFailure: boolean; readonly code: string | undefined } | undefined => {
  const { callId } = effect
  if (callId === undefined) return undefined
  const event = run.events.slice(effect.after).find((event): event is Event<"ToolResult"> =>
    // The result of a call within it goes to the tool, and not to the model.
    event._tag === "ToolResult" &&
    (event.callId === callId || (event.parentCallId === undefined && isOfCall(callId, event.callId)))
  )
  if (event !== undefined) return { isFailure: event.isFailure, code: event.code }
  const part = run.parts.find(({ events: [from, to] }) => from <= effect.after && effect.after <= to)
  for (const message of part?.record?.transcript.content.toReversed() ?? []) {
    if (message.role !== "tool") continue
    const result = message.content.find((part) => part.type === "tool-result" && isOfCall(callId, part.id))
    if (result?.type === "tool-result") return { isFailure: result.isFailure, code: codeOf(result.result) }
  }
  return undefined
}

/** The model's result of its own call with an inner effect; `undefined` while that waits. */
export const reportOfRoot = (
  run: Observed,
  { after, callId = "" }: SideEffect
): Event<"ToolResult"> | undefined => {
  const root = callId.split("/")[0]!
  const started = run.events.slice(0, after).findLast(
    (event): event is Event<"ToolCallStarted"> => event._tag === "ToolCallStarted" && event.callId === root
  )
  return run.events.slice(after).find((event): event is Event<"ToolResult"> =>
    event._tag === "ToolResult" && event.callId === root && event.parentCallId === undefined &&
    event.agentRunId === started?.agentRunId
  )
}

/**
 * Path of an effect, equal in each outer attempt, and its allowed number there: the number of times that executors on
 * the way make the same call. `undefined` if one of them is unknown.
 */
export const placeOf = (
  run: Observed,
  { callId, instance, order, tool, within }: SideEffect
): { readonly place: string; readonly most: number } | undefined => {
  if (callId === undefined) return undefined
  const [root, ...inner] = callId.split("/")
  const names = inner.map((segment) => segment.replace(/_\d+$/, "")).join("/")
  if (within === undefined) return { place: `run ${instance}, ${root} ${names}`, most: 1 }
  const outer = run.sideEffects[within]!
  const around = placeOf(run, outer)
  return around && {
    place: `${around.place} > ${tool}(${order}) as ${names}`,
    most: around.most * (specOf(run.program, outer.tool).calls === 4 ? 2 : 1)
  }
}

export const isWaiting = ({ exit }: Part): boolean =>
  Exit.isFailure(exit) &&
  exit.cause.reasons.some((reason) =>
    Cause.isFailReason(reason) && Predicate.isTagged(reason.error, "ApprovalRequired")
  )

/** True if a run's last event is its wait: it may be interrupted before its caller receives that. */
export const saysItWaits = (run: Observed, { events: [from, to] }: Part): boolean =>
  run.events.slice(from, to).findLast((event) => event._tag === "RunFinished")?.outcome === "paused"

/** True if a call is another one, or within it, or both are within one call: calls of a race resume as each other. */
export const isWithin = (id: string, callId: string): boolean => {
  const parts = callId.split("/")
  return id.split("/").some((part) => parts.includes(part))
}

/** The decision that lets a side effect happen, if there is one. */
export const isApproved = (run: Observed, effect: SideEffect): boolean =>
  run.pauses.some(({ after, decidedAt, decisions, pending }) =>
    after <= effect.after && pending.some((call) =>
      call.tool === effect.tool && decidedAt <= call.expiresAt &&
      (effect.callId === undefined || isWithin(call.callId, effect.callId)) &&
      decisions.some((decision) =>
        decision.callId === call.callId &&
        (decision._tag === "Approve"
          ? call.arguments["order"] === effect.order
          : decision._tag === "Edit" && decision.arguments["order"] === effect.order)
      )
    )
  )

export const count = (items: ReadonlyArray<string>): ReadonlyMap<string, number> => {
  const counts = new Map<string, number>()
  for (const item of items) counts.set(item, (counts.get(item) ?? 0) + 1)
  return counts
}

export const moreOften = (
  items: ReadonlyArray<string>,
  others: ReadonlyArray<string>
): ReadonlyArray<readonly [string, number, number]> => {
  const is = count(others)
  return [...count(items)].flatMap(([item, times]) => {
    const other = is.get(item) ?? 0
    return times > other ? [[item, times, other] as const] : []
  })
}

export const callsIn = (events: Observed["events"], tag: "ToolCallStarted" | "ToolResult"): ReadonlySet<string> =>
  new Set(events.flatMap((event) => event._tag === tag ? [`${event.path.join(" > ")} ${event.callId}`] : []))

/**
 * Time limit of a run. Of two parallel agents, one may wait for a person until the other's time has passed, and has its
 * own remaining time then.
 */
export const deadline = ({ form }: Program, waits: boolean): number =>
  form === "alone" || (!waits && (form === "all" || form === "race")) ? 60_000 : 120_000

export const transcriptOf = (part: Part | undefined): string =>
  textOf(part?.record?.transcript.content.map(({ content, role }) => ({ role, content })))

/**
 * True if a request is in the conversation of an effect: a resumption after another one does not know that one's
 * requests.
 */
export const isReadBefore = ({ parts, pauses }: Observed, effect: SideEffect, request: number): boolean => {
  const resumed = parts.find(({ events, resumed }) => resumed && effect.after >= events[0])
  if (resumed === undefined) return request < effect.requests
  const paused = pauses.findLast(({ after }) => after <= resumed.events[0])?.requests ?? 0
  return request < effect.requests && (request < paused || request >= resumed.requests[0])
}

export const requestsWith = (run: Observed, text: string): number =>
  run.requests.findIndex(({ prompt }) => textOf(prompt.content).includes(text))

/** Further starts, and their possible ends. */
const pairs = [
  ["ModelTurnStarted", "ModelTurnFinished", "ModelTurnFailed"],
  ["ToolAttempt", "ToolAttemptSucceeded", "ToolAttemptFailed"],
  ["FixStarted", "FixFinished"]
] as const

/** Started model turns, attempts and fixes without an end. */
export const unended = (events: Observed["events"]): ReadonlyArray<string> =>
  pairs.flatMap(([start, ...ends]) => {
    const of = (tags: ReadonlyArray<string>) =>
      new Set(events.flatMap((event) =>
        tags.includes(event._tag)
          ? [
            [
              event.agentRunId,
              "callId" in event ? event.callId : "",
              "attempt" in event ? event.attempt : "fix" in event ? event.fix : "turn" in event ? event.turn : ""
            ].join(" ")
          ]
          : []
      ))
    const ended = of(ends)
    return [...of([start])].flatMap((what) => ended.has(what) ? [] : [`${start} ${what} has no end`])
  })

/**
 * Inner calls of tools in calls with an earlier attempt: by the agent's run and the call's id. An answer of the ledger
 * or the run may be that of the earlier attempt's call.
 */
export const madeAgain = (events: ReadonlyArray<AgentEvent.AgentEvent>): ReadonlySet<string> => {
  const attempts = new Map<string, number>()
  const again = new Set<string>()
  for (const event of events) {
    if (event._tag === "ToolAttempt") {
      const call = `${event.agentRunId}/${event.callId}`
      attempts.set(call, (attempts.get(call) ?? 0) + 1)
    }
    if (event._tag !== "ToolResult" || event.parentCallId === undefined) continue
    const path = event.callId.split("/")
    const around = path.slice(0, -1).map((_, depth) => `${event.agentRunId}/${path.slice(0, depth + 1).join("/")}`)
    if (around.some((call) => (attempts.get(call) ?? 0) > 1)) again.add(`${event.agentRunId}/${event.callId}`)
  }
  return again
}
