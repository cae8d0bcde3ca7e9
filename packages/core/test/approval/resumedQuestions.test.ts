/** Questions of calls and agents that resume: answered, asked again or withdrawn. */

import { assert, describe, it } from "@effect/vitest"
import { Drive, ScriptedModel, VirtualTime } from "@recourse/testing"
import { Agent, Approval, Audit, Recovery, RunRecord, Tool } from "@recourse/core"
import { Effect, Exit, Layer, Option, Schedule, Schema } from "effect"
import { TestClock } from "effect/testing"
import { collect } from "../support/kit.ts"
import {
  agentOf,
  type Call,
  Declined,
  goneOn,
  ids,
  input,
  key,
  models,
  type Named,
  pausedOf,
  played,
  tool,
  toolOf,
  world
} from "../support/withdrawnQuestions.ts"

describe("a call that resumes", () => {
  const calls = { boss: "outer" }

  const approve = (call: Approval.PendingCall) => [Approval.approve(call)]

  const reject = (call: Approval.PendingCall) => [Approval.reject(call, "too much")]

  for (const isPart of [false, true]) {
    const about = isPart ? "behind a write" : "with nothing done before"
    const outerOf = ({ ask, book, made }: ReturnType<typeof world>) => {
      let times = 0
      const asks = isPart ? Effect.andThen(book.call, ask.call) : ask.call
      return made("outer", Effect.suspend(() => times++ === 0 ? asks : Effect.succeed("without")))
    }

    it.effect(`without the approved call withdraws the question: ${about}`, () =>
      Effect.gen(function*() {
        const here = world()
        const boss = agentOf("boss", [outerOf(here)])
        const { audit, results } = yield* goneOn(calls, boss, boss, approve)
        assert.deepStrictEqual(audit, ["boss approved outer/ask_1", "boss cancelled outer/ask_1"])
        assert.deepStrictEqual(results, ["boss outer/ask_1 approval_required", "boss outer done"])
        assert.notInclude(here.log, "ask")
      }))

    it.effect(`with a rejection names its author, audited once: ${about}`, () =>
      Effect.gen(function*() {
        const here = world()
        const boss = agentOf("boss", [outerOf(here)])
        const { audit, events, results } = yield* goneOn(calls, boss, boss, reject)
        assert.deepStrictEqual(audit, ["boss rejected outer/ask_1"])
        assert.deepStrictEqual(results, [
          "boss outer/ask_1 permission_denied",
          `boss outer ${isPart ? "outcome_unknown" : "permission_denied"}`
        ])
        const told = events.flatMap((event) => event._tag === "ToolResult" ? [event] : [])
        assert.deepInclude(told[0], { callId: "outer/ask_1", tool: "ask", deniedBy: "person" })
        assert.include(JSON.stringify(told[0]), "too much")
        assert.notInclude(here.log, "ask")
      }))
  }

  it.effect("and makes the approved call emits its result, without the question", () =>
    Effect.gen(function*() {
      const { ask, log, made } = world()
      const boss = agentOf("boss", [made("outer", ask.call)])
      const { audit, results } = yield* goneOn(calls, boss, boss, approve)
      assert.deepStrictEqual(audit, ["boss approved outer/ask_1"])
      assert.deepStrictEqual(results, ["boss outer/ask_1 done", "boss outer done"])
      assert.deepStrictEqual(log, ["ask"])
    }))

  it.effect("and waits for the next one does not mention the first", () =>
    Effect.gen(function*() {
      const { ask, log, made } = world()
      const pay = tool("pay", { effects: "write", needsApproval: true, execute: () => Effect.succeed("paid") })
      const boss = agentOf("boss", [made("outer", Effect.andThen(ask.call, pay.call))])
      const { audit, results } = yield* goneOn(calls, boss, boss, approve)
      assert.deepStrictEqual(audit, ["boss approved outer/ask_1", "boss approval_requested outer/pay_1"])
      assert.deepStrictEqual(results, ["boss outer/ask_1 done"])
      assert.deepStrictEqual(log, ["ask"])
    }))

  it.effect("and makes the approved call under another id ends the question", () =>
    Effect.gen(function*() {
      const { ask, log, made } = world()
      let times = 0
      const middle = made("middle", Effect.suspend(() => times++ % 2 === 0 ? Effect.succeed("early") : ask.call))
      const twice = (call: Call) => Effect.andThen(call, call)
      const outer = made("outer", middle.call) as never as Tool.Tool<string, never, never, never, never>
      const boss = agentOf("boss", [outer.pipe(Tool.onError(twice as never)) as never])
      const { asked, audit, results } = yield* goneOn(calls, boss, boss, approve)
      assert.deepStrictEqual(asked, ["outer/middle_2/ask_1"])
      assert.deepStrictEqual(audit, ["boss approved outer/middle_2/ask_1"])
      assert.deepStrictEqual(results, [
        "boss outer/middle_2 done",
        "boss outer/middle_1/ask_1 done",
        "boss outer/middle_1 done",
        "boss outer/middle_2/ask_1 approval_required",
        "boss outer done"
      ])
      assert.deepStrictEqual(log, ["ask"])
    }))

  it.effect("and ends with the approved call running withdraws none", () =>
    Effect.gen(function*() {
      for (const effects of ["write", "read"]) {
        const { does, log, look, made } = world()
        const ask = tool("ask", {
          effects,
          needsApproval: true,
          execute: () => Effect.andThen(does("ask"), Effect.never)
        })
        let lives = 0
        const aside = Effect.andThen(Effect.forkChild(ask.call, { startImmediately: true }), Effect.sleep("1 second"))
        const boss = agentOf("boss", [made("outer", Effect.suspend(() => lives++ === 0 ? ask.call : aside)), look])
        const { audit, results } = yield* Drive.drive(goneOn({ boss: "outer look" }, boss, boss, approve))
        assert.deepStrictEqual(audit, ["boss approved outer/ask_1"])
        assert.deepStrictEqual(
          results,
          effects === "write"
            ? ["boss outer outcome_unknown", "boss outer/ask_1 outcome_unknown"]
            : ["boss outer done", "boss outer/ask_1 not_run"]
        )
        assert.include(log, "ask")
      }
    }))

  it.effect("with a rejection, interrupted anywhere, is either rejected or cancelled", () =>
    Effect.gen(function*() {
      const { ask, made } = world()
      const boss = agentOf("boss", [made("outer", ask.call)])
      const { pending, snapshot } = pausedOf(yield* played(calls, boss.start("go")))
      const seen = new Set<string>()
      for (let interruptAt = 1, isOver = false; !isOver; interruptAt += 7) {
        const { events, layer } = collect()
        const audit: Array<string> = []
        const resumed = boss.resume(JSON.parse(JSON.stringify(snapshot)), pending.flatMap(reject)).pipe(Effect.provide([
          key,
          models(calls),
          layer,
          Layer.succeed(Approval.Resumptions, { claim: () => Effect.succeed(true) }),
          Audit.layer(({ callId, decision }) => Effect.sync(() => void audit.push(`${decision} ${callId}`)))
        ]))
        const { exit } = yield* VirtualTime.run(resumed as Effect.Effect<unknown>, { interruptAt })
        isOver = Exit.isSuccess(exit)
        const codes = events.flatMap((event) => event._tag === "ToolResult" ? [`${event.callId} ${event.code}`] : [])
        seen.add([...audit, ...codes].join(", "))
      }
      assert.deepStrictEqual([...seen].toSorted(), [
        "",
        "cancelled outer/ask_1, cancelled outer, outer/ask_1 approval_required, outer not_run",
        "rejected outer/ask_1, outer/ask_1 permission_denied, outer permission_denied"
      ])
    }))

  it.effect("and waits for another call instead withdraws the first question", () =>
    Effect.gen(function*() {
      const { ask, log, made } = world()
      const pay = tool("pay", { effects: "write", needsApproval: true, execute: () => Effect.succeed("paid") })
      let times = 0
      const boss = agentOf("boss", [made("outer", Effect.suspend(() => times++ === 0 ? ask.call : pay.call))])
      const { audit, exit, results } = yield* goneOn(calls, boss, boss, approve)
      assert.deepStrictEqual(audit, [
        "boss approved outer/ask_1",
        "boss cancelled outer/ask_1",
        "boss approval_requested outer/pay_1"
      ])
      assert.deepStrictEqual(results, ["boss outer/ask_1 approval_required"])
      assert.deepStrictEqual(pausedOf({ exit }).pending.map(({ callId }) => callId), ["outer/pay_1"])
      assert.deepStrictEqual(log, [])
    }))

  it.effect("asks again if the approval was late, withdrawing none", () =>
    Effect.gen(function*() {
      const { ask, log, made } = world()
      const boss = agentOf("boss", [made("outer", ask.call)], { approval: { timeToLive: "1 hour" } })
      const { pending, snapshot } = pausedOf(yield* played(calls, boss.start("go")))
      yield* TestClock.adjust("61 minutes")
      const late = yield* played(calls, boss.resume(JSON.parse(JSON.stringify(snapshot)), pending.flatMap(approve)))
      assert.deepStrictEqual(
        pausedOf(late).pending.map(({ callId, code }) => [callId, code]),
        [["outer/ask_1", "approval_expired"]]
      )
      assert.deepStrictEqual([late.audit, late.results], [["boss approval_expired outer/ask_1"], []])
      assert.deepStrictEqual(log, [])
    }))

  for (const undecided of ["outer", "mid", "ask"]) {
    it.effect(`keeps undecided calls pending: ${undecided}`, () =>
      Effect.gen(function*() {
        const { ask, log, made } = world()
        const mid = toolOf(agentOf("mid", [ask], input))
        const boss = agentOf("boss", [made("outer", ask.call), mid, ask])
        const { asked, audit, exit, results } = yield* goneOn(
          { boss: "outer mid ask", mid: "ask" },
          boss,
          boss,
          (call) => call.callId.startsWith(undecided) ? [] : [Approval.approve(call)]
        )
        const id = { outer: "outer/ask_1", mid: "mid/ask", ask: "ask" }[undecided]!
        assert.deepStrictEqual(pausedOf({ exit }).pending.map(({ callId }) => callId), [id])
        assert.deepStrictEqual(asked, ["outer/ask_1", "mid/ask", "ask"])
        assert.strictEqual(log.length, 2)
        assert.deepStrictEqual(audit.filter((line) => line.startsWith("boss ") && line.endsWith(` ${id}`)), [])
        assert.isFalse(results.some((line) => line.includes("approval_required")))
      }))
  }

  it.effect("with something else instead of its agent withdraws inner questions", () =>
    Effect.gen(function*() {
      const { ask, book, log, look } = world()
      // Another agent runs instead of the resumed one: it has the path of the first run.
      const other = Effect.as(agentOf("other", [look], input).run({} as never), "skipped")
      const agent = (isSkipped: boolean) => {
        const mid = toolOf(agentOf("mid", [book, ask], { ...input, compensation: {} }))
        const skips = (call: Call) => isSkipped ? other : call
        const skipping = (mid as never as Tool.Tool<string, never, never, never, never>).pipe(
          Tool.onError(skips as never)
        ) as never as Named
        return agentOf("boss", [skipping])
      }
      const { audit, elsewhere, interrupted, results } = yield* goneOn(
        { boss: "mid", mid: "book ask", other: "look" },
        agent(false),
        agent(true),
        approve
      )
      assert.deepStrictEqual(results, ["boss/other look done", "boss/mid ask approval_required", "boss mid done"])
      assert.deepStrictEqual(elsewhere.filter(({ path }) => path.at(-1) === "mid"), [])
      assert.deepStrictEqual(interrupted, ["boss mid mid 1"])
      assert.deepStrictEqual(log, ["book", "look", "unbook"])
      assert.deepStrictEqual(audit, ["boss/mid compensated book"])
    }))
})

