/** Treatment of a new message while a run of its thread has not ended. */
import { assert, describe, it } from "@effect/vitest"
import { Durable, RunStore } from "@recourse/durable"
import { ScriptedModel } from "@recourse/testing"
import { Effect, Fiber, Layer } from "effect"
import { Prompt } from "effect/ai"
import { headersOf, type Options, serve } from "../support/kit.ts"

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

describe("a message that joins the run of its thread", () => {
  const engines = {
    "in memory": {},
    durable: {
      runs: (agent) =>
        Durable.layer([Durable.make(agent, { input: Prompt.Prompt })], { poll: "20 millis" }).pipe(
          Layer.provide(RunStore.layerMemory)
        )
    }
  } satisfies Record<string, Options>

  const joining = (options: Options, more: ReadonlyArray<ScriptedModel.Turn>) =>
    Effect.gen(function*() {
      const server = yield* serve([ScriptedModel.call("slow", {}), ...more], { ...options, server: { onBusy: "join" } })
      const first = yield* Effect.forkChild(chat(server, "one"), { startImmediately: true })
      while ((yield* server.model.requests).length === 0) yield* Effect.sleep("5 millis")
      // A durable run that has just started has read its inbox.
      yield* Effect.sleep("300 millis")
      return { server, first }
    })

  for (const [engine, options] of Object.entries(engines)) {
    it.live(`is read by the model's next request: ${engine}`, () =>
      Effect.gen(function*() {
        const { first, server } = yield* joining(options, [ScriptedModel.text("Done, in French.")])
        const second = yield* Effect.forkChild(chat(server, "two"), { startImmediately: true })
        yield* Effect.sleep("40 millis")
        yield* server.open
        assert.include((yield* Fiber.join(first)).text, "French.")
        assert.include((yield* Fiber.join(second)).text, "French.")
        const requests = yield* server.model.requests
        assert.strictEqual(requests.length, 2)
        const [last] = requests[1]!.prompt.content.slice(-1)
        assert.strictEqual(last!.role, "user")
        assert.include(JSON.stringify(last!.content), "two")
        assert.deepStrictEqual(server.world.deeds, ["slow"])
        const { messages } = (yield* server.get("/threads/t1")).json() as {
          readonly messages: ReadonlyArray<{ role: string; parts: ReadonlyArray<{ type: string; data?: unknown }> }>
        }
        assert.deepStrictEqual(messages.map(({ role }) => role), ["user", "assistant"])
        assert.deepStrictEqual(
          messages[1]!.parts.flatMap(({ data, type }) => type === "data-joined" ? [data] : []),
          [{ text: "two" }]
        )
        // A repeated request starts no run, and the next turn's model reads the message at its place.
        assert.include((yield* chat(server, "two")).text, "French.")
        assert.strictEqual((yield* server.model.requests).length, 2)
      }))

    it.live(`starts a run if the first one ends without it: ${engine}`, () =>
      Effect.gen(function*() {
        const server = yield* serve([ScriptedModel.text("Done."), ScriptedModel.text("Second.")], {
          ...options,
          server: { onBusy: "join" }
        })
        yield* chat(server, "one")
        assert.include((yield* chat(server, "two")).text, "Second.")
        assert.deepStrictEqual(yield* rolesOf(server), ["user one", "assistant Done.", "user two", "assistant Second."])
      }))

    it.live(`is withdrawn with its request: ${engine}`, () =>
      Effect.gen(function*() {
        const { first, server } = yield* joining(options, [ScriptedModel.text("Done.")])
        const page = new AbortController()
        const second = fetch(`${server.url}/agents/clerk/chat`, {
          method: "POST",
          headers: { "content-type": "application/json", ...headersOf("ada") },
          body: JSON.stringify(message("two")),
          signal: page.signal
        })
        yield* Effect.sleep("40 millis")
        page.abort()
        yield* Effect.promise(() => second.then(() => assert.fail("answered"), () => undefined))
        yield* Effect.sleep("40 millis")
        yield* server.open
        yield* Fiber.join(first)
        assert.deepStrictEqual(yield* rolesOf(server), ["user one", "assistant Done."])
        assert.notInclude(JSON.stringify((yield* server.model.lastRequest).prompt), "two")
      }))
  }
})
