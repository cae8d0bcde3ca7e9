/** Laws about side effects: the deed counts, whichever tool, call or run did it. */
import { Predicate } from "effect"
import { promptInjection } from "../faults/spoil.ts"
import type * as Simulation from "../simulation/simulation.ts"
import { textOf } from "../text/text.ts"
import { count, type Law, ofEachRun } from "./law.ts"

/** What was done, each thing by its details. */
const things = (run: Simulation.Observation): ReadonlyMap<string, number> =>
  count(
    run.sideEffects.flatMap(({ details, duplicate, read }) =>
      duplicate || read === true || details === undefined ? [] : [textOf(details)]
    )
  )

/** Whether a fixer or a person has changed the arguments. */
const isChanged = (run: Simulation.Observation): boolean =>
  run.injected.some(({ type }) => type === "approval_edited" || type === "duplicate_ids") ||
  run.events.some((event) => event._tag === "FixFinished" && event.arguments !== undefined)

const resultsOf = (run: Simulation.Observation, tool: string) =>
  run.events.flatMap((event) => event._tag === "ToolResult" && event.tool === tool ? [event] : [])

/** What was planted in an answer, as the plan says. */
const plantedText = (run: Simulation.Observation, index: number): string => {
  const fault = run.plan.injections[index]?.fault
  return fault?.type === "prompt_injection" && fault.text !== undefined ? fault.text : promptInjection
}

/** Faults that come after the tool did what it was asked. */
const afterCommit: ReadonlySet<string> = new Set(["timeout_after_commit", "network_error_after_commit"])

const isMarked = (result: unknown): boolean => Predicate.hasProperty(result, "untrusted") && result.untrusted === true

export const worldLaws = {
  /** Nothing is done more often than without faults: not by another call, another tool, or another run of the agent. */
  nothing_is_done_twice: ofEachRun((run, { faultless }) => {
    if (isChanged(run)) return []
    const usual = things(faultless)
    return [...things(run)].flatMap(([thing, times]) => {
      const most = usual.get(thing)
      return most !== undefined && times > most ? [`${thing} was done ${times} times, without faults ${most}`] : []
    })
  }),

  /** A tool that declares `effects: "read"` does nothing. */
  reads_do_nothing: ofEachRun((run, { subject: { tools } }) =>
    tools.filter(({ effects }) => effects === "read").flatMap(({ name }) =>
      run.sideEffects.some(({ read, tool }) => tool === name && read !== true)
        ? [`${name} says that it reads, and does something`]
        : []
    )
  ),

  /** Writes that are reported as done were done: by their executor, by a stand-in, or before. */
  told_as_done_was_done: ofEachRun((run, { faultless, subject: { tools } }) => {
    const isDone = ({ read }: Simulation.Observation["sideEffects"][number]) => read !== true
    // Only of tools whose doubles record each of their calls.
    const recorded = tools.flatMap(({ effects, name }) => {
      const usual = resultsOf(faultless, name).filter(({ isFailure }) => !isFailure).length
      const done = faultless.sideEffects.filter((effect) => effect.tool === name && isDone(effect)).length
      return effects === "write" && usual > 0 && done >= usual ? [name] : []
    })
    const isAnswered = new Set(
      run.pauses.flatMap(({ decisions }) =>
        decisions.flatMap((decision) => decision._tag === "Respond" ? [decision.callId.split("/").at(-1)!] : [])
      )
    )
    const told = recorded.flatMap((name) => resultsOf(run, name)).filter(({ callId, isFailure }) =>
      !isFailure && !isAnswered.has(callId)
    )
    const answered = run.events.filter(({ _tag }) => _tag === "ToolReplayed" || _tag === "ToolPending").length
    const done = run.sideEffects.filter(isDone).length
    return told.length > done + answered
      ? [`${told.length} calls of ${recorded.join(", ")} are told as done, and ${done} things were done`]
      : []
  }),

  /** A write without a key that was done, and whose answer was lost, is not told as anything that the program made up. */
  lost_answers_are_named: ofEachRun((run, { subject: { tools } }) =>
    run.injected.flatMap(({ callId, tool, type }) => {
      if (!afterCommit.has(type) || tool === undefined || callId === undefined || run.keyed.includes(tool)) return []
      const declared = tools.find(({ name }) => name === tool)
      if (declared?.effects !== "write" || declared.info.passesKey) return []
      // What the tool declares of its errors is its word.
      if (type !== "timeout_after_commit" && declared.info.failure !== undefined) return []
      const result = resultsOf(run, tool).find((event) => event.callId === callId)
      return result === undefined || (result.isFailure && result.code === "outcome_unknown")
        ? []
        : [`${tool} ${callId} was done and its answer lost, and it is told as ${result.code ?? "done"}`]
    })
  ),

  /** What an outsider wrote reaches the model in an envelope that says so. */
  outsiders_are_marked: ofEachRun((run, { subject: { outsiders } }) =>
    run.injected.flatMap(({ applied, index, tool, type }) => {
      if (type !== "prompt_injection" || !applied || tool === undefined || !outsiders.includes(tool)) return []
      const text = plantedText(run, index)
      const isBare = run.requests.some(({ prompt }) =>
        prompt.content.some((message) =>
          message.role === "tool" &&
          message.content.some((part) =>
            part.type === "tool-result" && part.name === tool &&
            textOf(part.result).includes(textOf(text).slice(1, -1)) &&
            !isMarked(part.result)
          )
        )
      )
      return isBare ? [`what an outsider has planted in an answer of ${tool} reached the model unmarked`] : []
    })
  ),

  /** Each run ends, also where nothing limits its time: nothing waits for ever, and nothing goes on for ever. */
  runs_end: ofEachRun((run) => run.stopped === undefined ? [] : [`the run did not end: ${run.stopped}`])
} as const satisfies Readonly<Record<string, Law>>
