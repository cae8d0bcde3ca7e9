/** A call waits within another one behind inner writes: they are not repeated, and never reported as not done. */
import { assert, describe, it } from "@effect/vitest"
import { Drive, ScriptedModel, VirtualTime } from "@recourse/testing"
import { Data, Effect, Exit, Layer, Redacted, Schema } from "effect"
import {
  Agent,
  AgentEvent,
  Approval,
  Audit,
  ErrorProjection,
  IdempotencyLedger,
  Recovery,
  type RunRecord,
  Tool,
  ToolCall,
  ToolError
} from "@recourse/core"
import { collect, lastResults } from "../support/kit.ts"

class Lost extends Data.TaggedError("Lost") {}

class Declined extends Schema.TaggedError<Declined>()(
  "Declined",
  {},
  ErrorProjection.declare({ code: "upstream_error", model: "Closed.", outcome: "not_done" })
) {}

const Args = Schema.Struct({ to: Schema.String })

type Call = Effect.Effect<string, unknown, ToolCall.ToolCall>

/** A tool with the arguments of its executions. */
const tool = (name: string, options: object = {}) => {
  const runs: Array<string> = []
  const made = Tool.make(name, {
    parameters: Args,
    success: Schema.String,
    effects: "write",
    failure: Declined,
    execute: ({ to }: typeof Args.Type) => Effect.sync(() => (runs.push(to), `${name} ${runs.length} ${to}`)),
    ...options
  } as never) as unknown as Tool.Any & { readonly call: Call }
  return { runs, tool: made }
}

const asks = { needsApproval: true }

/** The model's tool: a read with the given `execute`. */
const outer = (execute: () => Effect.Effect<unknown, unknown, ToolCall.ToolCall>, options: object = {}) =>
  tool("outer", { effects: "read", mayRequestApproval: true, execute: () => Effect.map(execute(), String), ...options })
    .tool

type AnyAgent = Agent.Agent<string, string, unknown, never> & Agent.Resumable<string, string, unknown, never, never>

const agentOf = (tools: ReadonlyArray<Tool.Any>, options?: object): AnyAgent =>
  Agent.make(
    "lead",
    {
      tools,
      defaults: { onError: Recovery.policy({ ExecutionError: "escalate", OutcomeUnknown: "escalate" }) },
      ...options
    } as never
  ) as never

/** A run's continuation behind a call of `outer`: the model's results, events and audit. */
const played = <A>(effect: Effect.Effect<A, unknown, never>) =>
  Effect.gen(function*() {
    const { events, layer } = collect()
    const audit: Array<string> = []
    const exit = yield* Effect.exit(effect).pipe(Effect.provide(Layer.mergeAll(
      ScriptedModel.layer(
        ScriptedModel.steps([ScriptedModel.call("outer", { to: "Ada" }, { id: "c" }), ScriptedModel.text("done")])
      ),
      layer,
      Audit.layer(({ callId, decision }) => Effect.sync(() => void audit.push(`${decision} ${callId}`)))
    )))
    const results = events.flatMap((event) =>
      event._tag === "ToolResult" && event.callId === "c" ? [event.code ?? event.result] : []
    )
    return { audit, events, exit, results }
  })

const pausedOf = ({ exit }: { readonly exit: Exit.Exit<unknown, unknown> }): Approval.Paused => {
  if (Exit.isSuccess(exit) && exit.value instanceof Approval.Paused) return exit.value
  throw new Error(`not paused: ${JSON.stringify(exit)}`)
}

/** The snapshot as another process has it. */
const stored = ({ snapshot }: Approval.Paused): Approval.Snapshot => JSON.parse(JSON.stringify(snapshot))

const yes = ({ pending }: Approval.Paused) => pending.map((call) => Approval.approve(call))

const resumed = (agent: AnyAgent, paused: Approval.Paused, decisions = yes(paused)) =>
  played(agent.resume(stored(paused), decisions))

/** A run in which all that is asked is approved. */
const approvedAll = (agent: AnyAgent) =>
  Effect.gen(function*() {
    let ran = yield* played(agent.start("go"))
    const pauses: Array<Approval.Paused> = []
    const audit = [...ran.audit]
    while (Exit.isSuccess(ran.exit) && ran.exit.value instanceof Approval.Paused) {
      const paused = pausedOf(ran)
      pauses.push(paused)
      assert.isBelow(pauses.length, 9)
      ran = yield* resumed(agent, paused)
      audit.push(...ran.audit)
    }
    return { ...ran, audit, pauses }
  })

