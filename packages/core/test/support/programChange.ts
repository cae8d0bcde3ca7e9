/** A changed program: its tools, and its two executions. */

import { ScriptedModel } from "@recourse/testing"
import { Effect, Schedule, Schema } from "effect"
import { Agent, Policy, Recovery, Tool, ToolCall } from "@recourse/core"

/** External effects. */
export const worldOf = () => ({
  writes: [] as Array<{ readonly life: number; readonly what: string; readonly key: string | undefined }>,
  asked: [] as Array<{ readonly life: number; readonly by: string }>
})

/** The world in one execution. */
export interface Here {
  /** 0 or 1. */
  readonly life: number
  readonly world: ReturnType<typeof worldOf>
}

export type AnyAgent = Agent.Agent<string, string, unknown, never>

export type Inner = Effect.Effect<string, never, ToolCall.ToolCall>

export const Seat = Schema.Struct({ seat: Schema.String })

/** A write that takes a moment. */
export const write = ({ life, world }: Here, name: string, more?: object): Tool.Any =>
  Tool.make(name, {
    parameters: Seat,
    success: Schema.String,
    effects: "write",
    execute: (params: object) =>
      Effect.flatMap(ToolCall.ToolCall, ({ idempotencyKey: key }) =>
        Effect.andThen(
          Effect.sync(() => world.writes.push({ life, what: `${name} ${JSON.stringify(params)}`, key })),
          Effect.as(Effect.sleep("100 millis"), "booked")
        )),
    ...more
  } as never) as never

export const keyed = { idempotency: true }

export const read = (name: string): Tool.Any =>
  Tool.make(name, { success: Schema.String, effects: "read", execute: () => Effect.succeed("free") }) as never

export const agent = (tools: ReadonlyArray<Tool.Any>, more?: object): AnyAgent =>
  Agent.make("main", { tools, defaults: { onError: Recovery.keepGoing }, ...more } as never) as never

/** Calls a tool of its own making. */
export const within = (tool: Tool.Any, id: string, args: unknown) =>
  Effect.provideService(
    (tool as never as { readonly call: Inner }).call,
    ToolCall.ToolCall,
    ToolCall.make({ id, arguments: args })
  ) as Inner

/** A tool that does something with other tools. */
export const bundle = (execute: () => Effect.Effect<unknown, unknown, ToolCall.ToolCall>, more?: object): Tool.Any =>
  Tool.make("bundle", {
    parameters: Seat,
    success: Schema.String,
    effects: "idempotent",
    execute: () => Effect.as(execute(), "bundled"),
    ...more
  } as never) as never

export const clerk = (name: string, tool: Tool.Any, instructions: string): Tool.Any =>
  Agent.make(name, { instructions, input: Seat, tools: [tool], defaults: { onError: Recovery.keepGoing } } as never)
    .pipe(Agent.asTool("clerk", { description: "Books", parameters: Seat, success: Schema.String }) as never)

export type Turns = Readonly<Record<string, ReadonlyArray<ScriptedModel.Turn>>>

export const call = (name: string, params: object, id: string) => ScriptedModel.call(name, params as never, { id })

export const book = [call("book", { seat: "1A" }, "c1"), ScriptedModel.text("done")]

export interface Case {
  readonly make: (here: Here) => AnyAgent
  /** By the first word of the instructions; those without are `main`. */
  readonly turns: Turns
  /** Ends of the second execution other than with its output: at least one interruption of the first one leads to one. Default: none. */
  readonly ends?: ReadonlyArray<string>
  /** Answers of the model in the second execution, if they are others. */
  readonly laterTurns?: Turns
  /** The key of an entry that the store has lost when the second execution starts. */
  readonly lost?: string
  /** The second program does not repeat the write of the first one: it makes another call, or none. */
  readonly other?: true
}

export const anyway = { times: 2, schedule: Schedule.spaced("2 seconds"), while: () => true } as never

export const triedAgain = (tool: Tool.Any): Tool.Any =>
  (tool as never as { pipe: (f: unknown) => Tool.Any }).pipe(Tool.onError(Recovery.retry(anyway) as never))

export const deny = Policy.make("closed", () => Effect.succeed(Policy.deny("closed")))
