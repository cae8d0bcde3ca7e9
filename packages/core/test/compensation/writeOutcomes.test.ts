/**
 * The outcome of each compensation, and its receivers: the report, the audit, the events, the record, the conversation,
 * the spans.
 */
import { assert, describe, it } from "@effect/vitest"
import { Drive, ScriptedModel } from "@recourse/testing"
import { Cause, Effect, Exit, Layer, Logger, References, Schema, SchemaGetter, Tracer } from "effect"
import {
  Agent,
  type AgentEvent,
  Approval,
  Audit,
  IdempotencyLedger,
  Journal,
  Reconciliation,
  Recovery,
  type RunRecord,
  RunRecord as Records,
  Tool,
  ToolCall,
  ToolError,
  ToolInterceptor
} from "@recourse/core"
import { Prompt } from "effect/ai"
import { key } from "../support/bookings.ts"
import { journalOf } from "../support/interruptedRuns.ts"
import { collect, collectLogs, Down } from "../support/kit.ts"

const Params = Schema.Struct({ at: Schema.Date })
const Booking = Schema.Struct({ at: Schema.Date })
const at = new Date(0).toISOString()

type AnyTool = Tool.Tool<string, never, never, never, never>
type AnyAgent = Agent.Agent<string, string, unknown, never> & Agent.Resumable<string, string, unknown, never, never>

/** Compensated calls with their arguments. */
interface World {
  readonly undone: Array<readonly [name: string, params: unknown, result: unknown]>
  readonly calls: Array<ToolCall.Call>
}

const worldOf = (): World => ({ undone: [], calls: [] })

const tool = (world: World, name: string, more: object = {}): AnyTool =>
  Tool.make(name, {
    parameters: Params,
    success: Booking,
    effects: "write",
    execute: ({ at }: typeof Params.Type) => Effect.succeed({ at }),
    compensate: (params: unknown, result: unknown) =>
      Effect.flatMap(ToolCall.ToolCall, (call) =>
        Effect.sync(() => {
          world.undone.push([name, params, result])
          world.calls.push(call)
        })),
    ...more
  } as never) as never

const lost = { execute: () => Effect.fail(new Down()) }
const looks = (found: Effect.Effect<Reconciliation.Reconciliation<typeof Booking.Type>, unknown>) => ({
  ...lost,
  idempotency: { reconcile: () => found }
})

/** A tool, and the outcome of its write's compensation. */
interface Fate {
  readonly more?: object
  readonly outcome: RunRecord.CompensatedCall["outcome"]
  readonly because?: ToolError.NotCompensated["because"]
  readonly error?: string
  /** The mark of the call's result. */
  readonly mark?: "undone" | "may_be_undone"
}

const fates: Readonly<Record<string, Fate>> = {
  done: { outcome: "undone", mark: "undone" },
  found: {
    more: looks(Effect.succeed(Reconciliation.completed({ at: new Date(7) }))),
    outcome: "undone",
    mark: "undone"
  },
  absent: { more: looks(Effect.succeed(Reconciliation.notStarted)), outcome: "not_happened" },
  unclear: {
    more: looks(Effect.succeed(Reconciliation.unknown)),
    outcome: "not_undone",
    because: "unknown",
    error: "OutcomeUnknown"
  },
  lost: { more: lost, outcome: "not_undone", because: "unknown" },
  half: {
    more: { execute: () => ToolCall.partial({ succeeded: [1], failed: [] }) },
    outcome: "not_undone",
    because: "partial"
  },
  task: { more: { execute: () => ToolCall.pending("t") }, outcome: "not_undone", because: "pending" },
  stuck: {
    more: { compensate: () => Effect.fail(new Down()) },
    outcome: "not_undone",
    because: "failed",
    error: "Down",
    mark: "may_be_undone"
  },
  slow: { more: { compensate: () => Effect.never }, outcome: "not_undone", because: "timeout", mark: "may_be_undone" }
}
const names = Object.keys(fates)

const reasonOf = (defect: unknown) => defect instanceof ToolError.ExecutorDefect && defect.reason
const Die = Tool.make("die", { effects: "read", execute: () => Effect.die("no") })
const Pay = Tool.make("pay", { effects: "write", needsApproval: true, execute: () => Effect.void })

