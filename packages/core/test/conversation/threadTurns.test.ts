/** Turns by hand and as streams: pauses, late ends, second ends, repeated ids, stores that fail. */
import { assert, describe, it } from "@effect/vitest"
import { Drive, Laws, ScriptedModel } from "@recourse/testing"
import { Agent, Approval, Conversation, Recovery, Tool } from "@recourse/core"
import { Effect, Exit, Fiber, Layer, Redacted, Schema, Stream } from "effect"
import { Prompt } from "effect/ai"
import { TestClock } from "effect/testing"

const chat = { owner: "ada", thread: "t1" }
const options = {
  input: Prompt.Prompt,
  prompt: (conversation: Prompt.Prompt) => conversation,
  defaults: { onError: Recovery.standard }
} as const

const refundOf = (refunds: Array<string>) =>
  Tool.make("refund", {
    success: Schema.String,
    effects: "write",
    needsApproval: true,
    execute: () => Effect.sync(() => (refunds.push("refund"), "refunded"))
  })

const key = Approval.layerKey(Redacted.make("k".repeat(32)))
const given = (...turns: ReadonlyArray<ScriptedModel.Turn>) =>
  Effect.provide(Layer.mergeAll(Conversation.layerMemory, key, ScriptedModel.layer(turns)))
const lastRequest = Effect.flatMap(ScriptedModel.ScriptedModel, ({ lastRequest }) => lastRequest)
const roles = (prompt: Prompt.Prompt) => prompt.content.map(({ role }) => role)
const results = (prompt: Prompt.Prompt) =>
  prompt.content.flatMap((message) =>
    message.role !== "tool"
      ? []
      : message.content.flatMap((part) => part.type === "tool-result" ? [[part.id, part.result] as const] : [])
  )
const errorOf = (exit: Exit.Exit<unknown, unknown>): unknown =>
  Exit.isFailure(exit) ? (exit.cause.reasons[0] as { readonly error?: unknown }).error : undefined
const read = Effect.flatMap(Conversation.Conversations, (store) => store.read(chat))

describe("stream", () => {
  it.effect("emits the events of a turn and stores it before the last", () =>
    Effect.gen(function*() {
      const poet = Agent.make("poet", options)
      const stored: Array<number> = []
      const events = yield* Stream.runCollect(Stream.tap(
        Conversation.stream(poet, { ...chat, message: "A line" }),
        (event) =>
          event._tag !== "RunFinished"
            ? Effect.void
            : Effect.map(read, ({ entries }) => void stored.push(entries.length))
      ))
      assert.deepStrictEqual(stored, [2])
      assert.strictEqual(events.at(-1)?._tag, "RunFinished")
      assert.include(events.map(({ _tag }) => _tag), "TextDelta")
      assert.isFalse((yield* read).thread.isRunning)
    }).pipe(given(ScriptedModel.text("The sea."))))

  it.effect("pauses for an approval and resumes with the decision", () =>
    Effect.gen(function*() {
      const refunds: Array<string> = []
      const clerk = Agent.make("clerk", { ...options, tools: [refundOf(refunds)] })
      const events: Array<string> = []
      const note = Stream.runForEach((event: { readonly _tag: string; readonly outcome?: unknown }) =>
        Effect.sync(() => {
          if (event._tag === "RunFinished") events.push(String(event.outcome))
        })
      )
      const paused = yield* Effect.flip(note(Conversation.stream(clerk, { ...chat, message: "Refund" })))
      assert.strictEqual(paused._tag, "ApprovalRequired")
      assert.isTrue((yield* read).thread.isWaiting)
      const decisions = paused._tag === "ApprovalRequired" ? paused.pending.map((call) => Approval.approve(call)) : []
      yield* note(Conversation.stream(clerk, { ...chat, decisions }))
      assert.deepStrictEqual(events, ["paused", "success"])
      assert.deepStrictEqual(refunds, ["refund"])
      const { entries, thread } = yield* read
      assert.isFalse(thread.isWaiting)
      const told = Conversation.toPrompt(entries)
      assert.deepStrictEqual(results(told), [["r", "refunded"]])
      assert.deepStrictEqual(Laws.problemsOfHistory(told), [])
      // The page has each call once, too.
      assert.lengthOf(Conversation.visibleMessages(entries).filter(({ message }) => message.role === "tool"), 1)
    }).pipe(given(ScriptedModel.call("refund", {}, { id: "r" }), ScriptedModel.text("Done."))))

  it.effect("fails with SnapshotRefused if no run waits", () =>
    Effect.gen(function*() {
      const clerk = Agent.make("clerk", { ...options, tools: [refundOf([])] })
      yield* Conversation.send(clerk, { ...chat, message: "Hello" })
      const refused = yield* Effect.flip(Stream.runDrain(Conversation.stream(clerk, { ...chat, decisions: [] })))
      assert.strictEqual(refused._tag, "SnapshotRefused")
      assert.isFalse((yield* read).thread.isRunning)
    }).pipe(given(ScriptedModel.text("Hi."))))

  it.effect("stores the messages if its consumer stops", () =>
    Effect.gen(function*() {
      const Slow = Tool.make("slow", { effects: "write", execute: () => Effect.never })
      const slow = Agent.make("slow", { ...options, tools: [Slow] })
      const reader = yield* Effect.forkChild(Stream.runDrain(Conversation.stream(slow, { ...chat, message: "Go" })))
      yield* Drive.drive(Effect.sleep("1 second"))
      yield* Fiber.interrupt(reader)
      const { entries, thread } = yield* read
      assert.isFalse(thread.isRunning)
      assert.deepStrictEqual(roles(Conversation.toPrompt(entries)), ["user", "assistant", "tool"])
      assert.include(JSON.stringify(results(Conversation.toPrompt(entries))), "outcome_unknown")
    }).pipe(given(ScriptedModel.call("slow", {}))))
})

