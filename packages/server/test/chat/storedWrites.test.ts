/** Writes of turns over HTTP: stored in the thread as they happen, over a pause, and read by an answer that is given again. */
import { assert, describe, it } from "@effect/vitest"
import { Approval, Conversation } from "@recourse/core"
import { Laws, ScriptedModel } from "@recourse/testing"
import { Effect } from "effect"
import type { Prompt } from "effect/ai"
import { serve } from "../support/kit.ts"

type Served = Effect.Success<ReturnType<typeof serve>>

const key = { owner: "ada", thread: "t1" }
const user = (id: string) => ({ id, role: "user", parts: [{ type: "text", text: id }] })
const say = (server: Served, id: string) =>
  server.post("/agents/clerk/chat", { id: "t1", trigger: "submit-message", messages: [user(id)] })
const regenerate = (server: Served, id: string) =>
  server.post("/agents/clerk/chat", { id: "t1", trigger: "regenerate-message", messages: [user(id)] })

/** Each message as its role, or as the results and the text that it has. */
const lines = ({ content }: Prompt.Prompt): ReadonlyArray<string> =>
  content.flatMap((message): ReadonlyArray<string> =>
    typeof message.content === "string" ?
      [] :
      message.content.flatMap((part): ReadonlyArray<string> =>
        part.type === "text"
          ? [`${message.role}: ${part.text}`]
          : part.type === "tool-result"
          ? [`${part.name} -> ${String(part.result)}`]
          : part.type === "tool-call"
          ? [`${part.name}?`]
          : []
      )
  )

const sentOf = (server: Served) =>
  Effect.map(server.conversations.read(key), ({ entries }) => Conversation.toPrompt(entries))

const decide = (server: Served, decision: "approve" | "reject") =>
  Effect.gen(function*() {
    const [run] = yield* server.runs.list({ status: "waiting" })
    const path = `/runs/${run!.runId}/decisions`
    const decisions = run!.pending.map((call) =>
      decision === "approve" ? Approval.approve(call, { by: "ada" }) : Approval.reject(call, "no", { by: "ada" })
    )
    const { status, text } = yield* server.post(path, { decisions })
    assert.strictEqual(status, 202, text)
    yield* server.runs.wait(run!.runId)
  })

const both = ScriptedModel.calls([{ name: "slow", params: {} }, { name: "pay", params: { amount: 5 } }], {
  text: "I pay twice."
})

describe("writes of a turn", () => {
  for (const decision of ["approve", "reject"] as const) {
    it.live(`are in the thread before a pause, and once after it: ${decision}`, () =>
      Effect.gen(function*() {
        const server = yield* serve([both, ScriptedModel.text("Done."), ScriptedModel.text("Yes.")])
        yield* server.open
        yield* say(server, "m1")
        const waiting = yield* sentOf(server)
        assert.include(lines(waiting), "slow -> done")
        yield* decide(server, decision)
        yield* say(server, "m2")
        const { prompt } = yield* server.model.lastRequest
        assert.deepStrictEqual(Laws.problemsOfHistory(prompt), [])
        const read = lines(prompt)
        assert.deepStrictEqual(read.filter((line) => line === "slow?" || line === "slow -> done"), [
          "slow?",
          "slow -> done"
        ])
        assert.include(read, "assistant: Done.")
        assert.include(read, "assistant: I pay twice.")
        assert.strictEqual(read.includes("pay -> paid 5"), decision === "approve")
        assert.deepStrictEqual(server.world.deeds, decision === "approve" ? ["slow", "pay 5"] : ["slow"])
      }))
  }
})

describe("a regenerated answer", () => {
  it.live("reads the writes of the answer before, and not its text", () =>
    Effect.gen(function*() {
      const server = yield* serve(({ prompt }) =>
        lines(prompt).includes("slow -> done")
          ? ScriptedModel.text(`Answer ${prompt.content.length}.`)
          : ScriptedModel.call("slow", {})
      )
      yield* server.open
      yield* say(server, "m1")
      for (let times = 0; times < 2; times++) {
        yield* regenerate(server, "m1")
        assert.deepStrictEqual(lines((yield* server.model.lastRequest).prompt), ["user: m1", "slow?", "slow -> done"])
      }
      yield* say(server, "m2")
      assert.deepStrictEqual(
        lines((yield* server.model.lastRequest).prompt),
        ["user: m1", "slow?", "slow -> done", "assistant: Answer 3.", "user: m2"]
      )
      assert.deepStrictEqual(server.world.deeds, ["slow"])
    }))

  it.live("is stored although its text is that of the answer before", () =>
    Effect.gen(function*() {
      const server = yield* serve([ScriptedModel.text("One."), ScriptedModel.text("One."), ScriptedModel.text("Two.")])
      yield* say(server, "m1")
      yield* regenerate(server, "m1")
      yield* say(server, "m2")
      assert.deepStrictEqual(
        lines((yield* server.model.lastRequest).prompt),
        ["user: m1", "assistant: One.", "user: m2"]
      )
    }))
})