const agentOf = (
  tools: ReadonlyArray<unknown>,
  reports: Array<ReadonlyArray<ToolError.NotCompensated>> = [],
  more: object = {}
) =>
  Agent.make("clerk", {
    tools: [...tools, Pay, Die] as never,
    defaults: { onError: Recovery.keepGoing },
    compensation: { report: (left: ReadonlyArray<ToolError.NotCompensated>) => Effect.sync(() => reports.push(left)) },
    ...more
  } as never) as never as AnyAgent

/** Calls each tool, then waits for a person or not, and dies. */
const model = (tools: ReadonlyArray<string>, waits: boolean) =>
  ScriptedModel.layer(({ prompt }) => {
    const turns = [...tools, ...waits ? ["pay"] : [], "die"]
    const name = turns[prompt.content.filter(({ role }) => role === "assistant").length]!
    return ScriptedModel.call(name, name === "die" || name === "pay" ? {} : { at }, { id: `c_${name}` })
  })

/** Collects the spans of compensations. */
const spansOf = () => {
  const spans: Array<Tracer.NativeSpan> = []
  const tracer = Tracer.make({
    span: (options) => {
      const span = new Tracer.NativeSpan(options)
      if (span.name.startsWith("compensate_tool")) spans.push(span)
      return span
    }
  })
  return { spans, tracer }
}

const stored = <A>(value: A): A => JSON.parse(JSON.stringify(value)) as A

/** Without undefined fields. */
const defined: (value: object) => unknown = stored

/** The marks of the result of a tool's call, by the name of the tool. */
const marksOf = (result: unknown, tool: string): ReadonlyArray<string> =>
  Object.entries(result as object).flatMap(([key, value]) => JSON.stringify(value) === `["${tool}"]` ? [key] : [])

const reportOf = (events: ReadonlyArray<AgentEvent.AgentEvent>) =>
  events.flatMap((event) => {
    if (event._tag !== "ToolCompensated") return []
    const { because, callId, error, outcome, tool } = event
    return [stored({ callId, tool, outcome, because, error } as RunRecord.CompensatedCall)]
  })

/**
 * Ways of a run to its end: in its only execution, in another process after a pause, or in an execution of a journaled
 * run.
 */
const ways = ["in one go", "over a pause", "with a journal"] as const

