/** Tools that call tools: each call has a record, attempts, a key, a gate, events and a span of its own. */
import { assert, describe, it } from "@effect/vitest"
import { Drive, ScriptedModel } from "@recourse/testing"
import { Cause, Data, Effect, Exit, Layer, Redacted, Schema, Stream } from "effect"
import {
  Agent,
  Approval,
  Audit,
  ErrorProjection,
  IdempotencyLedger,
  Policy,
  Recovery,
  Tool,
  ToolCall,
  ToolError
} from "@recourse/core"
import { by, collect, lastResults } from "../support/kit.ts"

class Down extends Data.TaggedError("Down") {}

class Declined extends Schema.TaggedError<Declined>()(
  "Declined",
  {},
  ErrorProjection.declare({ code: "upstream_error", model: "Closed.", outcome: "not_done" })
) {}

const { call, text } = ScriptedModel

const Args = Schema.Struct({ to: Schema.String })

/** A tool that fails a number of times, and its arguments. */
const tool = <const Name extends string, Eff extends Tool.Effects | undefined>(
  name: Name,
  effects: Eff,
  options?: { readonly failures?: number; readonly needsApproval?: boolean; readonly idempotency?: true }
) => {
  const runs: Array<{ readonly to: string; readonly id: string; readonly key: string | undefined }> = []
  const made = Tool.make(name, {
    parameters: Args,
    success: Schema.String,
    effects,
    needsApproval: options?.needsApproval ?? false,
    ...(options?.idempotency === undefined ? undefined : { idempotency: options.idempotency }),
    execute: ({ to }): Effect.Effect<string, Down, ToolCall.ToolCall> =>
      Effect.flatMap(ToolCall.ToolCall, ({ id, idempotencyKey }) =>
        Effect.suspend(() => {
          runs.push({ to, id, key: idempotencyKey })
          return runs.length <= (options?.failures ?? 0)
            ? Effect.fail(new Down())
            : Effect.succeed(`${name} ${runs.length} ${to}`)
        }))
  }) as Tool.Tool<Name, typeof Args, typeof Schema.String, ToolError.ToolError, never>
  return { runs, tool: made }
}

/** A tool that does something with other tools' calls. */
const outer = <Eff extends Tool.Effects | undefined>(
  effects: Eff,
  execute: (params: typeof Args.Type) => Effect.Effect<string, unknown, ToolCall.ToolCall>
) => {
  const state = { runs: 0 }
  const made = Tool.make("outer", {
    parameters: Args,
    success: Schema.String,
    effects,
    mayRequestApproval: true,
    execute: (params) => Effect.suspend(() => (state.runs++, execute(params)))
  })
  return { state, tool: made as Tool.Any }
}

const script = (name = "outer") =>
  ScriptedModel.layer(ScriptedModel.steps([call(name, { to: "Ada" }, { id: "c" }), text("done")]))

const layer = Layer.merge(
  IdempotencyLedger.layerMemory,
  Approval.layerKey(Redacted.make("0123456789abcdef0123456789abcdef"))
)

type AnyAgent = Agent.Agent<string, string, unknown, never> & Agent.Resumable<string, string, unknown, never, never>

const agentOf = (tools: ReadonlyArray<Tool.Any>, options?: object): AnyAgent =>
  Agent.make("lead", { tools, ...options } as never) as never

/** An agent's continuation after a call: the model's results, its executions, its audit. */
const played = <A>(effect: Effect.Effect<A, unknown, never>) =>
  Effect.gen(function*() {
    const log = collect()
    const audit: Array<Audit.AuditRecord> = []
    const observed = Layer.mergeAll(
      script(),
      log.layer,
      Audit.layer((record) => Effect.sync(() => void audit.push(record)))
    )
    const result = yield* Effect.exit(effect).pipe(
      Effect.zipWith(
        Effect.flatMap(ScriptedModel.ScriptedModel, ({ requests }) => requests),
        (exit, requests) => ({ exit, results: requests.flatMap(({ prompt }) => lastResults(prompt)) })
      ),
      Effect.provide(observed)
    )
    return { ...result, ...log, audit }
  })

