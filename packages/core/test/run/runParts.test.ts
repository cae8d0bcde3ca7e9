/** Parts of a run, each by its own interface: counts, names, listeners, records and restoration of a call. */

import { assert, describe, it } from "@effect/vitest"
import { Cause, Context, Effect, Exit, LogLevel, Metric, Tracer } from "effect"
import { Model } from "effect/ai"
import { Telemetry } from "@recourse/core"
import { Account, journalOf, Late, load, type Run, RunLog, runOf, runSection, write } from "../support/partsOfRuns.ts"

const { countReplayed, usedBy, usedSince }: {
  readonly countReplayed: (run: Run, used: object) => void
  readonly usedBy: (run: Run) => object
  readonly usedSince: (run: Run) => () => object
} = await load("tally.ts")

const { addExecuted, hideTool, use }: {
  readonly addExecuted: (run: Run, call: object) => void
  readonly hideTool: (run: Run, tool: string, until: number) => void
  readonly use: (run: Run, kind: string, amount: number) => void
} = await load("state/runState.ts")

const { outerCallsOf, idWithin }: {
  readonly outerCallsOf: (id: string) => { readonly parentCallId: string } | undefined
  readonly idWithin: (call: string, id: string) => string
} = await load("../path/path.ts")

const { errorName, errorTag }: {
  readonly errorName: (cause: Cause.Cause<unknown>, redactor: object) => string
  readonly errorTag: (error: unknown, redactor: object) => string | undefined
} = await load("observe/errorName.ts")

const { operatorMessage, summaryOf }: {
  readonly operatorMessage: (run: object | undefined, cause: Cause.Cause<unknown>) => object
  readonly summaryOf: (cause: Cause.Cause<unknown>, run: string, context: Context.Context<never>) => object
} = await load("runFailure.ts")

const { addSpanEvent, countModelRetry, countToolRetry, measureTokens, spanEvent, tracingOf }: {
  readonly addSpanEvent: (context: Context.Context<never>, name: string, attributes: object) => void
  readonly countModelRetry: (context: Context.Context<never>, attributes: object) => void
  readonly countToolRetry: (context: Context.Context<never>, attributes: object) => void
  readonly measureTokens: (context: Context.Context<never>, input: number, output: number) => void
  readonly spanEvent: (name: string, attributes: object) => Effect.Effect<void>
  readonly tracingOf: (context: Context.Context<never>) => { readonly isSampled: boolean }
} = await load("observe/telemetry.ts")