const key = Approval.layerKey(Redacted.make("0123456789abcdef0123456789abcdef"))
const layer = Layer.merge(IdempotencyLedger.layerMemory, key)

describe("calls completed within a call before its wait", () => {
  const pay = () => tool("pay", asks)
  const cases: Readonly<Record<string, (note: ReturnType<typeof tool>, pay: ReturnType<typeof tool>) => Tool.Any>> = {
    "in the executor": (note, pay) => outer(() => Effect.all([note.tool.call, pay.tool.call])),
    "beside it": (note, pay) =>
      outer(() => Effect.all([note.tool.call, Effect.andThen(Effect.yieldNow, pay.tool.call)], { concurrency: 2 })),
    "by a tool that a tool calls": (note, pay) => {
      const between = tool("between", { effects: "read", execute: () => note.tool.call }).tool as typeof note.tool
      return outer(() => Effect.all([between.call, pay.tool.call]))
    },
    "by a write around it that is done": (note, pay) => {
      const between = tool("between", { execute: () => note.tool.call }).tool as typeof note.tool
      return outer(() => Effect.all([between.call, pay.tool.call]))
    },
    "by a write, whose recovery goes on": (note, pay) => {
      const between = note.tool.pipe(
        Tool.onError(((call: Call) => Effect.zipWith(call, pay.tool.call, (a, b) => `${a},${b}`)) as never)
      ) as unknown as typeof note.tool
      return outer(() => between.call)
    },
    "in an attempt before": (note, pay) => {
      let attempts = 0
      return outer(() =>
        Effect.andThen(
          note.tool.call,
          (said) =>
            ++attempts === 1 ? Effect.fail(new Declined()) : Effect.map(pay.tool.call, (paid) => `${said},${paid}`)
        )
      ).pipe(Tool.onError(((call: Call) => Effect.retry(call, { times: 1 })) as never)) as never
    }
  }
  for (const [where, make] of Object.entries(cases)) {
    for (const idempotency of [undefined, true]) {
      it.effect(`${where} is not repeated, ${idempotency ? "with" : "without"} a key`, () =>
        Effect.gen(function*() {
          const note = tool("note", { idempotency })
          const asked = pay()
          const { pauses, results } = yield* approvedAll(agentOf([make(note, asked)]))
          assert.deepStrictEqual(pauses.map(({ pending }) => pending.map(({ tool }) => tool)), [["pay"]])
          assert.deepStrictEqual(note.runs, ["Ada"])
          assert.deepStrictEqual(asked.runs, ["Ada"])
          assert.deepStrictEqual(results, ["note 1 Ada,pay 1 Ada"])
        }).pipe(Effect.provide(layer)))
    }
  }

  it.effect("is not done again though the ledger has forgotten it", () =>
    Effect.gen(function*() {
      const note = tool("note", { idempotency: { timeToLive: "1 minute" } })
      const asked = pay()
      const agent = agentOf([outer(() => Effect.all([note.tool.call, asked.tool.call]))])
      const paused = pausedOf(yield* played(agent.start("go")).pipe(Effect.provide(IdempotencyLedger.layerMemory)))
      const { results } = yield* resumed(agent, paused).pipe(Effect.provide(IdempotencyLedger.layerMemory))
      assert.deepStrictEqual(results, ["note 1 Ada,pay 1 Ada"])
      assert.deepStrictEqual(note.runs, ["Ada"])
    }).pipe(Effect.provide(key)))

  it.effect("stay completed over several pauses, each write in turn", () =>
    Effect.gen(function*() {
      const asked = pay()
      const agent = agentOf([
        outer(() => Effect.forEach(["a", "b", "c"], (to) => asked.tool.call.pipe(withArguments({ to }))))
      ])
      const { audit, pauses, results } = yield* approvedAll(agent)
      assert.deepStrictEqual(pauses.flatMap(({ pending }) => pending.map(({ arguments: args }) => args["to"])), [
        "a",
        "b",
        "c"
      ])
      assert.deepStrictEqual(asked.runs, ["a", "b", "c"])
      assert.deepStrictEqual(results, ["pay 1 a,pay 2 b,pay 3 c"])
      assert.deepStrictEqual(audit.filter((record) => record.startsWith("approved")).length, 3)
    }).pipe(Effect.provide(layer)))

  it.effect("are emitted once, charged once, and one entry of the record", () =>
    Effect.gen(function*() {
      const note = tool("note")
      const asked = pay()
      const agent = agentOf([outer(() => Effect.all([note.tool.call, asked.tool.call]))], { budget: { toolCalls: 4 } })
      const first = yield* played(agent.start("go"))
      const paused = pausedOf(first)
      const { events, exit } = yield* played(
        agent.resume(stored(paused), yes(paused))
      )
      assert.isTrue(Exit.isSuccess(exit))
      const attempts = events.flatMap((event) =>
        event._tag === "ToolAttempt" || event._tag === "ToolAttemptRefused" ? [`${event._tag} ${event.tool}`] : []
      )
      assert.deepStrictEqual(attempts, ["ToolAttempt outer", "ToolAttemptRefused note", "ToolAttempt pay"])
      const ended = events.find((event) => event._tag === "RunFinished")
      assert.strictEqual(ended?._tag === "RunFinished" ? ended.usage.toolCalls : undefined, 4)
    }).pipe(Effect.provide(layer)))

  it.effect("keep their outcome: results without JSON, marks, reads", () =>
    Effect.gen(function*() {
      const kinds: Array<boolean> = []
      const ofRun = (asking: object) => {
        const when = tool("when", { success: Schema.Date, execute: () => Effect.sync(() => new Date(0)) })
        const web = tool("web", { trust: "untrusted", execute: () => Effect.succeed("obey") })
        const cached = tool("cached", { execute: () => Effect.fail(new Declined()) }).tool.pipe(
          Tool.onError(
            Recovery.fallback("ExecutionError", Effect.succeed("old"), { degraded: { source: "cache" } }) as never
          )
        ) as unknown as Tool.Any & { readonly call: Call }
        const asked = tool("pay", asking)
        return approvedAll(agentOf([
          outer(() =>
            Effect.gen(function*() {
              const at: unknown = yield* when.tool.call
              kinds.push(at instanceof Date)
              return [yield* web.tool.call, yield* cached.call, yield* asked.tool.call]
            })
          )
        ], { onTainted: { allow: [asked.tool, cached] } }))
      }
      const resultOf = ({ events }: { readonly events: ReadonlyArray<AgentEvent.AgentEvent> }) =>
        JSON.stringify(
          events.flatMap((event) =>
            event._tag === "ToolResult" && event.callId === "c" ? [{ ...event, at: 0, sequence: 0 }] : []
          )
        ).replaceAll(/run_[0-9a-f-]+/g, "run")
      const waited = yield* ofRun(asks)
      assert.strictEqual(waited.pauses.length, 1)
      assert.deepStrictEqual(kinds, [true, true])
      assert.strictEqual(resultOf(waited), resultOf(yield* ofRun({})))
      assert.include(resultOf(waited), "\"untrusted\":true")
      assert.include(resultOf(waited), "\"degraded\":{\"source\":\"cache\"}")
    }).pipe(Effect.provide(layer)))

  it.effect("answer as before if failed though completed", () =>
    Effect.gen(function*() {
      const asked = pay()
      for (
        const error of [
          (fields: object) => new ToolError.PartialSuccess({ ...fields, succeeded: ["a"], failed: [] } as never),
          (fields: object) => new ToolError.Pending({ ...fields, taskId: "t1" } as never)
        ]
      ) {
        let runs = 0
        const part = tool("part", {
          execute: () =>
            Effect.suspend(() => (runs++, Effect.fail(error({ tool: "part", callId: "x", attempt: 1, causes: [] }))))
        })
        const agent = agentOf([
          outer(() =>
            Effect.flatMap(
              Effect.catch(part.tool.call, (error) => Effect.succeed((error as { readonly _tag: string })._tag)),
              (tag) => Effect.map(asked.tool.call, (paid) => `${tag} ${paid.slice(0, 3)}`)
            )
          )
        ])
        const { pauses, results } = yield* approvedAll(agent)
        assert.strictEqual(pauses.length, 1)
        assert.strictEqual(runs, 1)
        assert.match(String(results), /^(PartialSuccess|Pending) pay$/)
      }
    }).pipe(Effect.provide(layer)))
})

