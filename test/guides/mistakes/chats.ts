/** Mistakes in conversations and approvals. */
import { Agent, Approval, Conversation, Tool } from "@recourse/core"
import { Drive, ScriptedModel } from "@recourse/testing"
import { Effect, Fiber, Layer, Logger, Queue, Redacted, Schema, Terminal } from "effect"
import { Prompt } from "effect/ai"
import { TestClock } from "effect/testing"
import { type Evaluate, failureOf, type Mistake } from "./mistake.ts"

const chat = { owner: "ada", thread: "t1" }

const testing = (...turns: ReadonlyArray<ScriptedModel.Turn>) =>
  Layer.mergeAll(
    ScriptedModel.layer(turns),
    Conversation.layerMemory,
    Approval.layerKey(Redacted.make("a key of the tests with 32 bytes or more")),
    TestClock.layer()
  )

const failing = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.map(Effect.exit(effect), failureOf)

/** The code ends a turn that has ended. */
const endsTwice = (evaluate: Evaluate) =>
  Effect.gen(function*() {
    const turn = yield* Conversation.begin({ ...chat, message: "Hello" })
    return yield* failing(evaluate<Effect.Effect<unknown>>({ turn, transcript: turn.prompt }))
  }).pipe(Effect.scoped, Effect.provide(testing()))

/** The code sends a message while another turn of the thread runs. */
const isBusy = (evaluate: Evaluate) =>
  Effect.gen(function*() {
    const turn = Effect.andThen(Conversation.begin({ ...chat, message: "Hello" }), Effect.never)
    const fiber = yield* Effect.forkChild(Effect.scoped(turn), { startImmediately: true })
    const text = yield* failing(evaluate<Effect.Effect<unknown>>())
    yield* Fiber.interrupt(fiber)
    return text
  }).pipe(Effect.provide(testing()))

const Refund = Tool.make("refund", {
  success: Schema.String,
  effects: "write",
  needsApproval: true,
  execute: () => Effect.succeed("refunded")
})
const clerk = Agent.make("clerk", { tools: [Refund] })

/** The code resumes a snapshot that was resumed before. */
const resumesTwice = (evaluate: Evaluate) =>
  Effect.gen(function*() {
    const outcome = yield* clerk.start("Refund order 7")
    if (outcome._tag !== "Paused") return "not paused"
    const decisions = outcome.pending.map((call) => Approval.approve(call))
    const resume = evaluate<Effect.Effect<unknown>>({ clerk, snapshot: outcome.snapshot, decisions })
    yield* Effect.exit(resume)
    return yield* failing(resume)
  }).pipe(Effect.provide(testing(ScriptedModel.call("refund", {}), ScriptedModel.text("Done."))), Effect.orDie)

/** A terminal that a person closes. */
const closed = Terminal.make({
  columns: Effect.succeed(80),
  rows: Effect.succeed(20),
  size: Effect.flatMap(Queue.unbounded<Terminal.Size>(), Effect.succeed) as never,
  readInput: Effect.flatMap(Queue.unbounded<Terminal.UserInput>(), Effect.succeed) as never,
  readLine: Effect.fail(new Terminal.QuitError({})),
  display: () => Effect.void
})

const quits = (evaluate: Evaluate) =>
  Effect.gen(function*() {
    return yield* failing(evaluate<typeof clerk>({ clerk }).run("Refund order 7"))
  }).pipe(
    Effect.provideService(Terminal.Terminal, closed),
    Effect.provide(testing(ScriptedModel.call("refund", {})))
  )

/** The log of a turn of a thread whose calls have equal ids, in the stored form of an earlier recipe. */
const logsRepeatedIds = (evaluate: Evaluate) =>
  Effect.gen(function*() {
    const lines: Array<string> = []
    const store = yield* Conversation.Conversations
    yield* store.create(chat)
    const call = Prompt.toolCallPart({ id: "c1", name: "pay", params: {}, providerExecuted: false })
    const asked = Prompt.assistantMessage({ content: [call] })
    const answered = Prompt.toolMessage({
      content: [
        Prompt.toolResultPart({ id: "c1", name: "pay", isFailure: false, result: "paid", providerExecuted: false })
      ]
    })
    yield* store.append({
      ...chat,
      events: Conversation.toEvents([...Prompt.make("Pay").content, asked, answered, asked, answered])
    })
    const logger = Logger.make(({ logLevel, message }) => void lines.push(`${logLevel} ${String(message)}`))
    yield* Drive.drive(evaluate<Effect.Effect<unknown>>()).pipe(Effect.provide(Logger.layer([logger])))
    return `the log has ${lines[0] ?? "no line"}`
  }).pipe(Effect.provide(testing(ScriptedModel.text("Paid."))))

export const chats: ReadonlyArray<Mistake> = [
  {
    wrote: "turn.end({ transcript }).pipe(Effect.andThen(turn.end({ transcript })))",
    observe: endsTwice,
    remedy: "One `end` for each `begin`; `Conversation.send` and `stream` end it. [Chats](chats.md)"
  },
  {
    when: "Another turn of the thread runs",
    wrote: "Conversation.send(helper, { ...chat, message: \"And?\" })",
    observe: isBusy,
    remedy: "Send it after the end of that turn"
  },
  {
    when: "Calls of the thread were stored under equal ids",
    wrote: "Conversation.send(helper, { ...chat, message: \"And?\" })",
    observe: logsRepeatedIds,
    remedy: "Nothing: the thread is repaired when it is read. Use `Conversation.stream` in place of an own recipe"
  },
  {
    when: "The snapshot was resumed before",
    wrote: "clerk.resume(snapshot, decisions)",
    observe: resumesTwice,
    remedy: "Resume a snapshot once; take the snapshot of a second pause from its outcome. [Approval](approval.md)"
  },
  {
    when: "Ctrl-C at the question",
    wrote: "clerk.pipe(Approval.interactive(Approval.terminal()))",
    observe: quits,
    remedy: "Start the run again, or catch `QuitError`"
  }
]
