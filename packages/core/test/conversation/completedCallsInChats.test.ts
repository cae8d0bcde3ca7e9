/**
 * Chats of agents made of agents: after any end of a turn, the model of the next one reads the completed and the
 * compensated writes.
 */
import { assert, describe, it } from "@effect/vitest"
import { Laws, ScriptedModel, VirtualTime } from "@recourse/testing"
import { Agent, Approval, Conversation, Guardrail, Recovery, Tool } from "@recourse/core"
import { Effect, Exit, Layer, Redacted, Schema } from "effect"
import { Prompt } from "effect/ai"
import { operationsBetween } from "../support/operations.ts"

const chat = { owner: "ada", thread: "t1" }
const book = Tool.make("book", {
  effects: "write",
  success: Schema.String,
  execute: () => Effect.succeed("booked"),
  compensate: () => Effect.void
})
const pay = Tool.make("pay", { effects: "write", needsApproval: true, execute: () => Effect.void })
const breaks = Tool.make("breaks", { effects: "read", execute: () => Effect.die("broken") })

type Chatting =
  & Agent.Agent<Prompt.Prompt, string, unknown, never>
  & Agent.Resumable<Prompt.Prompt, string, unknown, never, never>

const clerkOf = (more: object = {}) =>
  Agent.make(
    "clerk",
    {
      instructions: "clerk",
      input: Prompt.Prompt,
      prompt: (conversation: Prompt.Prompt) => conversation,
      tools: [book, pay, breaks],
      defaults: { onError: Recovery.standard },
      ...more
    } as never
  ) as unknown as Chatting

/** An agent that chooses. It receives the conversation, like the chosen agent. */
const chooser = Agent.fromFunction("chooser", (_: Prompt.Prompt) => Effect.succeed("clerk" as const))

const agents: Readonly<Record<string, (clerk: Chatting) => Chatting>> = {
  "an agent": (clerk) => clerk,
  "a route by an agent": (clerk) => Agent.route("route", chooser, { clerk } as never) as never,
  "a branch": (clerk) => Agent.branch("branch", () => true, { onTrue: clerk, onFalse: clerk } as never) as never,
  "an agent that is compensated": (clerk) => clerk.pipe(Agent.compensated({ after: [] }) as never) as never,
  "a route that is compensated": (clerk) =>
    (Agent.route("route", chooser, { clerk } as never) as unknown as Chatting)
      .pipe(Agent.compensated({ after: [] }) as never) as never
}

/** A guard that takes a secret out of the last message. */
const hidden = {
  guardInput: (input: Prompt.Prompt) =>
    Effect.succeed(Guardrail.change(Prompt.fromMessages([
      ...input.content.slice(0, -1),
      ...Prompt.make("Book it, and pay with ****").content
    ])))
}

const bookThen = (then: string) => [
  ScriptedModel.call("book", {}, { id: "b" }),
  ScriptedModel.call(then, {}, { id: "t" }),
  ScriptedModel.text("Done."),
  ScriptedModel.text("Still.")
]

/** The answer to the message that the guard has changed is dropped. */
const behindGuard = (turns: ReadonlyArray<ScriptedModel.Turn>) => [ScriptedModel.text("Dropped."), ...turns]

const inOneAnswer = [
  ScriptedModel.calls([{ name: "book", params: {}, id: "b" }, { name: "pay", params: {}, id: "t" }]),
  ScriptedModel.text("Done."),
  ScriptedModel.text("Still.")
]

const inChat = (turns: ReadonlyArray<ScriptedModel.Turn>) =>
  Effect.provide(Layer.mergeAll(
    Conversation.layerMemory,
    ScriptedModel.layer(turns),
    Approval.layerKey(Redacted.make("k".repeat(32)))
  ))

const say = (agent: Chatting, message: string) => Conversation.send(agent, { ...chat, message })

const decide = (
  agent: Chatting,
  paused: { readonly exit: Exit.Exit<unknown, unknown> },
  about: (call: Approval.PendingCall) => Approval.Decision = Approval.approve
) => {
  const error = Exit.isFailure(paused.exit) ? paused.exit.cause.reasons.find(({ _tag }) => _tag === "Fail") : undefined
  const { pending } = (error as unknown as { readonly error: Approval.ApprovalRequired }).error
  return Conversation.resume(agent, { ...chat, decisions: pending.map((call) => about(call)) })
}

/** The results that the model of the next turn reads, by call. */
const known = Effect.map(
  Effect.scoped(Conversation.begin({ ...chat, message: "And?" })),
  ({ prompt }) => {
    assert.deepStrictEqual(Laws.problemsOfHistory(prompt), [])
    return Object.fromEntries(
      prompt.content.flatMap((message) =>
        message.role !== "tool" ? [] : message.content.flatMap((part) =>
          part.type === "tool-result"
            ? [[part.id, part.isFailure ? (part.result as { readonly code: string }).code : part.result] as const]
            : []
        )
      )
    )
  }
)

