/** Pauses for inner calls: they stay approved, and repeat no completed call. */

import { assert, describe, it } from "@effect/vitest"
import { Drive, ScriptedModel } from "@recourse/testing"
import { Effect, Exit, Layer, Schema, Stream } from "effect"
import { Agent, Approval, ErrorProjection, Recovery, Tool, ToolCall, ToolError } from "@recourse/core"
import { by, collect } from "../support/kit.ts"
import {
  agentOf,
  type AnyAgent,
  Args,
  Down,
  type Inner,
  layer,
  outer,
  pausedOf,
  played,
  recovered,
  script,
  tool
} from "../support/innerCalls.ts"

class Declined extends Schema.TaggedError<Declined>()(
  "Declined",
  {},
  ErrorProjection.declare({ code: "upstream_error", model: "Closed.", outcome: "not_done" })
) {}

const { text } = ScriptedModel

describe("admission of a tool with its arguments", () => {
  it.effect("one waiting within two calls waits until approved; approvals stay", () =>
    Effect.gen(function*() {
      const look = tool("look", "read", { needsApproval: true })
      const pay = tool("pay", "write", { needsApproval: true })
      const agent = agentOf([outer("read", () => Effect.andThen(look.tool.call, pay.tool.call)).tool])
      const first = pausedOf((yield* played(agent.start("go"))).exit)
      assert.deepStrictEqual(first.pending.map(({ tool }) => tool), ["look"])
      const second = pausedOf((yield* played(agent.resume(first.snapshot, [Approval.approve(first.pending[0]!)]))).exit)
      assert.deepStrictEqual(second.pending.map(({ tool }) => tool), ["pay"])
      const third = yield* played(agent.resume(second.snapshot, [Approval.approve(second.pending[0]!)]))
      assert.isTrue(Exit.isSuccess(third.exit))
      assert.strictEqual(pay.runs.length, 1)
    }).pipe(Effect.provide(layer)))

  it.effect("within an agent as tool, with a key and fixed arguments", () =>
    Effect.gen(function*() {
      const pay = tool("pay", "write", { needsApproval: true, idempotency: true })
      const fixer = Agent.fromFunction("fixer", () => Effect.succeed(JSON.stringify({ to: "Eve" })))
      const fixed = pay.tool.pipe(Tool.onError(Recovery.fix("InvalidArgs", fixer as never) as never)) as typeof pay.tool
      const a = outer("read", () =>
        Effect.provideService(fixed.call, ToolCall.ToolCall, ToolCall.make({ id: "mine", arguments: {} })))
      const clerk = (Agent.make("clerk", { input: Args, tools: [a.tool] } as never) as unknown as AnyAgent).pipe(
        Agent.provide(script())
      )
      const desk = agentOf([
        clerk.pipe(Agent.asTool("outer", { description: "", parameters: Args, success: Schema.String }) as never)
      ])
      const first = pausedOf((yield* played(desk.start("go"))).exit)
      assert.deepStrictEqual(
        first.pending.map(({ arguments: args, callId, fixedBy, tool }) => [tool, callId, args, fixedBy]),
        [["pay", "c/c/mine", { to: "Eve" }, "fixer"]]
      )
      const snapshot = JSON.parse(JSON.stringify(first.snapshot)) as unknown
      const { exit } = yield* played(desk.resume(snapshot, [Approval.approve(first.pending[0]!)]))
      assert.isTrue(Exit.isSuccess(exit))
      assert.deepStrictEqual(
        pay.runs.map(({ to }) =>
          to
        ),
        ["Eve"]
      )
    }).pipe(Effect.provide(layer)))

  it.effect("streamed, next to other calls, without repeating completed ones", () =>
    Effect.gen(function*() {
      const pay = tool("pay", "write", { needsApproval: true })
      const note = tool("note", "write")
      const agent = agentOf([outer("read", () => pay.tool.call).tool, note.tool], { concurrency: "unbounded" })
      const calls = ScriptedModel.layer(ScriptedModel.steps([
        ScriptedModel.calls([
          { name: "outer", params: { to: "A" }, id: "c1" },
          { name: "note", params: { to: "N" }, id: "c2" },
          { name: "outer", params: { to: "B" }, id: "c3" }
        ]),
        text("done")
      ]))
      const waits = <E>(run: Stream.Stream<unknown, E, never>) =>
        Effect.map(
          Effect.flip(Stream.runDrain(run)),
          (error) => (error as unknown as Approval.ApprovalRequired).snapshot
        ).pipe(Effect.provide(calls))
      const first = yield* waits(agent.stream("go"))
      const pending = first.round!.pending
      assert.deepStrictEqual(pending.map(({ callId }) => callId), ["c1/pay_1", "c3/pay_1"])
      const second = yield* waits(agent.resumeStream(first, [Approval.approve(pending[1]!)]))
      assert.deepStrictEqual(second.round!.pending.map(({ callId }) => callId), ["c1/pay_1"])
      yield* Effect.provide(Stream.runDrain(agent.resumeStream(second, [Approval.approve(pending[0]!)])), calls)
      assert.deepStrictEqual(pay.runs.map(({ to }) => to), ["B", "A"])
      assert.strictEqual(note.runs.length, 1)
    }).pipe(Effect.provide(layer)))

  it.effect("an abandoned question is withdrawn", () =>
    Effect.gen(function*() {
      const pay = tool("pay", "write", { needsApproval: true })
      const bad = Tool.make("bad", { effects: "read", execute: () => Effect.delay(Effect.fail(new Down()), 10) })
      const agent = agentOf([outer("read", () => pay.tool.call).tool, bad], { concurrency: "unbounded" })
      const { events, layer: log } = collect()
      yield* Drive.drive(Effect.exit(agent.start("go"))).pipe(
        Effect.provide(Layer.merge(
          log,
          ScriptedModel.layer([
            ScriptedModel.calls([{ name: "outer", params: { to: "A" }, id: "c1" }, {
              name: "bad",
              params: {},
              id: "c2"
            }])
          ])
        ))
      )
      assert.deepStrictEqual(
        events.flatMap((event) => event._tag === "ToolResult" ? [`${event.callId} ${event.code}`] : []).sort(),
        ["c1 approval_required", "c1/pay_1 approval_required", "c2 execution_error"]
      )
    }).pipe(Effect.provide(layer)))

  it.effect("waits if its outer call is repeatable, else is denied", () =>
    Effect.gen(function*() {
      const pay = tool("pay", "write", { needsApproval: true })
      const paying = () => pay.tool.call as Inner
      const first = (effects: Tool.Effects | undefined) => outer(effects, () => Effect.fail(new Down())).tool
      const keyed = Tool.make("outer", {
        parameters: Args,
        success: Schema.String,
        mayRequestApproval: true,
        idempotency: true,
        execute: paying as never
      }) as Tool.Any
      const broken = (effects: Tool.Effects | undefined) => outer(effects, () => Effect.die("broken")).tool
      const fallback = (c: Inner) => Effect.catch(c, paying)
      const beyond = (c: Inner) => Effect.catchCause(c, paying)
      const cases: ReadonlyArray<readonly [name: string, waits: boolean, agent: AnyAgent]> = [
        ["read", true, agentOf([outer("read", paying).tool])],
        ["idempotent", true, agentOf([outer("idempotent", paying).tool])],
        ["undeclared", true, agentOf([outer(undefined, paying).tool])],
        ["write", false, agentOf([outer("write", paying).tool])],
        ["with a key", false, agentOf([keyed])],
        [
          "under a key",
          false,
          agentOf([recovered(outer("read", paying).tool, Recovery.idempotent({ key: () => "k" }) as never)])
        ],
        ["read, by its own recovery", true, agentOf([recovered(first("read"), fallback)])],
        ["undeclared, by its own recovery", true, agentOf([recovered(first(undefined), fallback)])],
        ["read, by its agent's recovery", true, agentOf([first("read")], { onToolError: { outer: fallback } })],
        [
          "undeclared, by its agent's recovery",
          true,
          agentOf([first(undefined)], { onToolError: { outer: fallback } })
        ],
        ["undeclared, that broke, by its own recovery", true, agentOf([recovered(broken(undefined), beyond)])],
        [
          "undeclared, that broke, by its agent's recovery",
          false,
          agentOf([broken(undefined)], { onToolError: { outer: beyond } })
        ],
        [
          "read, that broke, by its agent's recovery",
          true,
          agentOf([broken("read")], { onToolError: { outer: beyond } })
        ]
      ]
      for (const [name, waits, agent] of cases) {
        const { audit, exit } = yield* played(agent.start("go"))
        assert.strictEqual(Exit.isSuccess(exit) && exit.value._tag === "Paused", waits, name)
        assert.deepStrictEqual(
          audit.flatMap(({ decision, tool }) => tool === "pay" ? [decision] : []),
          [waits ? "approval_requested" : "denied"],
          name
        )
      }
      assert.deepStrictEqual(pay.runs, [])
    }).pipe(Effect.provide(layer)))

  it.effect("a person's answer is decoded by its schema, or refused", () =>
    Effect.gen(function*() {
      const cases: ReadonlyArray<readonly [success: Schema.Top, result: Schema.Json, answer: unknown]> = [
        [Schema.String, "paid", "paid"],
        [Schema.Void, null, "undefined"],
        [Schema.UndefinedOr(Schema.String), null, "undefined"],
        [Schema.NullOr(Schema.String), null, "null"],
        [Schema.Date, "1970-01-01T00:00:00.000Z", String(new Date(0))],
        [Schema.String, 7, undefined],
        [Schema.String, null, undefined]
      ]
      for (const [success, result, answer] of cases) {
        const Pay = Tool.make("pay", {
          parameters: Args,
          success,
          effects: "write",
          needsApproval: true,
          execute: () => Effect.die("not run")
        } as never) as unknown as Tool.Any & { readonly call: Inner }
        const agent = agentOf([outer("read", () => Effect.map(Pay.call, String)).tool])
        const paused = pausedOf((yield* played(agent.start("go"))).exit)
        const { exit, results } = yield* played(
          agent.resume(JSON.parse(JSON.stringify(paused.snapshot)), [Approval.respond(paused.pending[0]!, result)])
        )
        if (answer === undefined) {
          const error = yield* Effect.flip(exit as Exit.Exit<unknown, Approval.DecisionRefused>)
          assert.deepInclude(error, { _tag: "DecisionRefused", callId: "c/pay_1", reason: "invalid_result" })
        } else assert.deepStrictEqual(results.map(({ result }) => result), [answer])
      }
    }).pipe(Effect.provide(layer)))

  it.effect("a write that declares \"not done\" is repeated", () =>
    Effect.gen(function*() {
      const pay = tool("pay", "write", { needsApproval: true })
      let runs = 0
      const first = Tool.make("outer", {
        parameters: Args,
        success: Schema.String,
        effects: "write",
        failure: Declined,
        execute: () => Effect.suspend(() => (runs++, Effect.fail(new Declined())))
      }).pipe(Tool.onError((c) => Effect.catchTag(c, "ExecutionError", () => pay.tool.call as Effect.Effect<string>)))
      const agent = agentOf([first])
      const paused = pausedOf((yield* played(agent.start("go"))).exit)
      assert.deepStrictEqual(paused.pending.map(({ tool }) => tool), ["pay"])
      const { results } = yield* played(agent.resume(paused.snapshot, [Approval.approve(paused.pending[0]!)]))
      assert.deepStrictEqual(results.map(({ result }) => result), ["pay 1 Ada"])
      assert.strictEqual(runs, 2)
    }).pipe(Effect.provide(layer)))

  it.effect("no parallel call starts once it waits", () =>
    Effect.gen(function*() {
      const pay = tool("pay", "write", { needsApproval: true })
      const note = tool("note", "write")
      const agent = agentOf([
        outer("read", () => Effect.race(pay.tool.call, Effect.andThen(Effect.yieldNow, note.tool.call))).tool
      ])
      const { events, exit } = yield* played(agent.start("go"))
      const first = pausedOf(exit)
      assert.deepStrictEqual(first.pending.map(({ tool }) => tool), ["pay"])
      assert.deepStrictEqual(note.runs, [])
      assert.notInclude(events.map((event) => `${event._tag} ${"tool" in event ? event.tool : ""}`), "ToolAttempt note")
    }).pipe(Effect.provide(layer)))

  it.effect("by hand it is a typed failure, and the outer call continues", () =>
    Effect.gen(function*() {
      const pay = tool("pay", "write", { needsApproval: true })
      const a = outer("read", () =>
        Effect.catchIf(
          pay.tool.call,
          (error) => error instanceof ToolError.NotApproved,
          ({ tool }) => Effect.succeed(`${tool} waits`)
        ))
      assert.strictEqual(yield* a.tool.call.pipe(by({ to: "Ada" })) as Effect.Effect<string>, "pay waits")
    }))
})
