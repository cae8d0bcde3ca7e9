/** Calls of client tools whose run is stopped while the page has them: the model, the audit and the transcript have their outcome. */
import { assert, describe, it } from "@effect/vitest"
import { Agent, Approval, Audit, Conversation, Recovery, Tool } from "@recourse/core"
import { Durable, RunStore } from "@recourse/durable"
import { Drive, ScriptedModel, VirtualTime } from "@recourse/testing"
import { Effect, Layer, Redacted, Schema } from "effect"
import { Prompt } from "effect/ai"
import { collect } from "../support/kit.ts"

const effects = ["read", "idempotent", "write", undefined] as const

type Effects = typeof effects[number]

/** The code of a call without a result: a page may have executed a tool with effects. */
const codeOf = (declared: Effects) => declared === "read" || declared === "idempotent" ? "timeout" : "outcome_unknown"

const makePay = (declared: Effects) =>
  Tool.client("pay", {
    parameters: Schema.Struct({ order: Schema.Int }),
    success: Schema.String,
    timeout: "1 minute",
    ...(declared === undefined ? undefined : { effects: declared })
  })

const defaults = { onError: Recovery.standard }

const clerk = (declared: Effects) =>
  Agent.make("clerk", {
    input: Prompt.Prompt,
    prompt: (conversation) => conversation,
    tools: [makePay(declared)],
    defaults
  })

/** An agent whose tool is an agent with the client tool. */
const desk = (declared: Effects) => {
  const inner = Agent.make("inner", {
    input: Schema.Struct({ order: Schema.Int }),
    tools: [makePay(declared)],
    defaults
  })
  const order = Schema.Struct({ order: Schema.Int })
  return Agent.make("desk", {
    input: Prompt.Prompt,
    prompt: (conversation) => conversation,
    tools: [inner.pipe(Agent.asTool("pay", { description: "Pays", parameters: order, success: Schema.String }))],
    defaults
  })
}

const key = Approval.layerKey(Redacted.make("a key of the client tools with 32 bytes or more"))

const resultsIn = (messages: ReadonlyArray<Prompt.Message>) =>
  messages.flatMap((message) =>
    message.role !== "tool" ?
      [] :
      message.content.flatMap((part) =>
        part.type === "tool-result" ? [(part.result as { readonly code?: string }).code] : []
      )
  )

const recorded = () => {
  const decisions: Array<string> = []
  const layer = Audit.layer(({ callId, decision }) => Effect.sync(() => void decisions.push(`${decision} ${callId}`)))
  return { decisions, layer }
}

const thread = { owner: "ada", thread: "t" }

/** Sends a message while a call is at the page. Returns the codes of the results that the model reads next. */
const interrupted = Effect.fnUntraced(function*<E, R>(say: (message: string) => Effect.Effect<unknown, E, R>) {
  yield* say("Pay order 7")
  yield* say("Well?")
  const { prompt } = yield* (yield* ScriptedModel.ScriptedModel).lastRequest
  const { entries } = yield* (yield* Conversation.Conversations).read(thread)
  const shown = Conversation.visibleMessages(entries).map(({ message }) => message)
  return { read: resultsIn(prompt.content), shown: resultsIn(shown) }
})

const call = ScriptedModel.call("pay", { order: 7 }, { id: "c1" })

