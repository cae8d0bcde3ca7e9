/**
 * Calls of unknown outcome: an operator finds them, and a person's finding reaches the thread, the audit and the
 * counts.
 */
import { assert, describe, it } from "@effect/vitest"
import { Audit, Conversation } from "@recourse/core"
import { Durable, RunStore } from "@recourse/durable"
import type { RunIndex } from "@recourse/server"
import { ScriptedModel } from "@recourse/testing"
import { Effect, Layer } from "effect"
import { Prompt } from "effect/ai"
import { type Options, serve } from "../support/kit.ts"

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

const message = (text: string, thread: string) => ({
  id: thread,
  trigger: "submit-message",
  messages: [{ id: `m ${text}`, role: "user", parts: [{ type: "text", text }] }]
})

interface Listed {
  readonly outcomes: ReadonlyArray<RunIndex.OpenOutcome>
}

interface Page {
  readonly runs: ReadonlyArray<{ readonly runId: string; readonly summary: RunIndex.RunSummary }>
  readonly next?: string
}

const turns = [
  ScriptedModel.call("fax", { to: "Ada" }, { id: "f1" }),
  ScriptedModel.text("It may have been sent."),
  ScriptedModel.text("Good.")
]

for (const [kind, options] of Object.entries(kinds)) {
  describe(`an unknown outcome of ${kind} runs`, () => {
    it.live("is found by operators, checked once, and known afterwards", () =>
      Effect.gen(function*() {
        const records: Array<Audit.AuditRecord> = []
        const audit = Audit.layer((record) => Effect.sync(() => records.push(record)))
        const server = yield* serve(turns, { ...options(), around: (app) => Layer.provide(app, audit) })
        yield* server.post("/agents/clerk/chat", message("Fax it", "t1"))
        const list = Effect.map(server.get("/operator/outcomes", "otto"), (answer) => answer.json() as Listed)
        const { outcomes: [outcome] } = yield* list
        assert.deepInclude(outcome!.call, {
          tool: "fax",
          callId: "f1",
          state: "unknown",
          arguments: "{\"to\":\"Ada\"}"
        })
        assert.strictEqual(outcome!.run.owner, "ada")
        const path = `/operator/runs/${outcome!.run.runId}/outcomes`
        const { spanId } = outcome!.call
        const check = (answer: string, who: "olga" | "otto" | "else" | "ada" = "olga", span = spanId) =>
          server.post(path, { checks: [{ spanId: span, answer, note: "the machine has a report" }] }, { who })
        for (const [who, status] of [["ada", 403], ["otto", 403]] as const) {
          assert.strictEqual((yield* check("happened", who)).status, status)
        }
        for (const answer of [yield* check("settled"), yield* check("happened", "olga", "none")]) {
          assert.strictEqual(answer.status, 422)
        }
        assert.strictEqual((yield* check("perhaps")).status, 400)
        assert.lengthOf((yield* list).outcomes, 1)

        const { status } = yield* check("happened")
        assert.strictEqual(status, 200)
        assert.deepStrictEqual((yield* list).outcomes, [])
        const ofRun = (yield* server.get(path, "otto")).json() as Listed
        assert.deepInclude(ofRun.outcomes[0]!.check, {
          by: "olga",
          answer: "happened",
          note: "the machine has a report"
        })
        assert.deepStrictEqual(
          records.filter(({ decision }) => decision === "outcome_checked").map(({ actor, callId, reason }) => ({
            actor,
            callId,
            reason
          })),
          [{ actor: "olga", callId: "f1", reason: "happened: the machine has a report" }]
        )
        yield* server.post("/agents/clerk/chat", message("And now?", "t1"))
        const { prompt } = yield* server.model.lastRequest
        assert.include(JSON.stringify(prompt.content), "It has happened. Do not call it again")
        // People see who has checked, and not the model's text.
        const thread = yield* server.get("/threads/t1", "ada")
        assert.notInclude(thread.text, "Do not call it again")
      }))

    it.live("is a badge and a filter, with text, tool and code", () =>
      Effect.gen(function*() {
        const server = yield* serve([
          ...turns,
          ScriptedModel.call("search", { query: "down" }),
          ScriptedModel.text("Down.")
        ], options())
        yield* server.post("/agents/clerk/chat", message("Fax the PLAN", "t1"))
        yield* server.post("/agents/clerk/chat", message("Hello", "t2"))
        yield* server.post("/agents/clerk/chat", message("Look", "t3"))
        const list = (query: string, who: "otto" | "else" = "otto") =>
          Effect.map(server.get(`/operator/runs?${query}`, who), (answer) => answer.json() as Page)
        const all = yield* list("")
        assert.deepStrictEqual(
          all.runs.map(({ summary: { calls, input, unknown } }) => [input, calls, unknown]),
          [["Look", 1, 0], ["Hello", 0, 0], ["Fax the PLAN", 1, 1]]
        )
        const inputs = (query: string, who?: "else") =>
          Effect.map(list(query, who), ({ runs }) => runs.map(({ summary }) => summary.input))
        assert.deepStrictEqual(yield* inputs("state=unknown"), ["Fax the PLAN"])
        assert.deepStrictEqual(yield* inputs("text=plan"), ["Fax the PLAN"])
        assert.deepStrictEqual(yield* inputs("tool=search"), ["Look"])
        assert.deepStrictEqual(yield* inputs("code=execution_error"), ["Look"])
        assert.deepStrictEqual(yield* inputs("code=outcome_unknown&state=unknown&status=completed"), ["Fax the PLAN"])
        assert.deepStrictEqual(yield* inputs("state=retried"), ["Look"])
        assert.deepStrictEqual(yield* inputs("minWorked=100000"), [])
        assert.deepStrictEqual(yield* inputs(`like=${all.runs[0]!.runId}`), ["Look"])
        assert.deepStrictEqual(yield* inputs("text=plan", "else"), [])
        assert.deepStrictEqual(yield* inputs("text=plan&agent=clerk", "else"), [])
        const pages: Array<string> = []
        for (let cursor: string | undefined = ""; cursor !== undefined;) {
          const page: Page = yield* list(
            `limit=1&minWorked=0${cursor === "" ? "" : `&cursor=${encodeURIComponent(cursor)}`}`
          )
          pages.push(...page.runs.map(({ summary }) => summary.input))
          cursor = page.next
        }
        assert.deepStrictEqual(pages, ["Look", "Hello", "Fax the PLAN"])
        assert.strictEqual((yield* server.get("/operator/runs?state=odd", "otto")).status, 400)

        const overview = (query: string, who: "otto" | "else" = "otto") =>
          Effect.map(server.get(`/operator/overview?${query}`, who), (answer) => answer.json() as RunIndex.Overview)
        const day = yield* overview("parts=4")
        assert.deepInclude(day, {
          runs: 3,
          byStatus: { completed: 3 },
          failures: [
            { tool: "fax", code: "outcome_unknown", count: 1 },
            { tool: "search", code: "execution_error", count: 1 }
          ],
          outcomes: { unknown: 1, checked: 0, undone: 0, notUndone: 0 }
        })
        assert.deepStrictEqual(day.series.map(({ runs }) => runs), [0, 0, 0, 3])
        assert.strictEqual((yield* overview("", "else")).runs, 0)
        assert.strictEqual((yield* server.get("/operator/overview", "ada")).status, 403)
        assert.strictEqual((yield* server.get("/operator/overview?parts=0", "otto")).status, 400)
        for (const path of ["outcomes", `runs/${all.runs[2]!.runId}/outcomes`]) {
          assert.strictEqual((yield* server.get(`/operator/${path}`, "ada")).status, 403)
        }
        assert.deepStrictEqual((yield* server.get("/operator/outcomes", "else")).json(), { outcomes: [] })
        assert.strictEqual((yield* server.get(`/operator/runs/${all.runs[2]!.runId}/outcomes`, "else")).status, 404)
        const refused = yield* server.post(
          `/operator/runs/${all.runs[2]!.runId}/outcomes`,
          { checks: [{ spanId: "s", answer: "happened" }] },
          { who: "else" }
        )
        assert.strictEqual(refused.status, 403)
      }))
  })
}
