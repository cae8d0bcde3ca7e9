import { assert, describe, it } from "@effect/vitest"
import { ScriptedModel } from "@recourse/testing"
import { type Cause, Duration, Effect, Exit, Layer, Option, Redacted, Schema, Stream } from "effect"
import { TestClock } from "effect/testing"
import { Agent, Approval, Policy, Recovery, RunRecord, Tool } from "@recourse/core"
import { collect, lastResults } from "../support/kit.ts"
import { Refund } from "../support/refundTools.ts"
import { fresh, only, paused, resumed, stored, twoCalls, withScript } from "../support/pausedCalls.ts"

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