describe("started calls without an effect", () => {
  it.effect("restart before completed calls are replayed", () =>
    Effect.gen(function*() {
      const first = tool("first", {
        execute: () => Effect.sync(() => first.runs.push("x")).pipe(Effect.andThen(Effect.fail(new Declined())))
      })
      const note = tool("note")
      const asked = tool("pay", asks)
      const agent = agentOf([
        outer(() =>
          Effect.all([Effect.option(first.tool.call), note.tool.call, asked.tool.call]).pipe(
            Effect.map(([, ...rest]) => rest)
          )
        )
      ])
      const { results } = yield* approvedAll(agent)
      assert.deepStrictEqual(results, ["note 1 Ada,pay 1 Ada"])
      assert.deepStrictEqual([first.runs.length, note.runs.length, asked.runs.length], [2, 1, 1])
    }).pipe(Effect.provide(layer)))
})

describe("a replacement of a call", () => {
  for (const idempotency of [undefined, { rejected: ["Declined"] }]) {
    it.effect(`waits for its approval, ${idempotency === undefined ? "without" : "with"} a key`, () =>
      Effect.gen(function*() {
        const asked = tool("pay", asks)
        let runs = 0
        const first = tool("outer", {
          idempotency,
          execute: () => Effect.suspend(() => (runs++, Effect.fail(new Declined())))
        }).tool.pipe(Tool.onError(Recovery.fallback("ExecutionError", asked.tool.call) as never))
        const { results } = yield* approvedAll(agentOf([first as never]))
        assert.deepStrictEqual(results, ["pay 1 Ada"])
        assert.deepStrictEqual([runs, asked.runs], [2, ["Ada"]])
      }).pipe(Effect.provide(layer)))
  }
})

