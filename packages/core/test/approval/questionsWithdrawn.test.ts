/**
 * Questions that a resumed or ended run abandons: each is withdrawn once, at its path, for listeners and for the audit.
 */

import { assert, describe, it } from "@effect/vitest"
import { VirtualTime } from "@recourse/testing"
import { Agent, AgentEvent, Approval, Audit, Tool } from "@recourse/core"
import { Cause, Deferred, Effect, Exit, Fiber, Layer } from "effect"
import { instantDigests } from "../support/instantDigests.ts"
import { collect } from "../support/kit.ts"
import {
  agentOf,
  type Call,
  goneOn,
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

const only = (id: string) => (call: Approval.PendingCall) => call.callId === id ? [Approval.approve(call)] : []

describe("a run that ends before its waiting calls resume", () => {
  it.effect("withdraws every question, also nested, and ends outer calls", () =>
    Effect.gen(function*() {
      const { ask, book, gate, log, look, made } = world()
      const deep = toolOf(agentOf("deep", [look, ask], input))
      const outer = made("outer", Effect.andThen(book.call, ask.call))
      const mid = toolOf(agentOf("mid", [look, ask, outer, deep, made("other", ask.call)], input))
      const boss = agentOf("boss", [mid, look, ask, made("plain", ask.call), gate])
      const calls = { boss: "mid look ask plain gate", mid: "look ask outer deep other", deep: "look ask" }
      const { asked, audit, elsewhere, exit, interrupted, results, started } = yield* goneOn(
        calls,
        boss,
        boss,
        only("gate")
      )
      assert.deepStrictEqual(asked, [
        "mid/ask",
        "mid/outer/ask_1",
        "mid/deep/ask",
        "mid/other/ask_1",
        "ask",
        "plain/ask_1",
        "gate"
      ])
      assert.isTrue(Exit.isFailure(exit))
      assert.deepStrictEqual(elsewhere, [])
      // Earlier events are not repeated: no call except the approved one, and no result of `look`.
      assert.deepStrictEqual(started, ["boss gate"])
      assert.deepStrictEqual(results, [
        "boss/mid/deep ask approval_required",
        "boss/mid outer/ask_1 approval_required",
        "boss/mid other/ask_1 approval_required",
        "boss/mid ask approval_required",
        "boss/mid outer outcome_unknown",
        "boss/mid deep approval_required",
        "boss/mid other approval_required",
        "boss plain/ask_1 approval_required",
        "boss mid outcome_unknown",
        "boss ask approval_required",
        "boss plain approval_required",
        "boss gate not_run"
      ])
      assert.deepStrictEqual(interrupted, ["boss/mid deep deep 1", "boss mid mid 1"])
      assert.deepStrictEqual(audit, [
        "boss approved gate",
        "boss defect gate",
        "boss/mid outcome_unknown outer",
        "boss outcome_unknown mid",
        "boss cancelled gate"
      ])
      assert.deepStrictEqual(log, ["look", "book", "look", "look"])
    }))

  it.effect("withdraws unreached calls", () =>
    Effect.gen(function*() {
      const { ask, book, gate, log, look, made } = world()
      const deep = toolOf(agentOf("deep", [look, ask], input))
      const outer = made("outer", Effect.andThen(book.call, ask.call))
      const mid = toolOf(agentOf("mid", [look, ask, outer, deep], input))
      const boss = agentOf("boss", [gate, mid, look, ask, made("plain", ask.call)], { concurrency: 1 })
      const calls = { boss: "gate mid look ask plain", mid: "look ask outer deep", deep: "look ask" }
      const { audit, exit, interrupted, results, started } = yield* goneOn(calls, boss, boss, only("gate"))
      assert.isTrue(Exit.isFailure(exit))
      // Each was emitted before the pause.
      assert.deepStrictEqual(started, ["boss gate"])
      assert.deepStrictEqual(results, [
        "boss/mid/deep ask approval_required",
        "boss/mid outer/ask_1 approval_required",
        "boss/mid ask approval_required",
        "boss/mid outer outcome_unknown",
        "boss/mid deep approval_required",
        "boss plain/ask_1 approval_required",
        "boss gate not_run",
        "boss mid outcome_unknown",
        "boss ask not_run",
        "boss plain not_run"
      ])
      assert.deepStrictEqual(interrupted, ["boss/mid deep deep 1", "boss mid mid 1"])
      assert.deepStrictEqual(audit, [
        "boss approved gate",
        "boss defect gate",
        "boss/mid outcome_unknown outer",
        "boss cancelled plain/ask_1",
        "boss cancelled gate",
        "boss outcome_unknown mid",
        "boss cancelled ask",
        "boss cancelled plain"
      ])
      assert.deepStrictEqual(log, ["look", "book", "look", "look"])
    }))

  for (
    const [what, within, isRunning] of [
      ["waits itself", undefined, false],
      ["is an agent that waits", "boss/ask ask", true],
      ["waits for a call of its tool", "boss ask/ask_1", true]
    ] as const
  ) {
    it.effect(`when recovery fails around a call that ${what}`, () =>
      Effect.gen(function*() {
        const { ask, log, made } = world()
        const one = {
          "waits itself": ask,
          "is an agent that waits": toolOf(agentOf("ask", [ask], input)),
          "waits for a call of its tool": made("ask", ask.call)
        }[what]
        const breaking = (one as never as Tool.Tool<string, never, never, never, never>).pipe(
          Tool.onError(((call: Call) => Effect.ensuring(call, Effect.die("no"))) as never)
        ) as never as Named
        const { exit, interrupted, results } = yield* played(
          { boss: "ask", ask: "ask" },
          agentOf("boss", [breaking]).start("go")
        )
        const defects = Exit.isFailure(exit)
          ? exit.cause.reasons.flatMap((one) => Cause.isDieReason(one) ? [one.defect] : [])
          : []
        assert.deepStrictEqual(defects, ["no"])
        assert.deepStrictEqual(results, [
          ...(within === undefined ? [] : [`${within} approval_required`]),
          "boss ask not_run"
        ])
        assert.deepStrictEqual(interrupted, isRunning ? ["boss ask ask 1"] : [])
        assert.deepStrictEqual(log, [])
      }))
  }

  it.effect("is refused without withdrawals if a waiting agent is missing", () =>
    Effect.gen(function*() {
      const { ask, gate, log } = world()
      const mid = toolOf(agentOf("mid", [ask], input))
      const calls = { boss: "mid gate", mid: "ask" }
      const gone = yield* goneOn(calls, agentOf("boss", [mid, gate]), agentOf("boss", [gate]), only("gate"))
      assert.deepStrictEqual([gone.results, gone.audit], [[], []])
      assert.isTrue(Exit.isFailure(gone.exit))
      assert.deepStrictEqual(log, [])
    }))

  it.effect("withdraws the question of a composed agent's step at its path", () =>
    Effect.gen(function*() {
      const { ask, gate } = world()
      const mid = toolOf(Agent.all("mid", [agentOf("deep", [ask], input)] as never) as never)
      const boss = agentOf("boss", [mid, gate])
      const { elsewhere, interrupted, results } = yield* goneOn(
        { boss: "mid gate", deep: "ask" },
        boss,
        boss,
        only("gate")
      )
      assert.deepStrictEqual(results, [
        "boss/mid/deep ask approval_required",
        "boss mid approval_required",
        "boss gate not_run"
      ])
      assert.deepStrictEqual(interrupted, ["boss mid mid 1"])
      assert.deepStrictEqual(elsewhere, [])
    }))

  it.effect("compensates the agents that waited", () =>
    Effect.gen(function*() {
      const { ask, book, gate, log } = world()
      const deep = toolOf(agentOf("deep", [book, ask], { ...input, compensation: {} }))
      const mid = toolOf(agentOf("mid", [deep], input))
      const boss = agentOf("boss", [mid, gate])
      const calls = { boss: "mid gate", mid: "deep", deep: "book ask" }
      const { audit, elsewhere } = yield* goneOn(calls, boss, boss, only("gate"))
      assert.deepStrictEqual(log, ["book", "unbook"])
      assert.deepStrictEqual(elsewhere, [])
      assert.include(audit, "boss/mid/deep compensated book")
    }))
})

describe("a run that ends while an agent resumes, at each event", () => {
  it.effect.each([1, 2])(
    "each call that was told has one result, and what is cut off is undone once: part %i",
    (part) =>
      Effect.gen(function*() {
        const calls = { boss: "mid gate", mid: "deep", deep: "book ask" }
        let cutOff = 0
        for (let last = part; last < 30; last += 2) {
          const { ask, book, log } = world()
          const heard = yield* Deferred.make<void>()
          let told = 0
          const gate = tool("gate", {
            effects: "read",
            needsApproval: true,
            execute: () => Effect.andThen(Deferred.await(heard), Effect.die("no"))
          })
          /** Listeners are slow, and in the second execution one of them opens the gate. */
          const listening = AgentEvent.listen((event) =>
            Effect.andThen(
              Effect.suspend(() => {
                if (event._tag === "RunStarted" && event.path.length === 1) lives++
                if (lives < 2) return Effect.void
                // Behind the whole of it at the latest.
                isWhole ||= told + 1 < last && event._tag === "ToolResult" && event.callId === "mid"
                return ++told === last || isWhole ? Deferred.succeed(heard, undefined) : Effect.void
              }),
              Effect.forEach(Array.from({ length: 10 }), () => Effect.yieldNow, { discard: true })
            )
          )
          let lives = 0
          let isWhole = false
          const deep = toolOf(agentOf("deep", [book, ask], { ...input, compensation: {} }))
          const mid = toolOf(agentOf("mid", [deep], input))
          const boss = agentOf("boss", [mid, gate])
          const { events, results } = yield* goneOn(calls, boss, boss, (call) => [Approval.approve(call)]).pipe(
            Effect.provide(listening)
          )
          if (isWhole) break
          const about = `event ${last}: ${results.join(", ")}`
          const ended = new Map(results.map((line) => line.split(/ (?=\S+$)/) as [string, string]))
          assert.deepStrictEqual([...ended.keys()].toSorted(), [
            "boss gate",
            "boss mid",
            "boss/mid deep",
            "boss/mid/deep ask"
          ], about)
          assert.strictEqual(results.length, 4, about)
          // An agent that has answered is not compensated, also if its call was interrupted after that.
          const isDone = events.some((event) =>
            event._tag === "AgentFinished" && event.path.at(-1) === "deep" && event.outcome === "success"
          )
          const askEnded = ended.get("boss/mid/deep ask")!
          assert.include(
            isDone ? ["done"] : ["approval_required", "done", "not_run", "outcome_unknown"],
            askEnded,
            about
          )
          const isMade = log.includes("ask")
          if (askEnded === "done" || askEnded === "outcome_unknown") assert.isTrue(isMade, about)
          else assert.isFalse(isMade, about)
          assert.deepStrictEqual(log, ["book", ...(isMade ? ["ask"] : []), ...(isDone ? [] : ["unbook"])], about)
          assert.include(isDone ? ["done", "outcome_unknown"] : ["outcome_unknown"], ended.get("boss mid"), about)
          if (!isMade) cutOff++
        }
        assert.isAbove(cutOff, 0)
      }).pipe(Effect.provide(instantDigests))
  )
})

it.effect("a resumption interrupted at its start withdraws none: snapshot stays usable", () =>
  Effect.gen(function*() {
    const { ask, log } = world()
    const boss = agentOf("boss", [ask])
    const { pending, snapshot } = pausedOf(yield* played({ boss: "ask" }, boss.start("go")))
    const started = yield* Deferred.make<void>()
    const { events, layer } = collect()
    const audit: Array<string> = []
    const resumed = boss.resume(JSON.parse(JSON.stringify(snapshot)), pending.map((call) => Approval.approve(call)))
    const fiber = yield* Effect.forkChild(Effect.provide(resumed, [
      key,
      models({ boss: "ask" }),
      layer,
      AgentEvent.listen(({ _tag }) =>
        _tag === "RunStarted"
          ? Effect.andThen(
            Deferred.succeed(started, undefined),
            Effect.forEach(Array.from({ length: 50 }), () => Effect.yieldNow, { discard: true })
          )
          : Effect.void
      ),
      Audit.layer(({ decision }) => Effect.sync(() => void audit.push(decision)))
    ]))
    yield* Deferred.await(started)
    yield* Fiber.interrupt(fiber)
    assert.deepStrictEqual(events.filter(({ _tag }) => _tag === "ToolResult"), [])
    assert.notInclude(audit, "cancelled")
    assert.deepStrictEqual(log, [])
  }))

it.effect.each([0, 1, 2])(
  "a run that is interrupted behind a write undoes what waited, though nobody has come to it yet: part %i",
  (part) =>
    Effect.gen(function*() {
      const calls = { boss: "pay mid", mid: "deep", deep: "book ask" }
      const make = () => {
        const { ask, book, does, log } = world()
        const pay = tool("pay", { effects: "write", needsApproval: true, execute: () => does("pay") })
        const deep = toolOf(agentOf("deep", [book, ask], { ...input, compensation: {} }))
        const boss = agentOf("boss", [pay, toolOf(agentOf("mid", [deep], input))], { concurrency: 1 })
        return { boss, log }
      }
      const { pending, snapshot } = pausedOf(yield* played(calls, make().boss.start("go")))
      const decisions = pending.map((call) => Approval.approve(call))
      const cutOff = (interruptAt: number) => {
        const { boss, log } = make()
        const again = Layer.succeed(Approval.Resumptions, { claim: () => Effect.succeed(true) })
        const resumed = Effect.provide(
          boss.resume(JSON.parse(JSON.stringify(snapshot)), decisions),
          [key, models(calls), again]
        )
        return Effect.map(
          VirtualTime.run(resumed as Effect.Effect<unknown>, { interruptAt }),
          ({ operations }) => ({ log, operations })
        )
      }
      const { operations } = yield* cutOff(Infinity)
      const firstWith = Effect.fnUntraced(function*(what: string) {
        let from = 1
        for (let to = operations; from < to;) {
          const middle = Math.floor((from + to) / 2)
          if ((yield* cutOff(middle)).log.includes(what)) to = middle
          else from = middle + 1
        }
        return from
      })
      const from = yield* firstWith("pay")
      const to = yield* firstWith("ask")
      assert.isBelow(from, to)
      for (let at = from + 4 * part; at < to; at += 12) {
        const { log } = yield* cutOff(at)
        assert.deepStrictEqual(log, ["pay", "unbook"], `operation ${at} of ${from} to ${to}`)
      }
    })
)