describe("a write with a due compensation", () => {
  for (const way of ways) {
    it.effect(`is compensated, or reported with its reason, once: ${way}`, () =>
      Effect.gen(function*() {
        const world = worldOf()
        const reports: Array<ReadonlyArray<ToolError.NotCompensated>> = []
        const audits: Array<Audit.AuditRecord> = []
        const { events, layer: heard } = collect()
        const { spans, tracer } = spansOf()
        const agent = () => agentOf(Object.entries(fates).map(([name, { more }]) => tool(world, name, more)), reports)
        const { life } = journalOf()
        const run: Effect.Effect<unknown, unknown, never> = way === "over a pause"
          ? Effect.flatMap(agent().start("go"), (paused) =>
            paused._tag === "Paused"
              ? agent().resume(stored(paused.snapshot), paused.pending.map((call) => Approval.approve(call)))
              : assert.fail("it waits"))
          : agent().run("go", { runId: "run_1" })
        const play = (journal: Journal.Journal | undefined) =>
          Drive.drive(
            Effect.exit(run).pipe(
              Effect.provide(Layer.mergeAll(model(names, way === "over a pause"), heard, key)),
              Effect.provide(Audit.layer((record) => Effect.sync(() => audits.push(record)))),
              Effect.provideService(Journal.CurrentJournal, journal),
              Effect.withTracer(tracer)
            ) as Effect.Effect<Exit.Exit<unknown, unknown>>,
            { step: "10 seconds" }
          )
        const exit = yield* Effect.provide(
          way === "with a journal"
            ? Effect.flatMap(play(life().journal), (first) =>
              // The next execution knows all of it.
              Effect.as(play(life().journal), first))
            : play(undefined),
          IdempotencyLedger.layerMemory
        )
        const newest = Object.entries(fates).toReversed()
        const expected = newest.map(([name, { because, error, outcome }]) =>
          defined({ callId: `c_${name}`, tool: name, outcome, because, error })
        )
        assert.deepStrictEqual<unknown>(reportOf(events), expected)
        assert.deepStrictEqual<unknown>(
          audits.flatMap(({ callId, decision, reason, tool }) =>
            decision.endsWith("compensated") ? [defined({ callId, tool, decision, reason })] : []
          ),
          newest.map(([name, { because, error, outcome }]) =>
            defined({
              callId: `c_${name}`,
              tool: name,
              decision: outcome === "not_undone" ? "not_compensated" : "compensated",
              reason: error === undefined ? because : `${because}: ${error}`
            })
          )
        )
        const left = newest.filter(([, { outcome }]) => outcome === "not_undone")
        assert.strictEqual(reports.length, way === "with a journal" ? 2 : 1)
        for (const report of reports) {
          assert.deepStrictEqual<unknown>(
            report.map(({ arguments: args, because, callId, error, tool }) =>
              defined({ callId, tool, because, error, arguments: args })
            ),
            left.map(([name, { because, error }]) =>
              defined({ callId: `c_${name}`, tool: name, because, error, arguments: { at } })
            )
          )
        }
        assert.instanceOf(reports[0]!.find(({ tool }) => tool === "stuck")?.reason, Down)
        const { compensations, transcript } = Exit.isFailure(exit)
          ? (Records.fromCause(exit.cause) as { readonly value: RunRecord.RunRecord }).value
          : assert.fail()
        assert.deepStrictEqual<unknown>(compensations?.map(defined), expected)
        const results = transcript.content.flatMap((message) => message.role === "tool" ? message.content : [])
        const marks = results.flatMap((part) =>
          part.type === "tool-result" && names.includes(part.name)
            ? [[part.name, ...marksOf(part.result, part.name)]]
            : []
        )
        assert.deepStrictEqual<unknown>(
          marks,
          Object.entries(fates).map(([name, { mark }]) => [name, ...mark === undefined ? [] : [mark]])
        )
        assert.deepStrictEqual<unknown>(world.undone, [
          ["found", { at: new Date(0) }, { at: new Date(7) }],
          ["done", { at: new Date(0) }, { at: new Date(0) }]
        ])
        assert.deepStrictEqual<unknown>(
          spans.map(({ attributes, name }) => [name, Object.fromEntries(attributes)]),
          newest.map(([name, { because }]) => [
            `compensate_tool ${name}`,
            {
              "gen_ai.tool.name": name,
              "gen_ai.tool.call.id": `c_${name}`,
              "gen_ai.tool.type": "function",
              ...because === undefined ? undefined : { "error.type": because }
            }
          ])
        )
      }))
  }
})