it.effect("an agent resumed by hand after a model failure fails normally", () =>
  Effect.gen(function*() {
    const { look } = world()
    const mid = agentOf("mid", [look], input)
    const ended: Array<unknown> = []
    const hand = tool("hand", {
      effects: "read",
      execute: () =>
        Effect.gen(function*() {
          const first = yield* Effect.sandbox(Effect.flip(Effect.sandbox(mid.run({} as never))))
          const snapshot = yield* RunRecord.snapshot(Option.getOrThrow(RunRecord.fromCause(first)))
          const second = yield* Effect.flip(Effect.sandbox(mid.resume(Option.getOrThrow(snapshot), [])))
          ended.push(...[first, second].map(({ reasons }) => reasons.map((reason) => reason._tag)))
          return "tried twice"
        }) as never
    })
    const script = ScriptedModel.layer((request, index) =>
      request.prompt.content[0]!.content === "mid"
        ? ScriptedModel.failure("NetworkError")
        : ScriptedModel.steps(ids("hand") as never)(request, index)
    )
    yield* agentOf("boss", [hand]).run("go").pipe(Effect.provide([key, script]))
    assert.deepStrictEqual(ended, [["Fail"], ["Fail"]])
  }))

describe("an agent within a tool of the run that ends", () => {
  it.effect("is called off with the call of the agent, live", () =>
    Effect.gen(function*() {
      const { ask, made } = world()
      const deep = toolOf(agentOf("deep", [ask], input))
      const mid = toolOf(agentOf("mid", [deep, ask, made("outer", ask.call)], input))
      const boom = tool("boom", { effects: "read", execute: () => Effect.delay(Effect.die("no"), "1 second") })
      const boss = agentOf("boss", [mid, made("plain", ask.call), boom])
      const { exit, interrupted, results, started } = yield* Drive.drive(
        played({ boss: "mid plain boom", mid: "deep ask outer", deep: "ask" }, boss.report("go"))
      )
      const report = (Exit.isSuccess(exit) ? exit.value : assert.fail()) as RunRecord.RunRecord
      assert.deepStrictEqual(
        report.executed.map(({ attempt, callId, outcome, tool }) => `${tool} ${callId} ${attempt} ${outcome}`)
          .toSorted(),
        [
          "boom boom 1 failure",
          "deep deep 1 interrupted",
          "mid mid 1 interrupted",
          "outer outer 1 failure",
          "plain plain 1 failure"
        ]
      )
      assert.deepStrictEqual(results.toSorted(), [
        "boss boom not_run",
        "boss mid approval_required",
        "boss plain approval_required",
        "boss plain/ask_1 approval_required",
        "boss/mid ask approval_required",
        "boss/mid deep approval_required",
        "boss/mid outer approval_required",
        "boss/mid outer/ask_1 approval_required",
        "boss/mid/deep ask approval_required"
      ])
      assert.deepStrictEqual(
        started.toSorted(),
        results.map((line) => line.slice(0, line.lastIndexOf(" "))).toSorted()
      )
      assert.deepStrictEqual(interrupted.toSorted(), [
        "boss mid mid 1",
        "boss plain plain 1",
        "boss/mid deep deep 1",
        "boss/mid outer outer 1"
      ])
    }))

  it.effect("is withdrawn in the waiting attempt; the failed one stays failed", () =>
    Effect.gen(function*() {
      const { ask } = world()
      let times = 0
      const fails = Agent.fromFunction(
        "fails",
        () => times++ === 0 ? Effect.fail(new Declined()) : Effect.succeed("go")
      )
      const again = fails.pipe(
        Agent.andThen(agentOf("mid", [ask], input) as never),
        Agent.asTool("mid", { description: "Does it", parameters: Schema.Struct({}), success: Schema.String } as never),
        Tool.onError(Recovery.retry({ times: 1, schedule: Schedule.forever }) as never) as never
      ) as never as Named
      const boom = tool("boom", { effects: "read", execute: () => Effect.delay(Effect.die("no"), "1 second") })
      const { events, exit, interrupted } = yield* Drive.drive(
        played({ boss: "mid boom", mid: "ask" }, agentOf("boss", [again, boom]).report("go"))
      )
      const report = (Exit.isSuccess(exit) ? exit.value : assert.fail()) as RunRecord.RunRecord
      assert.deepStrictEqual(
        report.executed.flatMap(({ attempt, outcome, tool }) => tool === "boom" ? [] : [`${attempt} ${outcome}`]),
        ["1 failure", "2 interrupted"]
      )
      assert.deepStrictEqual(interrupted, ["boss mid mid 2"])
      const runsWith = (tag: "ToolCallStarted" | "ToolResult") =>
        events.flatMap((event) => event._tag === tag && event.callId === "ask" ? [event.agentRunId] : [])
      assert.deepStrictEqual(runsWith("ToolResult"), runsWith("ToolCallStarted"))
    }))

  it.effect("is withdrawn next to a failed attempt, which has ended once", () =>
    Effect.gen(function*() {
      const { ask } = world()
      let times = 0
      const fails = Agent.fromFunction(
        "fails",
        () => ++times === 2 ? Effect.fail(new Declined()) : Effect.succeed("go")
      )
      const raced = fails.pipe(
        Agent.andThen(agentOf("mid", [ask], input) as never),
        Agent.asTool("mid", { description: "Does it", parameters: Schema.Struct({}), success: Schema.String } as never),
        Tool.onError(((call: Call) => Effect.race(call, call)) as never)
      ) as never as Named
      const boom = tool("boom", { effects: "read", execute: () => Effect.delay(Effect.die("no"), "1 second") })
      const { events, results } = yield* Drive.drive(
        played({ boss: "mid boom", mid: "ask" }, agentOf("boss", [raced, boom]).report("go"))
      )
      assert.deepStrictEqual(
        events.flatMap((event) =>
          event._tag === "ToolAttemptFailed" && event.callId === "mid" ? [`${event.attempt} ${event.error}`] : []
        ),
        ["2 ExecutionError", "1 Interrupted"]
      )
      assert.include(results, "boss mid approval_required")
    }))
})
