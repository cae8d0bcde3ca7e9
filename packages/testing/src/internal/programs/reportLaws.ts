/** Laws about reports: records, results and receipts agree with the side effects of the calls. */
import { Predicate } from "effect"
import { textOf } from "../text/text.ts"
import {
  count,
  distinguishesCalls,
  type Event,
  eventsOf,
  isAmbiguous,
  isWaiting,
  isWithin,
  type Law,
  madeAgain,
  moreOften,
  ofEachRun,
  reportedResult,
  reportOfRoot,
  saysItWaits,
  specOf
} from "./judging.ts"
import { answers } from "./operators.ts"
import { toolName } from "./program.ts"

/** Codes of calls that were not made. */
const notMade: ReadonlySet<string> = new Set(["not_run", "permission_denied", "approval_required"])

export const reportLaws = {
  /** A started execution has a record. */
  begun_is_recorded: ofEachRun((run) => [
    ...run.parts.flatMap(({ events: [from, to], record }) =>
      record === undefined && to > from ? ["there is no record of a run"] : []
    ),
    ...moreOften(
      run.sideEffects.map(({ tool }) => tool),
      run.parts.flatMap(({ record }) => record?.executed.map(({ tool }) => tool) ?? [])
    ).map(([tool, began, recorded]) => `${tool} began ${began} times, the record says ${recorded}`)
  ]),

  /** A started write with an unknown end is reported as `outcome_unknown`. */
  begun_is_reported: ofEachRun((run) => {
    if (!distinguishesCalls(run.program)) return []
    return run.sideEffects.flatMap((effect) => {
      const { effects, keyed } = specOf(run.program, effect.tool)
      if (effects !== "write" || keyed === "order" || effect.within !== undefined || effect.callId === undefined) {
        return []
      }
      const said = reportedResult(run, effect)
      const call = `${effect.tool} ${effect.callId}`
      if (said === undefined) {
        return run.parts.some((part) => isWaiting(part) || saysItWaits(run, part)) ||
            run.parts.at(-1)?.stopped !== undefined
          ? []
          : [`${call} began, and has no result`]
      }
      if (!said.isFailure) return []
      if (isAmbiguous(effect)) {
        return said.code === "outcome_unknown"
          ? []
          : [`${call} may have been done (${effect.state}), and is reported as ${said.code}`]
      }
      return effect.done && (said.code === "not_run" || said.code === "permission_denied")
        ? [`${call} was done, and is reported as ${said.code}`]
        : []
    })
  }),

  /** A call with an inner effect is not reported as not made, for any reason of its stop. */
  done_within_is_not_denied: ofEachRun((run) => {
    if (!distinguishesCalls(run.program)) return []
    return run.sideEffects.flatMap((effect) => {
      const { callId, done, tool, within } = effect
      if (within === undefined || !done || callId === undefined || specOf(run.program, tool).effects !== "write") {
        return []
      }
      const said = reportOfRoot(run, effect)
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
    return run.sideEffects.flatMap((effect) => {
      const { after, callId, done, tool } = effect
      if (callId === undefined || specOf(run.program, tool).effects !== "write") return []
      if (!done && !isAmbiguous(effect)) return []
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
    return run.sideEffects.flatMap((effect) => {
      const { effects, keyed } = specOf(run.program, effect.tool)
      if (effects !== "write" || keyed === "order" || effect.callId === undefined) return []
      if (!effect.done && !isAmbiguous(effect)) return []
      const said = reportOfRoot(run, effect)
      if (said?.isFailure !== true) return []
      // A key of its arguments, or its word, holds for all that it does.
      const around = specOf(run.program, said.tool)
      if (around.effects === "idempotent" || around.keyed === "order") return []
      return Predicate.hasProperty(said.result, "safe_to_retry") && said.result.safe_to_retry === true
        ? [
          `${effect.tool} ${effect.callId} may have been done, and ${said.tool} ${said.callId} is reported as safe to retry`
        ]
        : []
    })
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
    const reported = eventsOf(run, "ToolResult").flatMap(
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
    const shown = [...new Map(reported.map((one) => [`${one.call} ${one.tool} ${one.receipt}`, one])).values()]
    return [
      ...[...count(shown.map(({ receipt, tool }) => `${tool} ${receipt}`))].flatMap(([receipt, times]) =>
        times > 1 ? [`${receipt} is reported by ${times} calls`] : []
      ),
      ...reported.flatMap(({ callId, isAgain, receipt, tool }) =>
        run.sideEffects.some((effect) =>
            effect.done && effect.tool === tool && effect.receipt === receipt &&
            // A repeated call has the same answer within the same call of the model.
            (!isAgain || effect.callId === undefined || isWithin(effect.callId, callId.split("/")[0]!))
          )
          ? []
          : [`${tool} reports ${receipt}, which was not done`]
      )
    ]
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
  })
} as const satisfies Readonly<Record<string, Law>>
