/** Clients that others have written, against a server: AG-UI's `HttpAgent`, the `openai` package, `EventSource`. */
import { HttpAgent } from "@ag-ui/client"
import { assert, describe, it } from "@effect/vitest"
import { ScriptedModel } from "@recourse/testing"
import { Effect } from "effect"
import { EventSource } from "eventsource"
import OpenAI, { NotFoundError } from "openai"
import { headersOf, serve } from "../support/kit.ts"

describe("AG-UI", () => {
  const agentOf = (url: string, threadId: string) => {
    const agent = new HttpAgent({ url: `${url}/agents/clerk/ag-ui`, headers: headersOf("ada"), threadId })
    const say = (content: string) => {
      agent.addMessage({ id: crypto.randomUUID(), role: "user", content })
      return Effect.promise(() => agent.runAgent())
    }
    return { agent, say }
  }

  it.live("runs, shows calls, and remembers", () =>
    Effect.gen(function*() {
      const server = yield* serve([
        ScriptedModel.call("search", { query: "flaky" }),
        ScriptedModel.text("Found."),
        ScriptedModel.text("Again.")
      ])
      const { agent, say } = agentOf(server.url, "t1")
      yield* say("Search")
      assert.deepStrictEqual(agent.messages.map(({ role }) => role), [
        "user",
        "assistant",
        "tool",
        "activity",
        "assistant"
      ])
      assert.deepInclude(agent.messages.at(-1), { role: "assistant", content: "Found." })
      yield* say("And again")
      assert.deepInclude(agent.messages.at(-1), { content: "Again." })
      const { prompt } = yield* server.model.lastRequest
      assert.deepStrictEqual(prompt.content.map(({ role }) => role), ["user", "assistant", "tool", "assistant", "user"])
    }))

  it.live("asks by an interrupt, and resumes with answers or edited arguments", () =>
    Effect.gen(function*() {
      const server = yield* serve([ScriptedModel.call("pay", { amount: 500 }), ScriptedModel.text("Paid.")])
      const { agent, say } = agentOf(server.url, "t1")
      yield* say("Pay 500")
      const [interrupt] = agent.pendingInterrupts
      assert.deepInclude(interrupt?.metadata, { tool: "pay", arguments: { amount: 500 } })
      assert.deepStrictEqual(server.world.deeds, [])
      const resume = (payload: unknown) =>
        Effect.promise(() => agent.runAgent({ resume: [{ interruptId: interrupt!.id, status: "resolved", payload }] }))
      yield* resume({ decision: "edit", arguments: { amount: 50 } })
      assert.deepStrictEqual(server.world.deeds, ["pay 50"])
      assert.deepInclude(agent.messages.at(-1), { content: "Paid." })
      assert.strictEqual(agent.pendingInterrupts.length, 0)
    }))

  it.live("a cancelled interrupt runs no call, an invalid payload is refused", () =>
    Effect.gen(function*() {
      const server = yield* serve([ScriptedModel.call("pay", { amount: 5 }), ScriptedModel.text("As you wish.")])
      const { agent, say } = agentOf(server.url, "t1")
      yield* say("Pay 5")
      const { id } = agent.pendingInterrupts[0]!
      const input = { threadId: "t1", runId: "r2", messages: [], tools: [], context: [] }
      const odd = yield* server.post("/agents/clerk/ag-ui", {
        ...input,
        resume: [{ interruptId: id, status: "resolved", payload: { decision: "yes" }, metadata: { from: "page" } }]
      })
      assert.strictEqual(odd.status, 400)
      yield* Effect.promise(() => agent.runAgent({ resume: [{ interruptId: id, status: "cancelled" }] }))
      assert.deepStrictEqual(server.world.deeds, [])
      assert.deepInclude(agent.messages.at(-1), { content: "As you wish." })
    }))
})

