/** Builds a program with agents from its value. */
import { Effect, Schedule, Schema } from "effect"
import { Prompt } from "effect/ai"
import { Agent, Guardrail, History, ModelError, Policy, Recovery, type Tool } from "@recourse/core"
import type * as ScriptedModel from "../../ScriptedModel.ts"
import { budget, clerk, compensation, type Composed, composed, partner } from "./forms.ts"
import { instead, question, substitute } from "./planted.ts"
import { type Program, toolName } from "./program.ts"
import { modelOf } from "./programModel.ts"
import { type Progress, ToolBuilder } from "./toolBuilder.ts"
import type { World } from "./world.ts"

/** A program, built. */
export interface Built {
  readonly agent: Composed
  readonly tools: ReadonlyArray<Tool.Any>
  readonly model: ScriptedModel.Behaviour
}

const answersOf = ({ content }: Prompt.Prompt): number => content.filter(({ role }) => role === "assistant").length

const guardsOf = ({ guards }: Program): object => {
  const refuse = () => Effect.delay(Effect.fail(new Guardrail.UnsafeInput({ category: "drawn" })), "1 second")
  const replace = () => Effect.delay(Effect.succeed(Guardrail.change(instead)), "1 second")
  switch (guards) {
    case "none":
      return {}
    case "replace":
      return { guardInput: replace, guardOutput: replace }
    case "refuseInput":
      return { guardInput: refuse }
    case "refuseAnswer":
      return { guardOutput: refuse }
  }
}

const shorter: Readonly<Record<Program["compact"], object | undefined>> = {
  no: undefined,
  end: { maxTokens: 40, by: History.keepLast(2) },
  results: { maxTokens: 40, by: History.trimResults({ characters: 10, keep: 1 }) },
  refused: { by: History.withinTokens(100) }
}

const onModelError: Readonly<Record<Program["onModelError"], object | undefined>> = {
  end: undefined,
  again: { onModelError: () => ModelError.retry({ times: 1, schedule: Schedule.spaced("1 second") }) },
  answer: { onModelError: () => ModelError.respondWith(substitute) }
}

/** The agent with the tools of a program. */
const agentOf = (
  name: string,
  program: Program,
  tools: ReadonlyArray<Tool.Any>,
  prompt: (input: unknown) => ReadonlyArray<Prompt.Message>
): Composed => {
  const last = toolName(program, tools.length - 1)
  const policies = program.policy === "none" ? [] : [
    Policy.make(
      "last",
      () => program.policy === "deny" ? Policy.deny("closed") : Policy.requireApproval("look at it"),
      { mayRequestApproval: true }
    ).pipe(Policy.forTools(last))
  ]
  return Agent.make(name, {
    instructions: name,
    input: Schema.Unknown,
    prompt,
    ...guardsOf(program),
    ...onModelError[program.onModelError],
    ...(program.offers === "first" ? { prepareTurn: () => ({ tools: [toolName(program, 0)] }) } : undefined),
    tools: tools as never,
    policies: policies as never,
    onTainted: program.onTainted,
    concurrency: program.concurrency,
    compact: shorter[program.compact],
    approval: { timeToLive: "1 hour" },
    ...compensation(program.compensates),
    ...(program.standard ? { defaults: { onError: Recovery.standard } } : undefined),
    budget
  } as never) as unknown as Composed
}

/** Builds a program. `history` is the start of its conversation. */
export const build = (program: Program, world: World, progress: Progress, history?: Prompt.Prompt): Built => {
  const toolsOf = (agent: string) => new ToolBuilder({ program, agent, world, progress }).build()
  const tools = toolsOf(clerk)
  const prompt = (input: unknown): ReadonlyArray<Prompt.Message> =>
    Prompt.isPrompt(input) ? input.content : Prompt.fromMessages([
      ...(history?.content ?? []),
      ...Prompt.make(
        question(history === undefined ? 0 : answersOf(history)) + (input === instead ? `: ${instead}` : "")
      ).content
    ]).content
  return {
    agent: composed(
      program,
      agentOf(clerk, program, tools, prompt),
      () => agentOf(partner, program, toolsOf(partner), prompt),
      prompt,
      (asked) => progress.onAsked?.(asked)
    ),
    tools,
    model: modelOf(program, world.secret === undefined ? "done" : `done with ${world.secret}`)
  }
}
