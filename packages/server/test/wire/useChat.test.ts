/** The AI SDK's own client, used like by `useChat`, against a server. */
import { assert, describe, it } from "@effect/vitest"
import { ScriptedModel } from "@recourse/testing"
import {
  AbstractChat,
  type ChatState,
  type ChatStatus,
  DefaultChatTransport,
  type HttpChatTransportInitOptions,
  isToolUIPart,
  lastAssistantMessageIsCompleteWithApprovalResponses,
  type UIMessage
} from "ai"
import { Effect } from "effect"
import { headersOf, serve } from "../support/kit.ts"

class State implements ChatState<UIMessage> {
  status: ChatStatus = "ready"
  error: Error | undefined = undefined
  messages: Array<UIMessage> = []
  pushMessage = (message: UIMessage) => {
    this.messages = [...this.messages, message]
  }
  popMessage = () => {
    this.messages = this.messages.slice(0, -1)
  }
  replaceMessage = (index: number, message: UIMessage) => {
    this.messages = this.messages.with(index, this.snapshot(message))
  }
  snapshot = <T>(value: T): T => structuredClone(value)
}

/** A page with a chat. */
class Page extends AbstractChat<UIMessage> {
  constructor(
    url: string,
    id: string,
    messages: Array<UIMessage> = [],
    who: "ada" | "bob" = "ada",
    transport: HttpChatTransportInitOptions<UIMessage> = {}
  ) {
    const state = new State()
    state.messages = messages
    super({
      id,
      state,
      transport: new DefaultChatTransport({ api: `${url}/agents/clerk/chat`, headers: headersOf(who), ...transport }),
      sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses
    })
  }
}

const say = (page: Page, text: string) => Effect.promise(() => page.sendMessage({ text }))

const textOf = (message: UIMessage | undefined) =>
  message?.parts.flatMap((part) => part.type === "text" ? [part.text] : []).join("") ?? ""

const call = (page: Page) => page.lastMessage?.parts.find(isToolUIPart)

const until = (holds: () => boolean) =>
  Effect.gen(function*() {
    for (let tries = 0; !holds() && tries < 400; tries++) yield* Effect.sleep("10 millis")
    assert.isTrue(holds())
  })