describe("chat completions", () => {
  const client = (url: string) => new OpenAI({ baseURL: `${url}/v1`, apiKey: "token-of-ada", maxRetries: 0 })

  it.live("answers whole and streamed", () =>
    Effect.gen(function*() {
      const server = yield* serve([
        ScriptedModel.call("search", { query: "x" }),
        ScriptedModel.text("Found x."),
        ScriptedModel.text("Roses are red.")
      ])
      const openai = client(server.url)
      const models = yield* Effect.promise(() => openai.models.list())
      assert.deepStrictEqual(models.data.map(({ id }) => id), ["clerk"])
      assert.deepStrictEqual(yield* Effect.promise(() => openai.models.retrieve("clerk")), models.data[0]!)
      const unknown = yield* Effect.promise(() => openai.models.retrieve("other").catch((error: unknown) => error))
      assert.instanceOf(unknown, NotFoundError)
      const whole = yield* Effect.promise(() =>
        openai.chat.completions.create({ model: "clerk", messages: [{ role: "user", content: "Search x" }] })
      )
      assert.strictEqual(whole.choices[0]?.message.content, "Found x.")
      assert.strictEqual(whole.usage?.total_tokens, 30)
      const text = yield* Effect.promise(async () => {
        const stream = await openai.chat.completions.create({
          model: "clerk",
          messages: [{ role: "user", content: "A poem" }],
          stream: true
        })
        let text = ""
        for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? ""
        return text
      })
      assert.strictEqual(text, "Roses are red.")
    }))

  it.live("the model reads sent pictures and files, without fetching", () =>
    Effect.gen(function*() {
      const server = yield* serve([ScriptedModel.text("A cat.")])
      const openai = client(server.url)
      const ask = (url: string) =>
        Effect.promise(() =>
          openai.chat.completions.create({
            model: "clerk",
            messages: [{
              role: "user",
              content: [
                { type: "text", text: "What is this?" },
                { type: "image_url", image_url: { url } },
                { type: "file", file: { file_data: "data:text/plain;base64,aGk=", filename: "note.txt" } }
              ]
            }]
          }).then(
            ({ choices }) => choices[0]?.message.content,
            (error: InstanceType<typeof OpenAI.APIError>) => error.status
          )
        )
      assert.strictEqual(yield* ask("http://127.0.0.1/secret.png"), 400)
      assert.deepStrictEqual(yield* server.runs.list(), [])
      assert.strictEqual(yield* ask("data:image/png;base64,aGk="), "A cat.")
      const { prompt } = yield* server.model.lastRequest
      const [message] = prompt.content
      assert.isTrue(message?.role === "user")
      assert.deepStrictEqual(
        message?.role === "user" && message.content.map((part) => part.type === "file" ? part.mediaType : part.type),
        ["text", "image/png", "text/plain"]
      )
    }))

  it.live("an unknown model is 404, a waiting call a named error", () =>
    Effect.gen(function*() {
      const server = yield* serve([ScriptedModel.call("pay", { amount: 5 })])
      const openai = client(server.url)
      const failed = (model: string) =>
        Effect.promise(() =>
          openai.chat.completions.create({ model, messages: [{ role: "user", content: "Hi" }] }).then(
            () => undefined,
            (error: InstanceType<typeof OpenAI.APIError>) => ({
              status: error.status,
              code: error.code,
              type: error.type
            })
          )
        )
      assert.strictEqual((yield* failed("nobody"))?.status, 404)
      assert.deepStrictEqual(yield* failed("clerk"), {
        status: 422,
        code: "approval_required",
        type: "invalid_request_error"
      })
      assert.deepStrictEqual((yield* server.runs.list({ status: "waiting" })).length, 0)
      assert.deepStrictEqual(server.world.deeds, [])
    }))

  it.live("a run without an answer is not repeated by retrying clients", () =>
    Effect.gen(function*() {
      const server = yield* serve([
        ScriptedModel.call("pay", { amount: 5 }),
        ScriptedModel.call("search", { query: "x" }),
        ScriptedModel.failure("AuthenticationError")
      ])
      const openai = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: "token-of-ada" })
      for (const code of ["approval_required", "authentication"]) {
        const error = yield* Effect.promise(() =>
          openai.chat.completions.create({ model: "clerk", messages: [{ role: "user", content: "Hi" }] }).then(
            () => undefined,
            (error: InstanceType<typeof OpenAI.APIError>) => error
          )
        )
        assert.strictEqual(error?.code, code)
      }
      assert.deepStrictEqual(server.world.deeds, ["search x"])
      assert.strictEqual((yield* server.runs.list()).length, 2)
    }))

  it.live("refusals have OpenAI's form: sentence, name and trace", () =>
    Effect.gen(function*() {
      const server = yield* serve([])
      const openai = client(server.url)
      const error = yield* Effect.promise(() =>
        openai.chat.completions.create({ model: "nobody", messages: [{ role: "user", content: "Hi" }] }).then(
          () => undefined,
          (error: InstanceType<typeof OpenAI.APIError>) => error
        )
      )
      assert.strictEqual(error?.message, "404 No agent \"nobody\" is registered: there are clerk")
      assert.deepInclude(error, { code: "UnknownAgent", type: "invalid_request_error" })
      const { trace_id } = error?.error as { readonly trace_id: string }
      assert.strictEqual(trace_id, error?.headers?.get("x-trace-id"))
    }))
})

