/** A message instead of a decision: the next turn's model's view of the waiting answers. */
import { assert, describe, it } from "@effect/vitest"
import { Laws, ScriptedModel, VirtualTime } from "@recourse/testing"
import { Agent, Approval, Conversation, Recovery, Tool } from "@recourse/core"
import { Effect, Layer, Redacted, Schema } from "effect"
import { Prompt } from "effect/ai"

const chat = { owner: "ada", thread: "t1" }
const Write = Tool.make("write", { effects: "write", success: Schema.String, execute: () => Effect.succeed("done") })
const Pay = Tool.make("pay", { effects: "write", needsApproval: true, execute: () => Effect.void })
const defaults = { onError: Recovery.standard }

type Chatting =
  & Agent.Agent<Prompt.Prompt, string, unknown, never>
  & Agent.Resumable<Prompt.Prompt, string, unknown, never, never>

/** An agent whose model calls `pay`: the call's id is the agent's name. */
const payer = (name: string, more: object = {}) =>
  Agent.make(
    name,
    {
      instructions: name,
      input: Prompt.Prompt,
      prompt: (conversation: Prompt.Prompt) => conversation,
      tools: [Write, Pay],
      defaults,
      ...more
    } as never
  ) as unknown as Chatting

const textPayer = (name: string) => Agent.make(name, { instructions: name, tools: [Write, Pay], defaults })

/** Reads the conversation, and answers something else. */
const reads = (answer: (conversation: Prompt.Prompt) => unknown) =>
  Agent.fromFunction("reads", (conversation: Prompt.Prompt) => Effect.succeed(answer(conversation)))

/** Virtual time draws the same ids in each test. */
const ownResumptions = () => {
  const claimed = new Set<string>()
  return Layer.succeed(Approval.Resumptions, {
    claim: (id) => Effect.sync(() => !claimed.has(id) && claimed.add(id).has(id)),
    release: (id) => Effect.sync(() => void claimed.delete(id))
  })
}

const waitsAs = (turns: Readonly<Record<string, ScriptedModel.Turn>>) =>
  Effect.provide(Layer.mergeAll(
    Conversation.layerMemory,
    ScriptedModel.layer((request) => {
      const system = request.prompt.content.find(({ role }) => role === "system")
      const name = String(system?.content)
      return turns[name] ?? ScriptedModel.call("pay", {}, { id: name })
    }),
    Approval.layerKey(Redacted.make("k".repeat(32))),
    ownResumptions()
  ))

/** The next turn's model's calls and results: their ids and outcomes. */
const read = Effect.map(Effect.scoped(Conversation.begin({ ...chat, message: "Wait" })), ({ mended, prompt }) => {
  assert.deepStrictEqual(mended, [])
  assert.deepStrictEqual(Laws.problemsOfHistory(prompt), [])
  return prompt.content.map(({ content, role }) =>
    `${role} ${
      typeof content === "string" ? content : content.map((part) => {
        if (part.type === "text") return part.text
        const { id, result } = part as Prompt.ToolResultPart
        const code = typeof result === "object" ? (result as { readonly code: string }).code : result
        return result === undefined ? id : `${id} ${String(code)}`
      }).join()
    }`
  )
})

const off = (...ids: ReadonlyArray<string>) => ids.flatMap((id) => [`assistant ${id}`, `tool ${id} approval_required`])

const cases: Readonly<Record<string, readonly [agent: () => unknown, told: ReadonlyArray<string>]>> = {
  "two agents that have the conversation, side by side": [
    () => Agent.all("both", [payer("one"), payer("two")]),
    off("one", "two")
  ],
  "one that has it, beside one that was asked something else": [
    () =>
      Agent.all("both", [
        payer("one"),
        reads(() => "Pay Bo").pipe(Agent.andThen(textPayer("two") as never))
      ]),
    ["assistant Pay Bo", ...off("one")]
  ],
  "one that was asked something else by one that has the conversation": [
    () => reads(() => "Pay Bo").pipe(Agent.andThen(textPayer("two") as never)),
    ["assistant Pay Bo"]
  ],
  "one of several that were asked something else": [
    () => reads(() => "Pay Bo").pipe(Agent.andThen(Agent.all("both", [textPayer("one"), textPayer("two")]) as never)),
    ["assistant Pay Bo"]
  ],
  "one that was given another conversation, by an agent of agents that was": [
    () =>
      reads(() => Prompt.make("Pay Bo")).pipe(
        Agent.andThen(Agent.route("to", (_: Prompt.Prompt) => "one" as const, { one: payer("one") }) as never)
      ),
    []
  ],
  "one that was handed the conversation on": [
    () =>
      reads((conversation) => Prompt.fromMessages([...conversation.content])).pipe(
        Agent.andThen(payer("one") as never)
      ),
    off("one")
  ],
  "one that was handed the conversation on with more behind it": [
    () =>
      reads((conversation) => Prompt.concat(conversation, Prompt.make("Be quick"))).pipe(
        Agent.andThen(Agent.route("to", (_: Prompt.Prompt) => "one" as const, { one: payer("one") }) as never)
      ),
    ["user Be quick", ...off("one")]
  ]
}