describe("a write that another process compensates", () => {
  const Other = Schema.Struct({ n: Schema.Int })
  const Broken = Schema.Struct({
    at: Schema.String.pipe(Schema.decodeTo(Schema.String, {
      decode: SchemaGetter.transform((): string => {
        throw new Error("no")
      }),
      encode: SchemaGetter.transform((at: string) => at)
    }))
  })
  const today: Readonly<Record<string, readonly [(world: World) => ReadonlyArray<AnyTool>, string]>> = {
    "is undone by the tool of today": [(world) => [tool(world, "book")], "undone"],
    "is undone without a result, where that is none": [
      (world) => [tool(world, "book", { success: Schema.Unknown })],
      "undone"
    ],
    "is left where no tool has its name": [() => [], "no_tool"],
    "is left where its tool does not undo any more": [
      (world) => [tool(world, "book", { compensate: undefined })],
      "no_tool"
    ],
    "is left where its arguments do not fit any more": [
      (world) => [tool(world, "book", { parameters: Other })],
      "unreadable"
    ],
    "is left where its arguments cannot be looked at": [
      (world) => [tool(world, "book", { parameters: Broken })],
      "failed"
    ],
    "is left where its result does not fit any more": [
      (world) => [tool(world, "book", { success: Other })],
      "unreadable"
    ]
  }
  const waiting = Effect.map(
    agentOf([tool(worldOf(), "book")]).start("go").pipe(Effect.provide([model(["book"], true), key])),
    (paused) => paused._tag === "Paused" ? stored(paused.snapshot) : assert.fail("it waits")
  )
  for (const [name, [tools, expected]] of Object.entries(today)) {
    it.effect(name, () =>
      Effect.gen(function*() {
        const world = worldOf()
        const { events, layer: heard } = collect()
        const snapshot = yield* waiting
        // It is cancelled while it waits: that calls the tools only to compensate.
        const { journal } = journalOf().life()
        yield* Effect.exit(agentOf(tools(world)).resume({ ...snapshot }, [])).pipe(
          Effect.provide([model(["book"], true), key, heard]),
          Effect.provideService(Journal.CurrentJournal, {
            ...journal,
            runId: snapshot.runId,
            isResumed: true,
            isCancelled: () => true
          })
        )
        assert.deepStrictEqual<unknown>(reportOf(events).map(({ because, outcome }) => because ?? outcome), [expected])
        assert.strictEqual(world.undone.length, expected === "undone" ? 1 : 0)
        // It has ended: compensated writes are not resumed.
        const again = yield* Effect.flip(agentOf([tool(world, "book")]).resume({ ...snapshot }, [])).pipe(
          Effect.provide([model(["book"], true), key])
        )
        assert.deepInclude(again, { _tag: "SnapshotRefused", reason: "used" })
      }))
  }

  it.effect("stays if JSON cannot represent its result", () =>
    Effect.gen(function*() {
      const { events, layer: heard } = collect()
      const odd = tool(worldOf(), "odd", { success: Schema.Unknown, execute: () => Effect.succeed(() => 1) })
      const Book = Tool.make("book", {
        parameters: Params,
        effects: "write",
        execute: () =>
          Effect.asVoid(
            Effect.provideService(odd.call, ToolCall.ToolCall, ToolCall.make({ id: "x", arguments: { at } }))
          ) as Effect.Effect<void>
      })
      const agent = agentOf([Book], [], { compensation: { tools: [odd] } })
      yield* Effect.exit(
        Effect.flatMap(agent.start("go"), (paused) =>
          paused._tag === "Paused"
            ? agent.resume(stored(paused.snapshot), paused.pending.map((call) => Approval.approve(call)))
            : assert.fail("it waits"))
      ).pipe(Effect.provide([model(["book"], true), key, heard]))
      assert.deepStrictEqual<unknown>(reportOf(events), [
        { callId: "c_book/x", tool: "odd", outcome: "not_undone", because: "unreadable" }
      ])
    }))
})