describe("runs and EventSource", () => {
  it.live("a reconnecting reader receives every event once, like others", () =>
    Effect.gen(function*() {
      const server = yield* serve([ScriptedModel.call("slow", {}), ScriptedModel.text("Done.")])
      const { runId } = (yield* server.post("/runs", { agent: "clerk", message: "Do it", key: "k1" })).json() as {
        runId: string
      }
      const url = `${server.url}/runs/${runId}/events`
      const listen = (from: string | undefined, until: (tag: string) => boolean) =>
        Effect.promise(() =>
          new Promise<ReadonlyArray<readonly [string, string]>>((resolve) => {
            const heard: Array<readonly [string, string]> = []
            const source = new EventSource(url, {
              fetch: (input, init) =>
                fetch(input, {
                  ...init,
                  headers: {
                    ...init.headers,
                    ...headersOf("ada"),
                    ...(from === undefined ? undefined : { "last-event-id": from })
                  }
                })
            })
            const close = () => {
              source.close()
              resolve(heard)
            }
            source.addEventListener("message", ({ data, lastEventId }) => {
              const { _tag } = JSON.parse(data) as { _tag: string }
              heard.push([lastEventId, _tag])
              if (until(_tag)) close()
            })
            source.addEventListener("end", close)
          })
        )
      const first = yield* listen(undefined, (tag) => tag === "ToolAttempt")
      yield* server.open
      const rest = yield* listen(first.at(-1)![0], () => false)
      const all = yield* listen(undefined, () => false)
      assert.deepStrictEqual([...first, ...rest], all)
      // Numbers of events that do not leave the server are left out.
      const ids = all.map(([id]) => Number(id))
      assert.deepStrictEqual(ids, [...new Set(ids)].toSorted((a, b) => a - b))
      assert.strictEqual(all.at(-1)?.[1], "RunFinished")
      assert.deepStrictEqual(server.world.deeds, ["slow"])
      // The same key is the same run; another message under it is a conflict.
      const again = yield* server.post("/runs", { agent: "clerk", message: "Do it", key: "k1" })
      assert.strictEqual((again.json() as { runId: string }).runId, runId)
      assert.strictEqual((yield* server.post("/runs", { agent: "clerk", message: "Else", key: "k1" })).status, 409)
    }))

  it.live("decides only about the run's own shown pending calls", () =>
    Effect.gen(function*() {
      const server = yield* serve([ScriptedModel.call("pay", { amount: 500 }), ScriptedModel.text("Paid.")])
      const { runId } = (yield* server.post("/runs", { agent: "clerk", message: "Pay" })).json() as { runId: string }
      const waiting = Effect.gen(function*() {
        for (;;) {
          const run = (yield* server.get(`/runs/${runId}`)).json() as {
            status: string
            pending: ReadonlyArray<{ callId: string; argumentsHash: string }>
          }
          if (run.status !== "running") return run
          yield* Effect.sleep("5 millis")
        }
      })
      const { pending } = yield* waiting
      const { argumentsHash, callId } = pending[0]!
      const decide = (decision: unknown) => server.post(`/runs/${runId}/decisions`, { decisions: [decision] })
      for (
        const decision of [
          { _tag: "Deny", callId, argumentsHash },
          { _tag: "Approve", callId, argumentsHash: "0".repeat(64) },
          { _tag: "Approve", callId: "call_9", argumentsHash },
          null
        ]
      ) {
        assert.strictEqual((yield* decide(decision)).status, 422)
      }
      assert.deepStrictEqual(server.world.deeds, [])
      assert.strictEqual((yield* decide({ _tag: "Approve", callId, argumentsHash, by: "the boss" })).status, 202)
      assert.strictEqual((yield* waiting).status, "completed")
      assert.deepStrictEqual(server.world.deeds, ["pay 500"])
      assert.strictEqual((yield* decide({ _tag: "Approve", callId, argumentsHash })).status, 422)
    }))
})
