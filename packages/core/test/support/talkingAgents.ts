/** Agents that hand over a conversation. */

import { ScriptedModel } from "@recourse/testing"
import { Effect } from "effect"
import { Prompt } from "effect/ai"
import { Agent, Tool } from "@recourse/core"
import { call, standard, text, type Waits } from "./bookings.ts"

export const talks = { ...standard, input: Prompt.Prompt, prompt: (said: Prompt.Prompt) => said }

export const Boom = Tool.make("boom", { effects: "read", execute: () => Effect.die("no") })

export const to = (name: string) => Agent.handoffTo(name, { description: "Gives it away" })

/** Turns of each agent's model by its agent's instructions, over all executions. */
export const models = (turns: Readonly<Record<string, ReadonlyArray<ScriptedModel.Turn>>>) => {
  const left = new Map(Object.entries(turns).map(([name, all]) => [name, [...all]]))
  const prompts: Array<Prompt.Prompt> = []
  const layer = ScriptedModel.layer(({ prompt }) => {
    prompts.push(prompt)
    const [first] = prompt.content
    return left.get(first?.role === "system" ? first.content : "")?.shift() ?? text("done")
  })
  return { prompts, layer }
}

export const agentNamed = (name: string, tools: ReadonlyArray<unknown>, more: object = {}) =>
  Agent.make(name, { ...talks, instructions: name, tools, ...more } as never) as never as Agent.Agent<
    Prompt.Prompt,
    string
  >

export const handoff = (agents: Readonly<Record<string, unknown>>, options: object = {}) =>
  Agent.handoff("support", { start: "triage", agents, ...options } as never) as never as Waits

export const transfer = (name: string) => call(`transfer_to_${name}`, {}, { id: "t" })

export const hello = Prompt.fromMessages([
  Prompt.systemMessage({ content: "Be polite." }),
  ...Prompt.make("Hello").content
])

export const stored = <A>(value: A): A => JSON.parse(JSON.stringify(value)) as A
