/** Laws about programs with agents. */
/* oxlint-disable max-lines -- the laws, each a function of a few lines */
import { Cause, Exit, Predicate } from "effect"
import type { Prompt } from "effect/ai"
import { Quarantine } from "@recourse/core"
import { textOf } from "../text/text.ts"
import { problemsOfHistory } from "../laws/wellFormedHistory.ts"
import { chatLaws } from "./chatLaws.ts"
import { compensationLaws } from "./compensationLaws.ts"
import { guardLaws } from "./guardLaws.ts"
import { compensationOrderLaws } from "./compensationOrderLaws.ts"
import { longRunLaws } from "./longRunLaws.ts"
import { outside, soFar } from "./build.ts"
import {
  callsIn,
  count,
  deadline,
  distinguishesCalls,
  type Event,
  eventsOf,
  hasOneChat,
  hasOneConversation,
  isAmbiguous,
  isApproved,
  isOfCall,
  isReadBefore,
  isWaiting,
  isWithin,
  type Law,
  madeAgain,
  moreOften,
  ofEachRun,
  placeOf,
  reportOfRoot,
  requestsWith,
  saysItWaits,
  specOf,
  told,
  transcriptOf,
  unended
} from "./judging.ts"
import { answers } from "./operators.ts"
import { type Step, toolName } from "./program.ts"
import type { Observed } from "./observed.ts"

export type { Law, Trial, Violation } from "./judging.ts"

const isUnmarked = (result: unknown): boolean =>
  textOf(result).includes(outside) && !(Predicate.hasProperty(result, "untrusted") && result.untrusted === true)

/** True if parts contain an outsider's text outside of two marking lines. */
const areUnmarked = (parts: ReadonlyArray<Prompt.ToolModelOutputPart>): boolean => {
  const texts = parts.flatMap((part) => part.type === "text" ? [part.text] : [])
  const from = texts.findIndex((text) => text.startsWith(Quarantine.notice))
  const to = texts.findLastIndex((text) => text.startsWith("The content from outside ends here"))
  return texts.some((text, index) => text.includes(outside) && !(from >= 0 && from < index && index < to))
}

/** Operators that run a call in parallel to itself: one may find the other's work stopped. */
const parallelOps: ReadonlySet<Step["op"]> = new Set(["race", "raceFirst", "both"])

/**
 * Not checked: questions that stay open for listeners. An interactive agent is interrupted around the answer, and has
 * no write to compensate: no segment emits its end. An agent that a function runs by hand waits, and the caller of the
 * function is interrupted (decision 191).
 */
const leavesQuestionsOpen = ({ program: { asks, chat, form }, undone }: Observed): boolean =>
  form === "hand" || (asks !== "outside" && (chat.length > 0 || undone.length === 0))

/** Internal signals between steps of composed agents. */
const betweenSteps: ReadonlySet<unknown> = new Set(["Waits", "FailedBefore"])

const isError = (error: unknown): boolean => Predicate.hasProperty(error, "_tag") && !betweenSteps.has(error._tag)

/**
 * True if a run itself may have died of that: of a tool, of a store that has not answered a claim, or of one that has
 * refused it.
 */
const isDefectOf = ({ deeds, program, unansweredClaims }: Observed, defect: unknown): boolean => {
  // An interactive agent has no error for a store that reports its own snapshot as used.
  if (Predicate.isTagged(defect, "SnapshotRefused")) return program.asks !== "outside" && program.store.length > 0
  if (Predicate.isTagged(defect, "StoreDown")) return unansweredClaims > 0
  if (Predicate.isTagged(defect, "ExecutorDefect")) return deeds.some(({ state }) => state === "died")
  return !Predicate.hasProperty(defect, "_tag") &&
    (unansweredClaims > 0 || deeds.some(({ state }) => state === "died"))
}

/** Codes of calls that were not made. */
const notMade: ReadonlySet<string> = new Set(["not_run", "permission_denied", "approval_required"])

/**
 * Laws of drawn programs, by name. Each returns the breaches in one observed program.
 *
 * @category constants
 * @since 0.2.0
 */