describe("end", () => {
  it.effect("ignores a pause without its snapshot and refuses a second call", () =>
    Effect.gen(function*() {
      const clerk = Agent.make("clerk", { ...options, tools: [refundOf([])] })
      const turn = yield* Conversation.begin({ ...chat, message: "Refund" })
      yield* Effect.ignore(Stream.runForEach(
        clerk.stream(turn.prompt),
        (event) => event._tag === "RunFinished" ? turn.end(event) : Effect.void
      ))
      assert.deepStrictEqual(roles(Conversation.toPrompt((yield* read).entries)), ["user"])
      assert.isTrue((yield* read).thread.isRunning)
      yield* turn.end({ transcript: turn.prompt })
      const over = yield* Effect.flip(turn.end({ transcript: turn.prompt }))
      assert.strictEqual(over._tag, "TurnOver")
      assert.lengthOf((yield* read).entries, 1)
    }).pipe(Effect.scoped, given(ScriptedModel.call("refund", {}, { id: "r" }))))

  it.effect("of a late turn keeps the question of the turn behind it", () =>
    Effect.gen(function*() {
      const refunds: Array<string> = []
      const clerk = Agent.make("clerk", { ...options, tools: [refundOf(refunds)] })
      const late = yield* Conversation.begin({ ...chat, message: "A" })
      yield* TestClock.setTime(60_000)
      const store = yield* Conversation.Conversations
      // Its process was frozen: its lease was not renewed.
      yield* store.renew(chat, { id: (yield* read).claim?.id ?? "", lease: 0 as never })
      const { exit } = yield* Conversation.send(clerk, { ...chat, message: "B" })
      const asked = errorOf(exit)
      assert.instanceOf(asked, Approval.ApprovalRequired)
      yield* late.end({
        transcript: Prompt.fromMessages([
          ...late.prompt.content,
          Prompt.assistantMessage({ content: [Prompt.textPart({ text: "late" })] })
        ])
      })
      const { entries, snapshot, thread } = yield* read
      assert.isTrue(thread.isWaiting)
      assert.isDefined(snapshot)
      assert.include(JSON.stringify(entries), "late")
      const decisions = (asked as Approval.ApprovalRequired).pending.map((call) => Approval.approve(call))
      const resumed = yield* Conversation.resume(clerk, { ...chat, decisions })
      assert.isTrue(Exit.isSuccess(resumed.exit))
      assert.deepStrictEqual(refunds, ["refund"])
    }).pipe(
      Effect.scoped,
      given(ScriptedModel.call("refund", {}, { id: "r" }), ScriptedModel.text("Done."))
    ))
})

