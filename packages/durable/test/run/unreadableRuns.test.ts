/** Rows that were edited by hand or half written: their run ends, is listed, and disturbs no other. */
import { assert, describe, it } from "@effect/vitest"
import { Agent, Approval, Recovery, Runs, Tool } from "@recourse/core"
import { Durable, RunStore } from "@recourse/durable"
import { NodeSqliteClient } from "@recourse/sql"
import { ScriptedModel } from "@recourse/testing"
import { Effect, Layer, Stream } from "effect"
import { Prompt } from "effect/ai"
import { SqlClient } from "effect/sql"

const book = Tool.make("book", { effects: "write", execute: () => Effect.void })
const sign = Tool.make("sign", { effects: "read", needsApproval: true, execute: () => Effect.void })
const agent = Durable.make(
  Agent.make("clerk", { input: Prompt.Prompt, tools: [book, sign], defaults: { onError: Recovery.keepGoing } }),
  { input: Prompt.Prompt }
)

const model = ScriptedModel.layer(({ prompt }) => {
  const calls = prompt.content.filter(({ role }) => role === "tool").length
  return calls === 0
    ? ScriptedModel.call("book", {})
    : calls === 1
    ? ScriptedModel.call("sign", {})
    : ScriptedModel.text("done")
})

const texts = ["{\"a\":", "", "7", "{}"] as const

/** Columns, the texts that cannot be in them, and how their run is chosen. */
const columns: ReadonlyArray<readonly [column: string, table: string, texts: ReadonlyArray<string>]> = [
  ["input", "recourse_runs", texts.slice(0, 2)],
  ["pending", "recourse_runs", texts],
  ["snapshot", "recourse_runs", texts.slice(0, 2)],
  ["value", "recourse_steps", texts.slice(0, 2)],
  ["events", "recourse_steps", texts],
  ["decision", "recourse_decisions", texts.slice(0, 3)],
  ["messages", "recourse_messages", texts]
]

/** A run that waits is decided in a process without runners; its rows are changed; a runner takes it, and another run. */
const taken = (table: string, column: string, text: string) =>
  Effect.scoped(Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    const layer = (runners: boolean) =>
      Layer.fresh(runners ? Durable.layer([agent], { poll: "10 millis" }) : Durable.layerClient([agent])).pipe(
        Layer.provide([model, RunStore.layerSql()])
      )
    const input = Prompt.make("A booking that is as long as a text that is named in other rows, and not repeated: go")
    yield* Effect.scoped(Effect.gen(function*() {
      yield* Effect.provide(
        Effect.gen(function*() {
          const runs = yield* Runs.Runs
          yield* agent.start("r1", input)
          yield* Effect.repeat(runs.get("r1"), { until: ({ status }) => status === "waiting" })
        }),
        yield* Layer.build(layer(true))
      )
    }))
    return yield* Effect.gen(function*() {
      const runs = yield* Runs.Runs
      const { pending } = yield* runs.get("r1")
      yield* runs.decide("r1", pending.map((call) => Approval.approve(call)))
      const last = table === "recourse_steps"
      // The segment that continues has a step, like one of a killed owner.
      if (last) yield* sql`UPDATE recourse_steps SET leg = 1 WHERE run_id = 'r1' AND position = 0`
      yield* sql`UPDATE ${sql(table)} SET ${sql(column)} = ${text} WHERE run_id = 'r1'`
      const before = yield* runs.list()
      yield* agent.start("r2", input)
      return yield* Effect.provide(
        Effect.gen(function*() {
          const runs = yield* Runs.Runs
          yield* Effect.timeout(
            Effect.repeat(runs.get("r2"), { until: ({ status }) => status === "waiting" }),
            "5 seconds"
          )
          const end = yield* Effect.timeout(runs.wait("r1"), "5 seconds")
          const events = yield* Stream.runCollect(runs.events("r1"))
          const [row] = yield* sql<{ readonly epoch: number }>`SELECT epoch FROM recourse_runs WHERE run_id = 'r1'`
          return { before, end, events, listed: yield* runs.list(), epoch: row!.epoch }
        }),
        yield* Layer.build(layer(true))
      )
    }).pipe(Effect.provide(yield* Layer.build(layer(false))))
  })).pipe(Effect.provide(NodeSqliteClient.layer({ filename: ":memory:" })))

describe("a run with an unreadable", () => {
  for (const [column, table, texts] of columns) {
    for (const text of texts) {
      it.live(`${column} (${text || "empty"}) ends with RunUnreadable`, () =>
        Effect.gen(function*() {
          const { before, end, epoch, events, listed } = yield* taken(table, column, text)
          assert.deepStrictEqual(before.map(({ runId }) => runId), ["r1"])
          assert.deepStrictEqual([end.status, end.failure?.error], ["failed", "RunUnreadable"])
          assert.strictEqual(epoch, 2)
          assert.strictEqual(events.at(-1)?.event._tag, "RunFinished")
          assert.strictEqual(listed.length, 2)
        }))
    }
  }
})
