import { assert, describe, it } from "@effect/vitest"
import { Drive, ScriptedModel } from "@recourse/testing"
import { type Cause, Duration, Effect, Exit, Layer, Option, Redacted, Schema, Stream } from "effect"
import { TestClock } from "effect/testing"
import { execFileSync } from "node:child_process"
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Agent, Approval, Policy, Recovery, RunRecord, Tool } from "@recourse/core"
import { makeAgent } from "../fixtures/refunds.ts"
import { NodeSqliteClient } from "@recourse/sql"
import { instantDigests } from "../support/instantDigests.ts"
import { collect, lastResults } from "../support/kit.ts"
import { Note, Refund } from "../support/refundTools.ts"

const key = Approval.layerKey(Redacted.make("0123456789abcdef0123456789abcdef"))

/** A fresh agent value, like in another process. */
const fresh = (log: Array<string>, options?: { readonly turns?: number }) =>
  Agent.make("refunds", {
    tools: [Refund(log), Note(log)],
    defaults: { onError: Recovery.standard },
    approval: { timeToLive: "1 hour" },
    ...(options?.turns === undefined ? undefined : { budget: { turns: options.turns } })
  })

const twoCalls = ScriptedModel.calls([
  { name: "note", params: { text: "a" } },
  { name: "refund", params: { order: "A-1", amount: 500 } },
  { name: "note", params: { text: "b" } }
])

const withScript = (turns: ReadonlyArray<ScriptedModel.Turn>) => Layer.merge(key, ScriptedModel.layer(turns))

const paused = (log: Array<string>, turn: ScriptedModel.Turn = twoCalls, options?: { readonly turns?: number }) =>
  Effect.gen(function*() {
    const outcome = yield* fresh(log, options).start("go").pipe(Effect.provide(withScript([turn])))
    assert.strictEqual(outcome._tag, "Paused")
    return outcome as Approval.Paused
  })

/** JSON and back, as if the snapshot had been stored. */
const stored = (snapshot: Approval.Snapshot): unknown => JSON.parse(JSON.stringify(snapshot))

/** Resumes with a fresh agent; answers the outcome and the results of the next request. */
const resumed = (
  log: Array<string>,
  snapshot: unknown,
  decisions: ReadonlyArray<Approval.Decision>,
  turns: ReadonlyArray<ScriptedModel.Turn> = [ScriptedModel.text("done")]
) =>
  Effect.gen(function*() {
    const outcome = yield* fresh(log).resume(snapshot, decisions)
    const script = yield* ScriptedModel.ScriptedModel
    const requests = yield* script.requests
    return { outcome, results: requests.flatMap((request) => lastResults(request.prompt)), requests }
  }).pipe(Effect.provide(withScript(turns)))

const only = (paused: Approval.Paused): Approval.PendingCall => {
  assert.strictEqual(paused.pending.length, 1)
  return paused.pending[0]!
}

const code = (result: { readonly result: unknown } | undefined) => (result?.result as { readonly code?: string })?.code