const pausedOf = (exit: Exit.Exit<unknown, unknown>): Approval.Paused => {
  if (Exit.isSuccess(exit) && exit.value instanceof Approval.Paused) return exit.value
  throw new Error(Exit.isFailure(exit) ? Cause.pretty(exit.cause) : `not paused: ${JSON.stringify(exit.value)}`)
}

describe("a tool that a tool calls", () => {
  it.effect("has its own record: reads may call writes, all counted and traced", () =>
    Effect.gen(function*() {
      const pay = tool("pay", "write")
      const a = outer("read", () => pay.tool.call)
      const { events, exit, results } = yield* played(agentOf([a.tool]).report("go"))
      assert.deepStrictEqual(results.map(({ result }) => result), ["pay 1 Ada"])
      assert.deepStrictEqual(pay.runs, [{ to: "Ada", id: "c/pay_1", key: undefined }])
      const { executed } = Exit.isSuccess(exit) ? exit.value : assert.fail()
      assert.deepStrictEqual(executed.map(({ callId, outcome, tool }) => [tool, callId, outcome]), [
        ["outer", "c", "success"],
        ["pay", "c/pay_1", "success"]
      ])
      const own = events.flatMap((event) =>
        "callId" in event && event.callId === "c/pay_1" && "parentCallId" in event
          ? [[event._tag, event.tool, event.parentCallId]]
          : []
      )
      assert.deepStrictEqual(own, [
        ["ToolCallStarted", "pay", "c"],
        ["ToolAttempt", "pay", "c"],
        ["ToolAttemptSucceeded", "pay", "c"],
        ["ToolResult", "pay", "c"]
      ])
    }).pipe(Effect.provide(layer)))

  it.effect("fails with its own error, the reason of the outer one's", () =>
    Effect.gen(function*() {
      const down = tool("down", "read", { failures: 9 })
      const a = outer("read", () => down.tool.call)
      const error = yield* Effect.flip(a.tool.call.pipe(by({ to: "Ada" }))) as Effect.Effect<ToolError.ExecutionError>
      assert.strictEqual(error.tool, "outer")
      assert.instanceOf(error.reason, ToolError.ExecutionError)
      assert.strictEqual((error.reason as ToolError.ExecutionError).tool, "down")
      assert.instanceOf((error.reason as ToolError.ExecutionError).reason, Down)
    }))

  it.effect("is retried on its own account", () =>
    Effect.gen(function*() {
      const down = tool("down", "read", { failures: 2 })
      const a = outer("write", () => Effect.retry(down.tool.call, { times: 2 }))
      const { events, results } = yield* played(
        agentOf([a.tool], { budget: { retriesPerTool: 2 } }).report("go")
      )
      assert.deepStrictEqual(results.map(({ result }) => result), ["down 3 Ada"])
      assert.strictEqual(a.state.runs, 1)
      const attempts = events.flatMap((event) =>
        event._tag === "ToolAttempt" ? [`${event.callId} ${event.attempt}`] : []
      )
      assert.deepStrictEqual(attempts, ["c 1", "c/down_1 1", "c/down_1 2", "c/down_1 3"])
    }).pipe(Effect.provide(layer)))

  it.effect("that writes runs once over retries, outer calls and fallbacks", () =>
    Effect.gen(function*() {
      const retried = tool("pay", "write", { failures: 9 })
      yield* played(agentOf([outer("read", () => Effect.retry(retried.tool.call, { times: 3 })).tool]).report("go"))
      assert.strictEqual(retried.runs.length, 1)

      const within = tool("pay", "write")
      const failing = outer("read", () => Effect.andThen(within.tool.call, Effect.fail(new Down())))
      const again = failing.tool.pipe(
        Tool.onError(((c: Effect.Effect<string, unknown>) => Effect.retry(c, { times: 2 })) as never)
      ) as Tool.Any
      yield* played(agentOf([again]).report("go"))
      assert.strictEqual(failing.state.runs, 3)
      assert.strictEqual(within.runs.length, 1)

      const behind = tool("pay", "write")
      const broken = outer("read", () => Effect.fail(new Down()))
      const more = recovered(
        broken.tool,
        (c) =>
          Effect.retry(Effect.andThen(Effect.catch(c, () => behind.tool.call), Effect.fail(new Down())), { times: 2 })
      )
      yield* played(agentOf([more]).report("go"))
      assert.strictEqual(broken.state.runs, 3)
      assert.strictEqual(behind.runs.length, 1)

      for (const level of ["tool", "agent", "all"]) {
        const second = tool("pay", "write", { failures: 9 })
        const first = outer("read", () => Effect.fail(new Down()))
        const recover = (c: Effect.Effect<string, unknown>) =>
          Effect.retry(Effect.catch(c, () => second.tool.call), { times: 2 })
        const agent = level === "tool"
          ? agentOf([first.tool.pipe(Tool.onError(recover as never)) as Tool.Any])
          : level === "agent"
          ? agentOf([first.tool], { onToolError: { outer: recover } })
          : agentOf([first.tool], { defaults: { onError: Object.assign(recover, Recovery.policy({})) } })
        yield* played(agent.report("go"))
        assert.strictEqual(second.runs.length, 1, level)
      }
    }).pipe(Effect.provide(layer)))

  it.effect("that reads runs again with each attempt of the outer one", () =>
    Effect.gen(function*() {
      const look = tool("look", "read")
      let failures = 1
      const a = outer("read", () =>
        Effect.andThen(look.tool.call, (answer) =>
          failures-- > 0 ? Effect.fail(new Down()) : Effect.succeed(answer)))
      const again = a.tool.pipe(Tool.onError(
        ((c: Effect.Effect<string, unknown>) =>
          Effect.retry(c, { times: 1 })) as never
      )) as Tool.Any
      const { events, results } = yield* played(agentOf([again], { budget: { retriesPerTool: 1 } }).report("go"))
      assert.deepStrictEqual(
        results.map(({ result }) => result),
        ["look 2 Ada"]
      )
      // It is another call then, and no retry.
      assert.deepStrictEqual(
        events.flatMap((event) => event._tag === "ToolAttempt" ? [`${event.callId} ${event.attempt}`] : []),
        ["c 1", "c/look_1 1", "c 2", "c/look_2 1"]
      )
    }).pipe(Effect.provide(layer)))

  it.effect("called twice runs twice, each under a key of its own", () =>
    Effect.gen(function*() {
      const pay = tool("pay", "write", { idempotency: true })
      const to = (name: string) =>
        Effect.provideService(pay.tool.call, ToolCall.ToolCall, ToolCall.make({ id: name, arguments: { to: name } }))
      const a = outer(
        "read",
        () => Effect.map(Effect.all([pay.tool.call, pay.tool.call, to("Bob"), to("Eve")]), String)
      )
      yield* played(agentOf([a.tool]).report("go"))
      assert.deepStrictEqual(pay.runs.map(({ id, to }) => `${id} ${to}`), [
        "c/pay_1 Ada",
        "c/pay_2 Ada",
        "c/Bob Bob",
        "c/Eve Eve"
      ])
      assert.strictEqual(new Set(pay.runs.map(({ key }) => key)).size, 4)
    }).pipe(Effect.provide(layer)))

  it.effect("may be the tool itself", () =>
    Effect.gen(function*() {
      const Down: Tool.Any = Tool.make("outer", {
        parameters: Schema.Struct({ to: Schema.String }),
        success: Schema.String,
        effects: "write",
        execute: ({ to }): Effect.Effect<string, unknown, ToolCall.ToolCall> =>
          to.length === 1 ? Effect.succeed(to) : Effect.flatMap(ToolCall.ToolCall, (current) =>
            Effect.map(
              Effect.provideService(
                Down.call as Effect.Effect<string, unknown, ToolCall.ToolCall>,
                ToolCall.ToolCall,
                { ...current, arguments: { to: to.slice(1) } }
              ),
              (rest) => `${to[0]}-${rest}`
            ))
      }) as never
      const { results } = yield* played(agentOf([Down]).report("go"))
      assert.deepStrictEqual(results.map(({ result }) => result), ["A-d-a"])
    }).pipe(Effect.provide(layer)))

  it.effect("with a key within a keyed tool has its own key", () =>
    Effect.gen(function*() {
      const pay = tool("pay", "write", { idempotency: true })
      const Outer = Tool.make("outer", {
        parameters: Args,
        success: Schema.String,
        effects: "write",
        idempotency: true,
        execute: () => pay.tool.call
      })
      const { results } = yield* played(agentOf([Outer]).report("go"))
      assert.deepStrictEqual(results.map(({ result }) => result), ["pay 1 Ada"])
    }).pipe(Effect.provide(layer)))
})

