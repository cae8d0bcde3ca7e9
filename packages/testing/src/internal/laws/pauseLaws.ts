/** Laws about runs that wait for approvals. A run that does not pause keeps them all. */
import { Effect, Exit, Predicate, Schema } from "effect"
import { Prompt } from "effect/ai"
import type { AgentEvent, RunRecord, Tool } from "@recourse/core"
import type * as Simulation from "../simulation/simulation.ts"
import { idsIn, problemsOfHistory } from "./wellFormedHistory.ts"
import { textOf } from "../text/text.ts"
import { doneBy, executionOf } from "./effectOrigins.ts"
import { type Law, ofEachRun, partsOf } from "./law.ts"

const decodePrompt = Schema.decodeUnknownSync(Schema.toCodecJson(Prompt.Prompt))

type CallEvent = Extract<AgentEvent.AgentEvent, { readonly callId: string }>

const isAbout = (event: AgentEvent.AgentEvent, { callId, tool }: Pick<CallEvent, "callId" | "tool">) =>
  "callId" in event && event.callId === callId && event.tool === tool

/** True if a tool itself declares that a call needs an approval, if it can decide synchronously and alone. */
const needsApproval = (
  tools: ReadonlyArray<Tool.Any>,
  { callId, params, tool }: Simulation.Execution
): boolean => {
  const needs = tools.find(({ name }) => name === tool)?.info.approval.isNeeded
  if (needs === undefined) return false
  const exit = Effect.runSyncExit(Effect.suspend(() => needs(params as never, callId)) as Effect.Effect<boolean>)
  return Exit.isSuccess(exit) && exit.value
}

/** The ids of the calls within calls that lead to one that waits, and its own. */
const idsOf = ({ callId }: { readonly callId: string }): ReadonlyArray<string> => callId.split("/")

/**
 * True if a call whose approval was requested behind `asked` events may run behind `now` events: a person approved in
 * time.
 */
const isApproved = (run: Simulation.Observation, callId: string, asked: number, now: number): boolean =>
  run.pauses.some(({ after, decidedAt, decisions, pending }) =>
    asked < after && after <= now &&
    pending.some((call) => idsOf(call).at(-1) === callId && decidedAt <= call.expiresAt) &&
    decisions.some((decision) =>
      idsOf(decision).at(-1) === callId && (decision._tag === "Approve" || decision._tag === "Edit")
    )
  )

/**
 * True if the agent itself received the decision about a call whose approval was requested behind `asked` events: by
 * `Approval.interactive`, so that no other component decided about the run.
 */
const isApprovedWithin = (
  run: Simulation.Observation,
  call: Pick<CallEvent, "callId" | "tool">,
  asked: number,
  now: number
) =>
  !run.pauses.some(({ after, pending }) =>
    asked < after && after <= now && pending.some(({ callId }) => idsOf({ callId }).at(-1) === call.callId)
  ) &&
  run.events.slice(asked + 1, now).some((event) =>
    event._tag === "ToolCallStarted" && event.resumed && isAbout(event, call)
  )

/** Time that a run had run before each of its pauses, in virtual milliseconds. */
const timesBefore = (run: Simulation.Observation): ReadonlyArray<number> => {
  let time = 0
  const times = partsOf(run.events).map((part) => time += part.at(-1)!.at - part[0]!.at)
  return times.slice(0, run.pauses.length)
}

const usages = (run: Simulation.Observation): ReadonlyArray<Readonly<Record<string, number>>> => [
  ...run.pauses.map(({ snapshot }) => snapshot.usage),
  ...(run.record === undefined ? [] : [{ ...run.record.usage }])
]

/** True if an effect names the value of an argument that is not the one of its execution. */
const isOnlyIn = (details: unknown, name: string, before: unknown, params: unknown): boolean => {
  const field = (value: unknown) => Predicate.hasProperty(value, name) ? textOf(value[name]) : undefined
  return field(details) === textOf(before) && field(params) !== textOf(before)
}

