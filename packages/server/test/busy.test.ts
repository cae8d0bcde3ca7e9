/** Treatment of a new message while a run of its thread has not ended. */
import { assert, describe, it } from "@effect/vitest"
import { ScriptedModel } from "@recourse/testing"
import { Effect, Fiber } from "effect"
import { type Options, serve } from "./kit.ts"

const message = (text: string) => ({
  id: "t1",
  trigger: "submit-message",
  messages: [{ id: `m ${text}`, role: "user", parts: [{ type: "text", text }] }]
})

type Served = Effect.Success<ReturnType<typeof serve>>

const chat = (server: Served, text: string) => server.post("/agents/clerk/chat", message(text))

/** A run of the thread is running: its write waits at the gate. */
const begun = (onBusy: NonNullable<Options["server"]>["onBusy"], more: ReadonlyArray<ScriptedModel.Turn>) =>
  Effect.gen(function*() {
    const server = yield* serve([ScriptedModel.call("slow", {}), ...more], { server: { onBusy } })
    const first = yield* Effect.forkChild(chat(server, "one"), { startImmediately: true })
    while ((yield* server.model.requests).length === 0) yield* Effect.sleep("5 millis")
    yield* Effect.sleep("20 millis")
    return { server, first }
  })

const rolesOf = (server: Served) =>
  Effect.map(
    server.get("/threads/t1"),
    (answer) =>
      (answer.json() as { readonly messages: ReadonlyArray<{ role: string; parts: ReadonlyArray<{ text?: string }> }> })
        .messages.map(({ parts, role }) => `${role} ${parts.map(({ text }) => text ?? "").join("")}`.trim())
  )

describe("a message during a run of its thread", () => {
  it.live("is refused, and not stored", () =>
    Effect.gen(function*() {
      const { first, server } = yield* begun("refuse", [ScriptedModel.text("Done.")])
      assert.strictEqual((yield* chat(server, "two")).status, 409)
      yield* server.open
      yield* Fiber.join(first)
      assert.deepStrictEqual(yield* rolesOf(server), ["user one", "assistant Done."])
      assert.deepStrictEqual(server.world.deeds, ["slow"])
    }))

  it.live("waits until the run has ended, and reads its messages", () =>
    Effect.gen(function*() {
      const { first, server } = yield* begun("queue", [ScriptedModel.text("Done."), ScriptedModel.text("Second.")])
      const second = yield* Effect.forkChild(chat(server, "two"), { startImmediately: true })
      yield* Effect.sleep("30 millis")
      assert.strictEqual((yield* server.model.requests).length, 1)
      yield* server.open
      yield* Fiber.join(first)
      assert.include((yield* Fiber.join(second)).text, "Second.")
      const { prompt } = yield* server.model.lastRequest
      assert.include(JSON.stringify(prompt.content), "Done.")
      assert.deepStrictEqual(yield* rolesOf(server), ["user one", "assistant Done.", "user two", "assistant Second."])
    }))

  it.live("interrupts the run for its readers; possible writes reach the model", () =>
    Effect.gen(function*() {
      const { first, server } = yield* begun("interrupt", [ScriptedModel.text("Second.")])
      assert.include((yield* chat(server, "two")).text, "Second.")
      assert.include((yield* Fiber.join(first)).text, "\"finishReason\":\"interrupted\"")
      const { prompt } = yield* server.model.lastRequest
      const said = JSON.stringify(prompt.content)
      assert.include(said, "slow")
      assert.include(said, "\"isFailure\":true")
      assert.deepStrictEqual(server.world.deeds, [])
      const statuses = (yield* server.runs.list()).map(({ status }) => status)
      assert.deepStrictEqual(statuses.toSorted(), ["cancelled", "completed"])
    }))

  it.live("passes a run that waits for approval only if interrupting", () =>
    Effect.gen(function*() {
      for (const [onBusy, status] of [["refuse", 409], ["queue", 409], ["interrupt", 200]] as const) {
        const server = yield* serve([ScriptedModel.call("pay", { amount: 5 }), ScriptedModel.text("Second.")], {
          server: { onBusy }
        })
        yield* chat(server, "one")
        assert.strictEqual((yield* chat(server, "two")).status, status, onBusy)
        assert.deepStrictEqual(server.world.deeds, [])
        const waiting = (yield* server.runs.list({ status: "waiting" })).length
        assert.strictEqual(waiting, onBusy === "interrupt" ? 0 : 1)
      }
    }))
})