describe("a compensation", () => {
  it.effect("gets the decoded arguments and the answer in the calling process", () =>
    Effect.gen(function*() {
      const world = worldOf()
      let decoded = 0
      const Counted = Schema.Struct({
        at: Schema.String,
        n: Schema.Int.pipe(Schema.withDecodingDefaultKey(Effect.sync(() => ++decoded)))
      })
      const answer = () => 1
      yield* Effect.exit(
        agentOf([
          tool(world, "book", {
            parameters: Counted,
            success: Schema.Unknown,
            execute: () => Effect.succeed(answer),
            toModelOutput: () => [Prompt.textPart({ text: "booked" })]
          })
        ])
          .run("go")
      ).pipe(Effect.provide(model(["book"], false)))
      assert.deepStrictEqual<unknown>(world.undone, [["book", { at, n: 1 }, answer]])
    }))

  it.effect("of an approved call finds out if it was done", () =>
    Effect.gen(function*() {
      const world = worldOf()
      const more = { ...looks(Effect.succeed(Reconciliation.completed({ at: new Date(7) }))), needsApproval: true }
      const agent = () => agentOf([tool(world, "book", more)])
      const { events, layer: heard } = collect()
      yield* Effect.exit(
        Effect.flatMap(agent().start("go"), (paused) =>
          paused._tag === "Paused"
            ? agent().resume(stored(paused.snapshot), paused.pending.map((call) => Approval.approve(call)))
            : assert.fail("it waits"))
      ).pipe(Effect.provide([model(["book"], false), key, heard, IdempotencyLedger.layerMemory]))
      assert.deepStrictEqual<unknown>(reportOf(events).map(({ because, outcome }) => because ?? outcome), ["undone"])
    }))

  it.effect("that was interrupted needs a person if its tool is unknown", () =>
    Effect.gen(function*() {
      const { life } = journalOf()
      const { events, layer: heard } = collect()
      const { journal } = life()
      const play = (agent: AnyAgent, journal: Journal.Journal) =>
        Effect.exit(agent.run("go", { runId: "run_1" })).pipe(
          Effect.provide([model(["book"], false), heard]),
          Effect.provideService(Journal.CurrentJournal, journal)
        )
      yield* play(agentOf([tool(worldOf(), "book")]), {
        ...journal,
        record: (kind, key, value) =>
          kind === "compensation" && key.startsWith("run_1") ? Effect.interrupt : journal.record(kind, key, value)
      })
      yield* play(agentOf([]), life().journal)
      assert.deepStrictEqual<unknown>(reportOf(events).map(({ because, outcome }) => because ?? outcome), ["timeout"])
    }))

  it.effect("gets the call under its own key, and may be intercepted", () =>
    Effect.gen(function*() {
      const world = worldOf()
      const met: Array<ToolInterceptor.Compensation> = []
      yield* Effect.exit(agentOf([tool(world, "book")]).run("go")).pipe(
        Effect.provide(model(["book"], false)),
        Effect.provideService(ToolInterceptor.CompensationInterceptor, (compensation, undo) => {
          met.push(compensation)
          return Effect.andThen(undo, undo)
        })
      )
      const params = { at: new Date(0) }
      assert.deepStrictEqual<unknown>(met, [{ tool: "book", callId: "c_book", params, result: params }])
      assert.strictEqual(world.undone.length, 2)
      for (const { arguments: args, attempt, id, idempotencyKey, level } of world.calls) {
        assert.deepStrictEqual<unknown>({ args, attempt, id, level }, {
          args: { at },
          attempt: 1,
          id: "c_book",
          level: "tool"
        })
        assert.match(idempotencyKey!, /^[0-9a-f]{64}$/)
      }
      assert.strictEqual(new Set(world.calls.map(({ idempotencyKey }) => idempotencyKey)).size, 1)
    }))

  it.effect("has the timeout of its tool or agent; the next one follows", () =>
    Effect.gen(function*() {
      for (
        const [timeout, compensation, seconds] of [
          ["4 seconds", undefined, 4],
          [undefined, "6 seconds", 6],
          ["4 seconds", "6 seconds", 4],
          [undefined, undefined, 30]
        ] as const
      ) {
        const { events, layer: heard } = collect()
        const slow = tool(worldOf(), "slow", { compensate: () => Effect.never, ...timeout && { timeout } })
        const agent = agentOf([tool(worldOf(), "book"), slow], [], {
          compensation: { ...compensation && { timeout: compensation } }
        })
        yield* Drive.drive(
          Effect.exit(agent.run("go")).pipe(Effect.provide([model(["book", "slow"], false), heard])),
          { step: "1 second" }
        )
        const [first, second] = events.filter(({ _tag }) => _tag === "ToolCompensated")
        assert.deepStrictEqual<unknown>(reportOf([first!, second!]).map(({ because, outcome }) => because ?? outcome), [
          "timeout",
          "undone"
        ])
        const died = events.findLast(({ _tag }) => _tag === "ToolCallStarted")!
        assert.strictEqual((first!.at - died.at) / 1000, seconds)
      }
    }))
})

describe("the report of uncompensated writes", () => {
  const left = ["lost"] as const
  const reporting: Readonly<
    Record<string, readonly [(() => Effect.Effect<unknown>) | undefined, ReadonlyArray<string>]>
  > = {
    "that fails is logged": [() => Effect.die("no mail"), ["compensation.report failed"]],
    "that throws is logged": [
      () => {
        throw new Error("no mail")
      },
      ["compensation.report failed"]
    ],
    "that hangs is logged, and ends": [() => Effect.never, ["compensation.report gave no answer"]],
    "that goes well is told of nobody": [() => Effect.void, []],
    "that is not wanted is told of nobody": [undefined, []]
  }
  for (const [name, [report, expected]] of Object.entries(reporting)) {
    it.effect(`${name}; the run ends with its own error`, () =>
      Effect.gen(function*() {
        const { layer, messages } = collectLogs()
        const agent = agentOf([tool(worldOf(), "lost", lost)], [], { compensation: { report } })
        const exit = yield* Drive.drive(
          Effect.exit(agent.run("go")).pipe(Effect.provide([model(left, false), layer])),
          { step: "10 seconds" }
        )
        assert.strictEqual(Exit.isFailure(exit) && reasonOf(Cause.squash(exit.cause)), "no")
        assert.deepStrictEqual<unknown>(
          messages.filter((message) => message.includes("compensation")).map((m) => m.split(",")[0]),
          expected
        )
      }))
  }

  it.effect("is not made if all writes are compensated", () =>
    Effect.gen(function*() {
      const reports: Array<ReadonlyArray<ToolError.NotCompensated>> = []
      yield* Effect.exit(agentOf([tool(worldOf(), "book")], reports).run("go")).pipe(
        Effect.provide(model(["book"], false))
      )
      assert.deepStrictEqual<unknown>(reports, [])
    }))
})