describe("the usage of a call", () => {
  const bare = {
    usage: {},
    executed: [],
    hidden: {},
    budget: {
      used: {
        turns: 0,
        toolCalls: 0,
        fixes: 0,
        transportRetries: 0,
        allFailureRounds: 0,
        duration: 0,
        tokens: 0,
        cost: 0,
        sameToolInARow: 0
      },
      retries: {},
      extended: {}
    }
  }

  it("a usage starts empty, with its own completed and revoked writes", () => {
    const run = runOf()
    use(run, "toolCalls", 2)
    const one = runSection(run)
    const other = runSection(run)
    assert.deepStrictEqual(usedBy(one), bare)
    assert.isFalse(Object.hasOwn(usedBy(one), "done") || Object.hasOwn(usedBy(one), "revoked"))
    use(one, "toolCalls", 1)
    Effect.runSync(one.account.charge("toolCalls"))
    Effect.runSync(one.account.charge("retriesPerTool", "book"))
    addExecuted(one, { callId: "c" })
    run.completed!.add(one, write("w"), undefined)
    run.completed!.reject(one)
    hideTool(run, "look", 7)
    const used = {
      usage: { toolCalls: 1 },
      executed: [{ callId: "c" }],
      done: [write("w", { revoked: true })],
      revoked: ["w"],
      hidden: { look: 7 },
      budget: { ...bare.budget, used: { ...bare.budget.used, toolCalls: 1 }, retries: { book: 1 } }
    }
    assert.deepStrictEqual(usedBy(one), used)
    assert.deepStrictEqual(usedBy(other), { ...bare, hidden: { look: 7 } })
    // In another execution it counts the same.
    const later = runOf()
    countReplayed(later, JSON.parse(JSON.stringify(used)) as object)
    assert.deepStrictEqual([later.usage, later.executed, [...later.hidden]], [
      { toolCalls: 1, turns: 0 },
      [{ callId: "c" }],
      [["look", 7]]
    ])
    assert.deepStrictEqual(later.account.state(), one.account.state())
    assert.deepStrictEqual(later.completed!.state(later).map(({ id, revoked }) => [id, revoked]), [["w", true]])
  })

  it("revokes no write without a revocation", () => {
    const run = runOf()
    run.completed!.add(run, write("before"), undefined)
    countReplayed(run, { ...bare, done: [write("w")] })
    assert.deepStrictEqual(run.completed!.state(run).map(({ id, revoked }) => [id, revoked]), [
      ["before", undefined],
      ["w", undefined]
    ])
  })

  it("a usage is the difference if no other call runs in parallel", () => {
    const run = runOf()
    use(run, "turns", 3)
    const used = usedSince(run)
    assert.deepStrictEqual(used(), { ...bare, budget: { used: {}, retries: {}, extended: {} } })
    use(run, "turns", 1)
    Effect.runSync(run.account.charge("turns"))
    hideTool(run, "look", 1)
    assert.deepStrictEqual(used(), {
      usage: { turns: 1 },
      executed: [],
      hidden: { look: 1 },
      budget: { used: { turns: 1 }, retries: {}, extended: {} }
    })
  })

  it("shares each state of its run but the counts", () => {
    const run = runOf(undefined, { nested: {} })
    const section = runSection(run)
    for (const state of ["start", "nested", "writes", "reading"]) assert.strictEqual(section[state], run[state], state)
    assert.notStrictEqual(section["counts"], run["counts"])
  })

  it("a usage stays within its own caps, without events", () => {
    const section = new Account("a", {}, [0.5], { onThreshold: () => Effect.die("told") }).section("part", { turns: 1 })
    Effect.runSync(section.charge("turns"))
    assert.isTrue(Exit.isFailure(Effect.runSyncExit(section.charge("turns"))))
    assert.isTrue(section.hasTime(1e6))
  })
})

describe("ids of calls", () => {
  it("name the call around them, whatever that is called", () => {
    for (const around of ["c1", "c1/pay_1", "", "/"]) {
      assert.deepStrictEqual(outerCallsOf(idWithin(around, "x")), { parentCallId: around })
    }
    assert.isUndefined(outerCallsOf("c1"))
  })
})

describe("an abandoned run", () => {
  it("starts no call, journaled or not, and reads its entries", () => {
    const journal = { ...journalOf({ "write w": "here" }), isResumed: false, claim: (entry: string) => `of ${entry}` }
    const log = new RunLog(journal)
    assert.isFalse(log.isCancelledReplay)
    for (const [given, found, claim] of [[undefined, undefined, "e"], [log, "here", "of e"]] as const) {
      const over = RunLog.abandoned("r", given)
      assert.isTrue(over.isCancelledReplay)
      assert.deepStrictEqual([over.find("write", "w"), over.claim("e")], [found, claim])
    }
  })
})