type Inner = Effect.Effect<string, unknown, ToolCall.ToolCall>

/** Makes a call by hand. */
const made = (call: Inner, args: unknown, id = "mine"): Inner =>
  Effect.provideService(call, ToolCall.ToolCall, ToolCall.make({ id, arguments: args }))

/** Makes a call of the one that runs, with other arguments, and with another id if there is one. */
const instead = (call: Inner, args: unknown, id?: string): Inner =>
  Effect.flatMap(
    ToolCall.ToolCall,
    (current) =>
      Effect.provideService(call, ToolCall.ToolCall, {
        ...current,
        arguments: args,
        ...(id === undefined ? {} : { id })
      })
  )

const recovered = (tool: Tool.Any, recover: (call: Inner) => Inner): Tool.Any =>
  (tool as Tool.Tool<string, never, never, never, never>).pipe(Tool.onError(recover as never)) as never

describe("a repeated call", () => {
  const same: Readonly<Record<string, unknown>> = {
    "the same arguments": { to: "Ada", note: { a: 1, b: 2 } },
    "the same arguments in another order": { note: { b: 2, a: 1 }, to: "Ada" },
    "the same arguments as text": "{ \"note\": { \"b\": 2, \"a\": 1 }, \"to\": \"Ada\" }"
  }
  const other: Readonly<Record<string, unknown>> = {
    "other arguments": { to: "Eve", note: { a: 1, b: 2 } },
    "other arguments as text": "{\"to\":\"Eve\"}",
    "a larger number": { to: "Ada", note: { a: 1n, b: 2 } }
  }
  const Pay = (failures: number) => {
    const runs: Array<string> = []
    const made = Tool.make("outer", {
      parameters: Schema.Struct({ to: Schema.String, note: Schema.optionalKey(Schema.Unknown) }),
      success: Schema.String,
      effects: "write",
      onUnknownKeys: "drop",
      execute: ({ to }) =>
        Effect.flatMap(ToolCall.ToolCall, ({ id }) =>
          Effect.suspend(() => {
            runs.push(`${id} ${to}`)
            return runs.length <= failures ? Effect.fail(new Down()) : Effect.succeed("paid")
          }))
    }) as Tool.Any & { readonly call: Inner }
    return { runs, tool: made }
  }
  const call = ScriptedModel.call("outer", same["the same arguments"], { id: "c" })
  const run = (tool: Tool.Any) =>
    Effect.exit(agentOf([tool]).run("go")).pipe(
      Effect.provide(Layer.merge(layer, ScriptedModel.layer([call, text("done")])))
    )

  for (const [how, args] of Object.entries(same)) {
    it.effect(`with ${how} is that call: a write runs once`, () =>
      Effect.gen(function*() {
        const { runs, tool } = Pay(1)
        yield* run(recovered(tool, (first) => Effect.catch(first, () => instead(tool.call, args))))
        assert.deepStrictEqual(runs, ["c Ada"])
      }))
  }

  for (const [how, args] of Object.entries(other)) {
    it.effect(`with ${how} is a call of its own`, () =>
      Effect.gen(function*() {
        const { runs, tool } = Pay(1)
        yield* run(recovered(tool, (first) => Effect.catch(first, () => instead(tool.call, args))))
        assert.strictEqual(runs.length, 2)
        assert.match(runs[1]!, /^c\/outer_1 /)
      }))
  }

  it.effect("by hand as one value has one record: writes run once", () =>
    Effect.gen(function*() {
      const pay = tool("pay", "write", { failures: 9 })
      const note = tool("note", "write", { failures: 9 })
      const again = (call: Inner) => Effect.option(Effect.retry(call, { times: 2 }))
      const a = outer("read", ({ to }) => {
        const one = ToolCall.make({ id: "mine", arguments: { to } })
        const by = (call: Inner) => Effect.provideService(call, ToolCall.ToolCall, one)
        return Effect.as(
          Effect.all([again(by(pay.tool.call)), again(by(note.tool.call)), again(by(pay.tool.call))]),
          ""
        )
      })
      yield* played(agentOf([a.tool]).report("go"))
      assert.deepStrictEqual(pay.runs.map(({ id }) => id), ["c/mine"])
      assert.deepStrictEqual(note.runs.map(({ id }) => id), ["c/mine_2"])
    }).pipe(Effect.provide(layer)))

  it.effect("has the program's id once, and otherwise its tool's name", () =>
    Effect.gen(function*() {
      const look = tool("look", "read")
      const a = outer("read", () =>
        Effect.as(
          Effect.all([
            instead(look.tool.call, { to: "A" }),
            instead(look.tool.call, { to: "B" }, "x/y"),
            instead(look.tool.call, { to: "C" }, "x/y"),
            instead(look.tool.call, { to: "D" }),
            made(look.tool.call, { to: "E" }, "c")
          ]),
          ""
        ))
      yield* played(agentOf([a.tool]).report("go"))
      assert.deepStrictEqual(look.runs.map(({ id, to }) => `${id} ${to}`), [
        "c/look_1 A",
        "c/x_y B",
        "c/x_y_2 C",
        "c/look_2 D",
        "c/c E"
      ])
    }).pipe(Effect.provide(layer)))

  it.effect("behind a pause has the approved id, for any earlier calls", () =>
    Effect.gen(function*() {
      const runs: Array<string> = []
      const Look = Tool.make("look", {
        parameters: Args,
        success: Schema.String,
        effects: "read",
        needsApproval: ({ to }) => to === "Bob",
        execute: ({ to }) => Effect.map(ToolCall.ToolCall, ({ id }) => (runs.push(`${id} ${to}`), to))
      })
      let lives = 0
      const a = outer("read", () => {
        const names = lives++ === 0 ? ["Ada", "Bob"] : ["Eve", "Eve", "Bob", "Ada"]
        return Effect.map(Effect.forEach(names, (to) => instead(Look.call as Inner, { to })), String)
      })
      const agent = agentOf([a.tool])
      const paused = pausedOf((yield* played(agent.start("go"))).exit)
      assert.deepStrictEqual(paused.pending.map(({ callId }) => callId), ["c/look_2"])
      assert.deepStrictEqual(runs.splice(0), ["c/look_1 Ada"])
      yield* played(agent.resume(JSON.parse(JSON.stringify(paused.snapshot)), [Approval.approve(paused.pending[0]!)]))
      assert.deepStrictEqual(runs, ["c/look_1 Eve", "c/look_3 Eve", "c/look_2 Bob", "c/look_4 Ada"])
    }).pipe(Effect.provide(layer)))
})