describe("an audit that cannot be written", () => {
  const logged = () => {
    const lines: Array<readonly [message: string, annotations: unknown]> = []
    const layer = Logger.layer([
      Logger.make(({ fiber, message }) => lines.push([String(message), fiber.getRef(References.CurrentLogAnnotations)]))
    ])
    return { layer, lines }
  }
  const play = (turns: ReadonlyArray<ScriptedModel.Turn>, refused: boolean) =>
    Effect.gen(function*() {
      const world = worldOf()
      const tried: Array<string> = []
      const { layer, lines } = logged()
      const agent = agentOf([tool(world, "book"), tool(world, "hotel"), tool(world, "car")])
      const steps = ScriptedModel.layer(ScriptedModel.steps(turns as never))
      const exit = yield* Effect.exit(
        Effect.flatMap(agent.start("go"), (ended) =>
          ended._tag === "Paused" && refused
            ? agent.resume(ended.snapshot, ended.pending.map((call) => Approval.reject(call, "no")))
            : Effect.succeed(ended))
      ).pipe(
        Effect.provide([steps, layer, key]),
        Effect.provide(Audit.layer(({ callId, decision }) =>
          decision.endsWith("compensated")
            ? Effect.andThen(Effect.sync(() => tried.push(callId)), Effect.die("full"))
            : Effect.void
        ))
      )
      return { exit, lines: lines.filter(([message]) => message.includes("no audit record")), tried, world }
    })
  const books = ["book", "hotel", "car"].map((name) => ScriptedModel.call(name, { at }, { id: `c_${name}` }))
  const without = (...tools: ReadonlyArray<string>) =>
    tools.map((tool) => ["A compensation has no audit record", { call_id: `c_${tool}`, tool }])

  it.effect("is tried once; other writes are compensated and logged; the error stays", () =>
    Effect.gen(function*() {
      const { exit, lines, tried, world } = yield* play([...books, ScriptedModel.call("die", {})], false)
      assert.deepStrictEqual<unknown>(tried, ["c_car"])
      assert.deepStrictEqual<unknown>(world.undone.map(([name]) => name), ["car", "hotel", "book"])
      assert.deepStrictEqual<unknown>(lines, without("hotel", "book"))
      assert.strictEqual(Exit.isFailure(exit) && reasonOf(Cause.squash(exit.cause)), "no")
    }))

  it.effect("ends a run that ended well", () =>
    Effect.gen(function*() {
      const { exit, lines, tried, world } = yield* play(
        [...books, ScriptedModel.call("pay", {}), ScriptedModel.text("Not paid.")],
        true
      )
      assert.deepStrictEqual<unknown>(tried, ["c_car"])
      assert.deepStrictEqual<unknown>(world.undone.map(([name]) => name), ["car", "hotel", "book"])
      assert.deepStrictEqual<unknown>(lines, without("hotel", "book"))
      assert.strictEqual(Exit.isFailure(exit) && Cause.squash(exit.cause), "full")
    }))
})

describe("a run that ends badly", () => {
  it.effect("can be resumed only if no write of it was compensated", () =>
    Effect.gen(function*() {
      const Fail = Tool.make("die", { effects: "read", execute: () => Effect.fail(new Down()) })
      const resumable = (after: ReadonlyArray<string>) =>
        Effect.map(
          (Agent.make(
            "clerk",
            { tools: [tool(worldOf(), "book"), Fail], compensation: { after } } as never
          ) as never as AnyAgent)
            .report("go").pipe(Effect.provide(model(["book"], false))),
          (record) => record.resumable !== undefined
        )
      assert.deepStrictEqual<unknown>(
        [yield* resumable([]), yield* resumable(["rejection"]), yield* resumable(["failure"])],
        [true, true, false]
      )
    }))
})