export const programLaws = {
  ...compensationLaws,
  ...compensationOrderLaws,
  ...longRunLaws,
  ...guardLaws,
  ...chatLaws,

  /** Whatever a program is made of, it ends with a value, a tagged error, an interruption, or a defect of a tool or of a store. */
  endings_are_typed: ofEachRun((run) => [
    ...run.parts.flatMap(({ exit }) => {
      if (Exit.isSuccess(exit)) return []
      const { reasons } = exit.cause
      // Effect makes defects of the errors in parallel to one.
      const hasDefect = reasons.some((reason) => Cause.isDieReason(reason) && isDefectOf(run, reason.defect))
      return reasons.flatMap((reason) => {
        if (Cause.isFailReason(reason)) return isError(reason.error) ? [] : [`it fails with ${String(reason.error)}`]
        if (!Cause.isDieReason(reason) || isDefectOf(run, reason.defect)) return []
        return hasDefect && isError(reason.defect)
          ? []
          : [`it dies of ${String(reason.defect)}, ${hasDefect ? "which is no error" : "and no tool died"}`]
      })
    }),
    ...eventsOf(run, "ToolResult").flatMap(({ callId, code, isFailure, tool }) =>
      isFailure && code === undefined ? [`${tool} ${callId} failed without a code`] : []
    )
  ]),

  /** A started execution has a record. */
  begun_is_recorded: ofEachRun((run) => [
    ...run.parts.flatMap(({ events: [from, to], record }) =>
      record === undefined && to > from ? ["there is no record of a run"] : []
    ),
    ...moreOften(
      run.deeds.map(({ tool }) => tool),
      run.parts.flatMap(({ record }) => record?.executed.map(({ tool }) => tool) ?? [])
    ).map(([tool, began, recorded]) => `${tool} began ${began} times, the record says ${recorded}`)
  ]),

  /** Each request, and the transcript however a run ended, has each call followed by its result. */
  history_is_well_formed: ofEachRun((run) => [
    ...run.requests.flatMap(({ prompt }) => problemsOfHistory(prompt)),
    ...run.parts.flatMap(({ record }) => record === undefined ? [] : problemsOfHistory(record.transcript))
  ]),

  /** A started write with an unknown end is reported as `outcome_unknown`. */
  begun_is_reported: ofEachRun((run) => {
    if (!distinguishesCalls(run.program)) return []
    return run.deeds.flatMap((deed) => {
      const { effects, keyed } = specOf(run.program, deed.tool)
      if (effects !== "write" || keyed === "order" || deed.within !== undefined || deed.callId === undefined) return []
      const said = told(run, deed)
      const call = `${deed.tool} ${deed.callId}`
      if (said === undefined) {
        return run.parts.some((part) => isWaiting(part) || saysItWaits(run, part)) ||
            run.parts.at(-1)?.stopped !== undefined
          ? []
          : [`${call} began, and has no result`]
      }
      if (!said.isFailure) return []
      if (isAmbiguous(deed)) {
        return said.code === "outcome_unknown"
          ? []
          : [`${call} may have been done (${deed.state}), and is reported as ${said.code}`]
      }
      return deed.done && (said.code === "not_run" || said.code === "permission_denied")
        ? [`${call} was done, and is reported as ${said.code}`]
        : []
    })
  }),

  /** A call whose write may have been done has no second provider. */
  no_fallback_after_a_doubt: ofEachRun((run) => {
    if (!distinguishesCalls(run.program)) return []
    return run.deeds.flatMap((deed) => {
      const { effects, recovery } = specOf(run.program, deed.tool)
      if (effects !== "write" || !isAmbiguous(deed) || deed.callId === undefined) return []
      if (!recovery.some(({ op }) => op === "fallbackTool")) return []
      const second = run.deeds.find((other) =>
        other.tool > deed.tool && other.callId !== undefined && isOfCall(other.callId, deed.callId!) &&
        other.instance === deed.instance && other.within === deed.within && other.seq > deed.seq &&
        deed.endedAfter !== undefined && other.after >= deed.endedAfter &&
        specOf(run.program, other.tool).effects === "write"
      )
      return second === undefined ? [] : [`${deed.tool} may have been done, and ${second.tool} ran in its place`]
    })
  }),

  /** The key of a call is free if and only if no execution started. */
  keys_are_free_iff_nothing_began: ofEachRun((run) => {
    if (run.program.store.length > 0) return []
    const began = (tool: string, callId: string) =>
      run.deeds.some((deed) => deed.tool === tool && (deed.callId === undefined || isOfCall(deed.callId, callId)))
    // The key of a compensated call is free for a repetition.
    const undone = new Set(run.undone.map(({ receipt, tool }) => `${tool} ${receipt}`))
    const keys = new Set(
      run.deeds.flatMap(({ key, receipt, state, tool }) =>
        key === undefined || state === "declined" || specOf(run.program, tool).effects === "read" ||
          undone.has(`${tool} ${receipt}`)
          ? []
          : [`${tool} ${key}`]
      )
    )
    const tools = [...keys].map((key) => key.split(" ")[0]!)
    return [
      ...run.entries.flatMap(({ callId, finished, tool }) =>
        finished || began(tool, callId) ? [] : [`${tool} ${callId} never began, and its key is taken`]
      ),
      ...moreOften(tools, run.entries.map(({ tool }) => tool)).map(([tool, used, taken]) =>
        `${tool} began under ${used} keys, of which ${taken} are taken`
      )
    ]
  }),

  /** No call runs without the approval of its own tool and arguments, and none that a policy denies. */
  approved_by_its_own_tool: ofEachRun((run) =>
    run.deeds.flatMap((deed) => {
      const { policy, tools } = run.program
      const isLast = deed.tool === toolName(run.program, tools.length - 1)
      if (isLast && policy === "deny") return [`${deed.tool} ${deed.callId} ran, and is denied`]
      const asks = specOf(run.program, deed.tool).approval || (isLast && policy === "ask")
      return asks && !isApproved(run, deed)
        ? [`${deed.tool} ${deed.callId}(${deed.order}) ran without an approval`]
        : []
    })
  ),

  /**
   * A call made by a tool waits for its approval if the outer calls can be repeated and each inner write is known to be
   * done.
   */
  asked_where_it_can_wait: ofEachRun((run) => {
    if (run.program.tools.some(({ recovery }) => recovery.some(({ op }) => parallelOps.has(op)))) return []
    return run.audit.flatMap(({ by, callId, decision, tool }) => {
      if (decision !== "denied" || by !== "approval") return []
      const path = callId.split("/")
      const excuse = run.deeds.find((deed) => {
        if (deed.callId === undefined) return true
        const { effects, keyed } = specOf(run.program, deed.tool)
        const isAround = path.length > 1 && callId.startsWith(`${deed.callId}/`)
        return deed.callId.split("/")[0] === path[0] && isAmbiguous(deed) &&
          (effects === "write" || (isAround && keyed !== "no"))
      })
      return excuse === undefined ? [`${tool} ${callId} is denied for want of an approval, and could wait`] : []
    })
  }),

  /** A call with an inner effect is not reported as not made, for any reason of its stop. */
  done_within_is_not_denied: ofEachRun((run) => {
    if (!distinguishesCalls(run.program)) return []
    return run.deeds.flatMap((deed) => {
      const { callId, done, tool, within } = deed
      if (within === undefined || !done || callId === undefined || specOf(run.program, tool).effects !== "write") {
        return []
      }
      const said = reportOfRoot(run, deed)
      return said?.isFailure === true && notMade.has(said.code ?? "")
        ? [`${tool} ${callId} was done, and the call around it is reported as ${said.code}`]
        : []
    })
  }),

  /**
   * The call of an agent that has had an effect, or may have, is not reported as not made: also if the run ends while
   * it waits.
   */
  done_by_an_agent_is_not_denied: ofEachRun((run) => {
    if (run.program.form !== "tool" || !distinguishesCalls(run.program)) return []
    return run.deeds.flatMap((deed) => {
      const { after, callId, done, tool } = deed
      if (callId === undefined || specOf(run.program, tool).effects !== "write") return []
      if (!done && !isAmbiguous(deed)) return []
      const { agentRunId } = run.events.slice(0, after).findLast((event) =>
        event._tag === "ToolCallStarted" && event.callId === callId.split("/")[0]
      ) ?? {}
      const around = run.events.find((event) =>
        event._tag === "AgentStarted" && event.agentRunId === agentRunId
      )?.parent
      if (around?.callId === undefined) return []
      const said = run.events.slice(after).find((event): event is Event<"ToolResult"> =>
        event._tag === "ToolResult" && event.callId === around.callId && event.agentRunId === around.agentRunId
      )
      return said?.isFailure === true && notMade.has(said.code ?? "")
        ? [`${tool} ${callId} was done, or may have been, and the call of its agent is reported as ${said.code}`]
        : []
    })
  }),

  /** If the model reads that a call may be repeated, the repetition repeats no write. */
  retries_are_safe: ofEachRun((run) => {
    if (!distinguishesCalls(run.program)) return []
    return run.deeds.flatMap((deed) => {
      const { effects, keyed } = specOf(run.program, deed.tool)
      if (effects !== "write" || keyed === "order" || deed.callId === undefined) return []
      if (!deed.done && !isAmbiguous(deed)) return []
      const said = reportOfRoot(run, deed)
      if (said?.isFailure !== true) return []
      // A key of its arguments, or its word, holds for all that it does.
      const around = specOf(run.program, said.tool)
      if (around.effects === "idempotent" || around.keyed === "order") return []
      return Predicate.hasProperty(said.result, "safe_to_retry") && said.result.safe_to_retry === true
        ? [
          `${deed.tool} ${deed.callId} may have been done, and ${said.tool} ${said.callId} is reported as safe to retry`
        ]
        : []
    })
  }),

  /** A conversation that has read an outsider's text stays tainted, over its runs. */
  tainted_stays_tainted: ofEachRun((run) => {
    if (!hasOneConversation(run.program) && !hasOneChat(run.program)) return []
    const read = run.requests.flatMap(({ prompt }, index) => textOf(prompt.content).includes(outside) ? [index] : [])
    return run.deeds.flatMap((deed) =>
      read.some((index) => isReadBefore(run, deed, index)) && specOf(run.program, deed.tool).effects !== "read" &&
        (run.program.onTainted === "deny" || !isApproved(run, deed))
        ? [`${deed.tool} ${deed.callId} ran in a conversation that had read untrusted text`]
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
  }),

  /** Each receipt that the model is shown is of something that was done, and of one call. */
  receipts_are_true: ofEachRun((run) => {
    const again = madeAgain(run.events)
    const rootOf = (agentRunId: string, callId: string) => `${agentRunId}/${callId.split("/")[0]}`
    const isResumed = run.parts.some(({ resumed }) => resumed)
    const roots = new Set(
      eventsOf(run, "ToolResult").flatMap(({ agentRunId, callId }) =>
        again.has(`${agentRunId}/${callId}`) ? [rootOf(agentRunId, callId)] : []
      )
    )
    const told = eventsOf(run, "ToolResult").flatMap(
      ({ agentRunId, callId, isFailure, parentCallId, result, tool }, at) => {
        const index = run.program.tools.findIndex((_, index) => toolName(run.program, index) === tool)
        const spec = run.program.tools[index]
        const receipt = /receipt-\d+/.exec(textOf(result))?.[0]
        const root = rootOf(agentRunId, callId)
        return isFailure || receipt === undefined || spec?.effects !== "write" || spec.keyed === "order" ||
            spec.recovery.some(({ op }) => answers.has(op))
          ? []
          : [{
            // A repeated call of a tool with the same answer is one call; so is one that is resumed again.
            call: parentCallId === undefined ? (isResumed ? root : at) : roots.has(root) ? root : callId,
            isAgain: again.has(`${agentRunId}/${callId}`),
            callId,
            tool,
            receipt
          }]
      }
    )
    const shown = [...new Map(told.map((one) => [`${one.call} ${one.tool} ${one.receipt}`, one])).values()]
    return [
      ...[...count(shown.map(({ receipt, tool }) => `${tool} ${receipt}`))].flatMap(([receipt, times]) =>
        times > 1 ? [`${receipt} is reported by ${times} calls`] : []
      ),
      ...told.flatMap(({ callId, isAgain, receipt, tool }) =>
        run.deeds.some((deed) =>
            deed.done && deed.tool === tool && deed.receipt === receipt &&
            // A repeated call has the same answer within the same call of the model.
            (!isAgain || deed.callId === undefined || isWithin(deed.callId, callId.split("/")[0]!))
          )
          ? []
          : [`${tool} reports ${receipt}, which was not done`]
      )
    ]
  }),

  /** A write without a key begins at most once for each call, however often the calls around it are made again. */
  writes_begin_once: ofEachRun((run) => {
    if (!distinguishesCalls(run.program)) return []
    const calls = run.deeds.flatMap((deed) => {
      const { effects, keyed } = specOf(run.program, deed.tool)
      const at = effects === "write" && keyed === "no" ? placeOf(run, deed) : undefined
      return at === undefined ? [] : [{ call: `${deed.tool} (${at.place})`, most: at.most }]
    })
    const most = new Map(calls.map(({ call, most }) => [call, most]))
    return [...count(calls.map(({ call }) => call))].flatMap(([call, times]) =>
      times > most.get(call)! ? [`${call} began ${times} times`] : []
    )
  }),

  /** The result of a call made by a tool is not the model's: it names the outer call, like its start. */
  results_name_the_call_around_them: ofEachRun((run) => {
    const around = new Map<string, string | undefined>()
    return run.events.flatMap((event) => {
      if (event._tag !== "ToolCallStarted" && event._tag !== "ToolResult") return []
      const { agentRunId, callId, parentCallId, tool } = event
      const call = `${agentRunId} ${callId}`
      if (event._tag === "ToolCallStarted") around.set(call, parentCallId)
      return !around.has(call) || around.get(call) === parentCallId
        ? []
        : [`the result of ${tool} ${callId} is one within ${parentCallId}, its start within ${around.get(call)}`]
    })
  }),

  /** Each started run, agent, call and span has its end, and no event follows the end of the run. */
  every_start_has_its_end: ofEachRun((run) => {
    if (run.program.observers !== "fine") return []
    const paths = (tag: "AgentStarted" | "AgentFinished" | "RunStarted" | "RunFinished") =>
      eventsOf(run, tag).map(({ path }) =>
        `${tag.slice(0, -tag.replace(/^(Agent|Run)/, "").length)} ${path.join(" > ")}`
      )
    const starts = [...paths("RunStarted"), ...paths("AgentStarted")]
    const ends = [...paths("RunFinished"), ...paths("AgentFinished")]
    return [
      ...moreOften(starts, ends).map(([who, began, ended]) => `${who} started ${began} times, finished ${ended}`),
      ...moreOften(ends, starts).map(([who, ended, began]) => `${who} finished ${ended} times, started ${began}`),
      ...run.parts.flatMap(({ events: [from, to], exit }, nth) => {
        const events = run.events.slice(from, to)
        // Interrupted once it has emitted its wait, or, when resumed, before any execution: the snapshot is present.
        const pausedAt = events.findLastIndex((event) =>
          event._tag === "RunFinished" &&
          (event.outcome === "paused" || (event.outcome === "failure" && event.code === "approval_required"))
        )
        const waits = isWaiting(run.parts[nth]!) ||
          (pausedAt >= 0 && !events.slice(pausedAt).some(({ _tag }) => _tag === "ToolCallStarted"))
        const isLeftOpen = (call: string) =>
          leavesQuestionsOpen(run) &&
          eventsOf(run, "ApprovalRequested").some(({ callId, path }) =>
            `${path.join(" > ")} ${callId}/`.startsWith(`${call}/`)
          )
        return [
          ...(events.length === 0 || events.at(-1)?._tag === "RunFinished"
            ? []
            : [`the last event is ${events.at(-1)?._tag}, the run ended with ${exit._tag}`]),
          ...(waits ? [] : [...callsIn(events, "ToolCallStarted")]
            .filter((call) => !callsIn(events, "ToolResult").has(call) && !isLeftOpen(call))
            .map((call) => `${call} started, and has no result`)),
          ...(waits ? [] : unended(events))
        ]
      }),
      ...run.open.map((name) => `span ${name} was not ended`)
    ]
  }),

  /** A run ends in its time, also if stores and listeners do not answer; no fiber is left running. */
  it_ends: ofEachRun((run) => {
    const silent = run.program.store.filter(({ fault }) => fault === "hangs")
    const hangs = silent.length + (run.program.observers === "hang" ? 1 : 0)
    // Compensations run behind the deadline, each within its time.
    const limit = deadline(run.program, run.pauses.length > 0) + hangs * 30_000 + run.undone.length * 3_000
    return run.parts.flatMap(({ elapsed, fibers, stopped, waited }) => [
      ...(stopped === undefined ? [] : [`the run did not end: ${stopped}`]),
      ...(elapsed - waited > limit ? [`the run took ${elapsed - waited} ms of ${limit}`] : []),
      ...(fibers === 0 ? [] : [`${fibers} fibers are alive after the run`])
    ])
  }),

  /** Streamed or not: the same ending, deeds and conversation. */
  streamed_alike: ({ plain, streamed }) => {
    // An interrupted answer is not requested again if its beginning was emitted.
    if (plain.program.order !== 0 || plain.program.model.some(({ fault }) => fault === "cut")) return []
    const shown = (run: Observed): Readonly<Record<string, string>> => ({
      deeds: textOf(run.deeds.map(({ callId, done, order, state, tool }) => ({ callId, done, order, state, tool }))),
      endings: textOf(run.parts.map(({ exit }) => exit._tag)),
      conversation: run.parts.map(transcriptOf).join("\n"),
      duration: textOf(run.parts.map(({ elapsed }) => elapsed))
    })
    const other = shown(streamed)
    return Object.entries(shown(plain)).flatMap(([what, text]) =>
      text === other[what] ? [] : [{ run: "streamed" as const, problem: `${what}: ${text}\nstreamed: ${other[what]}` }]
    )
  }
} as const satisfies Readonly<Record<string, Law>>

/**
 * The name of a law about programs.
 *
 * @category models
 * @since 0.2.0
 */
export type ProgramLaw = keyof typeof programLaws
