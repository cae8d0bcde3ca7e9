/** Laws about side effects, whichever tool, call or run did them. */
import { Predicate } from "effect"
import { Prompt } from "effect/ai"
import { Quarantine, type Tool } from "@recourse/core"
import { promptInjection } from "../faults/spoil.ts"
import type * as Simulation from "../simulation/simulation.ts"
import { textOf } from "../text/text.ts"
import { agentRunOf, asked, done, doneBy, executionOf } from "./effectOrigins.ts"
import { whyStopped } from "./whyStopped.ts"
import { count, type Law, moreThan, namesOf, ofEachRun } from "./law.ts"

/** Effects by their details. */
const things = (run: Simulation.Observation): ReadonlyMap<string, number> =>
  count(
    done(run).flatMap(({ details }) => details === undefined ? [] : [textOf(details)])
  )

/** True if a fixer or a person has changed the arguments. */
const isChanged = (run: Simulation.Observation): boolean =>
  run.injected.some(({ type }) => type === "approval_edited" || type === "duplicate_ids") ||
  run.events.some((event) => event._tag === "FixFinished" && event.arguments !== undefined)

const resultsOf = (run: Simulation.Observation, tool: string) =>
  run.events.flatMap((event) => event._tag === "ToolResult" && event.tool === tool ? [event] : [])

/** The planted text of an answer, by the plan. */
const plantedText = (run: Simulation.Observation, index: number): string => {
  const fault = run.plan.injections[index]?.fault
  return fault?.type === "prompt_injection" && fault.text !== undefined ? fault.text : promptInjection
}

/** Faults after the tool's execution. */
const afterCommit: ReadonlySet<string> = new Set(["timeout_after_commit", "network_error_after_commit"])

/** True if a message is marked as an outsider's, or contains such text. */
const isMarkedMessage = (message: Prompt.Message): boolean =>
  Quarantine.taintedBy(Prompt.fromMessages([message])).length > 0 ||
  textOf(message.content).replaceAll("\\", "").includes("\"untrusted\":true")

const isMarked = (result: unknown): boolean => Predicate.hasProperty(result, "untrusted") && result.untrusted === true

/** A call of a write that had one effect, whose service lost the answer, and that is reported as "not done". */
const reportedAsNotDone = (
  run: Simulation.Observation,
  tools: ReadonlyArray<Tool.Any>,
  tool: string | undefined,
  callId: string | undefined
): ReadonlyArray<string> => {
  if (!tools.some(({ effects, name }) => name === tool && effects === "write")) return []
  const result = resultsOf(run, tool!).find((event) => event.callId === callId)
  return doneBy(run, { tool: tool!, callId }).length === 1 && result?.isFailure === true &&
      result.code !== "outcome_unknown"
    ? [`${tool} ${callId} was done and its answer lost, and it is reported as ${result.code}`]
    : []
}

