/** Agents that ask while they run: `Approval.interactive`, and `Approval.terminal` at its other end. */

import { Drive, ScriptedModel } from "@recourse/testing"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Data, Effect, Exit, Fiber, Layer, Schema, Stream } from "effect"
import { Prompt } from "effect/ai"
import { TestClock } from "effect/testing"
import { Agent, AgentEvent, Approval, Journal, Quarantine, Recovery, Tool } from "@recourse/core"
import { collect } from "../support/kit.ts"
import { refunds, told } from "../support/refunds.ts"

const { call, calls, text } = ScriptedModel

const asked: Array<string> = []

const small = (pending: Approval.PendingCall) =>
  Effect.sync(() => {
    asked.push(`${pending.callId} ${JSON.stringify(pending.arguments)}`)
    return Number(pending.arguments["euros"]) < 100 ? Approval.approve(pending) : Approval.reject(pending, "Too much")
  })

type Waits = Agent.Agent<string, string, never, never> & Agent.Resumable<string, string, never, never, never>

describe("an interactive agent", () => {
  it.effect("asks about each waiting call in turn, and resumes with answers", () =>
    Effect.gen(function*() {
      asked.length = 0
      const { clerk, done } = refunds()
      const answer = yield* clerk.pipe(Approval.interactive(small)).run("Refund both")
      assert.strictEqual(answer, "One of two.")
      assert.deepStrictEqual(done, [20])
      assert.deepStrictEqual(asked, ["a {\"euros\":20}", "b {\"euros\":500}", "c {\"euros\":700}"])
      assert.include(JSON.stringify(yield* told), "Too much")
    }).pipe(Effect.provide(ScriptedModel.layer([
      calls([{ id: "a", name: "refund", params: { euros: 20 } }, { id: "b", name: "refund", params: { euros: 500 } }]),
      call("refund", { euros: 700 }, { id: "c" }),
      text("One of two.")
    ]))))

  it.effect("streams the whole run, and reports all of it", () =>
    Effect.gen(function*() {
      const { clerk, done } = refunds()
      const agent = clerk.pipe(Approval.interactive(small))
      const events = yield* Stream.runCollect(agent.stream("x"))
      const ends = events.flatMap((event) =>
        event._tag === "RunFinished"
          ? [event.outcome]
          : event._tag === "RunStarted"
          ? [`resumed: ${event.resumed}`]
          : []
      )
      assert.deepStrictEqual(ends, ["resumed: false", "paused", "resumed: true", "success"])
      const { executed, exit, usage } = yield* agent.report("y", { runId: "run-7" })
      assert.deepStrictEqual(exit, Exit.succeed("B"))
      assert.deepStrictEqual(executed.map(({ tool }) => tool), ["refund"])
      assert.strictEqual(usage.turns, 2)
      assert.deepStrictEqual(done, [1, 2])
    }).pipe(Effect.provide(ScriptedModel.layer([
      call("refund", { euros: 1 }),
      text("A"),
      call("refund", { euros: 2 }),
      text("B")
    ]))))

  it.effect("keeps its run id over the questions", () =>
    Effect.gen(function*() {
      const { clerk } = refunds()
      const { runId } = yield* clerk.pipe(Approval.interactive(small)).report("y", { runId: "run-7" })
      assert.strictEqual(runId, "run-7")
    }).pipe(Effect.provide(ScriptedModel.layer([call("refund", { euros: 2 }), text("B")]))))

  it.effect("asks from within another agent's run, whose events name the call", () =>
    Effect.gen(function*() {
      asked.length = 0
      const { clerk, done } = refunds()
      const within = clerk.pipe(Approval.interactive(small))
      const Ask = Tool.make("ask", { success: Schema.String, execute: () => Effect.orDie(within.run("x")) })
      const boss = Agent.make("boss", { tools: [Ask], defaults: { onError: Recovery.standard } })
      const withdrawn: Array<string> = []
      const answer = yield* boss.run("x").pipe(
        Effect.provide(AgentEvent.listen((event) =>
          Effect.sync(() => event._tag === "ToolResult" && event.isFailure && withdrawn.push(event.code ?? ""))
        ))
      )
      assert.strictEqual(answer, "Done")
      assert.deepStrictEqual(done, [3])
      assert.deepStrictEqual(asked, ["call_2 {\"euros\":3}"])
      assert.deepStrictEqual(withdrawn, [])
    }).pipe(Effect.provide(ScriptedModel.layer([
      call("ask", {}),
      call("refund", { euros: 3 }),
      text("refunded"),
      text("Done")
    ]))))

  it.effect("ends with the question's failure or unfit decisions, running no call", () =>
    Effect.gen(function*() {
      class Away extends Data.TaggedError("Away") {}
      const { clerk, done } = refunds()
      const model = ScriptedModel.layer([call("refund", { euros: 3 }), text("never")])
      const away = yield* clerk.pipe(Approval.interactive(() => Effect.fail(new Away()))).run("x").pipe(
        Effect.provide(model),
        Effect.flip
      )
      assert.instanceOf(away, Away)
      const wrong = yield* clerk.pipe(
        Approval.interactive((pending) => Effect.succeed({ ...Approval.approve(pending), argumentsHash: "00" }))
      ).run("x").pipe(Effect.provide(model), Effect.flip)
      assert.strictEqual(wrong._tag === "DecisionRefused" ? wrong.reason : wrong._tag, "other_arguments")
      assert.deepStrictEqual(done, [])
    }))

  it.effect("asks again if the answer came too late", () =>
    Effect.gen(function*() {
      const { Refund, done } = refunds()
      const agent = Agent.make("slow", {
        tools: [Refund],
        defaults: { onError: Recovery.standard },
        approval: { timeToLive: "1 minute" }
      })
      const codes: Array<string> = []
      const answer = yield* Drive.drive(
        agent.pipe(Approval.interactive((pending) => {
          codes.push(pending.code)
          return Effect.delay(Effect.succeed(Approval.approve(pending)), codes.length === 1 ? "2 minutes" : "1 second")
        })).run("x")
      )
      assert.strictEqual(answer, "ok")
      assert.deepStrictEqual(codes, ["approval_required", "approval_expired"])
      assert.deepStrictEqual(done, [3])
    }).pipe(Effect.provide(ScriptedModel.layer([call("refund", { euros: 3 }), text("ok")]))))

  it.effect("is interrupted while it asks, and runs no call", () =>
    Effect.gen(function*() {
      const { clerk, done } = refunds()
      const fiber = yield* Effect.forkChild(clerk.pipe(Approval.interactive(() => Effect.never)).run("x"))
      yield* TestClock.adjust("1 minute")
      yield* Fiber.interrupt(fiber)
      const exit = yield* Fiber.await(fiber)
      assert.isTrue(Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause))
      assert.deepStrictEqual(done, [])
    }).pipe(Effect.provide(ScriptedModel.layer([call("refund", { euros: 3 })]))))

  it.effect("asks also if its type has no pause", () =>
    Effect.gen(function*() {
      const done: Array<string> = []
      const agent = Agent.make("clerk", {
        tools: [Tool.make("note", { effects: "write", execute: () => Effect.sync(() => void done.push("noted")) })],
        defaults: { onError: Recovery.standard },
        prompt: (text: string) => Quarantine.taint(Prompt.make(text), ["fetch"])
      } as never) as never as Waits
      const answer = yield* agent.pipe(Approval.interactive((pending) => Effect.succeed(Approval.approve(pending))))
        .run("x")
      assert.strictEqual(answer, "Noted.")
      assert.deepStrictEqual(done, ["noted"])
    }).pipe(Effect.provide(ScriptedModel.layer([call("note", {}), text("Noted.")]))))

  it.effect("fails with its question's error, also if another agent refuses", () =>
    Effect.gen(function*() {
      const { clerk, done } = refunds()
      const refused = new Approval.SnapshotRefused({ agent: "other", reason: "used" })
      const error = yield* Effect.flip(clerk.pipe(Approval.interactive(() => Effect.fail(refused))).run("x"))
      assert.strictEqual(error, refused)
      assert.deepStrictEqual(done, [])
    }).pipe(Effect.provide(ScriptedModel.layer([call("refund", { euros: 3 })]))))

  it.effect("dies if its snapshot was claimed elsewhere, without a typed error", () =>
    Effect.gen(function*() {
      const { clerk, done } = refunds()
      const used = Layer.succeed(Approval.Resumptions, { claim: () => Effect.succeed(false) })
      const exit = yield* Effect.exit(clerk.pipe(Approval.interactive(small)).run("x")).pipe(Effect.provide(used))
      const [reason] = Exit.isFailure(exit) ? exit.cause.reasons : []
      assert.deepInclude(reason, { _tag: "Die" })
      assert.deepInclude(reason !== undefined && Cause.isDieReason(reason) && reason.defect, {
        _tag: "SnapshotRefused",
        reason: "used"
      })
      assert.deepStrictEqual(done, [])
    }).pipe(Effect.provide(ScriptedModel.layer([call("refund", { euros: 3 })]))))

  it("refuses an agent that cannot wait", () => {
    const byHand = Agent.fromFunction("by hand", (task: string) => refunds().clerk.run(task))
    // @ts-expect-error a function cannot wait
    assert.throws(() => byHand.pipe(Approval.interactive(small)), /make the agents within it interactive/)
  })
})

