/** An operator's view of everyone's runs, and the operator's rights. */
import { assert, describe, it } from "@effect/vitest"
import { Conversation, type Runs } from "@recourse/core"
import { Durable, RunStore } from "@recourse/durable"
import type { RunTimeline } from "@recourse/server"
import { ScriptedModel } from "@recourse/testing"
import { Effect, Layer, Schedule } from "effect"
import { Prompt } from "effect/ai"
import { type Options, serve } from "../support/kit.ts"

/** The same tests over runs in memory and over durable ones. */
const kinds: Readonly<Record<string, () => Options>> = {
  memory: () => ({}),
  durable: () => ({
    runs: (agent) =>
      Durable.layer([Durable.make(agent, { input: Prompt.Prompt })], { poll: "20 millis" }).pipe(
        Layer.provide(RunStore.layerMemory)
      ),
    conversations: Conversation.layerMemory
  })
}

interface Page {
  readonly runs: ReadonlyArray<Runs.RunInfo>
  readonly next?: string
}

const message = (text: string, thread = "t1") => ({
  id: thread,
  trigger: "submit-message",
  messages: [{ id: `m ${text}`, role: "user", parts: [{ type: "text", text }] }]
})

for (const [kind, options] of Object.entries(kinds)) {
  describe(`an operator of ${kind} runs`, () => {
    it.live("lists everyone's runs in pages, each once, by filters", () =>
      Effect.gen(function*() {
        const server = yield* serve(Array.from({ length: 7 }, () => ScriptedModel.text("Hi.")), options())
        for (let n = 0; n < 7; n++) {
          yield* server.post("/runs", { agent: "clerk", message: "Hi", key: `k${n}` }, {
            who: n % 3 === 0 ? "bob" : "ada"
          })
        }
        const pages: Array<Page> = []
        for (let cursor: string | undefined = ""; cursor !== undefined;) {
          const path = `/operator/runs?limit=3${cursor === "" ? "" : `&cursor=${encodeURIComponent(cursor)}`}`
          const page = (yield* server.get(path, "otto")).json() as Page
          pages.push(page)
          cursor = page.next
        }
        const ids = pages.flatMap(({ runs }) => runs.map(({ runId }) => runId))
        assert.strictEqual(ids.length, 7)
        assert.strictEqual(new Set(ids).size, 7)
        const times = pages.flatMap(({ runs }) => runs.map(({ startedAt }) => startedAt))
        assert.deepStrictEqual(times, times.toSorted((a, b) => b - a))
        const count = (query: string) =>
          Effect.map(
            server.get(`/operator/runs?${query}`, "otto"),
            (answer) => (answer.json() as Page).runs.length
          )
        assert.strictEqual(yield* count("owner=bob"), 3)
        assert.strictEqual(yield* count("owner=ada&agent=clerk"), 4)
        assert.strictEqual(yield* count("agent=nobody"), 0)
        assert.strictEqual(yield* count(`run=${ids[2]}`), 1)
        assert.strictEqual(yield* count("run=%25"), 0)
        assert.strictEqual(yield* count(`to=${times.at(-1)}`), 0)
        assert.strictEqual(yield* count(`from=${times.at(-1)}`), 7)
        for (const query of ["limit=0", "limit=501", "status=odd", "cursor=x", "from=yesterday"]) {
          assert.strictEqual((yield* server.get(`/operator/runs?${query}`, "otto")).status, 400)
        }
      }))

    it.live("sees each event, its model requests, and three texts per failure", () =>
      Effect.gen(function*() {
        const server = yield* serve([
          ScriptedModel.call("search", { query: "flaky" }),
          ScriptedModel.call("search", { query: "down" }),
          ScriptedModel.text("It is down.")
        ], options())
        yield* server.post("/agents/clerk/chat", message("secret-of-the-user"))
        const [run] = yield* server.runs.list()
        const { text } = yield* server.get(`/operator/runs/${run!.runId}/events`, "otto")
        const numbers = [...text.matchAll(/^id: (\d+)$/gm)].map(([, id]) => Number(id))
        assert.deepStrictEqual(numbers, numbers.map((_, index) => index + 1))
        assert.include(text, "event: end")
        assert.include(text, "secret-of-the-user")
        assert.notInclude(text, "\"transcript\"")

        const answer = (yield* server.get(`/operator/runs/${run!.runId}/timeline`, "otto")).json() as {
          readonly run: Runs.RunInfo
          readonly timeline: RunTimeline.Timeline
        }
        const { decisions, failures, meters, requests, spans, usage } = answer.timeline
        assert.strictEqual(answer.run.status, "completed")
        assert.deepStrictEqual(spans.map(({ kind, state }) => `${kind} ${state}`), [
          "agent success",
          "turn success",
          "call success",
          "attempt failure",
          "wait success",
          "attempt success",
          "turn success",
          "call failure",
          "attempt failure",
          "wait success",
          "attempt failure",
          "turn success"
        ])
        for (const span of spans) {
          assert.isAtLeast(span.endedAt!, span.startedAt)
          const parent = spans.find(({ id }) => id === span.parent)
          assert.strictEqual(span.depth, parent === undefined ? 0 : parent.depth + 1)
        }
        assert.deepStrictEqual(decisions.map(({ kind }) => kind), ["retry", "retry", "escalation"])
        assert.deepStrictEqual(failures.map(({ isRecovered }) => isRecovered), [true, true, false])
        const last = failures.at(-1)!
        assert.include(last.operator, "Down")
        assert.isString(last.model)
        assert.isString(last.user)
        assert.notInclude(`${last.model}${last.user}`, "Down")
        assert.strictEqual(requests.length, 3)
        assert.deepStrictEqual(requests.map(({ tools }) => tools[0]), ["search", "search", "search"])
        assert.strictEqual(usage.turns, 3)
        assert.deepInclude(meters.find(({ budget }) => budget === "turns"), { used: 3, limit: 50 })
      }))

    it.live("finds waiting calls, decides once, and stops any run", () =>
      Effect.gen(function*() {
        const server = yield* serve([
          ScriptedModel.call("pay", { amount: 500 }),
          ScriptedModel.call("pay", { amount: 7 }),
          ScriptedModel.text("Paid.")
        ], options())
        yield* server.post("/agents/clerk/chat", message("Pay", "a"))
        yield* server.post("/agents/clerk/chat", message("Pay", "b"), { who: "bob" })
        interface Approval {
          readonly run: Runs.RunInfo
          readonly call: Runs.RunInfo["pending"][number]
        }
        const inbox = Effect.map(
          server.get("/operator/approvals", "olga"),
          (answer) => (answer.json() as { readonly approvals: ReadonlyArray<Approval> }).approvals
        )
        const waiting = yield* inbox
        assert.deepStrictEqual(waiting.map(({ call }) => call.arguments["amount"]).toSorted(), [500, 7])
        const { call, run } = waiting.find(({ run }) => run.owner === "bob")!
        const path = `/operator/runs/${run.runId}`
        const decisions = [{ _tag: "Approve", callId: call.callId, argumentsHash: call.argumentsHash, by: "somebody" }]
        assert.strictEqual((yield* server.post(`${path}/decisions`, { decisions }, { who: "otto" })).status, 403)
        assert.strictEqual((yield* server.post(`${path}/decisions`, { decisions }, { who: "ada" })).status, 403)
        assert.strictEqual((yield* server.post(`${path}/decisions`, { decisions }, { who: "olga" })).status, 202)
        assert.strictEqual((yield* server.post(`${path}/decisions`, { decisions }, { who: "olga" })).status, 422)
        yield* server.runs.wait(run.runId)
        assert.deepStrictEqual(server.world.deeds, [`pay ${call.arguments["amount"]}`])
        // The messages are in the thread of the run's owner, when the run has released it.
        const thread = yield* Effect.repeat(server.get("/threads/b", "bob"), {
          until: ({ text }) => text.includes("\"isRunning\":false"),
          schedule: Schedule.spaced("10 millis")
        })
        assert.include(thread.text, "Paid.")
        const [other] = yield* inbox
        const stopped = yield* server.post(`/operator/runs/${other!.run.runId}/stop`, {}, { who: "otto" })
        assert.strictEqual((stopped.json() as Runs.RunInfo).status, "cancelled")
        assert.deepStrictEqual(yield* inbox, [])
        assert.strictEqual(server.world.deeds.length, 1)
      }))

    it.live("has the right, and sees runs of its agents", () =>
      Effect.gen(function*() {
        const server = yield* serve([ScriptedModel.text("Hi.")], options())
        const { runId } = (yield* server.post("/runs", { agent: "clerk", message: "Hi", key: "k" })).json() as {
          runId: string
        }
        yield* server.runs.wait(runId)
        const gets = ["runs", `runs/${runId}`, `runs/${runId}/events`, `runs/${runId}/timeline`, "approvals"]
        for (const path of gets) {
          // Ada may do all that people may do without being named an operator.
          for (const who of ["ada", "bob"] as const) {
            assert.strictEqual((yield* server.get(`/operator/${path}`, who)).status, 403)
          }
        }
        assert.deepStrictEqual((yield* server.get("/operator/runs", "else")).json(), { runs: [] })
        for (const path of gets.slice(1, 4)) {
          assert.strictEqual((yield* server.get(`/operator/${path}`, "else")).status, 404)
        }
        assert.strictEqual((yield* server.post(`/operator/runs/${runId}/stop`, {}, { who: "else" })).status, 404)
        assert.strictEqual((yield* server.post(`/operator/runs/${runId}/stop`, {}, { who: "ada" })).status, 403)
        assert.strictEqual((yield* server.get("/operator/runs/none", "otto")).status, 404)
        // An operator without the chat right starts no run.
        assert.strictEqual(
          (yield* server.post("/runs", { agent: "clerk", message: "Hi" }, { who: "otto" })).status,
          403
        )
      }))
  })
}