describe("a key around a call", () => {
  it.effect("that a tool makes is that call's", () =>
    Effect.gen(function*() {
      const pay = tool("pay", "write")
      const once = Recovery.idempotent({ key: () => "k" })
      const a = outer("read", () =>
        Effect.map(Effect.all([once(pay.tool.call as never), once(pay.tool.call as never)]), String))
      const { results } = yield* played(agentOf([a.tool]).report("go"))
      assert.deepStrictEqual(
        results.map(({ result }) =>
          result
        ),
        ["pay 1 Ada,pay 1 Ada"]
      )
      assert.strictEqual(pay.runs.length, 1)
    }).pipe(Effect.provide(layer)))

  it.effect("that makes calls is not theirs", () =>
    Effect.gen(function*() {
      const pay = tool("pay", "write")
      const a = outer("write", () => Effect.map(Effect.all([pay.tool.call, pay.tool.call]), String))
      const once = recovered(a.tool, Recovery.idempotent({ key: () => "k" }) as never)
      const { results } = yield* played(agentOf([once]).report("go"))
      assert.deepStrictEqual(results.map(({ result }) => result), ["pay 1 Ada,pay 2 Ada"])
    }).pipe(Effect.provide(layer)))
})

describe("a call by hand", () => {
  it.effect("may have values beyond JSON, unless a policy or key compares", () =>
    Effect.gen(function*() {
      const seen: Array<unknown> = []
      const made = (options: object) =>
        Tool.make("t", {
          parameters: Schema.Struct({ value: Schema.Any }),
          effects: "write",
          execute: ({ value }: { readonly value: unknown }) => Effect.sync(() => void seen.push(value)),
          ...options
        } as never) as unknown as Tool.Any & { readonly call: Inner }
      const value = () => 1
      yield* made({}).call.pipe(by({ value }))
      assert.deepStrictEqual(seen.splice(0), [value])
      for (const options of [{ idempotency: true }, { needsApproval: () => false }]) {
        const error = yield* Effect.flip(made(options).call.pipe(by({ value })))
        assert.strictEqual((error as ToolError.InvalidArgs)._tag, "InvalidArgs")
      }
      assert.deepStrictEqual(seen, [])
    }).pipe(Effect.provide(layer)))
})

