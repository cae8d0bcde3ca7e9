/** A page's actions on a thread and its messages: all others are refused with a sentence. */
import { assert, describe, it } from "@effect/vitest"
import { ScriptedModel } from "@recourse/testing"
import { Effect } from "effect"
import { Prompt } from "effect/ai"
import { Agent, Guardrail } from "@recourse/core"
import { MemoryRuns } from "@recourse/server"
import { headersOf, serve } from "../support/kit.ts"

type Served = Effect.Success<ReturnType<typeof serve>>

const user = (id: string, text: string) => ({ id, role: "user", parts: [{ type: "text", text }] })

const say = (server: Served, message: ReturnType<typeof user>, thread = "t1") =>
  server.post("/agents/clerk/chat", { id: thread, trigger: "submit-message", messages: [message] })

const again = (server: Served, messageId: string | undefined, message: ReturnType<typeof user>) =>
  server.post("/agents/clerk/chat", { id: "t1", trigger: "regenerate-message", messageId, messages: [message] })

interface Shown {
  readonly id: string
  readonly role: string
  readonly parts: ReadonlyArray<{ readonly text?: string }>
}

const messagesOf = (server: Served) =>
  Effect.map(
    server.get("/threads/t1"),
    (answer) => (answer.json() as { readonly messages: ReadonlyArray<Shown> }).messages
  )

const textsOf = (messages: ReadonlyArray<Shown>) =>
  messages.map(({ parts }) => parts.map(({ text }) => text ?? "").join(""))

const remove = (server: Served, thread: string) =>
  Effect.promise(() => fetch(`${server.url}/threads/${thread}`, { method: "DELETE", headers: headersOf("ada") }))

describe("a branch of a thread", () => {
  it.live("has the messages before the user's nth one, and its own afterwards", () =>
    Effect.gen(function*() {
      const server = yield* serve(["One.", "Two.", "Other."].map((text) => ScriptedModel.text(text)))
      yield* say(server, user("m1", "First"))
      yield* say(server, user("m2", "Second"))
      const branch = (id: string, before: number, who: "ada" | "bob" = "ada") =>
        server.post("/threads/t1/branches", { id, before }, { who })
      assert.strictEqual((yield* branch("t2", 1)).status, 201)
      yield* say(server, user("m3", "Otherwise"), "t2")
      const { prompt } = yield* server.model.lastRequest
      assert.deepStrictEqual(prompt.content.map(({ role }) => role), ["user", "assistant", "user"])
      const read = (thread: string) =>
        Effect.map(
          server.get(`/threads/${thread}`),
          (answer) => textsOf((answer.json() as { readonly messages: ReadonlyArray<Shown> }).messages)
        )
      assert.deepStrictEqual(yield* read("t2"), ["First", "One.", "Otherwise", "Other."])
      assert.deepStrictEqual(yield* read("t1"), ["First", "One.", "Second", "Two."])
      for (const [id, before, status] of [["t2", 0, 400], ["t3", 2, 400], ["t3", -1, 400]] as const) {
        assert.strictEqual((yield* branch(id, before)).status, status)
      }
      assert.strictEqual((yield* branch("t3", 0, "bob")).status, 404)
    }))

  it.live("keeps the versions of an answer readable for their owner", () =>
    Effect.gen(function*() {
      const server = yield* serve(["One.", "Two."].map((text) => ScriptedModel.text(text)))
      yield* say(server, user("m1", "First"))
      yield* again(server, undefined, user("m1", "First"))
      const [, answer] = yield* messagesOf(server)
      const { versions } = (answer as unknown as { readonly metadata: { readonly versions: ReadonlyArray<string> } })
        .metadata
      assert.lengthOf(versions, 2)
      const of = (run: string, who: "ada" | "bob" = "ada") => server.get(`/threads/t1/answers/${run}`, who)
      const texts: Array<string> = []
      for (const run of versions) {
        texts.push(...textsOf([((yield* of(run)).json() as { readonly message: Shown }).message]))
      }
      assert.deepStrictEqual(texts, ["One.", "Two."])
      assert.strictEqual((yield* of(versions[0]!, "bob")).status, 404)
      assert.strictEqual((yield* of("none")).status, 404)
    }))
})

