/** Skills of one agent may have tools of one name. A run resumed elsewhere uses the tool of its skill. */
import { assert, describe, it } from "@effect/vitest"
import { ScriptedModel } from "@recourse/testing"
import { Cause, Effect, Exit, Layer, Schema } from "effect"
import { Agent, Approval, IdempotencyLedger, Skill, Tool } from "@recourse/core"
import { book, key, type Log, pay, running, standard, type Waits, watched } from "../support/bookings.ts"

const { call, text } = ScriptedModel

const skill = (name: string, tools: ReadonlyArray<unknown>) =>
  Skill.make(name, { description: name, tools: tools as never })

const agentOf = (skills: ReadonlyArray<Skill.Any>, chosen: string, more: object = {}) =>
  Agent.make("a", {
    ...standard,
    instructions: "a",
    input: Schema.Unknown,
    skills,
    skill: chosen,
    compensation: {},
    ...more
  } as never) as never as Waits

const over = (agent: Waits, decide: (pending: Approval.PendingCall) => Approval.Decision, again: Waits = agent) =>
  Effect.gen(function*() {
    const paused = yield* agent.start({})
    assert(paused._tag === "Paused")
    return yield* again.resume(JSON.parse(JSON.stringify(paused.snapshot)), paused.pending.map(decide))
  })

const refusedAs = (exit: Exit.Exit<unknown, unknown>): unknown => {
  const [reason] = Exit.isFailure(exit) ? exit.cause.reasons : []
  return reason !== undefined && Cause.isFailReason(reason)
    ? (reason.error as { readonly reason?: unknown }).reason
    : undefined
}

const approve = (pending: Approval.PendingCall) => Approval.approve(pending)

describe("skills with tools of one name, over a pause", () => {
  const undone = {
    "of the model": (log: Log) =>
      ["flights", "hotels"].map((name) =>
        skill(name, [
          book(log, "book", {
            execute: () => Effect.sync(() => (log.push(`book ${name}`), name)),
            compensate: (_: unknown, said: string) => Effect.sync(() => void log.push(`unbook ${name} ${said}`))
          }),
          pay(log)
        ])
      )
  }
  for (const chosen of ["flights", "hotels"]) {
    it.effect(`a write is compensated by the skill's tool: ${chosen}`, () =>
      Effect.gen(function*() {
        const log: Log = []
        const seen = watched()
        const agent = agentOf(undone["of the model"](log), chosen)
        yield* running(over(agent, (pending) => Approval.reject(pending, "no")), seen, {
          a: [call("book", {}, { id: "b" }), call("pay", {}, { id: "p" }), text("no")]
        })
        assert.deepStrictEqual(log, [`book ${chosen}`, `unbook ${chosen} ${chosen}`])
        assert.deepStrictEqual(seen.compensations(), ["a b undone"])
      }))
  }

  it.effect("an agent of the second skill resumes as decided", () =>
    Effect.gen(function*() {
      const log: Log = []
      const seen = watched()
      const within = (name: string) =>
        (Agent.make(name, {
          ...standard,
          instructions: name,
          input: Schema.Struct({}),
          tools: [pay(log)]
        }) as never as Agent.Agent<unknown, string>).pipe(Agent.asTool("ask", {
          description: "Asks",
          parameters: Schema.Struct({}),
          success: Schema.String
        } as never))
      const exit = yield* running(
        over(agentOf([skill("x", [within("first")]), skill("y", [within("second")])], "y"), approve),
        seen,
        { a: [call("ask", {}, { id: "s" }), text("done")], second: [call("pay", {}, { id: "p" }), text("paid")] }
      )
      assert(Exit.isSuccess(exit), String(exit))
      assert.deepStrictEqual(log, ["pay"])
    }))

  it.effect("a person's answer fits the skill's tool", () =>
    Effect.gen(function*() {
      const tool = (success: Schema.Top) =>
        Tool.make("ask", { success, needsApproval: true, effects: "read", execute: () => Effect.succeed(0) } as never)
      const exit = yield* running(
        over(
          agentOf([skill("x", [tool(Schema.String)]), skill("y", [tool(Schema.Number)])], "y"),
          (pending) => Approval.respond(pending, 7)
        ),
        watched(),
        { a: [call("ask", {}, { id: "s" }), text("seven")] }
      )
      assert(Exit.isSuccess(exit), String(exit))
    }))

  it.effect("a keyless write stays after an interrupted resumption, despite other skills", () =>
    Effect.gen(function*() {
      const log: Log = []
      const tool = (more: object) =>
        Tool.make("pay", {
          needsApproval: true,
          effects: "write",
          execute: () => Effect.sync(() => void log.push("pay")),
          ...more
        } as never)
      const agent = agentOf([skill("x", [tool({ effects: "read" })]), skill("y", [tool({})])], "y")
      const cutOff = Layer.succeed(Approval.Resumptions, {
        claim: () => Effect.succeed({ isTakenOver: true, end: () => Effect.void })
      })
      const exit = yield* running(
        over(agent, approve).pipe(Effect.provide([cutOff, key, IdempotencyLedger.layerMemory])),
        watched(),
        { a: [call("pay", {}, { id: "p" }), text("paid")] }
      )
      assert.deepStrictEqual(log, [])
      assert.strictEqual(refusedAs(exit), "abandoned")
    }))

  it.effect("a skill that there is no more is a change of tools", () =>
    Effect.gen(function*() {
      const log: Log = []
      const seen = watched()
      const exit = yield* running(
        over(agentOf([skill("x", [pay(log)])], "x"), approve, agentOf([skill("y", [pay(log)])], "y")),
        seen,
        { a: [call("pay", {}, { id: "p" }), text("paid")] }
      )
      assert.strictEqual(refusedAs(exit), "tools_changed")
      assert.deepStrictEqual(log, [])
    }))
})

describe("an agent that is a tool of a skill, and waits", () => {
  it.effect("is compensated if the resuming run is interrupted before its calls", () =>
    Effect.gen(function*() {
      const log: Log = []
      const seen = watched()
      const inner = (Agent.make("inner", {
        ...standard,
        instructions: "inner",
        input: Schema.Struct({}),
        tools: [book(log), pay(log)],
        compensation: {}
      }) as never as Agent.Agent<unknown, string>).pipe(
        Agent.asTool("ask", { description: "Asks", parameters: Schema.Struct({}), success: Schema.String } as never)
      )
      const outer = agentOf([skill("x", [inner])], "x", { compensation: undefined })
      let claims = 0
      const store = Layer.succeed(Approval.Resumptions, {
        claim: () => Effect.suspend(() => ++claims === 2 ? Effect.die("down") : Effect.succeed(true))
      })
      const both = Agent.all("w", [outer])
      const exit = yield* running(
        over(both as never, approve).pipe(Effect.provide([store, key])),
        seen,
        {
          a: [call("ask", {}, { id: "s" }), text("done")],
          inner: [call("book", {}, { id: "b" }), call("pay", {}, { id: "p" }), text("paid")]
        }
      )
      assert(Exit.isFailure(exit), String(exit))
      assert.deepStrictEqual(log, ["book", "unbook"])
    }))
})