export const worldLaws = {
  /**
   * No effect happens more often than without faults: not by another call, another tool, or another run of the agent.
   */
  no_duplicate_side_effects: ofEachRun((run, { faultless }) => {
    if (isChanged(run)) return []
    const usual = things(faultless)
    return [...things(run)].flatMap(([thing, times]) => {
      const most = usual.get(thing)
      return most !== undefined && times > most ? [`${thing} was done ${times} times, without faults ${most}`] : []
    })
  }),

  /** No two runs of one agent do the same thing: not those of which one is chosen, and not one behind the other. */
  runs_are_independent: ofEachRun((run) => {
    const sideEffects = done(run).flatMap((effect) => {
      const by = agentRunOf(run, effect)
      return by === undefined || effect.details === undefined
        ? []
        : [{ ...by, thing: `${effect.tool} ${textOf(effect.details)}` }]
    })
    return [...Map.groupBy(sideEffects, ({ agent, thing }) => `${agent} ${thing}`).values()].flatMap((all) => {
      const runs = new Set(all.map(({ id }) => id)).size
      return runs > 1 ? [`${all[0]!.thing} was done by ${runs} runs of ${all[0]!.agent}`] : []
    })
  }),

  /** A tool that declares `effects: "read"` has no effect, and neither do its inner calls. */
  reads_have_no_side_effects: ofEachRun((run, { subject: { tools } }) =>
    namesOf(tools, ({ effects }) => effects === "read").flatMap((name) => {
      const isWithin = ({ executions = [] }: Simulation.Observation["sideEffects"][number]) =>
        executions.some((index) => run.executions[index]?.tool === name)
      const sideEffect = asked(run).find((effect) => effect.tool === name || isWithin(effect))
      return sideEffect === undefined
        ? []
        : [
          sideEffect.tool === name
            ? `${name} says that it reads, and does something`
            : `${name} says that it reads, and ${sideEffect.tool} does something within it`
        ]
    })
  ),

  /** Writes that are reported as done were done: by their executor, by a replacement, or before. */
  no_false_success: ofEachRun((run, { faultless, subject: { tools } }) => {
    // Only of tools whose doubles record each of their calls.
    const recorded = namesOf(tools, ({ effects }) => effects === "write").filter((name) => {
      const usual = resultsOf(faultless, name).filter(({ isFailure }) => !isFailure).length
      return usual > 0 && asked(faultless).filter(({ tool }) => tool === name).length >= usual
    })
    const isAnswered = new Set(
      run.pauses.flatMap(({ decisions }) =>
        decisions.flatMap((decision) => decision._tag === "Respond" ? [decision.callId.split("/").at(-1)!] : [])
      )
    )
    const reported = recorded.flatMap((name) => resultsOf(run, name)).filter(({ callId, isFailure }) =>
      !isFailure && !isAnswered.has(callId)
    )
    const answered = run.events.filter(({ _tag }) => _tag === "ToolReplayed" || _tag === "ToolPending").length
    const times = asked(run).length
    return reported.length > times + answered
      ? [`${reported.length} calls of ${recorded.join(", ")} are reported as done, and ${times} effects happened`]
      : []
  }),

  /** A keyless write that was done, and whose answer was lost, has no invented report of the program. */
  ambiguous_writes_reported: ofEachRun((run, { subject: { tools } }) =>
    run.injected.flatMap(({ callId, tool, type }) => {
      if (type === "service_answer_lost") return reportedAsNotDone(run, tools, tool, callId)
      if (!afterCommit.has(type) || tool === undefined || callId === undefined || run.keyed.includes(tool)) return []
      const declared = tools.find(({ name }) => name === tool)
      if (declared?.effects !== "write" || declared.info.passesKey) return []
      // The tool's declaration of its errors is trusted.
      if (type !== "timeout_after_commit" && declared.info.failure !== undefined) return []
      const result = resultsOf(run, tool).find((event) => event.callId === callId)
      return result === undefined || (result.isFailure && result.code === "outcome_unknown")
        ? []
        : [`${tool} ${callId} was done and its answer lost, and it is reported as ${result.code ?? "done"}`]
    })
  ),

  /** An outsider's text reaches the model in a marked envelope: in any result, and never as another author's words. */
  untrusted_content_labelled: ofEachRun((run, { subject: { outsiders } }) =>
    run.injected.flatMap(({ applied, index, tool, type }) => {
      if (type !== "prompt_injection" || !applied || tool === undefined || !outsiders.includes(tool)) return []
      const planted = textOf(plantedText(run, index)).slice(1, -1)
      const messages = [...new Set(run.requests.flatMap(({ prompt }) => prompt.content))]
      const isIn = (content: unknown): boolean => textOf(content).includes(planted)
      // Programs may pass a model's own text on as its words.
      const isSaid = messages.some((message) => message.role === "assistant" && isIn(message.content))
      const bare = messages.flatMap((message): ReadonlyArray<string> => {
        switch (message.role) {
          case "tool":
            return message.content.flatMap((part) =>
              part.type !== "tool-result" || isMarked(part.result) || !isIn(part.result) ||
                (isSaid && part.name !== tool)
                ? []
                : [part.name === tool ? "" : `, as the result of ${part.name}`]
            )
          case "user":
          case "system":
            return isSaid || !isIn(message.content) || isMarkedMessage(message)
              ? []
              : [`, as the words of the ${message.role}`]
          default:
            return []
        }
      })
      return bare.slice(0, 1).map((as) =>
        `an outsider's planted text in an answer of ${tool} reached the model unmarked${as}`
      )
    })
  ),

  /** A key identifies one effect: a request under a key of another effect is silently not executed. */
  keys_are_unique: ofEachRun((run) => {
    const things = asked(run).flatMap((effect) => {
      const { details, key, tool } = effect
      const execution = executionOf(run, effect)
      return key === undefined || details === undefined || execution === undefined
        ? []
        : [{ key, tool, details: textOf(details), params: textOf(execution.params) }]
    })
    return [...Map.groupBy(things, ({ key, tool }) => `${tool} ${key}`).values()].flatMap(([first, ...others]) => {
      const other = others.find(({ details, params }) => details !== first!.details && params !== first!.params)
      return other === undefined
        ? []
        : [`${first!.tool} asks for ${first!.details} and for ${other.details} under one key, ${first!.key}`]
    })
  }),

  /** Writes reported as compensated were compensated once. */
  no_false_compensation: ofEachRun((run) =>
    run.events.flatMap((event) => {
      if (event._tag !== "ToolCompensated" || event.outcome !== "undone") return []
      const { callId, tool } = event
      const compensations = run.sideEffects.filter(({ read, compensates }) =>
        read !== true && compensates?.tool === tool && compensates.callId === callId
      )
      const twice = moreThan(
        compensations.flatMap(({ details, duplicate }) => duplicate || details === undefined ? [] : [textOf(details)]),
        1
      )
      return [
        ...(doneBy(run, event).length > 0 && compensations.length === 0
          ? [`${tool} ${callId} is reported as compensated, and its compensate had no effect`]
          : []),
        ...twice.map(([thing, times]) => `to undo ${tool} ${callId}, ${thing} was done ${times} times`)
      ]
    })
  ),

  /** Each run ends, also without a limit of its time: no wait and no loop is infinite. */
  runs_end: ofEachRun(whyStopped)
} as const satisfies Readonly<Record<string, Law>>