describe("a thread", () => {
  it.live("that is deleted ends its waiting run without decisions", () =>
    Effect.gen(function*() {
      const server = yield* serve([ScriptedModel.call("pay", { amount: 5 })])
      yield* say(server, user("m1", "Pay"))
      assert.strictEqual((yield* remove(server, "t1")).status, 204)
      assert.deepStrictEqual((yield* server.runs.list()).map(({ status }) => status), ["cancelled"])
      assert.deepStrictEqual((yield* server.get("/operator/approvals", "olga")).json() as unknown, { approvals: [] })
      assert.strictEqual((yield* server.get("/threads/t1")).status, 404)
    }))

  it.live("that is deleted stops its running run; a missing one none", () =>
    Effect.gen(function*() {
      const server = yield* serve([ScriptedModel.call("slow", {})])
      yield* server.post("/runs", { agent: "clerk", message: "Do it", threadId: "t1" })
      assert.strictEqual((yield* remove(server, "t2")).status, 404)
      assert.deepStrictEqual((yield* server.runs.list()).map(({ status }) => status), ["running"])
      assert.strictEqual((yield* remove(server, "t1")).status, 204)
      assert.deepStrictEqual((yield* server.runs.list()).map(({ status }) => status), ["cancelled"])
      assert.deepStrictEqual(server.world.deeds, [])
    }))

  it.live("has a title that can be seen", () =>
    Effect.gen(function*() {
      const server = yield* serve([ScriptedModel.text("Hello.")])
      yield* say(server, user("m1", "Hi"))
      const rename = (title: string) =>
        Effect.promise(async () => {
          const response = await fetch(`${server.url}/threads/t1`, {
            method: "PATCH",
            headers: { ...headersOf("ada"), "content-type": "application/json" },
            body: JSON.stringify({ title })
          })
          return response.status
        })
      assert.deepStrictEqual([yield* rename(""), yield* rename("  \n"), yield* rename("Trip")], [400, 400, 200])
    }))

  it.live("has an id for its address, or is not started", () =>
    Effect.gen(function*() {
      const ids = ["x".repeat(100), "a/b", "..b", "ü".repeat(16), "%", "__proto__"]
      const server = yield* serve(ids.map(() => ScriptedModel.text("Hello.")))
      for (const id of ["x".repeat(101), "ü".repeat(17), ".", "..", "\ud800", "a\u0000b", ""]) {
        assert.strictEqual((yield* say(server, user("m1", "Hi"), id)).status, 400)
        const agUi = { threadId: id, runId: "r", messages: [{ id: "m1", role: "user", content: "Hi" }] }
        assert.strictEqual((yield* server.post("/agents/clerk/ag-ui", agUi)).status, 400)
        const started = yield* server.post("/runs", { agent: "clerk", message: "Hi", threadId: id })
        assert.strictEqual(started.status, 400)
      }
      assert.deepStrictEqual(yield* server.runs.list(), [])
      for (const id of ids) {
        assert.strictEqual((yield* say(server, user("m1", "Hi"), id)).status, 200)
        assert.strictEqual((yield* server.get(`/threads/${encodeURIComponent(id)}`)).status, 200)
      }
    }))
})

describe("messages of a thread", () => {
  it.live("is not said again with other words under its id", () =>
    Effect.gen(function*() {
      const server = yield* serve([ScriptedModel.text("For Ada."), ScriptedModel.text("Never.")])
      assert.strictEqual((yield* say(server, user("m1", "Book for Ada"))).status, 200)
      assert.include((yield* say(server, user("m1", "Book for Ada"))).text, "Ada.")
      assert.strictEqual((yield* say(server, user("m1", "Book for Bob"))).status, 409)
      const [said] = yield* messagesOf(server)
      assert.strictEqual((yield* say(server, user(said!.id, "Book for Bob"))).status, 400)
      assert.deepStrictEqual(textsOf(yield* messagesOf(server)), ["Book for Ada", "For Ada."])
    }))

  it.live("are answered again if newest; older answers stay", () =>
    Effect.gen(function*() {
      const server = yield* serve(["One.", "Two.", "Three.", "Never."].map((text) => ScriptedModel.text(text)))
      yield* say(server, user("m1", "1"))
      yield* say(server, user("m2", "2"))
      const [, older, said, newest] = yield* messagesOf(server)
      const refused = yield* again(server, older!.id, user("m1", "1"))
      assert.strictEqual(refused.status, 409)
      assert.include(refused.text, "Only the newest answer")
      assert.strictEqual((yield* again(server, newest!.id, user(said!.id, "2"))).status, 200)
      assert.deepStrictEqual(textsOf(yield* messagesOf(server)), ["1", "One.", "2", "Three."])
      // The same request once more is the same run, though its answer is the newest now.
      assert.include((yield* again(server, newest!.id, user(said!.id, "2"))).text, "Three.")
      assert.strictEqual((yield* server.runs.list()).length, 3)
    }))

  it.live("are shown once if a guard replaced them, under their id", () =>
    Effect.gen(function*() {
      const guarded = Agent.make("clerk", {
        input: Prompt.Prompt,
        prompt: (conversation) => conversation,
        guardInput: ({ content }) =>
          Effect.succeed(
            JSON.stringify(content.at(-1)).includes("Ada")
              ? Guardrail.change(Prompt.fromMessages([...content.slice(0, -1), ...Prompt.make("[hidden]").content]))
              : undefined
          )
      })
      const server = yield* serve(({ prompt }) => ScriptedModel.text(`${prompt.content.length} messages`), {
        runs: () => MemoryRuns.layer({ agents: [guarded] })
      })
      yield* say(server, user("m1", "Book for Ada"))
      assert.strictEqual((yield* say(server, user("m1", "Book for Ada"))).status, 200)
      yield* say(server, user("m2", "And for Bob"))
      assert.deepStrictEqual(textsOf(yield* messagesOf(server)), [
        "Book for Ada",
        "1 messages",
        "And for Bob",
        "3 messages"
      ])
      assert.notInclude(JSON.stringify((yield* server.model.lastRequest).prompt), "Ada")
      assert.strictEqual((yield* server.runs.list()).length, 2)
    }))
})
