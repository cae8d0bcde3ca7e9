/** Writes of ended runs over HTTP: rights to see and to compensate them, and the record of it. */
import { assert, describe, it } from "@effect/vitest"
import { Audit, type Compensation, Conversation } from "@recourse/core"
import { Durable, RunStore } from "@recourse/durable"
import type { RunIndex } from "@recourse/server"
import { ScriptedModel } from "@recourse/testing"
import { Effect, Layer } from "effect"
import { Prompt } from "effect/ai"
import { type Options, serve, type Who } from "../support/kit.ts"

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

const message = (text: string) => ({
  id: "t1",
  trigger: "submit-message",
  messages: [{ id: `m ${text}`, role: "user", parts: [{ type: "text", text }] }]
})

interface Listed {
  readonly writes: ReadonlyArray<Compensation.RunWrite>
}

const { call, calls, text } = ScriptedModel

const turns = [
  calls([{ name: "book", params: { room: "7" }, id: "b1" }, { name: "book", params: { room: "down" }, id: "b2" }]),
  call("fax", { to: "Ada" }, { id: "f1" }),
  text("Booked."),
  text("Gone.")
]

const brief = ({ callId, canCompensate, state }: Compensation.RunWrite) =>
  `${callId} ${state}${canCompensate ? " can" : ""}`

for (const [kind, options] of Object.entries(kinds)) {
  describe(`writes of ended ${kind} runs`, () => {
    it.live("are compensated once by an operator, for the audit, the index and the next turn", () =>
      Effect.gen(function*() {
        const records: Array<Audit.AuditRecord> = []
        const audit = Audit.layer((record) => Effect.sync(() => records.push(record)))
        const options_ = options()
        const runs = options_.runs
        const server = yield* serve(turns, {
          ...options_,
          ...(runs === undefined ? undefined : { runs: (agent) => Layer.provide(runs(agent), audit) }),
          around: (app) => Layer.provide(app, audit)
        })
        yield* server.post("/agents/clerk/chat", message("Book both"))
        const [run] = yield* server.runs.list()
        const path = `/operator/runs/${run!.runId}`
        const list = (who: Who = "otto") =>
          Effect.map(server.get(`${path}/writes`, who), (answer) => (answer.json() as Listed).writes)
        const compensate = (who: Who, body: object = {}) => server.post(`${path}/compensations`, body, { who })
        assert.deepStrictEqual((yield* list()).map(brief), ["b1 done can", "b2 done can", "f1 unknown"])
        assert.strictEqual((yield* server.get(`${path}/writes`, "ada")).status, 403)
        assert.strictEqual((yield* server.get(`${path}/writes`, "else")).status, 404)
        for (const [who, status] of [["ada", 403], ["otto", 403], ["else", 403]] as const) {
          assert.strictEqual((yield* compensate(who)).status, status)
        }
        assert.strictEqual((yield* compensate("olga", { writes: ["none"] })).status, 422)
        assert.deepStrictEqual(server.world.deeds, ["book 7", "book down", "fax Ada"])

        const [first] = yield* list()
        const clicks = yield* Effect.all(
          [compensate("olga", { writes: [first!.id] }), compensate("olga", { writes: [first!.id] })],
          {
            concurrency: 2
          }
        )
        for (const { status } of clicks) assert.strictEqual(status, 200)
        const { status, json } = { ...(yield* compensate("olga")) }
        assert.strictEqual(status, 200)
        const { writes } = json() as Listed
        assert.deepStrictEqual(writes.map(brief), ["b1 compensated", "b2 not_compensated", "f1 unknown"])
        assert.deepInclude(writes[0], { by: "olga" })
        assert.deepInclude(writes[1], { by: "olga", because: "failed", error: "Down" })
        assert.deepStrictEqual(server.world.deeds.slice(3), ["cancel 7"])
        const requested = records.filter(({ decision }) => decision === "compensation_requested")
        assert.includeMembers(requested.map(({ by, callId }) => `${callId} ${by}`), ["b1 olga", "b2 olga"])

        const { outcomes } = (yield* server.get(`${path}/outcomes`, "otto")).json() as {
          readonly outcomes: ReadonlyArray<RunIndex.OpenOutcome>
        }
        assert.deepStrictEqual(
          outcomes.map(({ call: { callId, state } }) => `${callId} ${state}`).toSorted(),
          ["b1 undone", "b2 not_undone", "f1 unknown"]
        )
        const events = yield* server.get(`${path}/events`, "otto")
        assert.include(events.text, "\"hasCompensation\":true")
        assert.notInclude(events.text, "\"compensable\"")

        yield* server.post("/agents/clerk/chat", message("Are they gone?"))
        const { prompt } = yield* server.model.lastRequest
        const said = JSON.stringify(prompt.content)
        assert.include(
          said,
          "The call b1 of book with the arguments {\\\"room\\\":\\\"7\\\"} was compensated by a person"
        )
        assert.include(said, "The call b2 of book")
      }))

    it.live("are not compensated before their run has ended", () =>
      Effect.gen(function*() {
        const server = yield* serve([call("slow", {}), text("Done.")], options())
        yield* Effect.forkChild(server.post("/agents/clerk/chat", message("Slowly")))
        const runs = yield* server.runs.list().pipe(
          Effect.delay("10 millis"),
          Effect.repeat({ until: (found) => found.length > 0 })
        )
        const path = `/operator/runs/${runs[0]!.runId}`
        assert.strictEqual((yield* server.get(`${path}/writes`, "olga")).status, 409)
        assert.strictEqual((yield* server.post(`${path}/compensations`, {}, { who: "olga" })).status, 409)
        yield* server.open
        yield* server.runs.wait(runs[0]!.runId)
        assert.strictEqual((yield* server.get(`${path}/writes`, "olga")).status, 200)
      }))
  })
}
