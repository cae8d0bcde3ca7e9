/**
 * Laws about chats: completed calls are known in the next turn, no call is repeated, one run at a time, and late
 * decisions are refused.
 */
import { Exit, Predicate } from "effect"
import type { Prompt } from "effect/ai"
import { count, hasOneChat, isAmbiguous, type Law, ofEachRun, renewsCallIds, specOf } from "./judging.ts"
import type { Observed, Part } from "./observed.ts"
import type { SideEffect } from "./world.ts"

/** True if a result is read under another id, because an earlier call of its thread has its id. */
const isRenamed = ({ id: read, options }: Prompt.ToolResultPart, id: string): boolean =>
  read.startsWith(`${id}_`) && Predicate.hasProperty(options["recourse"], "mended") &&
  options["recourse"].mended === "repeated_id"

/** The results that a conversation has of calls with an id. */
const resultsIn = ({ content }: Prompt.Prompt, id: string): ReadonlyArray<Prompt.ToolResultPart> =>
  content.flatMap((message) =>
    message.role === "tool"
      ? message.content.flatMap((part) =>
        part.type === "tool-result" && (part.id === id || isRenamed(part, id)) ? [part] : []
      )
      : []
  )

/** Codes of results that say that something may have been done. */
const mayHaveBeenDone: ReadonlySet<unknown> = new Set(["outcome_unknown", "partial_success"])

const isKnown = ({ isFailure, result }: Prompt.ToolResultPart): boolean =>
  !isFailure || (Predicate.hasProperty(result, "code") && mayHaveBeenDone.has(result.code))

/** The first prompts of later turns' models, and that of another turn. */
const readAfter = (
  run: Observed,
  { after }: SideEffect
): ReadonlyArray<readonly [when: string, read: Prompt.Prompt]> => [
  // A guard may have put another text in the place of the conversation.
  ...(run.program.guards === "none" ? run.parts : []).flatMap(({ events, requests: [from, to], turn }, nth) =>
    turn?.says === "message" && events[0] > after && to > from
      ? [[`in turn ${nth + 1}`, run.requests[from]!.prompt] as const]
      : []
  ),
  ...(run.left !== undefined && Exit.isSuccess(run.left) ? [["at the end", run.left.value] as const] : [])
]

const isRefusal = ({ exit }: Part): boolean =>
  Exit.isFailure(exit) &&
  exit.cause.reasons.some((reason) =>
    reason._tag === "Interrupt" ||
    (reason._tag === "Fail" &&
      ["SnapshotRefused", "ThreadNotFound"].some((tag) => Predicate.isTagged(reason.error, tag)))
  )

export const chatLaws = {
  /**
   * A call that was done in a chat, or may have been, is in the prompt of each later turn: as done, or as
   * `outcome_unknown`.
   */
  chats_know_what_was_done: ofEachRun((run) => {
    const { compact, observers } = run.program
    if (!hasOneChat(run.program) || compact !== "no" || observers !== "fine") return []
    return run.sideEffects.flatMap((effect) => {
      const { callId, done, state, tool } = effect
      if (callId === undefined || specOf(run.program, tool).effects !== "write") return []
      if (!done && !isAmbiguous(effect)) return []
      return readAfter(run, effect).flatMap(([when, read]) => {
        const results = resultsIn(read, callId.split("/")[0]!)
        return results.some(isKnown)
          ? []
          : [
            `${tool} ${callId} was done, or may have been (${state}), and ${when} the model reads ${
              JSON.stringify(results.at(-1)?.result) ?? "nothing of it"
            }`
          ]
      })
    })
  }),

  /** A compensated, or possibly compensated, call is not known as done. */
  chats_know_what_was_undone: ofEachRun((run) => {
    const { compact, observers } = run.program
    if (!hasOneChat(run.program) || compact !== "no" || observers !== "fine") return []
    return run.sideEffects.flatMap((effect) => {
      const { callId, receipt, tool } = effect
      if (callId === undefined || callId.includes("/")) return []
      if (!run.compensations.some((one) => one.tool === tool && one.receipt === receipt)) return []
      return readAfter(run, effect).flatMap(([when, read]) => {
        const result = resultsIn(read, callId).findLast(({ id }) => id === callId)
        return result === undefined || result.isFailure || JSON.stringify(result.result).includes("undone")
          ? []
          : [`${tool} ${callId} was undone, and ${when} the model reads ${JSON.stringify(result.result)}`]
      })
    })
  }),

  /** A keyless write starts once in a chat, over all resumptions of its runs. */
  chats_do_nothing_twice: ofEachRun((run) => {
    if (!hasOneChat(run.program) || renewsCallIds(run.program) || run.program.observers !== "fine") return []
    const calls = run.sideEffects.flatMap(({ callId, tool }) => {
      const { effects, keyed } = specOf(run.program, tool)
      return effects === "write" && keyed === "no" && callId !== undefined && !callId.includes("/")
        ? [`${tool} ${callId}`]
        : []
    })
    return [...count(calls)].flatMap(([call, times]) => times > 1 ? [`${call} began ${times} times`] : [])
  }),

  /** A decision about a call that no longer waits is refused, and no call is run. */
  late_decisions_are_refused: ofEachRun((run) =>
    run.parts.flatMap((part, nth) =>
      part.turn?.says === "decision" && part.turn.waiting === false &&
        !(isRefusal(part) && part.record === undefined)
        ? [`turn ${nth + 1} is a decision without a pending call, and ends with ${part.exit._tag}`]
        : []
    )
  ),

  /** No two runs answer one chat, and each turn gives the thread back. */
  one_run_a_chat: ofEachRun((run) => {
    if (run.program.chat.length === 0 || run.program.observers !== "fine") return []
    let going = 0
    const together = run.events.flatMap((event) => {
      if (event._tag === "RunFinished") going--
      return event._tag === "RunStarted" && ++going > 1 ? [`${going} runs answer the chat at once`] : []
    })
    return run.left !== undefined && Exit.isFailure(run.left) ? [...together, "no other turn can begin"] : together
  })
} as const satisfies Readonly<Record<string, Law>>