describe("a call completed before the pause, in a repeated call", () => {
  it.effect("answers each attempt", () =>
    Effect.gen(function*() {
      const note = tool("note")
      const asked = tool("pay", asks)
      let attempts = 0
      const agent = agentOf([
        outer(() =>
          Effect.flatMap(note.tool.call, (said) =>
            ++attempts === 2 ? Effect.fail(new Declined()) : Effect.map(asked.tool.call, (paid) =>
              `${said},${paid}`))
        )
          .pipe(Tool.onError(
            ((call: Call) =>
              Effect.retry(call, { times: 1 })) as never
          )) as never
      ])
      const { results } = yield* approvedAll(agent)
      assert.deepStrictEqual(results, ["note 1 Ada,pay 1 Ada"])
      assert.deepStrictEqual([attempts, note.runs, asked.runs], [3, ["Ada"], ["Ada"]])
    }).pipe(Effect.provide(layer)))

  it.effect("is unknown and not repeated if its result cannot be decoded", () =>
    Effect.gen(function*() {
      const runs: Array<string> = []
      const agent = (success: Schema.Top) => {
        const note = tool("note", { success, execute: () => Effect.sync(() => (runs.push("note"), "noted")) })
        const asked = tool("pay", { ...asks, execute: () => Effect.sync(() => (runs.push("pay"), "paid")) })
        return agentOf([
          outer(() =>
            Effect.andThen(
              Effect.catchTag(
                note.tool.call as Effect.Effect<string, ToolError.OutcomeUnknown>,
                "OutcomeUnknown",
                () => Effect.succeed("nobody knows")
              ),
              (said) => Effect.map(asked.tool.call, (paid) => `${said}, ${paid}`)
            )
          )
        ])
      }
      const paused = pausedOf(yield* played(agent(Schema.String).start("go")))
      const { audit, results } = yield* resumed(agent(Schema.Int), paused)
      assert.deepStrictEqual(results, ["nobody knows, paid"])
      assert.deepStrictEqual(runs, ["note", "pay"])
      assert.deepStrictEqual(audit, ["approved c/pay_1", "outcome_unknown c/note_1"])
    }).pipe(Effect.provide(layer)))
})

