/** The agents that the tests of this package run: reads, writes with and without keys, an agent that is a tool, approvals. */
import { Effect, Schema } from "effect"
import { Agent, Recovery, Tool, ToolCall } from "@recourse/core"
import { ScriptedModel } from "@recourse/testing"
import { Durable } from "@recourse/durable"

/** External effects, over all processes. */
export const world = () => ({
  writes: [] as Array<string>,
  keys: [] as Array<string>,
  /** Number of payments when the ledger had the first outcome. */
  paidBefore: undefined as number | undefined,
  asked: [] as Array<string>
})

export type World = ReturnType<typeof world>

const seat = { parameters: Schema.Struct({ seat: Schema.String }), success: Schema.String }

/** An agent that looks, books, pays, asks a clerk that books, and books with an approval. */
export const office = (world: World) => {
  const Look = Tool.make("look", {
    success: Schema.String,
    effects: "read",
    execute: () => Effect.as(Effect.sleep("100 millis"), "free")
  })
  const Book = Tool.make("book", {
    ...seat,
    effects: "write",
    execute: ({ seat }) =>
      Effect.sync(() => world.writes.push(seat)).pipe(
        Effect.andThen(Effect.sleep("50 millis")),
        Effect.as(`booked ${seat}`)
      )
  })
  const Pay = Tool.make("pay", {
    parameters: Schema.Struct({ amount: Schema.Int }),
    success: Schema.Int,
    effects: "write",
    idempotency: true,
    execute: ({ amount }) =>
      Effect.flatMap(
        ToolCall.ToolCall,
        ({ idempotencyKey = "" }) =>
          Effect.sync(() => world.keys.push(idempotencyKey)).pipe(
            Effect.andThen(Effect.sleep("50 millis")),
            Effect.as(amount)
          )
      )
  })
  const Refund = Tool.make("refund", {
    ...seat,
    effects: "write",
    needsApproval: true,
    execute: ({ seat }) => Effect.sync(() => (world.writes.push(`refund ${seat}`), "refunded"))
  })
  const Request = Schema.Struct({ text: Schema.String })
  const clerk = Agent.make("clerk", { input: Request, tools: [Book], defaults: { onError: Recovery.keepGoing } })
  return Agent.make("chief", {
    tools: [
      Look,
      Book,
      Pay,
      Refund,
      clerk.pipe(Agent.asTool("clerk", { description: "Books", parameters: Request, success: Schema.String }))
    ],
    defaults: { onError: Recovery.keepGoing },
    budget: { turns: 20 }
  })
}

const clerkTurns = [
  ScriptedModel.call("book", { seat: "3C" }, { id: "b1" }),
  ScriptedModel.text("the clerk has booked")
]

const turns = (withApproval: boolean) => [
  ScriptedModel.calls([
    { name: "look", params: {}, id: "c1" },
    { name: "book", params: { seat: "1A" }, id: "c2" },
    { name: "pay", params: { amount: 7 }, id: "c3" }
  ]),
  ScriptedModel.call("clerk", { text: "please" }, { id: "c5" }),
  ...(withApproval ? [ScriptedModel.call("refund", { seat: "1A" }, { id: "c6" })] : []),
  ScriptedModel.text("done")
]

/** The model: a function of the conversation, so that it may be asked again. */
export const model = (world: World, options?: { readonly approval?: boolean }) =>
  ScriptedModel.layer(({ prompt, tools }) => {
    const turn = prompt.content.filter(({ role }) => role === "assistant").length
    const isClerk = tools.length === 1
    world.asked.push(`${isClerk ? "clerk" : "chief"} ${turn}`)
    const script = isClerk ? clerkTurns : turns(options?.approval === true)
    return ScriptedModel.delay("30 millis", script[turn] ?? ScriptedModel.text("?"))
  })

export const durable = (world: World) => Durable.make(office(world))
