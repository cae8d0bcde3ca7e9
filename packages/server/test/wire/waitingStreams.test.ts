/** Streams of runs that wait: another person's decision reaches an open page, and a page that may decide is not blocked. */
import { assert, describe, it } from "@effect/vitest"
import { Approval } from "@recourse/core"
import { ScriptedModel } from "@recourse/testing"
import { AbstractChat, type ChatState, type ChatStatus, DefaultChatTransport, isToolUIPart, type UIMessage } from "ai"
import { Effect, Fiber } from "effect"
import { headersOf, serve, type Who } from "../support/kit.ts"

class State implements ChatState<UIMessage> {
  status: ChatStatus = "ready"
  error: Error | undefined = undefined
  messages: Array<UIMessage> = []
  pushMessage = (message: UIMessage) => void (this.messages = [...this.messages, message])
  popMessage = () => void (this.messages = this.messages.slice(0, -1))
  replaceMessage = (index: number, message: UIMessage) =>
    void (this.messages = this.messages.with(index, this.snapshot(message)))
  snapshot = <T>(value: T): T => structuredClone(value)
}

class Page extends AbstractChat<UIMessage> {
  constructor(url: string, who: Who) {
    super({
      id: "t1",
      state: new State(),
      transport: new DefaultChatTransport({ api: `${url}/agents/clerk/chat`, headers: headersOf(who) })
    })
  }
}

type Served = Effect.Success<ReturnType<typeof serve>>

const script = [ScriptedModel.call("pay", { amount: 5 }), ScriptedModel.text("Paid.")]

const decideAsOlga = (server: Served) =>
  Effect.gen(function*() {
    const [run] = yield* server.runs.list({ status: "waiting" })
    const decisions = run!.pending.map((call) => Approval.approve(call, { by: "olga" }))
    const path = `/operator/runs/${run!.runId}/decisions`
    assert.strictEqual((yield* server.post(path, { decisions }, { who: "olga" })).status, 202)
  })

const textOf = (message: UIMessage | undefined) =>
  message?.parts.flatMap((part) => part.type === "text" ? [part.text] : []).join("")

describe("the stream of a run that waits", () => {
  it.live("brings another person's decision to an open page, once", () =>
    Effect.gen(function*() {
      const server = yield* serve(script, { server: { heartbeat: "20 millis" } })
      const page = new Page(server.url, "bob")
      yield* Effect.promise(() => page.sendMessage({ text: "Pay 5" }))
      const resumed = page.resumeStream()
      yield* Effect.sleep("50 millis")
      yield* decideAsOlga(server)
      yield* Effect.promise(() => resumed)
      assert.isUndefined(page.error, String(page.error))
      assert.strictEqual(textOf(page.lastMessage), "Paid.")
      assert.strictEqual(page.messages.length, 2)
      assert.deepStrictEqual(
        page.lastMessage?.parts.filter(isToolUIPart).map(({ state }) => state),
        ["output-available"]
      )
      assert.deepStrictEqual(server.world.deeds, ["pay 5"])
    }))

  it.live("has heartbeats while it waits, and ends with the run", () =>
    Effect.gen(function*() {
      const server = yield* serve(script, { server: { heartbeat: "20 millis" } })
      yield* Effect.promise(() => new Page(server.url, "bob").sendMessage({ text: "Pay 5" }))
      const read = yield* Effect.forkChild(server.get("/agents/clerk/chat/t1/stream", "bob"), {
        startImmediately: true
      })
      yield* Effect.sleep("50 millis")
      const [run] = yield* server.runs.list({ status: "waiting" })
      yield* server.post(`/runs/${run!.runId}/stop`, {}, { who: "bob" })
      const { status, text } = yield* Fiber.join(read)
      assert.strictEqual(status, 200)
      assert.include(text, ": beat")
      assert.isTrue(text.endsWith("data: [DONE]\n\n"), text)
    }))

  it.live("stays closed to a deciding page, unless it asks to wait", () =>
    Effect.gen(function*() {
      const server = yield* serve(script)
      yield* Effect.promise(() => new Page(server.url, "ada").sendMessage({ text: "Pay 5" }))
      const path = "/agents/clerk/chat/t1/stream"
      assert.strictEqual((yield* server.get(path)).status, 204)
      assert.strictEqual((yield* server.get(`${path}?wait=maybe`)).status, 400)
      const read = yield* Effect.forkChild(server.get(`${path}?wait=true`), { startImmediately: true })
      yield* Effect.sleep("50 millis")
      yield* server.runs.list({ status: "waiting" })
      const [run] = yield* server.runs.list({ status: "waiting" })
      const decisions = run!.pending.map((call) => Approval.approve(call, { by: "ada" }))
      yield* server.post(`/runs/${run!.runId}/decisions`, { decisions })
      const { text } = yield* Fiber.join(read)
      assert.include(text, "Paid.")
    }))
})