describe("names of errors", () => {
  it("are their tags, redacted once, cut, and kept", () => {
    const asked: Array<string> = []
    const redactor = { text: (text: string) => (asked.push(text), text.replace("sk-1", "[key]")) }
    const long = "x".repeat(200)
    for (const _ of [1, 2]) {
      assert.strictEqual(errorTag({ _tag: "Bad sk-1" }, redactor), "Bad [key]")
      assert.strictEqual(errorTag({ _tag: long }, redactor)?.length, 129)
    }
    assert.deepStrictEqual(asked, ["Bad sk-1", long, long])
    assert.deepStrictEqual([errorTag("text", redactor), errorTag(undefined, redactor)], [undefined, undefined])
    // Another redactor takes out something else.
    assert.strictEqual(errorTag({ _tag: "Bad sk-1" }, { text: () => "none" }), "none")
    assert.deepStrictEqual(
      [Cause.fail(new Late()), Cause.fail(7), Cause.die(1), Cause.interrupt(1)].map((cause) =>
        errorName(cause, redactor)
      ),
      ["Late", "Error", "Defect", "Interrupted"]
    )
    for (let n = 0; n < 1_100; n++) errorTag({ _tag: `T${n}` }, redactor)
    asked.length = 0
    for (const n of [0, 1_099]) errorTag({ _tag: `T${n}` }, redactor)
    assert.deepStrictEqual(asked, ["T1099"], "a thousand are kept")
  })

  it("are in a summary with only its known fields", () => {
    const summary = summaryOf(Cause.fail(new Late()), "r", Context.empty())
    assert.deepStrictEqual(Object.keys(summary), ["error", "code", "userMessage"])
    for (const run of [undefined, {}, { audience: { details: false } }]) {
      assert.deepStrictEqual(operatorMessage(run, Cause.fail(new Late())), {})
    }
    assert.property(
      operatorMessage({ id: "r", audience: { details: true } }, Cause.fail(new Late())),
      "operatorMessage"
    )
  })
})

describe("counters and events of spans", () => {
  it.effect("count by attributes", () =>
    Effect.gen(function*() {
      const value = (counter: Metric.Counter<number>, attributes: Readonly<Record<string, string>>) =>
        Effect.map(Metric.value(Metric.withAttributes(counter, attributes)), ({ count }) => count)
      const context = yield* Effect.contextWith((context: Context.Context<never>) => Effect.succeed(context))
      const counted = (attributes: Readonly<Record<string, string>>) => value(Telemetry.toolRetries, attributes)
      // Tools without counts yet.
      const [a, b] = [crypto.randomUUID(), crypto.randomUUID()]
      for (const tool of [a, b, a]) countToolRetry(context, { tool })
      assert.deepStrictEqual([yield* counted({ tool: a }), yield* counted({ tool: b })], [2, 1])
      const model = { agent: "parts_a", error: "E" }
      const former = yield* value(Telemetry.modelRetries, model)
      countModelRetry(context, model)
      assert.strictEqual(yield* value(Telemetry.modelRetries, model), former + 1)
    }))

  it.effect("reach the current span of this process", () =>
    Effect.gen(function*() {
      const span = yield* Effect.makeSpan("s")
      yield* Effect.provideService(spanEvent("seen", { n: 1 }), Tracer.ParentSpan, span)
      assert.deepStrictEqual((span as Tracer.NativeSpan).events.map(([name, , attributes]) => [name, attributes]), [
        ["seen", { n: 1 }]
      ])
      const external = Tracer.externalSpan({ spanId: "1".repeat(16), traceId: "1".repeat(32) })
      addSpanEvent(Context.make(Tracer.ParentSpan, external) as never, "not seen", {})
      addSpanEvent(Context.empty(), "not seen", {})
    }))
})

describe("spans of a run", () => {
  it("are sampled from the minimum level on, in effect's order of levels", () => {
    for (const minimum of LogLevel.values) {
      for (const level of LogLevel.values) {
        const context = Context.make(Tracer.MinimumTraceLevel, minimum).pipe(
          Context.add(Tracer.CurrentTraceLevel, level)
        )
        assert.strictEqual(tracingOf(context).isSampled, !LogLevel.isGreaterThan(minimum, level), `${minimum} ${level}`)
      }
    }
  })
})

describe("metrics of a model call", () => {
  it.effect("name the model and the provider of effect/ai", () =>
    Effect.gen(function*() {
      const model = crypto.randomUUID()
      const context = Context.make(Model.ModelName, model).pipe(Context.add(Model.ProviderName, "acme"))
      measureTokens(context, 3, 4)
      const measured = (yield* Metric.snapshot).map(({ attributes }) => attributes)
        .filter((attributes) => attributes?.["gen_ai.request.model"] === model)
      assert.deepStrictEqual(measured.map((attributes) => attributes?.["gen_ai.provider.name"]), ["acme", "acme"])
    }))
})