describe.each(Object.entries(agents))("%s", (_name, agentOf) => {
  it.effect("that fails", () =>
    Effect.gen(function*() {
      yield* say(agentOf(clerkOf()), "Book it")
      assert.strictEqual((yield* known)["b"], "booked")
    }).pipe(inChat(bookThen("breaks"))))

  it.effect("that waits, and receives another message", () =>
    Effect.gen(function*() {
      yield* say(agentOf(clerkOf()), "Book it")
      assert.strictEqual((yield* known)["b"], "booked")
    }).pipe(inChat(bookThen("pay"))))

  for (const [how, turns] of [["in turn", bookThen("pay")], ["in one answer", inOneAnswer]] as const) {
    it.effect(`with an input changed by a guard, another message while waiting: ${how}`, () =>
      Effect.gen(function*() {
        yield* say(agentOf(clerkOf(hidden)), "Book it, and pay with 1234")
        assert.strictEqual((yield* known)["b"], "booked")
      }).pipe(inChat(behindGuard(turns))))

    it.effect(`with an input changed by a guard, resumed: ${how}`, () =>
      Effect.gen(function*() {
        const agent = agentOf(clerkOf(hidden))
        const paused = yield* say(agent, "Book it, and pay with 1234")
        yield* decide(agent, paused)
        assert.deepStrictEqual(Object.keys(yield* known), ["b", "t"])
      }).pipe(inChat(behindGuard(turns))))

    it.effect(`interrupted at any operation of its resumption: ${how}`, () =>
      Effect.gen(function*() {
        const agent = agentOf(clerkOf())
        const cutOff = (interruptAt: number) =>
          Effect.gen(function*() {
            const paused = yield* say(agent, "Book it")
            const { operations } = yield* VirtualTime.run(Effect.exit(decide(agent, paused)), { interruptAt })
            assert.strictEqual((yield* known)["b"], "booked", `operation ${interruptAt}`)
            return operations
          }).pipe(inChat(turns))
        const operations = yield* cutOff(Infinity)
        for (const interruptAt of operationsBetween(1, operations + 1, 7)) yield* cutOff(interruptAt)
      }))
  }
})

it.effect.each(["a route by an agent", "an agent that is compensated"])(
  "%s undoes: the chat knows it",
  (name) =>
    Effect.gen(function*() {
      const undoing = agents[name]!(clerkOf()).pipe(Agent.compensated({}) as never) as Chatting
      yield* say(undoing, "Book it")
      assert.deepStrictEqual((yield* known)["b"], { undone: ["book"], result: "booked" })
    }).pipe(inChat(bookThen("breaks")))
)

it.effect.each(["fails", "hangs"])(
  "a chat knows that what was done may be undone: the undoing %s",
  (how) =>
    Effect.gen(function*() {
      for (const name of ["an agent", "a route by an agent"]) {
        const booking = Tool.make("book", {
          effects: "write",
          success: Schema.String,
          execute: () => Effect.succeed("booked"),
          compensate: () => how === "fails" ? Effect.fail("no" as const) : Effect.never
        })
        const undoing = agents[name]!(clerkOf({ tools: [booking, pay, breaks], compensation: {} }))
        const read = Effect.gen(function*() {
          yield* say(undoing, "Book it")
          return yield* known
        }).pipe(inChat(bookThen("breaks")))
        const { exit } = yield* VirtualTime.run(read)
        assert.deepStrictEqual(exit, Exit.succeed({ b: { may_be_undone: ["book"], result: "booked" } }))
      }
    })
)

it.effect.each(["an agent", "a route by an agent"])(
  "%s undoes, over a pause, what the thread has: the chat knows it",
  (name) =>
    Effect.gen(function*() {
      const undoing = agents[name]!(clerkOf({ compensation: {} }))
      const paused = yield* say(undoing, "Book it")
      yield* decide(undoing, paused, (call) => Approval.reject(call, "No"))
      assert.deepStrictEqual(yield* known, { b: { undone: ["book"], result: "booked" } })
      const { entries } = yield* Effect.flatMap(Conversation.Conversations, ({ read }) => read(chat))
      const said = Conversation.visibleMessages(entries).map(({ message }) => message.role)
      assert.deepStrictEqual(said, ["user", "assistant", "tool", "assistant", "tool", "assistant", "user"])
    }).pipe(inChat(bookThen("pay")))
)

it.effect.each(Object.keys(agents))(
  "%s that asks while it runs, and undoes, is interrupted at any operation: the chat knows what is undone",
  (name) =>
    Effect.gen(function*() {
      const seen = new Set<unknown>()
      const cutOff = (interruptAt: number) =>
        Effect.gen(function*() {
          let booked = 0
          const own = Tool.make("book", {
            effects: "write",
            success: Schema.String,
            execute: () => Effect.sync(() => (booked++, "booked")),
            compensate: () => Effect.sync(() => void booked--)
          })
          const slowly = pay.pipe(Tool.onError((attempt) => Effect.andThen(Effect.yieldNow, attempt)))
          const asks = clerkOf({ tools: [own, slowly, breaks], compensation: {}, ...hidden }).pipe(
            Approval.interactive((call) => Effect.andThen(Effect.yieldNow, Effect.succeed(Approval.approve(call))))
          )
          const agent = agents[name]!(asks as never)
          const { exit, operations } = yield* VirtualTime.run(Effect.exit(say(agent, "Book it, and pay with 1234")), {
            interruptAt
          })
          if (interruptAt === Infinity) assert.isTrue(Exit.isSuccess(exit))
          const result = (yield* known)["b"]
          const about = `operation ${interruptAt}: ${booked} booked`
          if (booked === 1) assert.include(["booked", "outcome_unknown"], result, about)
          // If the answer was interrupted before its result, the model knows of no booking.
          else if (result !== undefined) assert.notStrictEqual(result, "booked", about)
          seen.add(JSON.stringify(result))
          return operations
        }).pipe(inChat(behindGuard(bookThen("pay"))))
      const operations = yield* cutOff(Infinity)
      for (const interruptAt of operationsBetween(1, operations + 1, 4)) yield* cutOff(interruptAt)
      assert.includeMembers([...seen], ["\"booked\"", JSON.stringify({ undone: ["book"], result: "booked" })])
    })
)