describe("a tool that diverges", () => {
  const forked = (ways: ReadonlyArray<Call>) => {
    let times = 0
    return outer(() => ways[Math.min(times++, ways.length - 1)]!)
  }

  it.effect("a new write waits for the replay of completed ones", () =>
    Effect.gen(function*() {
      const note = tool("note")
      const asked = tool("pay", asks)
      const agent = agentOf([forked([
        Effect.andThen(note.tool.call.pipe(withArguments({ to: "a" })), asked.tool.call),
        Effect.andThen(note.tool.call.pipe(withArguments({ to: "b" })), asked.tool.call)
      ])])
      const { audit, results } = yield* Drive.drive(approvedAll(agent))
      assert.deepStrictEqual([note.runs, asked.runs], [["a"], []])
      assert.deepStrictEqual(results, ["outcome_unknown"])
      assert.deepStrictEqual(audit.slice(-1), ["denied c/note_1"])
    }).pipe(Effect.provide(layer)))

  it.effect("a new write starts if no write was completed before", () =>
    Effect.gen(function*() {
      const first = tool("first", { execute: () => Effect.fail(new Declined()) })
      const note = tool("note")
      const asked = tool("pay", asks)
      const agent = agentOf([forked([
        Effect.andThen(Effect.option(first.tool.call), asked.tool.call),
        Effect.andThen(note.tool.call, asked.tool.call)
      ])])
      const { results } = yield* approvedAll(agent)
      assert.deepStrictEqual(results, ["pay 1 Ada"])
      assert.deepStrictEqual([note.runs, asked.runs], [["Ada"], ["Ada"]])
    }).pipe(Effect.provide(layer)))

  it.effect("a write with a key does not start, and its key is free", () =>
    Effect.gen(function*() {
      const note = tool("note", { idempotency: { key: ({ to }: typeof Args.Type) => to } })
      const asked = tool("pay", asks)
      const other = note.tool.call.pipe(withArguments({ to: "b" }))
      const agent = agentOf([
        forked([Effect.andThen(note.tool.call, asked.tool.call), Effect.andThen(other, asked.tool.call)])
      ])
      const { results } = yield* Drive.drive(approvedAll(agent))
      assert.deepStrictEqual(results, ["outcome_unknown"])
      const alone = yield* Effect.provideService(
        note.tool.call,
        ToolCall.ToolCall,
        ToolCall.make({ id: "x", arguments: { to: "b" } })
      )
      assert.deepStrictEqual([alone, note.runs], ["note 2 b", ["Ada", "b"]])
    }).pipe(Effect.provide(layer)))

  it.effect("an approved write starts: a tool may detect a completed step", () =>
    Effect.gen(function*() {
      const note = tool("note")
      const asked = tool("pay", asks)
      const agent = agentOf([forked([Effect.andThen(note.tool.call, asked.tool.call), asked.tool.call])])
      const { results } = yield* approvedAll(agent)
      assert.deepStrictEqual(results, ["pay 1 Ada"])
      assert.deepStrictEqual([note.runs, asked.runs], [["Ada"], ["Ada"]])
    }).pipe(Effect.provide(layer)))

  it.effect("a failure has an unknown outcome, also before the replay", () =>
    Effect.gen(function*() {
      const note = tool("note")
      const asked = tool("pay", asks)
      const agent = agentOf([
        forked([Effect.andThen(note.tool.call, asked.tool.call), Effect.fail(new Lost())])
      ])
      const { results } = yield* approvedAll(agent)
      assert.deepStrictEqual(results, ["outcome_unknown"])
    }).pipe(Effect.provide(layer)))
})