describe("a listener of a waiting agent", () => {
  it.effect.each(Object.keys(cases))("%s", (name) =>
    Effect.gen(function*() {
      const [agent, told] = cases[name]!
      // Otherwise the processor decides which of two agents waits first, because it computes digests in parallel to
      // this thread.
      yield* VirtualTime.run(Conversation.send(agent() as Chatting, { ...chat, message: "Pay Ada" }))
      const { thread } = yield* (yield* Conversation.Conversations).read(chat)
      assert.isTrue(thread.isWaiting)
      assert.deepStrictEqual(yield* read, ["user Pay Ada", ...told, "user Wait"])
    }).pipe(waitsAs({})))
})

/** A tool whose agent waits, behind a write or at once. */
const agentTool = (name: string) => textPayer(name).pipe(Agent.asTool(name, { description: name, effects: "write" }))

/** A tool that waits in a call of another tool. */
const callingTool = (name: string, first: Effect.Effect<unknown, unknown, never>) =>
  Tool.make(name, {
    effects: "read",
    mayRequestApproval: true,
    success: Schema.String,
    execute: () => Effect.as(Effect.andThen(first, Pay.call as Effect.Effect<unknown>), "never")
  } as never)

it.effect("receives starts of waiting calls with inner writes only", () =>
  Effect.gen(function*() {
    const agent = payer("lead", {
      tools: [
        Pay,
        agentTool("at_once"),
        agentTool("behind"),
        callingTool("calls", Effect.void),
        callingTool("writes", Write.call as Effect.Effect<unknown>)
      ]
    })
    yield* Conversation.send(agent, { ...chat, message: "All of it" })
    assert.deepStrictEqual(yield* read, [
      "user All of it",
      "assistant I shall.,p,at_once,behind,calls,writes",
      "tool p approval_required,at_once approval_required,behind outcome_unknown,calls approval_required,writes outcome_unknown",
      "user Wait"
    ])
  }).pipe(waitsAs({
    lead: ScriptedModel.calls([
      { name: "pay", params: {}, id: "p" },
      { name: "at_once", params: { input: "x" }, id: "at_once" },
      { name: "behind", params: { input: "x" }, id: "behind" },
      { name: "calls", params: {}, id: "calls" },
      { name: "writes", params: {}, id: "writes" }
    ], { text: "I shall." }),
    behind: ScriptedModel.calls([{ name: "write", params: {}, id: "w" }, { name: "pay", params: {}, id: "p" }])
  })))

describe("a snapshot that is not as this library makes it now", () => {
  /** Waits, and keeps another snapshot in the thread. */
  const waitsWith = (agent: unknown, changed: (snapshot: Approval.Snapshot) => object) =>
    Effect.gen(function*() {
      const store = yield* Conversation.Conversations
      yield* Conversation.send(agent as Chatting, { ...chat, message: "Pay Ada" })
      const { snapshot } = yield* store.read(chat)
      yield* store.append({
        ...chat,
        events: [],
        snapshot: changed(snapshot as unknown as Approval.Snapshot) as Schema.Json
      })
      return yield* read
    }).pipe(waitsAs({}))
  const route = () => Agent.route("to", (_: Prompt.Prompt) => "one" as const, { one: payer("one") })

  it.effect("without agents of the conversation: their messages decide", () =>
    Effect.gen(function*() {
      const told = yield* waitsWith(route(), (snapshot) => {
        const { asGiven: _, ...steps } = snapshot.steps!
        return { ...snapshot, steps }
      })
      assert.deepStrictEqual(told, ["user Pay Ada", ...off("one"), "user Wait"])
    }))

  it.effect.each<readonly [string, (snapshot: Approval.Snapshot) => object]>([
    ["without calls", ({ round: _, ...snapshot }) => snapshot],
    ["of which the transcript does not have the answer", (snapshot) => ({
      ...snapshot,
      round: { ...snapshot.round!, calls: [{ id: "other", name: "pay", params: {} }] }
    })],
    ["of another form", () => ({ version: 99 })]
  ])("%s: nothing is told of it", ([, changed]) =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* waitsWith(payer("one"), changed), ["user Pay Ada", "user Wait"])
    }))
})