describe("a run with an unanswered question", () => {
  class Away extends Data.TaggedError("Away") {}
  const ends: Readonly<Record<string, (pending: Approval.PendingCall) => Effect.Effect<Approval.Decision, Away>>> = {
    "its question fails": () => Effect.fail(new Away()),
    "its question dies": () => Effect.die("away"),
    "it is interrupted while it asks": () => Effect.interrupt,
    "the decision does not fit": (pending) => Effect.succeed({ ...Approval.approve(pending), argumentsHash: "00" })
  }
  const makers: Readonly<Record<string, (log: Array<string>) => unknown>> = {
    "an agent": (log) => Agent.make("travel", { tools: tools(log), compensation: {}, ...standard }),
    "agents in a row": (log) =>
      Agent.fromFunction("trim", (text: string) => Effect.succeed(text.trim())).pipe(
        Agent.andThen(Agent.make("travel", { tools: tools(log), ...standard })),
        Agent.compensated({})
      ),
    "an agent in a row, which undoes its own": (log) =>
      Agent.fromFunction("trim", (text: string) => Effect.succeed(text.trim())).pipe(
        Agent.andThen(Agent.make("travel", { tools: tools(log), compensation: {}, ...standard }))
      )
  }
  const standard = { defaults: { onError: Recovery.standard } }
  const tools = (log: Array<string>) =>
    [
      Tool.make("book", {
        effects: "write",
        execute: () => Effect.sync(() => void log.push("booked")),
        compensate: () => Effect.sync(() => void log.push("cancelled"))
      }),
      Tool.make("pay", {
        effects: "write",
        needsApproval: true,
        execute: () => Effect.sync(() => void log.push("paid"))
      })
    ] as const
  type Waiting = Agent.Agent<string, string, unknown, never> & Agent.Resumable<string, string, unknown, never, never>
  const cases = Object.keys(makers).flatMap((agent) => Object.keys(ends).map((end) => [agent, end] as const))

  it.effect.each(cases)("%s: %s, and what it has done is undone", ([agent, end]) =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const { events, layer } = collect()
      const asking = (makers[agent]!(log) as Waiting).pipe(Approval.interactive(ends[end]!))
      const exit = yield* Effect.exit(asking.run("Rome")).pipe(Effect.provide(layer))
      assert.isTrue(Exit.isFailure(exit))
      if (end === "its question fails") assert.deepStrictEqual(exit, Exit.fail(new Away()))
      assert.deepStrictEqual(log, ["booked", "cancelled"])
      const told = events.flatMap((event) =>
        event._tag === "RunFinished" || event._tag === "ToolCompensated" ? [event.outcome] : []
      )
      assert.deepStrictEqual(told, ["paused", "undone", "interrupted"])
      assert.strictEqual(events.filter(({ _tag }) => _tag === "RunStarted").length, 2)
    }).pipe(Effect.provide(ScriptedModel.layer([call("book", {}), call("pay", {}), text("never")]))))
})