describe("useChat", () => {
  it.live("answers, remembers, and shows how a call recovered", () =>
    Effect.gen(function*() {
      const server = yield* serve([
        ScriptedModel.call("search", { query: "flaky" }),
        ScriptedModel.text("Found."),
        ScriptedModel.text("Yes, Ada.")
      ])
      const page = new Page(server.url, "t1")
      yield* say(page, "I am Ada. Search.")
      assert.strictEqual(page.status, "ready")
      assert.strictEqual(textOf(page.lastMessage), "Found.")
      assert.deepInclude(call(page), { state: "output-available", output: { found: "flaky" } })
      const recovery = page.lastMessage?.parts.find(({ type }) => type === "data-recovery")
      assert.deepStrictEqual(
        (recovery as unknown as { data: { steps: ReadonlyArray<{ kind: string }> } }).data.steps.map(({ kind }) =>
          kind
        ),
        ["attempt", "failed", "retry", "attempt"]
      )
      yield* say(page, "Do you know my name?")
      assert.strictEqual(textOf(page.lastMessage), "Yes, Ada.")
      const { prompt } = yield* server.model.lastRequest
      assert.deepStrictEqual(prompt.content.map(({ role }) => role), ["user", "assistant", "tool", "assistant", "user"])
      // A reload shows the same messages.
      const { messages } = (yield* server.get("/threads/t1")).json() as { messages: Array<UIMessage> }
      assert.deepStrictEqual(
        messages.filter(({ role }) => role === "assistant"),
        JSON.parse(JSON.stringify(page.messages.filter(({ role }) => role === "assistant")))
      )
      assert.deepStrictEqual(
        messages.filter(({ role }) => role === "user").map(textOf),
        ["I am Ada. Search.", "Do you know my name?"]
      )
    }))

  it.live("continues a thread above the limit of a request if it sends the newest message", () =>
    Effect.gen(function*() {
      const server = yield* serve(() => ScriptedModel.text("y".repeat(500)), { server: { maxBodyBytes: 3_000 } })
      const newest = new Page(server.url, "t1", [], "ada", {
        prepareSendMessagesRequest: ({ body, messages, ...request }) => ({
          body: {
            ...body,
            id: request.id,
            trigger: request.trigger,
            messageId: request.messageId,
            messages: messages.slice(-1)
          }
        })
      })
      const all = new Page(server.url, "t2")
      for (let turn = 0; turn < 5; turn++) {
        for (const page of [newest, all]) yield* say(page, "x".repeat(500))
      }
      yield* Effect.promise(() => newest.regenerate())
      assert.deepStrictEqual([newest.error?.message, newest.messages.length], [undefined, 10])
      assert.include(all.error?.message, "3000 bytes. A page may send its newest message alone")
      const { prompt } = yield* server.model.lastRequest
      assert.strictEqual(prompt.content.length, 9)
    }))

  it.live("accepts a repeated message with the id of the failed one", () =>
    Effect.gen(function*() {
      const server = yield* serve([ScriptedModel.text("Hello.")])
      const parts: UIMessage["parts"] = [{ type: "text", text: "Hi" }]
      const page = new Page(server.url, "t1", [{ id: "m1", role: "user", parts }])
      yield* Effect.promise(() => page.sendMessage({ role: "user", parts, messageId: "m1" }))
      assert.deepStrictEqual([page.error?.message, textOf(page.lastMessage)], [undefined, "Hello."])
    }))

  it.live("asks for an approval, and runs the shown call, regardless of the page", () =>
    Effect.gen(function*() {
      const server = yield* serve([ScriptedModel.call("pay", { amount: 500 }), ScriptedModel.text("Paid.")])
      const page = new Page(server.url, "t1")
      yield* say(page, "Pay 500")
      const asked = call(page)
      assert.deepInclude(asked, { state: "approval-requested", input: { amount: 500 } })
      assert.deepStrictEqual(server.world.deeds, [])
      // The page forges the arguments of its own message.
      page.messages = JSON.parse(JSON.stringify(page.messages).replaceAll("\"amount\":500", "\"amount\":99999"))
      yield* Effect.promise(async () => page.addToolApprovalResponse({ id: asked!.approval!.id, approved: true }))
      yield* until(() => textOf(page.lastMessage) === "Paid." && page.status === "ready")
      assert.deepStrictEqual(server.world.deeds, ["pay 500"])
      assert.strictEqual(page.messages.length, 2)
      assert.deepInclude(call(page), { state: "output-available", output: "paid 500" })
      // A repeated answer runs no call.
      const again = yield* server.post("/agents/clerk/chat", {
        id: "t1",
        trigger: "submit-message",
        messages: [{
          id: "x",
          role: "assistant",
          parts: [{ ...asked, state: "approval-responded", approval: { id: asked!.approval!.id, approved: true } }]
        }]
      })
      assert.deepStrictEqual([again.status, server.world.deeds.length], [422, 1])
    }))

  it.live("a rejected call does not run, and the model learns why", () =>
    Effect.gen(function*() {
      const server = yield* serve([ScriptedModel.call("pay", { amount: 5 }), ScriptedModel.text("As you wish.")])
      const page = new Page(server.url, "t1")
      yield* say(page, "Pay 5")
      const { id } = call(page)!.approval!
      yield* Effect.promise(async () => page.addToolApprovalResponse({ id, approved: false, reason: "too much" }))
      yield* until(() => textOf(page.lastMessage) === "As you wish.")
      assert.deepStrictEqual(server.world.deeds, [])
      assert.strictEqual(call(page)?.state, "output-denied")
      assert.include(JSON.stringify((yield* server.model.lastRequest).prompt), "too much")
    }))

  it.live("a stopped run's question is not asked any more", () =>
    Effect.gen(function*() {
      const server = yield* serve([ScriptedModel.call("pay", { amount: 5 })])
      const page = new Page(server.url, "t1")
      yield* say(page, "Pay 5")
      assert.strictEqual((yield* server.post("/agents/clerk/chat/t1/stop", {})).status, 204)
      const { messages } = (yield* server.get("/threads/t1")).json() as { messages: Array<UIMessage> }
      const last = messages.at(-1)
      assert.deepInclude(last?.parts.find(isToolUIPart), { state: "output-denied" })
      assert.deepInclude(last?.metadata, { agent: "clerk", outcome: "interrupted" })
      assert.deepStrictEqual(server.world.deeds, [])
    }))

  it.live("a user with only the chat right decides nothing", () =>
    Effect.gen(function*() {
      const server = yield* serve([ScriptedModel.call("pay", { amount: 5 })])
      const page = new Page(server.url, "t1", [], "bob")
      yield* say(page, "Pay 5")
      yield* Effect.promise(async () => page.addToolApprovalResponse({ id: call(page)!.approval!.id, approved: true }))
      yield* until(() => page.error !== undefined)
      assert.include(page.error?.message, "decide")
      assert.deepStrictEqual(server.world.deeds, [])
    }))

  it.live("a closed tab interrupts no write; a reloaded page follows from the start", () =>
    Effect.gen(function*() {
      const server = yield* serve([ScriptedModel.call("slow", {}), ScriptedModel.text("It is done.")])
      const page = new Page(server.url, "t1")
      const sent = page.sendMessage({ text: "Do it" })
      yield* until(() => call(page)?.state === "input-available")
      yield* Effect.promise(() => page.stop())
      yield* Effect.promise(() => sent)
      const { messages } = (yield* server.get("/threads/t1")).json() as { messages: Array<UIMessage> }
      assert.deepStrictEqual(messages.map(({ role }) => role), ["user"])
      const reloaded = new Page(server.url, "t1", messages)
      const resumed = reloaded.resumeStream()
      yield* until(() => call(reloaded)?.state === "input-available")
      yield* server.open
      yield* Effect.promise(() => resumed)
      assert.deepStrictEqual(server.world.deeds, ["slow"])
      assert.strictEqual(textOf(reloaded.lastMessage), "It is done.")
      assert.strictEqual(reloaded.messages.length, 2)
      // No run is active any more.
      const { status } = yield* server.get("/agents/clerk/chat/t1/stream")
      assert.strictEqual(status, 204)
    }))

  it.live("stops a run; a second message meanwhile is refused", () =>
    Effect.gen(function*() {
      const server = yield* serve([ScriptedModel.call("slow", {}), ScriptedModel.text("Never said.")])
      const page = new Page(server.url, "t1")
      const sent = page.sendMessage({ text: "Do it" })
      yield* until(() => call(page)?.state === "input-available")
      const other = new Page(server.url, "t1")
      yield* say(other, "And this")
      assert.include(other.error?.message, "waits for a decision")
      assert.strictEqual((yield* server.post("/agents/clerk/chat/t1/stop", {})).status, 204)
      yield* Effect.promise(() => sent)
      assert.strictEqual(page.status, "ready")
      const [run] = yield* server.runs.list({ owner: "ada" })
      assert.strictEqual(run?.status, "cancelled")
      assert.deepStrictEqual(server.world.deeds, [])
    }))

  it.live("a failed run shows the user's text", () =>
    Effect.gen(function*() {
      const server = yield* serve([ScriptedModel.failure("AuthenticationError")])
      const page = new Page(server.url, "t1")
      yield* say(page, "Hi")
      assert.strictEqual(page.status, "error")
      assert.isAbove(page.error?.message.length ?? 0, 10)
      assert.notInclude(page.error?.message, "Authentication")
      // A reload shows the same text.
      const { messages } = (yield* server.get("/threads/t1")).json() as { messages: Array<UIMessage> }
      assert.deepInclude(messages.at(-1)?.metadata, { outcome: "failure", errorText: page.error?.message })
      assert.deepStrictEqual(messages.at(-1)?.metadata, page.lastMessage?.metadata)
    }))

  it.live("failed runs keep their positions, also those asked for again", () =>
    Effect.gen(function*() {
      const server = yield* serve([
        ScriptedModel.failure("AuthenticationError"),
        ScriptedModel.text("One."),
        ScriptedModel.failure("AuthenticationError"),
        ScriptedModel.failure("AuthenticationError"),
        ScriptedModel.text("Two.")
      ])
      const page = new Page(server.url, "t1")
      const loaded = Effect.map(
        server.get("/threads/t1"),
        ({ json }) => (json() as { messages: Array<UIMessage> }).messages
      )
      const shown = (messages: ReadonlyArray<UIMessage>) =>
        messages.map((message) =>
          (message.metadata as { outcome?: string } | undefined)?.outcome === "failure" ? "failed" : textOf(message)
        )
      yield* say(page, "a")
      yield* say(page, "b")
      yield* say(page, "c")
      assert.deepStrictEqual(shown(yield* loaded), ["a", "failed", "b", "One.", "c", "failed"])
      assert.deepStrictEqual(shown(yield* loaded), shown(page.messages))
      yield* Effect.promise(() => page.regenerate())
      assert.deepStrictEqual(shown(yield* loaded), ["a", "failed", "b", "One.", "c", "failed"])
      assert.strictEqual((yield* loaded).at(-1)?.id, page.lastMessage?.id)
      yield* Effect.promise(() => page.regenerate())
      assert.deepStrictEqual(shown(yield* loaded), ["a", "failed", "b", "One.", "c", "Two."])
    }))

  it.live("answers again", () =>
    Effect.gen(function*() {
      const server = yield* serve([
        ScriptedModel.text("One."),
        ScriptedModel.text("Two."),
        ScriptedModel.text("Three.")
      ])
      const page = new Page(server.url, "t1")
      yield* say(page, "A number")
      yield* Effect.promise(() => page.regenerate())
      assert.strictEqual(textOf(page.lastMessage), "Two.")
      assert.deepStrictEqual((yield* server.model.lastRequest).prompt.content.map(({ role }) => role), ["user"])
      const { messages } = (yield* server.get("/threads/t1")).json() as { messages: Array<UIMessage> }
      assert.deepStrictEqual(messages.map(textOf), ["A number", "Two."])
      yield* say(page, "Another")
      assert.deepStrictEqual(
        (yield* server.model.lastRequest).prompt.content.map(({ role }) => role),
        ["user", "assistant", "user"]
      )
    }))
})