const ways: Readonly<
  Record<string, (b: Tool.Any) => { readonly state: { readonly runs: number }; readonly tool: Tool.Any }>
> = {
  "in its executor": (b) => outer("read", () => b.call as Effect.Effect<string, unknown, ToolCall.ToolCall>),
  "as a fallback": (b) => {
    const a = outer("read", () => Effect.fail(new Down()))
    return {
      ...a,
      tool: a.tool.pipe(Tool.onError(Recovery.fallback("ExecutionError", b.call) as never)) as Tool.Any
    }
  },
  "made by hand": (b) =>
    outer("read", ({ to }) =>
      Effect.provideService(
        b.call as Effect.Effect<string, unknown, ToolCall.ToolCall>,
        ToolCall.ToolCall,
        ToolCall.make({ id: "mine", arguments: { to } })
      )),
  "swallowing what stops it": (b) =>
    outer(
      "read",
      () =>
        Effect.catchCause(
          b.call as Effect.Effect<string, unknown, ToolCall.ToolCall>,
          () => Effect.succeed("swallowed")
        )
    )
}

describe("admission of a tool with its arguments", () => {
  for (const [way, make] of Object.entries(ways)) {
    it.effect(`a policy's denial of the tool stops its caller: ${way}`, () =>
      Effect.gen(function*() {
        const pay = tool("pay", "write")
        const a = make(pay.tool)
        const policies = [Policy.make("no payments", () => Policy.deny("no")).pipe(Policy.forTools(pay.tool))]
        const { audit, results } = yield* played(agentOf([a.tool], { policies }).report("go"))
        assert.deepStrictEqual(pay.runs, [])
        assert.deepStrictEqual(results.map(({ result }) => (result as { code: string }).code), ["permission_denied"])
        assert.deepStrictEqual(
          audit.map(({ by, callId, decision, tool }) => [decision, tool, callId.split("/")[0], by]),
          [["denied", "pay", "c", "no payments"]]
        )
      }).pipe(Effect.provide(layer)))

    for (const needed of ["tool", "policy"]) {
      const paused = Effect.gen(function*() {
        const pay = tool("pay", "write", { needsApproval: needed === "tool" })
        const a = make(pay.tool)
        const policies = needed === "tool"
          ? [Policy.make("open", () => Policy.allow)]
          : [
            Policy.make("ask", () => Policy.requireApproval("large"), { mayRequestApproval: true }).pipe(
              Policy.forTools(pay.tool)
            )
          ]
        const agent = agentOf([a.tool], { policies })
        const first = yield* played(agent.start("go"))
        const paused = pausedOf(first.exit)
        assert.deepStrictEqual(pay.runs, [])
        assert.deepStrictEqual(paused.pending.map(({ arguments: args, tool }) => [tool, args]), [["pay", {
          to: "Ada"
        }]])
        const { argumentsHash, callId } = paused.pending[0]!
        // As another process has it.
        const snapshot = JSON.parse(JSON.stringify(paused.snapshot)) as unknown
        const resume = (decision: object) =>
          played(agent.resume(snapshot, [{ callId, argumentsHash, ...decision } as Approval.Decision]))
        return { a, first, pay, resume }
      })

      it.effect(`the person is shown the tool, and approved calls run (${needed}): ${way}`, () =>
        Effect.gen(function*() {
          const { first, pay, resume } = yield* paused
          assert.deepStrictEqual(
            first.audit.map(({ decision, tool }) => [decision, tool]),
            [["approval_requested", "pay"]]
          )
          const { audit, exit, results } = yield* resume({ _tag: "Approve", by: "Bo" })
          assert.isTrue(Exit.isSuccess(exit))
          assert.deepStrictEqual(pay.runs.map(({ to }) => to), ["Ada"])
          assert.deepStrictEqual(results.map(({ result }) => result), ["pay 1 Ada"])
          assert.deepStrictEqual(audit.map(({ decision, tool }) => [decision, tool]), [["approved", "pay"]])
        }).pipe(Effect.provide(layer)))

      it.effect(`edited, answered, rejected (${needed}): ${way}`, () =>
        Effect.gen(function*() {
          const edited = yield* paused
          const { results } = yield* edited.resume({ _tag: "Edit", arguments: { to: "Eve" } })
          assert.deepStrictEqual(edited.pay.runs.map(({ to }) => to), ["Eve"])
          assert.deepStrictEqual(results.map(({ result }) => result), ["pay 1 Eve"])

          const answered = yield* paused
          const second = yield* answered.resume({ _tag: "Respond", result: "by hand" })
          assert.deepStrictEqual(answered.pay.runs, [])
          assert.deepStrictEqual(second.results.map(({ result }) => result), ["by hand"])

          const rejected = yield* paused
          const third = yield* rejected.resume({ _tag: "Reject", reason: "too much" })
          assert.deepStrictEqual(rejected.pay.runs, [])
          assert.deepStrictEqual(third.audit.map(({ decision, tool }) => [decision, tool]), [["rejected", "pay"]])
          assert.deepStrictEqual(
            third.results.map(({ result }) => (result as { code: string }).code),
            ["permission_denied"]
          )
        }).pipe(Effect.provide(layer)))
    }
  }

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

  it.effect("a policy's substitute answer is audited under the tool's name", () =>
    Effect.gen(function*() {
      const pay = tool("pay", "write")
      const policies = [Policy.make("dry", () => Policy.substitute("not paid")).pipe(Policy.forTools(pay.tool))]
      const { audit, results } = yield* played(
        agentOf([outer("read", () => pay.tool.call).tool], { policies }).report("go")
      )
      assert.deepStrictEqual(results.map(({ result }) => result), ["not paid"])
      assert.deepStrictEqual(audit.map(({ by, decision, tool }) => [decision, tool, by]), [[
        "substituted",
        "pay",
        "dry"
      ]])
      assert.deepStrictEqual(pay.runs, [])
    }).pipe(Effect.provide(layer)))

  it.effect("an approval covers neither another tool nor other arguments", () =>
    Effect.gen(function*() {
      const pay = tool("pay", "write", { needsApproval: true })
      const refund = tool("refund", "write", { needsApproval: true })
      let other: Tool.Any = pay.tool
      const agent = agentOf([outer("read", () => other.call as Effect.Effect<string, unknown, ToolCall.ToolCall>).tool])
      const first = pausedOf((yield* played(agent.start("go"))).exit)
      other = refund.tool
      const second = pausedOf((yield* played(agent.resume(first.snapshot, [Approval.approve(first.pending[0]!)]))).exit)
      assert.deepStrictEqual(second.pending.map(({ tool }) => tool), ["refund"])
      assert.deepStrictEqual([...pay.runs, ...refund.runs], [])
    }).pipe(Effect.provide(layer)))

  it.effect("with unknown started writes it is denied as unknown, without pause", () =>
    Effect.gen(function*() {
      const pay = tool("pay", "write", { needsApproval: true })
      const note = tool("note", "write")
      const cases = [
        outer("write", () => pay.tool.call),
        // Its answer was lost.
        outer(
          "read",
          () => Effect.andThen(Effect.option(tool("lost", "write", { failures: 1 }).tool.call), pay.tool.call)
        ),
        // By an agent that a tool runs.
        outer("read", () =>
          Effect.andThen(
            Effect.provide(
              agentOf([note.tool]).run("go"),
              ScriptedModel.layer(ScriptedModel.steps([call("note", { to: "Ada" }), text("done")]))
            ),
            pay.tool.call
          ))
      ]
      for (const { state, tool } of cases) {
        const { audit, exit, results } = yield* played(agentOf([tool]).start("go"))
        assert.isTrue(Exit.isSuccess(exit))
        assert.strictEqual(state.runs, 1)
        assert.deepStrictEqual(results.map(({ result }) => (result as { code: string }).code), ["outcome_unknown"])
        assert.include(audit.map(({ decision, tool }) => `${decision} ${tool}`), "denied pay")
      }
      assert.deepStrictEqual(pay.runs, [])
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