describe("a run with a journal that waits for a person as it ends", () => {
  class Away extends Data.TaggedError("Away") {}
  const play = (runId: string | undefined, journalId: string | undefined, ask: Effect.Effect<never, Away>) =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const travel = Agent.make("travel", {
        tools: [
          Tool.make("book", {
            effects: "write",
            execute: () => Effect.sync(() => void log.push("booked")),
            compensate: () => Effect.sync(() => void log.push("cancelled"))
          }),
          Tool.make("pay", { effects: "write", needsApproval: true, execute: () => Effect.void })
        ],
        compensation: {}
      })
      yield* Effect.exit(
        travel.pipe(Approval.interactive(() => ask)).run("Rome", runId === undefined ? undefined : { runId })
      ).pipe(
        Effect.provideService(
          Journal.CurrentJournal,
          journalId === undefined ? undefined : {
            runId: journalId,
            isResumed: false,
            elapsedBefore: 0,
            find: () => undefined,
            entries: () => [],
            record: () => Effect.void,
            claim: (entry) => entry
          }
        ),
        Effect.provide(ScriptedModel.layer([call("book", {}), call("pay", {}), text("never")]))
      )
      return log
    })

  it.effect("is not compensated if only an execution ends", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* play("r", "r", Effect.interrupt), ["booked"])
    }))

  it.effect("is compensated if its question fails, or with another run's journal", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* play("r", "r", Effect.fail(new Away())), ["booked", "cancelled"])
      for (const [runId, journalId] of [["other", "r"], [undefined, "r"], ["r", undefined]] as const) {
        assert.deepStrictEqual(yield* play(runId, journalId, Effect.interrupt), ["booked", "cancelled"])
      }
    }))
})
