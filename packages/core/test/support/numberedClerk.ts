/** An agent that has a clerk as its tool, whose runs are numbered: the calls of each are selected by its number. */
import { ScriptedModel } from "@recourse/testing"
import { type Effect, Schema } from "effect"
import { Agent, Recovery, Tool, type ToolCall } from "@recourse/core"

/** The call of the clerk, or of a tool of its own. */
export type Call = Effect.Effect<string, unknown, ToolCall.ToolCall>

/** A tool without types of its own. */
export const plain = (name: string, execute: () => Effect.Effect<unknown, unknown>, more: object = {}): Tool.Any =>
  Tool.make(name, { success: Schema.String, effects: "read", execute, ...more } as never) as never

export const numberedClerk = ({ began = 0, calls = ["c"], recovered, runs, tools }: {
  /** Number of earlier runs of the clerk. */
  readonly began?: number
  /** The ids of the calls that are made of the clerk. */
  readonly calls?: ReadonlyArray<string>
  readonly recovered: (call: Call) => Call
  /** The tools that a run of the clerk calls, one after the other, by its number: 1 is the first. */
  readonly runs: (number: number) => ReadonlyArray<string>
  readonly tools: ReadonlyArray<Tool.Any>
}) => {
  let number = began
  const clerk = Agent.make("clerk", {
    input: Schema.Struct({}),
    prompt: () => `run ${++number}`,
    tools,
    defaults: { onError: Recovery.standard }
  } as never) as never as Agent.Agent<{}, string, never, never>
  const asTool = clerk.pipe(
    Agent.asTool("clerk", { description: "Works", parameters: Schema.Struct({}), success: Schema.String }) as never,
    Tool.onError(recovered as never) as never
  ) as never as Tool.Any
  const agent = Agent.make("main", { tools: [asTool], defaults: { onError: Recovery.keepGoing } } as never) as never as
    & Agent.Agent<string, string, never, never>
    & Agent.Resumable<string, string, never, never, never>
  const model = ScriptedModel.layer(({ prompt }) => {
    const asked = prompt.content.findLast(({ role }) => role === "user")!.content
    const text = typeof asked === "string" ? asked : (asked[0] as { readonly text: string }).text
    const told = prompt.content.filter(({ role }) => role === "tool").length
    if (text === "go") {
      return told === 0
        ? ScriptedModel.calls(calls.map((id, n) => ({ name: "clerk", params: n === 0 ? {} : { n }, id })))
        : ScriptedModel.text("done")
    }
    const name = runs(Number(text.slice("run ".length)))[told]
    return name === undefined ? ScriptedModel.text("clerk is done") : ScriptedModel.call(name, {}, { id: `i${told}` })
  })
  return { agent, model }
}