export const pauseLaws = {
  /** A call that has a result is not executed again: not by a retry, and not after a pause. */
  no_repeated_calls_after_resume: ofEachRun((run) =>
    run.pauses.flatMap(({ after: pausedAt, snapshot }) => {
      const done = run.events.slice(0, pausedAt).filter((event) => event._tag === "ToolResult")
      const again = done.filter((event) =>
        run.executions.some((execution) => execution.after >= pausedAt && isAbout(event, execution)) ||
        run.events.slice(pausedAt).some((later) =>
          "callId" in later && later._tag !== "ToolCompensated" && isAbout(event, later)
        )
      )
      const before = snapshot.executed as unknown as ReadonlyArray<RunRecord.ExecutedCall>
      // The calls of an agent that is a tool may continue behind the pause.
      const after = run.record?.executed.slice(0, before.length).map((call, index) =>
        before[index]?.outcome === "running" ? { ...call, outcome: "running" } : call
      )
      const executed = JSON.stringify(after) === JSON.stringify(before)
      return [
        ...again.map(({ callId, tool }) => `${tool} ${callId} had a result before the pause, and was run again`),
        ...(executed ? [] : ["the executions before the pause differ from the record of the run"])
      ]
    })
  ),
  /** A call that needs an approval is not executed before it is approved, and never if it is denied. */
  no_unapproved_calls: ofEachRun((run, { subject: { tools } }) =>
    run.executions.flatMap((execution) => {
      const { after, callId, tool } = execution
      const call = { callId, tool }
      const before = run.events.slice(0, after)
      const asked = before.findLastIndex((event) => event._tag === "ApprovalRequested" && isAbout(event, call))
      // One model that gives all calls the same id, in several agents' runs: ids have no meaning then.
      const hasResult = !run.injected.some(({ type }) => type === "duplicate_ids") &&
        before.some((event) => event._tag === "ToolResult" && isAbout(event, call))
      const denied = run.events.some((event) =>
        event._tag === "ToolResult" && event.code === "permission_denied" && isAbout(event, call)
      ) && !run.events.some((event) =>
        (event._tag === "ToolAttemptFailed" || event._tag === "ToolEscalated") && isAbout(event, call)
      )
      return [
        ...((asked >= 0 || needsApproval(tools, execution)) && !isApproved(run, callId, asked, after) &&
            !(asked >= 0 && isApprovedWithin(run, call, asked, after))
          ? [`${tool} ${callId} ran without an approval`]
          : []),
        ...(hasResult ? [`${tool} ${callId} ran after its result`] : []),
        ...(denied ? [`${tool} ${callId} was denied, and ran`] : [])
      ]
    })
  ),
  /** A call whose arguments a person has changed uses these, and not the model's. */
  edited_arguments_are_used: ofEachRun((run) =>
    run.pauses.flatMap(({ after, decisions, pending }) =>
      decisions.flatMap((decision) => {
        const call = pending.find(({ callId }) => callId === decision.callId)
        if (decision._tag !== "Edit" || call === undefined) return []
        const callId = idsOf(call).at(-1)!
        return doneBy(run, { tool: call.tool, callId }).flatMap((effect) => {
          const execution = executionOf(run, effect)!
          if (execution.after < after) return []
          return Object.entries(call.arguments).flatMap(([name, before]) =>
            isOnlyIn(effect.details, name, before, execution.params)
              ? [`a person has changed ${name} of ${call.tool} ${callId}, and it was done with ${textOf(before)}`]
              : []
          )
        })
      })
    )
  ),
  /** Usage of the budget before a pause counts after it. The time of the wait does not count. */
  budgets_survive_pauses: ofEachRun((run) => {
    const all = usages(run)
    const times = timesBefore(run)
    const turns = run.pauses.map(({ after }) =>
      run.events.slice(0, after).filter(({ _tag }) => _tag === "ModelTurnStarted").length
    )
    return [
      ...all.slice(1).flatMap((usage, index) =>
        Object.entries(all[index]!).flatMap(([kind, before]) =>
          (usage[kind] ?? 0) < before ? [`${before} ${kind} were used before the pause, ${usage[kind]} after it`] : []
        )
      ),
      ...run.pauses.flatMap(({ snapshot: { budget: { used } } }, index) => [
        ...(used["turns"] === turns[index] ? [] : [`the budget has counted ${used["turns"]} turns of ${turns[index]}`]),
        // Whole milliseconds are counted, and less than one is left out for each pause.
        ...(times[index]! - used["duration"]! >= 0 && times[index]! - used["duration"]! <= index + 1
          ? []
          : [`the budget has counted ${used["duration"]} ms of the ${times[index]} that the run ran`])
      ])
    ]
  }),
  /** A snapshot ends with the calls of one answer; each of them has a result or waits, and none has both. */
  snapshots_cover_all_calls: ofEachRun((run) =>
    run.pauses.flatMap(({ pending, snapshot: { round, runId, steps, transcript } }) => {
      const calls = round?.calls.map(({ id }) => id) ?? []
      const results = round === undefined
        ? []
        : decodePrompt(round.results).content.flatMap((message) => idsIn(message, "tool-result"))
      const asked = round?.pending.map(({ callId }) => callId) ?? []
      const waiting = [...new Set(round?.pending.flatMap((call) => idsOf(call).slice(0, 1)))]
      const accounted = calls.filter((id) => results.includes(id) || waiting.includes(id))
      return [
        ...problemsOfHistory(decodePrompt(transcript), calls).map((problem) => `in a snapshot: ${problem}`),
        ...(JSON.stringify(pending.map(({ callId }) => callId)) === JSON.stringify(asked) && asked.length > 0
          ? []
          : ["the pending calls differ from the snapshot"]),
        // Waiting parts of an agent made of agents are these, and no calls.
        ...(steps !== undefined ||
            (calls.length === results.length + waiting.length && accounted.length === calls.length)
          ? []
          : [
            `of the calls [${calls.join(", ")}], [${results.join(", ")}] have results and [${waiting.join(", ")}] wait`
          ]),
        ...(run.events.every((event) => event.runId === runId) ? [] : [`the snapshot is of another run: ${runId}`])
      ]
    })
  )
} as const satisfies Readonly<Record<string, Law>>