describe("a thread with repeated ids", () => {
  it.effect("is repaired when loaded, and keeps the completed call", () =>
    Effect.gen(function*() {
      const call = Prompt.assistantMessage({
        content: [Prompt.toolCallPart({ id: "c", name: "pay", params: {}, providerExecuted: false })]
      })
      const result = (isFailure: boolean, result: unknown) =>
        Prompt.toolMessage({
          content: [Prompt.toolResultPart({ id: "c", name: "pay", isFailure, result, providerExecuted: false })]
        })
      const store = yield* Conversation.Conversations
      yield* store.create(chat)
      yield* store.append({
        ...chat,
        events: [
          ...Conversation.toEvents([...Prompt.make("Pay").content, call, result(false, "paid")]),
          ...Conversation.toEvents([
            ...Prompt.make("Again").content,
            call,
            result(true, { code: "permission_denied" })
          ]),
          { _tag: "ToolCallsPruned", calls: ["c"] },
          ...Conversation.toEvents([call, result(false, "paid twice")])
        ]
      })
      const turn = yield* Conversation.begin({ ...chat, message: "And?" })
      assert.deepStrictEqual(results(turn.prompt), [["c", "paid"], ["c_3", "paid twice"]])
      assert.deepStrictEqual(Laws.problemsOfHistory(turn.prompt), [])
      assert.deepStrictEqual(turn.mended.map(({ callId, problem }) => [problem, callId]), [
        ["repeated_id", "c_2"],
        ["repeated_id", "c_3"]
      ])
    }).pipe(Effect.scoped, given()))
})

describe("a store that fails", () => {
  const failing = (tag: Conversation.Event["_tag"]) =>
    Effect.gen(function*() {
      const store = yield* Conversation.Conversations
      return {
        ...store,
        append: (appended: Conversation.AppendOptions) =>
          appended.events.some(({ _tag }) => _tag === tag)
            ? Effect.fail(new Conversation.ConversationError({ operation: "append", reason: "disk full" }))
            : store.append(appended)
      }
    })
  const pay = (paid: Array<string>) =>
    Tool.make("pay", {
      success: Schema.String,
      effects: "write",
      execute: () => Effect.sync(() => (paid.push("p"), "paid"))
    })

  it.effect("at the start of a write ends the run before it", () =>
    Effect.gen(function*() {
      const paid: Array<string> = []
      const clerk = Agent.make("clerk", { ...options, tools: [pay(paid)] })
      const { exit } = yield* Effect.provideServiceEffect(
        Conversation.send(clerk, { ...chat, message: "Pay" }),
        Conversation.Conversations,
        failing("WriteStarted")
      )
      const error = errorOf(exit)
      assert.instanceOf(error, Conversation.ConversationError)
      assert.deepStrictEqual(paid, [])
      // The next turn reads that the call was not made.
      yield* Conversation.send(clerk, { ...chat, message: "And?" })
      const { prompt } = yield* lastRequest
      assert.deepStrictEqual(Laws.problemsOfHistory(prompt), [])
      assert.notInclude(JSON.stringify(prompt), "outcome_unknown")
    }).pipe(given(ScriptedModel.call("pay", {}), ScriptedModel.text("No."))))

  it.effect("at the end of a write loses no entry: the turn has it", () =>
    Effect.gen(function*() {
      const paid: Array<string> = []
      const clerk = Agent.make("clerk", { ...options, tools: [pay(paid)] })
      const { exit } = yield* Effect.provideServiceEffect(
        Conversation.send(clerk, { ...chat, message: "Pay" }),
        Conversation.Conversations,
        failing("WriteEnded")
      )
      assert.isTrue(Exit.isSuccess(exit))
      const { entries } = yield* read
      assert.deepStrictEqual(results(Conversation.toPrompt(entries)).map(([, result]) => result), ["paid"])
    }).pipe(given(ScriptedModel.call("pay", {}), ScriptedModel.text("Paid."))))

  it.effect("a turn that has lost its thread starts no write", () =>
    Effect.gen(function*() {
      const paid: Array<string> = []
      const Wait = Tool.make("wait", { effects: "read", execute: () => Effect.sleep("10 seconds") })
      const clerk = Agent.make("clerk", { ...options, tools: [pay(paid), Wait] })
      const store = yield* Conversation.Conversations
      const late = yield* Effect.forkChild(Conversation.send(clerk, { ...chat, message: "A" }))
      yield* Drive.drive(Effect.sleep("1 second"))
      yield* store.renew(chat, { id: (yield* read).claim?.id ?? "", lease: 0 as never })
      yield* store.append({ ...chat, events: [], claim: { id: "next", lease: 60_000 as never } })
      const { exit } = yield* Drive.drive(Fiber.join(late))
      const error = errorOf(exit)
      assert.instanceOf(error, Conversation.ThreadBusy)
      assert.deepStrictEqual(paid, [])
    }).pipe(given(ScriptedModel.call("wait", {}), ScriptedModel.call("pay", {}))))
})