describe.each(effects)("a call of a client tool with effects %s", (declared) => {
  const code = codeOf(declared)
  const isAudited = code === "outcome_unknown"

  it.effect("has its outcome in the next turn after a message instead", () =>
    Effect.gen(function*() {
      const { decisions, layer } = recorded()
      const { read, shown } = yield* interrupted((message) =>
        Conversation.send(clerk(declared), { ...thread, message })
      ).pipe(Effect.provide([
        Conversation.layerMemory,
        key,
        layer,
        ScriptedModel.layer([call, ScriptedModel.text("I cannot tell.")])
      ]))
      assert.deepStrictEqual(shown, [code])
      assert.deepStrictEqual(read, [code])
      assert.deepStrictEqual(decisions, ["approval_requested c1", ...(isAudited ? ["outcome_unknown c1"] : [])])
    }))

  it.effect("has its outcome in the transcript of the paused run", () =>
    Effect.gen(function*() {
      const { layer, events } = collect()
      const report = yield* clerk(declared).report(Prompt.make("Pay")).pipe(
        Effect.provide([key, layer, ScriptedModel.layer([call])])
      )
      assert.deepStrictEqual(resultsIn(report.transcript.content), [code])
      assert.isEmpty(events.filter(({ _tag }) => _tag === "ToolResult"))
    }))

  it.effect("has its outcome if a durable run is cancelled, audited", () =>
    Effect.gen(function*() {
      const { decisions, layer } = recorded()
      const { events, layer: listener } = collect()
      const agent = Durable.make(Agent.make("payer", { tools: [makePay(declared)], defaults }))
      const runners = Durable.layer([agent], { poll: "1 second" }).pipe(
        Layer.provide([RunStore.layerMemory, ScriptedModel.layer([call]), layer, listener])
      )
      const { exit } = yield* VirtualTime.run(
        Effect.gen(function*() {
          yield* agent.start("r1", "Pay order 7")
          yield* Effect.sleep("10 seconds")
          const isCancelled = yield* agent.cancel("r1")
          yield* Effect.sleep("10 seconds")
          return [isCancelled, (yield* agent.poll("r1")).status]
        }).pipe(Effect.provide(runners))
      )
      assert.deepStrictEqual(yield* exit, [true, "cancelled"])
      assert.deepStrictEqual(decisions, ["approval_requested c1", ...(isAudited ? ["outcome_unknown c1"] : [])])
      const codes = events.flatMap((event) => event._tag === "ToolResult" ? [event.code] : [])
      assert.deepStrictEqual(codes, isAudited ? [code] : [])
    }))

  it.effect("has its outcome if the result comes too late", () =>
    Effect.gen(function*() {
      const agent = clerk(declared)
      const paused = (yield* agent.start(Prompt.make("Pay"))) as Approval.Paused
      yield* Drive.drive(Effect.sleep("61 seconds"), { step: "1 second" })
      yield* agent.resume(paused.snapshot, [Approval.respond(paused.pending[0]!, "paid")])
      const { prompt } = yield* (yield* ScriptedModel.ScriptedModel).lastRequest
      // The declared failure of a tool without declared effects is known, like that of any tool.
      assert.deepStrictEqual(resultsIn(prompt.content), [declared === undefined ? "timeout" : code])
    }).pipe(Effect.provide([key, ScriptedModel.layer([call, ScriptedModel.text("I cannot tell.")])])))
})

describe("a call at the page of a run that another call ends", () => {
  it.effect.each(effects)("has its outcome: %s", (declared) =>
    Effect.gen(function*() {
      const { events, layer } = collect()
      const { decisions, layer: audit } = recorded()
      const Break = Tool.make("break", { needsApproval: true, effects: "read", execute: () => Effect.die("broken") })
      const agent = Agent.make("payer", { tools: [Break, makePay(declared)], defaults })
      yield* Effect.gen(function*() {
        const paused = (yield* agent.start("Pay order 7")) as Approval.Paused
        const decided = paused.pending.filter(({ tool }) => tool === "break").map((one) => Approval.approve(one))
        yield* Effect.exit(agent.resume(paused.snapshot, decided))
      }).pipe(Effect.provide([
        key,
        layer,
        audit,
        ScriptedModel.layer([
          ScriptedModel.calls([{ id: "b", name: "break", params: {} }, { id: "c1", name: "pay", params: { order: 7 } }])
        ])
      ]))
      const result = events.find((event) => event._tag === "ToolResult" && event.callId === "c1")
      assert.deepInclude(result, { code: codeOf(declared) === "outcome_unknown" ? "outcome_unknown" : "not_run" })
      assert.strictEqual(decisions.includes("outcome_unknown c1"), codeOf(declared) === "outcome_unknown")
    }))
})

describe("a call of an agent that waits for its page", () => {
  it.effect.each(effects)("is unknown if that may have changed something: %s", (declared) =>
    Effect.gen(function*() {
      const { decisions, layer } = recorded()
      const { shown } = yield* interrupted((message) => Conversation.send(desk(declared), { ...thread, message })).pipe(
        Effect.provide([
          Conversation.layerMemory,
          key,
          layer,
          ScriptedModel.layer([
            ScriptedModel.call("pay", { order: 7 }, { id: "outer" }),
            call,
            ScriptedModel.text("I cannot tell.")
          ])
        ])
      )
      assert.deepStrictEqual(shown, [codeOf(declared)])
      assert.deepStrictEqual(decisions.includes("outcome_unknown outer/c1"), codeOf(declared) === "outcome_unknown")
    }))
})