describe("a run that needs an approval", () => {
  it.effect("pauses with the exact pending call after the others have run", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const pause = yield* paused(log)
      assert.deepStrictEqual(log, ["note a", "note b"])
      const pending = only(pause)
      assert.deepStrictEqual(pending.arguments, { order: "A-1", amount: 500 })
      // printf '{"amount":500,"order":"A-1"}' | sha256sum
      assert.strictEqual(pending.argumentsHash, "c9f5c79c5cd8b0bf825fb3c0049b4dfae2c10d78d1cf4a27f0b8ded625a59cf2")
      assert.strictEqual(pending.expiresAt - pending.requestedAt, Duration.toMillis("1 hour"))
    }))

  it.effect("approve: runs the call once, keeps result order, repeats no call", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const pause = yield* paused(log)
      const { outcome, results } = yield* resumed(log, stored(pause.snapshot), [Approval.approve(only(pause))])
      assert.deepStrictEqual(outcome, new Approval.Completed({ output: "done" }))
      assert.deepStrictEqual(results.map((result) => result.result), ["noted", { refunded: 500 }, "noted"])
      assert.deepStrictEqual(results.map((result) => result.id), ["call_1", "call_2", "call_3"])
      assert.deepStrictEqual(log, ["note a", "note b", "refund A-1 500"])
    }))

  it.effect("resumes streamed, and fails if it waits again", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const pause = yield* paused(log)
      const streamed = (turns: ReadonlyArray<ScriptedModel.Turn>) => {
        const agent = fresh(log).pipe(Agent.provide(withScript(turns)))
        return agent.resumeStream(stored(pause.snapshot), [Approval.approve(only(pause))]).pipe(
          Stream.runCollect,
          Effect.provideService(Approval.Resumptions, { claim: () => Effect.succeed(true) })
        )
      }
      const events = yield* streamed([ScriptedModel.text("done")])
      assert.isTrue(events.some((event) => event._tag === "TextDelta"))
      const last = events.at(-1)
      assert.strictEqual(last?._tag === "RunFinished" ? last.output : last?._tag, "done")
      assert.deepStrictEqual(log, ["note a", "note b", "refund A-1 500"])
      const again = yield* Effect.flip(streamed([ScriptedModel.call("refund", { order: "B-2", amount: 300 })]))
      assert.strictEqual(again._tag, "ApprovalRequired")
      if (again._tag !== "ApprovalRequired") return
      assert.deepStrictEqual(again.snapshot.round?.pending.map((pending) => pending.arguments), [
        { order: "B-2", amount: 300 }
      ])
    }))

  it.effect("reject: reports the reason to the model without running the call", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const pause = yield* paused(log)
      const { results } = yield* resumed(log, stored(pause.snapshot), [
        Approval.reject(only(pause), "Refund at most 100")
      ])
      assert.strictEqual(code(results[1]), "permission_denied")
      assert.include(JSON.stringify(results[1]), "Refund at most 100")
      assert.deepStrictEqual(log, ["note a", "note b"])
    }))

  it.effect("edit: checks and uses the arguments, and stores them in the history", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const pause = yield* paused(log)
      const { requests, results } = yield* resumed(log, stored(pause.snapshot), [
        Approval.edit(only(pause), { order: "A-1", amount: 200 }, { by: "ada" })
      ])
      assert.deepStrictEqual(results[1]?.result, { refunded: 200 })
      assert.deepStrictEqual(log, ["note a", "note b", "refund A-1 200"])
      assert.include(JSON.stringify(requests[0]?.prompt), "\"by\":\"ada\"")

      const again = yield* paused(log)
      const bad = yield* resumed(log, again.snapshot, [Approval.edit(only(again), { order: "A-1" })])
      assert.strictEqual(code(bad.results[1]), "missing_required_field")
      assert.deepStrictEqual(log.filter((line) => line.startsWith("refund")), ["refund A-1 200"])
    }))

  it.effect("respond: the answer is given, checked before anything runs", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const pause = yield* paused(log)
      const refused = yield* Effect.flip(resumed(log, pause.snapshot, [Approval.respond(only(pause), "no")]))
      assert.strictEqual((refused as Approval.DecisionRefused).reason, "invalid_result")
      const { results } = yield* resumed(log, pause.snapshot, [Approval.respond(only(pause), { refunded: 7 })])
      assert.deepStrictEqual(results[1]?.result, { refunded: 7 })
      assert.deepStrictEqual(log, ["note a", "note b"])
    }))

  it.effect("respond: accepts null from a tool without an answer", () =>
    Effect.gen(function*() {
      const Erase = Tool.make("erase", { needsApproval: true, effects: "write", execute: () => Effect.void })
      const agent = Agent.make("eraser", { tools: [Erase], defaults: { onError: Recovery.standard } })
      const script = withScript([ScriptedModel.call("erase", {}), ScriptedModel.text("erased")])
      const outcome = yield* Effect.gen(function*() {
        const pause = (yield* agent.start("go")) as Approval.Paused
        return yield* agent.resume(stored(pause.snapshot), [Approval.respond(only(pause), null)])
      }).pipe(Effect.provide(script))
      assert.deepStrictEqual(outcome, new Approval.Completed({ output: "erased" }))
    }))

  it.effect("without a decision about it, a call waits on", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const pause = yield* paused(
        log,
        ScriptedModel.calls([
          { name: "refund", params: { order: "A", amount: 500 } },
          { name: "refund", params: { order: "B", amount: 600 } }
        ])
      )
      const first = yield* resumed(log, stored(pause.snapshot), [Approval.approve(pause.pending[1]!)], [])
      assert.strictEqual(first.outcome._tag, "Paused")
      assert.deepStrictEqual(log, ["refund B 600"])
      const rest = first.outcome as Approval.Paused
      const { results } = yield* resumed(log, stored(rest.snapshot), [Approval.approve(only(rest))])
      assert.deepStrictEqual(results.map((result) => result.result), [{ refunded: 500 }, { refunded: 600 }])
      assert.deepStrictEqual(log, ["refund B 600", "refund A 500"])
    }))

  it.effect("an approval that comes too late asks again", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const pause = yield* paused(log)
      yield* TestClock.adjust("61 minutes")
      const late = yield* resumed(log, stored(pause.snapshot), [Approval.approve(only(pause))], [])
      const again = late.outcome as Approval.Paused
      assert.strictEqual(only(again).code, "approval_expired")
      assert.deepStrictEqual(log, ["note a", "note b"])
      const { results } = yield* resumed(log, stored(again.snapshot), [Approval.approve(only(again))])
      assert.deepStrictEqual(results[1]?.result, { refunded: 500 })
    }))

  it.effect("refuses decisions for other arguments, unknown calls, or given twice", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const pause = yield* paused(log)
      const call = only(pause)
      const cases = [
        [[{ ...Approval.approve(call), argumentsHash: "0".repeat(64) }], "other_arguments"],
        [[{ ...Approval.approve(call), callId: "call_9" }], "unknown_call"],
        [[Approval.approve(call), Approval.reject(call, "no")], "twice"]
      ] as const
      for (const [decisions, reason] of cases) {
        const refused = yield* Effect.flip(resumed(log, pause.snapshot, decisions))
        assert.strictEqual((refused as Approval.DecisionRefused).reason, reason)
      }
      assert.deepStrictEqual(log, ["note a", "note b"])
    }))

  it.effect("asks again if a fixer changes the approved arguments", () =>
    Effect.gen(function*() {
      const runs: Array<number> = []
      const makeAgent = () => {
        const Look = Tool.make("look", {
          parameters: Schema.Struct({ n: Schema.Number }),
          success: Schema.Number,
          effects: "read",
          needsApproval: true,
          execute: ({ n }) =>
            Effect.suspend(() => (runs.push(n), n < 5 ? Effect.fail("small" as const) : Effect.succeed(n)))
        }).pipe(
          Tool.onError((call) =>
            call.pipe(Recovery.fix("ExecutionError", Agent.fromFunction("more", () => Effect.succeed("{\"n\":9}"))))
          )
        )
        return Agent.make("looker", { tools: [Look] })
      }
      const first = (yield* makeAgent().start("go").pipe(
        Effect.provide(withScript([ScriptedModel.call("look", { n: 1 })]))
      )) as Approval.Paused
      const second = (yield* makeAgent().resume(first.snapshot, [Approval.approve(only(first))]).pipe(
        Effect.provide(withScript([]))
      )) as Approval.Paused
      assert.deepStrictEqual([only(second).arguments, only(second).fixedBy], [{ n: 9 }, "more"])
      assert.deepStrictEqual(runs, [1])
      const refused = yield* Effect.flip(makeAgent().resume(second.snapshot, [Approval.approve(only(first))])).pipe(
        Effect.provide(withScript([]))
      )
      assert.strictEqual((refused as Approval.DecisionRefused).reason, "other_arguments")
      const done = yield* makeAgent().resume(second.snapshot, [Approval.approve(only(second))]).pipe(
        Effect.provide(withScript([ScriptedModel.text("done")]))
      )
      assert.strictEqual(done._tag, "Completed")
      assert.deepStrictEqual(runs, [1, 9])
    }))

  it.effect("a policy may deny an approved call, also with a person's arguments", () =>
    Effect.gen(function*() {
      for (
        const decide of [
          Approval.approve,
          (call: Approval.PendingCall) => Approval.edit(call, { order: "x", amount: 1 })
        ]
      ) {
        const log: Array<string> = []
        let closed = false
        const policy = Policy.make("closed", () => closed ? Policy.deny("closed by now") : Policy.allow)
        const agent = Agent.make("refunds", {
          tools: [Refund(log)],
          policies: [policy],
          defaults: { onError: Recovery.standard }
        })
        const script = withScript([
          ScriptedModel.call("refund", { order: "A", amount: 500 }),
          ScriptedModel.text("done")
        ])
        const result = yield* Effect.gen(function*() {
          const pause = (yield* agent.start("go")) as Approval.Paused
          closed = true
          yield* agent.resume(pause.snapshot, [decide(only(pause))])
          return lastResults((yield* (yield* ScriptedModel.ScriptedModel).lastRequest).prompt)[0]
        }).pipe(Effect.provide(script))
        assert.strictEqual(code(result), "permission_denied")
        assert.deepStrictEqual(log, [])
      }
    }))

  it.effect("a failing sibling ends the run and gives the pending call a result", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const { events, layer } = collect()
      // The platform hashes the pending call, not in virtual time.
      const later = Effect.promise(() => new Promise((resolve) => setTimeout(resolve, 40)))
      const boom = Tool.make("boom", { execute: () => Effect.andThen(later, Effect.fail("x" as const)) })
      const agent = Agent.make("a", { tools: [Refund(log), boom] })
      const report = yield* agent.report("go").pipe(
        Effect.provide(withScript([
          ScriptedModel.calls([
            { name: "refund", params: { order: "A", amount: 500 } },
            { name: "boom", params: {} }
          ])
        ])),
        Effect.provide(layer)
      )
      assert.isTrue(Exit.isFailure(report.exit))
      const results = lastResults(report.transcript)
      assert.deepStrictEqual(results.map(code), ["approval_required", "execution_error"])
      // Whoever shows the question to a person learns that it is off.
      const told = events.flatMap((event) => event._tag === "ToolResult" ? [[event.callId, event.code]] : [])
      assert.deepStrictEqual(told.toSorted(), [["call_1", "approval_required"], ["call_2", "execution_error"]])
      assert.deepStrictEqual(log, [])
    }))

  it.effect("`run` fails with the snapshot; its record is a valid prompt", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const { events, layer } = collect()
      const exit = yield* Effect.exit(fresh(log).run("go")).pipe(
        Effect.provide(Layer.merge(layer, withScript([twoCalls])))
      )
      assert.isTrue(Exit.isFailure(exit))
      const cause = (exit as Exit.Failure<never, Approval.ApprovalRequired>).cause
      const error = Option.getOrThrow(Exit.findErrorOption(exit)) as Approval.ApprovalRequired
      assert.strictEqual(error._tag, "ApprovalRequired")
      assert.strictEqual(error.snapshot.round?.pending[0]?.tool, "refund")
      const record = Option.getOrThrow(RunRecord.fromCause(cause as Cause.Cause<unknown>))
      const results = lastResults(record.transcript)
      assert.deepStrictEqual(results.map((result) => code(result)), [undefined, "approval_required", undefined])
      assert.strictEqual(events.find((event) => event._tag === "RunFinished")?.outcome, "paused")
    }))
})

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

describe("an approval without end", () => {
  it.effect("is valid whenever it comes", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const pay = Tool.make("pay", {
        success: Schema.String,
        effects: "write",
        needsApproval: true,
        execute: () => Effect.sync(() => (log.push("paid"), "paid"))
      })
      const agent = Agent.make("clerk", {
        tools: [pay],
        approval: { timeToLive: Duration.infinity },
        defaults: { onError: Recovery.standard }
      })
      const paused = (yield* agent.start("Pay").pipe(
        Effect.provide(ScriptedModel.layer([ScriptedModel.call("pay", {})]))
      )) as Approval.Paused
      yield* TestClock.adjust("10000 days")
      const snapshot: unknown = JSON.parse(JSON.stringify(paused.snapshot))
      const ended = yield* agent.resume(snapshot, [Approval.approve(paused.pending[0]!)]).pipe(
        Effect.provide(ScriptedModel.layer([ScriptedModel.text("done")]))
      )
      assert.strictEqual(ended._tag, "Completed")
      assert.deepStrictEqual(log, ["paid"])
    }).pipe(Effect.provide(Approval.layerKey(Redacted.make("k".repeat(32))))))
})