describe("of a call that was partly completed", () => {
  const halfway = Effect.gen(function*() {
    const note = tool("note")
    const asked = tool("pay", asks)
    const agent = agentOf([outer(() => Effect.andThen(note.tool.call, asked.tool.call))])
    const report = yield* played(agent.start("go"))
    return { agent, asked, events: report.events, note, paused: pausedOf(report) }
  })

  it.effect("a partly completed call is not reported as not made: rejected", () =>
    Effect.gen(function*() {
      const { agent, asked, paused } = yield* halfway
      const { audit, events, results } = yield* resumed(agent, paused, [
        Approval.reject(paused.pending[0]!, "too much")
      ])
      assert.deepStrictEqual(results, ["outcome_unknown"])
      assert.deepStrictEqual(asked.runs, [])
      assert.include(audit, "rejected c/pay_1")
      const said = events.findLast((event) => event._tag === "ToolResult" && event.callId === "c")
      assert.include(JSON.stringify(said), "A part of this call was done. A person rejected another: too much")
    }).pipe(Effect.provide(layer)))

  it.effect("an unstarted call is reported as not made: rejected", () =>
    Effect.gen(function*() {
      const first = tool("first", { execute: () => Effect.fail(new Declined()) })
      const asked = tool("pay", asks)
      const agent = agentOf([outer(() => Effect.andThen(Effect.option(first.tool.call), asked.tool.call))])
      const paused = pausedOf(yield* played(agent.start("go")))
      const { results } = yield* resumed(agent, paused, [Approval.reject(paused.pending[0]!, "too much")])
      assert.deepStrictEqual(results, ["permission_denied"])
    }).pipe(Effect.provide(layer)))

  it.effect("a partly completed call is not reported as not made: waiting", () =>
    Effect.gen(function*() {
      const { agent } = yield* halfway
      const { exit } = yield* played(agent.report("go"))
      const { transcript } = (Exit.isSuccess(exit) ? exit.value : assert.fail()) as RunRecord.RunRecord
      const [result] = lastResults(transcript)
      assert.deepInclude(result?.result, {
        code: "outcome_unknown",
        message_for_model: "A part of this call was done. Another part has no approval."
      })
    }).pipe(Effect.provide(layer)))

  it.effect("a partly completed call is never not made, interrupted anywhere", () =>
    Effect.gen(function*() {
      const { agent, asked, note, paused } = yield* halfway
      const go = (interruptAt?: number) => {
        const events: Array<AgentEvent.AgentEvent> = []
        return VirtualTime.run(
          agent.resume(stored(paused), yes(paused)).pipe(
            Effect.provide(Layer.mergeAll(
              ScriptedModel.layer(ScriptedModel.steps([ScriptedModel.text("done")])),
              AgentEvent.listen((event) => Effect.sync(() => void events.push(event))),
              layer
            )),
            Effect.provideService(Approval.Resumptions, { claim: () => Effect.succeed(true) })
          ) as Effect.Effect<unknown, unknown>,
          interruptAt === undefined ? {} : { interruptAt }
        ).pipe(Effect.map(({ operations }) => ({ events, operations })))
      }
      const { operations } = yield* go()
      let cutOff = 0
      for (let at = 1; at <= operations; at++) {
        const { events } = yield* go(at)
        const results = events.flatMap((event) => event._tag === "ToolResult" && event.callId === "c" ? [event] : [])
        for (const { code, isFailure } of results) {
          if (!isFailure) continue
          cutOff++
          assert.strictEqual(code, "outcome_unknown", `operation ${at}`)
        }
      }
      assert.isAbove(cutOff, 20)
      assert.deepStrictEqual(note.runs, ["Ada"])
      assert.isAbove(asked.runs.length, 0)
    }).pipe(Effect.provide(layer)))
})

describe("of a call that waits", () => {
  const done = () => tool("note")
  const declined = () => tool("first", { execute: () => Effect.fail(new Declined()) })
  const look = () => tool("look", { effects: "read" })
  const cases: Readonly<Record<string, readonly [before: ReadonlyArray<ReturnType<typeof tool>>, isInPart: boolean]>> =
    {
      "and did nothing": [[], false],
      "and has read something": [[look()], false],
      "and tried something that was not done": [[declined()], false],
      "and has done something": [[done()], true],
      "and has done something besides what was not done": [[declined(), done()], true]
    }
  for (const [name, [before, isInPart]] of Object.entries(cases)) {
    it.effect(`${name} the model reads that a part was ${isInPart ? "" : "not "}done`, () =>
      Effect.gen(function*() {
        const asked = tool("pay", asks)
        const agent = agentOf([
          outer(() => Effect.andThen(Effect.forEach(before, ({ tool }) => Effect.option(tool.call)), asked.tool.call))
        ])
        const { exit } = yield* played(agent.report("go"))
        const { transcript } = (Exit.isSuccess(exit) ? exit.value : assert.fail()) as RunRecord.RunRecord
        const said = JSON.stringify(lastResults(transcript))
        assert.strictEqual(said.includes("A part of this call was done."), isInPart, said)
      }).pipe(Effect.provide(layer)))
  }
})

/** Other arguments for a tool's call. */
function withArguments(args: typeof Args.Type) {
  return <A, E>(call: Effect.Effect<A, E, ToolCall.ToolCall>): Effect.Effect<A, E, ToolCall.ToolCall> =>
    Effect.updateService(call, ToolCall.ToolCall, (call) => ({ ...call, arguments: args }))
}
