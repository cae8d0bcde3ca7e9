/** Snapshots: refused if changed, resumed once, complete. */

import { assert, describe, it } from "@effect/vitest"
import { Drive, ScriptedModel } from "@recourse/testing"
import { Effect, Exit, Layer, Option, Redacted, Schema } from "effect"
import { TestClock } from "effect/testing"
import { execFileSync } from "node:child_process"
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Agent, Approval, RunRecord, Tool } from "@recourse/core"
import { makeAgent } from "../fixtures/refunds.ts"
import { NodeSqliteClient } from "@recourse/sql"
import { instantDigests } from "../support/instantDigests.ts"
import { lastResults } from "../support/kit.ts"
import { Note, Refund } from "../support/refundTools.ts"
import { fresh, key, only, paused, resumed, stored, twoCalls, withScript } from "../support/pausedCalls.ts"

describe("a snapshot", () => {
  it.effect("is refused if tampered, or of another key, version or agent", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const pause = yield* paused(log)
      const approval = [Approval.approve(only(pause))]
      const text = JSON.stringify(pause.snapshot)
      const reasonOf = (value: unknown, withKey = key) =>
        Effect.flip(fresh(log).resume(value, approval)).pipe(
          Effect.map((error) => (error as Approval.SnapshotRefused).reason),
          Effect.provide(Layer.merge(withKey, ScriptedModel.layer([])))
        )
      assert.strictEqual(yield* reasonOf(JSON.parse(text.replace("\"amount\":500", "\"amount\":501"))), "tampered")
      assert.strictEqual(yield* reasonOf(JSON.parse(text.replace("\"turns\":1", "\"turns\":0"))), "tampered")
      assert.strictEqual(yield* reasonOf({ ...pause.snapshot, mac: "00" }), "tampered")
      assert.strictEqual(yield* reasonOf({ ...pause.snapshot, mac: "not hex" }), "tampered")
      assert.strictEqual(yield* reasonOf("what"), "tampered")
      assert.strictEqual(yield* reasonOf(text.replace("\"amount\":500", "\"amount\":501")), "tampered")
      assert.strictEqual(
        yield* reasonOf(pause.snapshot, Approval.layerKey(Redacted.make("x".repeat(32)))),
        "tampered"
      )
      assert.strictEqual(yield* reasonOf({ ...pause.snapshot, version: 5 }), "version")
      const other = Agent.make("other", { tools: [Refund(log), Note(log)] })
      const refused = yield* Effect.flip(other.resume(pause.snapshot, approval)).pipe(Effect.provide(withScript([])))
      assert.strictEqual((refused as Approval.SnapshotRefused).reason, "agent")
      assert.deepStrictEqual(log, ["note a", "note b"])
    }))

  it.effect("resumes from its stored text, too", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const pause = yield* paused(log)
      yield* fresh(log).resume(JSON.stringify(pause.snapshot), [Approval.approve(only(pause))]).pipe(
        Effect.provide(withScript([ScriptedModel.text("Done.")]))
      )
      assert.strictEqual(log.filter((entry) => entry.startsWith("refund")).length, 1)
    }))

  it.effect("of which a part is lost is not read", () =>
    Effect.gen(function*() {
      const decided = { identity: "i", arguments: {}, response: { result: 1 } }
      const begun = { identity: "i", tool: "note" }
      const nested = { callId: "c", arguments: {}, snapshot: {}, approvals: [decided], begun: [begun] }
      const { snapshot } = yield* paused([])
      const whole = {
        ...stored(snapshot) as object,
        replaced: { count: 1, prompt: [] },
        answers: { note: [{ key: "k", print: "p", times: 1 }] },
        steps: { input: "go", done: { a: { answer: 1 } }, nested: {} },
        round: { ...snapshot.round, nested: [nested], within: [{ ...nested, admitted: true, identity: "i" }] }
      }
      const isRead = Schema.is(Approval.Snapshot)
      assert.isTrue(isRead(whole))
      assert.isFalse(isRead({ ...whole, steps: { ...whole.steps, done: { a: 1 } } }))
      for (
        const [part, field] of [
          ["replaced", "count"],
          ["answers.note.0", "print"],
          ["steps", "input"],
          ["budget", "used"],
          ["round", "results"],
          ["round.calls.0", "name"],
          ["round.nested.0", "callId"],
          ["round.nested.0.approvals.0", "identity"],
          ["round.nested.0.approvals.0.response", "result"],
          ["round.within.0", "admitted"],
          ["round.within.0.begun.0", "tool"],
          ["", "mac"]
        ] as const
      ) {
        const lost = structuredClone(whole)
        const at = part.split(".").filter((key) => key !== "").reduce(
          (value: object, key) => Reflect.get(value, key),
          lost
        )
        assert.isTrue(Reflect.has(at, field), `${part} has ${field}`)
        Reflect.deleteProperty(at, field)
        assert.isFalse(isRead(lost), `${part} without ${field}`)
      }
    }))

  it.effect("is refused when the agent's tools have changed", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const pause = yield* paused(log)
      const other = Tool.make("refund", {
        parameters: Schema.Struct({ order: Schema.String, amount: Schema.String }),
        effects: "write",
        needsApproval: true,
        execute: () => Effect.void
      })
      const changed = Agent.make("refunds", { tools: [other, Note(log)] })
      const refused = yield* Effect.flip(changed.resume(pause.snapshot, [Approval.approve(only(pause))])).pipe(
        Effect.provide(withScript([]))
      )
      assert.strictEqual((refused as Approval.SnapshotRefused).reason, "tools_changed")
    }))

  it.effect("resumes once, so an approval sent twice runs a write once", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const pause = yield* paused(log)
      const approval = [Approval.approve(only(pause))]
      const both = yield* Effect.all([1, 2].map(() => Effect.exit(resumed(log, stored(pause.snapshot), approval))), {
        concurrency: 2
      })
      assert.strictEqual(both.filter(Exit.isSuccess).length, 1)
      assert.deepStrictEqual(log.filter((line) => line.startsWith("refund")), ["refund A-1 500"])
    }))

  it.effect("is resumed once by all processes that share a table", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const pause = yield* paused(log)
      const approval = [Approval.approve(only(pause))]
      // Each has a layer of its own, like each process.
      const resume = Effect.exit(
        resumed(log, stored(pause.snapshot), approval).pipe(
          Effect.provide(Approval.layerResumptionsSql(), { local: true })
        )
      )
      const both = [yield* resume, yield* resume]
      assert.deepStrictEqual(both.map(Exit.isSuccess), [true, false])
      assert.deepStrictEqual(log.filter((line) => line.startsWith("refund")), ["refund A-1 500"])
    }).pipe(Effect.provide(NodeSqliteClient.layer({ filename: ":memory:" }))))

  it.effect("keeps counting turns and the time of execution", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const pause = yield* paused(log, twoCalls, { turns: 2 })
      const agent = fresh(log, { turns: 2 })
      const again = ScriptedModel.call("note", { text: "c" }, { id: "n" })
      const exit = yield* Effect.exit(agent.resume(pause.snapshot, [Approval.approve(only(pause))])).pipe(
        Effect.provide(withScript([again, ScriptedModel.text("one too many")]))
      )
      const error = Option.getOrThrow(Exit.findErrorOption(exit)) as { _tag: string; reason: string; used: number }
      assert.deepStrictEqual([error._tag, error.reason, error.used], ["BudgetExceeded", "turns", 2])

      const slow = Tool.make("slow", {
        effects: "read",
        needsApproval: true,
        execute: () => Effect.sleep("40 seconds")
      })
      const timed = () => Agent.make("timed", { tools: [slow], budget: { duration: "60 seconds" } })
      const first = yield* Drive.drive(
        timed().start("go").pipe(
          Effect.provide(
            Layer.merge(instantDigests, withScript([ScriptedModel.delay("30 seconds", ScriptedModel.call("slow", {}))]))
          )
        ),
        { step: "1 second" }
      )
      yield* TestClock.adjust("2 hours")
      const waited = first as Approval.Paused
      const late = yield* Drive.drive(
        Effect.exit(timed().resume(waited.snapshot, [Approval.approve(only(waited))])).pipe(
          Effect.provide(withScript([ScriptedModel.text("late")]))
        ),
        { step: "1 second" }
      )
      const stopped = Option.getOrThrow(Exit.findErrorOption(late)) as { _tag: string; reason: string }
      assert.deepStrictEqual([stopped._tag, stopped.reason], ["BudgetExceeded", "duration"])
    }))

  it.effect("keeps usage, executed calls and the run's id", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const pause = yield* paused(log)
      const next = yield* resumed(log, stored(pause.snapshot), [Approval.approve(only(pause))], [
        ScriptedModel.call("refund", { order: "B", amount: 900 }, { id: "r2" })
      ])
      const { snapshot } = next.outcome as Approval.Paused
      assert.strictEqual(snapshot.runId, pause.snapshot.runId)
      assert.strictEqual(snapshot.usage["turns"], 2)
      assert.strictEqual(snapshot.usage["toolCalls"], 3)
      assert.strictEqual(snapshot.executed.length, 3)
    }))

  it.effect("resumes behind executed calls after a failure of the model", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const exit = yield* Effect.exit(fresh(log).run("go")).pipe(
        Effect.provide(withScript([ScriptedModel.call("note", { text: "a" }), ScriptedModel.failure("NetworkError")]))
      )
      const record = Option.getOrThrow(RunRecord.fromCause((exit as Exit.Failure<never, never>).cause))
      const snapshot = Option.getOrThrow(yield* RunRecord.snapshot(record).pipe(Effect.provide(key)))
      const { outcome, requests } = yield* resumed(log, stored(snapshot), [])
      assert.deepStrictEqual(outcome, new Approval.Completed({ output: "done" }))
      assert.deepStrictEqual(lastResults(requests[0]!.prompt).map((result) => result.result), ["noted"])
      assert.deepStrictEqual(log, ["note a"])
    }))

  it("resumes in another process without repeating completed calls", async () => {
    const folder = mkdtempSync(join(tmpdir(), "recourse-"))
    const effects = join(folder, "effects")
    const file = join(folder, "snapshot.json")
    const outcome = await Effect.runPromise(makeAgent(effects).start("go").pipe(Effect.provide(withScript([twoCalls]))))
    assert.strictEqual(outcome._tag, "Paused")
    writeFileSync(file, JSON.stringify((outcome as Approval.Paused).snapshot))
    const script = join(import.meta.dirname, "../fixtures", "refunds.ts")
    const printed = execFileSync(process.execPath, [script, file, effects], { encoding: "utf8" })
    const answer = JSON.parse(printed) as { readonly output: string; readonly last: ReadonlyArray<{ result: unknown }> }
    assert.strictEqual(answer.output, "done")
    assert.deepStrictEqual(answer.last.map((part) => part.result), ["noted", "refunded", "noted"])
    assert.strictEqual(readFileSync(effects, "utf8"), "note a\nnote b\nrefund A-1 500\n")
  })
})
