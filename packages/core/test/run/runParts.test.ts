/** Parts of a run, each by its own interface: counts, names, listeners, records and restoration of a call. */
import { assert, describe, it } from "@effect/vitest"
import {
  Cause,
  Clock,
  Context,
  Effect,
  Exit,
  Fiber,
  Logger,
  Metric,
  References,
  Schema,
  Semaphore,
  Tracer
} from "effect"
import { Prompt } from "effect/ai"
import { Redaction, Telemetry } from "@recourse/core"
import { openRun } from "../support/openRun.ts"

const room = new URL("../../src/internal/run/", import.meta.url)
const load = async (name: string): Promise<never> => await import(new URL(name, room).href) as never

type Json = Schema.Json
type Counts = Readonly<Record<string, number>>

interface Account {
  readonly state: () => { readonly used: Counts; readonly retries: Counts; readonly extended: Counts }
  readonly charge: (kind: string, tool?: string) => Effect.Effect<void>
  readonly section: (agent: string, caps: Counts) => Account
  readonly begin: (at: number) => void
  readonly hasTime: (now: number, millis: number) => boolean
}

interface Write {
  readonly id: string
  readonly known: string
  readonly root?: string
  readonly result?: Json
  readonly revoked?: true
}

interface Done {
  readonly add: (run: object, write: object, live: undefined) => void
  readonly knows: (id: string) => boolean
  readonly reject: (run: object) => void
  readonly remove: (id: string) => void
  readonly state: (run: object) => ReadonlyArray<Write>
}

interface Run {
  readonly [field: string]: unknown
  readonly account: Account
  readonly usage: Record<string, number>
  readonly executed: Array<unknown>
  readonly hidden: ReadonlyMap<string, number>
  readonly completed: Done | undefined
}

interface Journal {
  readonly isResumed: boolean
  readonly find: (kind: string, key: string) => Json | undefined
  readonly entries?: ((kind: string) => Iterable<readonly [string, Json]>) | undefined
}

const { Account }: {
  readonly Account: new(
    agent: string,
    limits: Counts,
    thresholds: ReadonlyArray<number>,
    owner: object | undefined,
    parent?: Account
  ) => Account
} = await load("account.ts")
const { CompletedWrites }: { readonly CompletedWrites: new() => Done } = await load(
  "writes/completedWrites.ts"
)
const { countReplayed, usedBy, usedSince }: {
  readonly countReplayed: (run: Run, used: object) => void
  readonly usedBy: (run: Run) => object
  readonly usedSince: (run: Run) => () => object
} = await load("tally.ts")
const { addExecuted, use }: {
  readonly addExecuted: (run: Run, call: object) => void
  readonly use: (run: Run, kind: string, amount: number) => void
} = await load("state/counts.ts")
const { hideTool }: { readonly hideTool: (run: Run, tool: string, until: number) => void } = await load(
  "state/reading.ts"
)
const { emit, runSection }: {
  readonly runSection: (run: Run) => Run
  readonly emit: (run: object | undefined, body: () => object) => Effect.Effect<void>
} = await load("run.ts")
const { outerCallsOf, idWithin }: {
  readonly outerCallsOf: (id: string) => { readonly parentCallId: string } | undefined
  readonly idWithin: (call: string, id: string) => string
} = await load("../path/idsWithin.ts")
const { recallDone }: {
  readonly recallDone: (run: { readonly completed: Done | undefined; readonly log: Log | undefined }) => void
} = await load("writes/recordedWrites.ts")
const { CompensationLog }: {
  readonly CompensationLog: new(journal: Journal) => {
    readonly unsettled: () => ReadonlyArray<Write>
    readonly hasClaim: (id: string, claim: string) => boolean
    readonly stateOf: (id: string) => string
  }
} = await load("writes/compensationLog.ts")
interface Log extends Journal {
  readonly isCancelledReplay: boolean
  readonly claim: (entry: string) => string
}
const { RunLog }: {
  readonly RunLog: {
    new(journal: Journal): Log
    readonly abandoned: (runId: string, log: Log | undefined) => Log
  }
} = await load("runLog.ts")
const { errorName, errorTag }: {
  readonly errorName: (cause: Cause.Cause<unknown>, redactor: object) => string
  readonly errorTag: (error: unknown, redactor: object) => string | undefined
} = await load("observe/errorName.ts")
const { operatorMessage, summaryOf }: {
  readonly operatorMessage: (run: object | undefined, cause: Cause.Cause<unknown>) => object
  readonly summaryOf: (cause: Cause.Cause<unknown>, run: string, context: Context.Context<never>) => object
} = await load("runFailure.ts")
const { addSpanEvent, countModelRetry, countToolRetry, spanEvent }: {
  readonly addSpanEvent: (context: Context.Context<never>, name: string, attributes: object) => void
  readonly countModelRetry: (context: Context.Context<never>, attributes: object) => void
  readonly countToolRetry: (context: Context.Context<never>, attributes: object) => void
  readonly spanEvent: (name: string, attributes: object) => Effect.Effect<void>
} = await load("observe/counters.ts")
const { Session, readResults }: {
  readonly Session: new() => {
    isAnswerNew: boolean
    begun: boolean
    isCorrected: boolean
    skill: string | undefined
    turn: number
    readonly callIds: Set<string>
    readonly failures: Map<string, Map<string, number>>
    readonly transcript: { readonly user: (text: string) => void }
    readonly sent: () => Prompt.Prompt
    readonly replace: (prompt: Prompt.Prompt) => void
    readonly checkpoint: (run: object, round: object | undefined) => Record<string, unknown>
    readonly restore: (checkpoint: object) => void
  }
  readonly readResults: (calls: ReadonlyArray<object>, messages: Json) => ReadonlyMap<string, object>
} = await load("session.ts")
const { encodePrompt }: { readonly encodePrompt: (prompt: Prompt.Prompt) => Json } = await import(
  new URL("../foundation/json/promptJson.ts", room).href
) as never
const { audienceOf, ContainedListener, emitTo }: {
  readonly audienceOf: (
    around: object | undefined,
    context: Context.Context<never>,
    own: object | undefined,
    outOfRun: (context: Context.Context<never>) => Context.Context<never>
  ) => { readonly sinks: ReadonlyArray<object> } | undefined
  readonly ContainedListener: new(
    listener: (event: { readonly _tag: string; readonly runId: string }) => Effect.Effect<unknown, unknown>,
    timeLimit: number,
    outOfRun: (context: Context.Context<never>) => Context.Context<never>
  ) => { readonly emit: (event: object, fiber: object) => Effect.Effect<void> }
  readonly emitTo: (audience: object, event: object, fiber: object) => Effect.Effect<void>
} = await load("observe/listeners.ts")
const { AgentEvent } = await import("@recourse/core")

const write = (id: string, more: object = {}) => ({
  id,
  tool: "book",
  scope: "r",
  identity: id,
  callId: id,
  root: id,
  path: ["a"],
  known: "unknown",
  arguments: {},
  ...more
})

const runOf = (account = new Account("a", {}, [], undefined), more: object = {}): Run =>
  openRun({
    account,
    usage: { toolCalls: 0, turns: 0 },
    executed: [],
    completed: new CompletedWrites(),
    parent: undefined,
    ...more
  }) as never

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
    const timed = new Account("a", {}, [], undefined).section("part", { duration: 10 })
    timed.begin(0)
    assert.deepStrictEqual([timed.hasTime(0, 9), timed.hasTime(0, 10)], [true, false])
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

const journalOf = (entries: Readonly<Record<string, Json>>, isResumed = true): Journal => ({
  isResumed,
  find: (kind, key) => entries[`${kind} ${key}`],
  entries: (kind) =>
    Object.entries(entries).filter(([key]) => key.startsWith(`${kind} `)).map((
      [key, value]
    ) => [key.slice(kind.length + 1), value] as const)
})

describe("a write that an earlier execution has started", () => {
  const begun = (id: string, more: object = {}, of: object = {}) => ({
    begun: { write: write(id, of), call: `p/${id}`, child: `r/4:book/${id}`, ...more } as Json
  })
  const used = (done: ReadonlyArray<object> | undefined) => ({
    used: {
      usage: {},
      budget: { used: {}, retries: {}, extended: {} },
      executed: [],
      hidden: {},
      ...(done === undefined ? undefined : { done })
    } as Json
  })
  const known = (rest: Readonly<Record<string, Json>>, more?: object) =>
    ["write r/4:book/w", `compensation may w`].map((place) =>
      new CompensationLog(journalOf({ [place]: begun("w", more), ...rest })).unsettled().map((
        { id, known, result }
      ) => [
        id,
        known,
        ...(result === undefined ? [] : [result])
      ])
    )
  const both = (one: ReadonlyArray<unknown>) => [one, one]

  it("neighbouring entries identify a started write", () => {
    assert.deepStrictEqual(known({}), both([["w", "unknown"]]))
    assert.deepStrictEqual(known({}, { isAtomic: true }), both([]), "nothing of it is committed")
    assert.deepStrictEqual(known({ "compensation w": {} }), both([["w", "unknown"]]), "undone, and not told")
    assert.deepStrictEqual(known({ "compensation w": {}, [`compensation told w`]: true }), both([]), "undone")
    assert.deepStrictEqual(known({ [`compensation not w`]: true }), both([]), "not done")
    assert.deepStrictEqual(
      known({ "compensation v": {}, [`compensation not v`]: true }),
      both([["w", "unknown"]])
    )
    assert.deepStrictEqual(known({ "child r/4:book/w": "ok" }), both([["w", "done", "ok"]]))
    assert.deepStrictEqual(known({ "child r/4:book/w": "ok" }, { isAtomic: true }), both([["w", "done", "ok"]]))
    // The outer call has ended, and has its effect.
    assert.deepStrictEqual(known({ "call p/w": used(undefined) }), both([]))
    assert.deepStrictEqual(known({ "call p/w": used([write("v", { known: "done" })]) }), both([]))
    assert.deepStrictEqual(
      known({ "call p/w": used([write("v"), write("w", { known: "partial" })]) }),
      both([["w", "partial"]])
    )
    assert.deepStrictEqual(known({ "call p/w": "another version's" }), both([["w", "unknown"]]))
    // No record of a beginning, and one that cannot be read.
    assert.deepStrictEqual(
      new CompensationLog(
        journalOf({ "write r/x": { tool: "book", at: 1 }, "write r/y": { begun: { write: {} } }, "call z": begun("z") })
      ).unsettled(),
      []
    )
    // Only an entry with all fields of a write is one.
    const intent = { id: "e", tool: "book", callId: "w", arguments: "h", claim: "mine" }
    const read = (of: object) =>
      new CompensationLog(journalOf({ "write r/4:book/w": begun("w", {}, of) })).unsettled().length
    assert.deepStrictEqual(
      [{ intent }, { revoked: true }, { intent: { ...intent, claim: 7 } }, { revoked: false }, { path: "a" }].map(read),
      [1, 1, 0, 0, 0]
    )
  })

  it("a started write keeps the claim that it started with", () => {
    const intent = { id: "e", tool: "book", callId: "w", arguments: "h", claim: "mine" }
    const journal = journalOf({
      "compensation may w": begun("w", {}, { intent }),
      "compensation may v": begun("v")
    })
    const log = new CompensationLog(journal)
    assert.deepStrictEqual(
      [["w", "mine"], ["w", "yours"], ["v", "mine"], ["u", "mine"]].map(([id, claim]) => log.hasClaim(id!, claim!)),
      [true, false, false, false]
    )
  })

  it("a compensation has the last state that entries of its write have", () => {
    const entries: Array<readonly [key: string, value: Json]> = []
    const state = () =>
      new CompensationLog(journalOf(Object.fromEntries(entries.map(([key, value]) => [`compensation ${key}`, value]))))
        .stateOf("w")
    const states = (outcome: string) => {
      entries.length = 0
      const all = [["v", {}], ["begun w", {}], ["w", { outcome }], ["told w", true], ["reported w", true]] as const
      return all.map((entry) => (entries.push(entry), state()))
    }
    assert.deepStrictEqual(states("not_undone"), ["none", "started", "ended", "audited", "settled"])
    assert.deepStrictEqual(states("undone"), ["none", "started", "ended", "settled", "settled"])
  })

  it("recalls a started write whose outcome this execution has not recorded", () => {
    const journal = journalOf({
      "write r/4:book/w": begun("w"),
      "write r/4:book/v": begun("v"),
      "write r/4:book/u": begun("u")
    })
    const run = runOf(undefined, { log: new RunLog(journal) })
    run.completed!.add(run, write("w", { known: "done" }), undefined)
    run.completed!.remove("v")
    assert.isTrue(run.completed!.knows("v"))
    recallDone(run as never)
    assert.deepStrictEqual(run.completed!.state(run).map(({ id, known }) => [id, known]), [["w", "done"], [
      "u",
      "unknown"
    ]])
    const first = openRun({ completed: new CompletedWrites(), log: new RunLog({ ...journal, isResumed: false }) })
    recallDone(first)
    recallDone(openRun({ completed: first.completed, log: undefined }))
    recallDone(openRun({ completed: undefined, log: new RunLog(journal) }))
    assert.deepStrictEqual(first.completed.state(first), [])
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

class Late extends Schema.TaggedError<Late>()("Late", {}) {}

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

describe("a session", () => {
  const run = (more: object = {}) => runOf(undefined, { id: "r", path: ["a"], scope: "r", ...more })

  it("round-trips a checkpoint, without empty fields", () => {
    const plain = new Session()
    assert.deepStrictEqual([plain.begun, plain.isCorrected], [false, false])
    const bare = plain.checkpoint(run(), undefined)
    for (const field of ["scope", "skill", "replaced", "replacedInput", "corrected", "done", "round"]) {
      assert.notProperty(bare, field)
    }
    assert.strictEqual(bare["version"], 4)
    const again = new Session()
    again.restore({ ...bare, answers: undefined })
    assert.deepStrictEqual([again.begun, again.isCorrected, again.skill], [true, false, undefined])
    assert.deepStrictEqual(again.checkpoint(run(), undefined), bare)

    const full = new Session()
    full.transcript.user("hello")
    full.replace(Prompt.make("short"))
    full.transcript.user("more")
    Object.assign(full, { isCorrected: true, turn: 2, replacedInput: Prompt.make("instead") })
    full.callIds.add("c1")
    full.failures.set("k", new Map([["timeout", 2]]))
    const outer = run({ parent: openRun({}), scope: "r/c", skill: "s" })
    outer.completed!.add(outer, write("w"), undefined)
    const state = JSON.parse(JSON.stringify(full.checkpoint(outer, undefined))) as Record<string, unknown>
    assert.deepStrictEqual([state["scope"], state["skill"], state["corrected"]], ["r/c", "s", true])
    assert.include(JSON.stringify(state["replacedInput"]), "instead")
    assert.deepStrictEqual((state["done"] as ReadonlyArray<Write>).map(({ id }) => id), ["w"])
    const next = new Session()
    next.restore(state)
    assert.deepStrictEqual(JSON.parse(JSON.stringify(next.checkpoint(outer, undefined))), state)
    assert.deepStrictEqual(
      next.sent().content.map(({ content }) => JSON.stringify(content)).map((text) =>
        /short|hello|more/.exec(text)?.[0]
      ),
      ["short", "more"]
    )
  })

  it("has one version, and names calls waiting within calls", () => {
    const session = new Session()
    const round = (within: ReadonlyArray<object | undefined>, nested?: object) => {
      const waiting = within.map((one) => ({ pending: [], nested, within: one }))
      const { round, version } = session.checkpoint(run(), {
        transcript: Prompt.empty,
        calls: [],
        results: [],
        waiting
      }) as { readonly version: number; readonly round: object }
      return [version, Object.keys(round)]
    }
    const fields = ["calls", "results", "pending"]
    assert.deepStrictEqual(round([]), [4, fields])
    assert.deepStrictEqual(round([undefined]), [4, fields])
    assert.deepStrictEqual(round([{ id: "a" }]), [4, [...fields, "within"]])
    assert.deepStrictEqual(round([{ id: "a" }, { id: "b", begun: [] }]), [4, [...fields, "within"]])
    assert.deepStrictEqual(round([undefined], { id: "n" }), [4, [...fields, "nested"]])
    assert.deepStrictEqual(round([undefined], { id: "n", begun: [] }), [4, [...fields, "nested"]])
    assert.deepStrictEqual(round([undefined], { id: "n", approvals: [] }), [4, [...fields, "nested"]])
  })

  it("reads its calls' results, and no other part of a message", () => {
    const result = (id: string) =>
      Prompt.toolResultPart({ id, name: "t", isFailure: false, result: id, providerExecuted: false })
    const messages = encodePrompt(Prompt.fromMessages([
      Prompt.userMessage({ content: [Prompt.textPart({ text: "c1" })] }),
      // Calls that a provider ran are not the round's.
      Prompt.assistantMessage({ content: [result("c2")] }),
      Prompt.toolMessage({
        content: [
          Prompt.toolApprovalResponsePart({ approvalId: "c2", approved: true }),
          result("c1"),
          result("other")
        ]
      })
    ]))
    const calls = ["c1", "c2"].map((id) => ({ id, name: "t", params: {} }))
    assert.deepStrictEqual([...readResults(calls, messages).keys()], ["c1"])
  })
})

describe("listeners of a run", () => {
  const Mark = Context.Reference<string>("test/Mark", { defaultValue: () => "none" })
  const event = (n = 0) => ({ _tag: `Event${n}`, runId: "r" })
  const told = (context: Context.Context<never> = Context.empty()) => ({ context })
  const same = (context: Context.Context<never>) => context

  it.live("hear each event in its own context", () =>
    Effect.gen(function*() {
      const heard: Array<string> = []
      const sink = new ContainedListener(
        ({ _tag }) => Effect.map(Mark, (mark) => heard.push(`${_tag} ${mark}`)),
        1_000,
        same
      )
      const [a, b] = ["a", "b"].map((mark) => told(Context.make(Mark, mark) as never))
      for (const [n, fiber] of [a, a, b, a].entries()) yield* sink.emit(event(n), fiber!)
      assert.deepStrictEqual(heard, ["Event0 a", "Event1 a", "Event2 b", "Event3 a"])
    }))

  it.live("are awaited, also by calls that wait after they end", () =>
    Effect.gen(function*() {
      const gate = Semaphore.makeUnsafe(0)
      let done = 0
      const slow = () => new ContainedListener(() => Effect.map(gate.take(1), () => void done++), 10_000, same)
      const late = slow().emit(event(), told())
      const both = emitTo({ sinks: [slow(), slow()] }, event(), told())
      const waiting = yield* Effect.forkChild(both)
      yield* Effect.sleep(1)
      assert.isUndefined(waiting.pollUnsafe())
      yield* gate.release(2)
      yield* Effect.sleep(1)
      assert.deepStrictEqual([done, waiting.pollUnsafe()], [2, undefined])
      yield* gate.release(1)
      yield* Fiber.join(waiting)
      yield* late
      assert.strictEqual(done, 3)
    }).pipe(Effect.timeout(2_000)))

  it.live("that are late are interrupted, logged once, and block no run", () =>
    Effect.gen(function*() {
      const logged: Array<unknown> = []
      const logger = Logger.make(({ fiber, message }) => {
        logged.push([message, fiber.getRef(References.CurrentLogAnnotations)])
      })
      const context = Context.make(Logger.CurrentLoggers, new Set([logger])) as never as Context.Context<never>
      let interrupted = 0
      const sink = new ContainedListener(
        () => Effect.onInterrupt(Effect.never, () => Effect.sync(() => void interrupted++)),
        5,
        same
      )
      const [first, second] = [sink.emit(event(1), told(context)), sink.emit(event(2), told(context))]
      yield* Effect.sleep(20)
      // No call waited by then.
      yield* Effect.andThen(first, second)
      assert.strictEqual(sink.emit(event(3), told(context)), Effect.void)
      assert.deepStrictEqual([interrupted, logged], [1, [[
        ["A listener did not answer within its time limit: it receives no more events of this run"],
        { event: "Event1", trace_id: "r" }
      ]]])
    }).pipe(Effect.timeout(2_000)))

  it.live("that fail are named in the log once, redacted", () =>
    Effect.gen(function*() {
      const logged: Array<object> = []
      const logger = Logger.make(({ fiber }) => {
        logged.push(fiber.getRef(References.CurrentLogAnnotations))
      })
      const context = Context.make(Logger.CurrentLoggers, new Set([logger])).pipe(
        Context.add(Redaction.Redaction, { text: () => "redacted" } as never)
      ) as never as Context.Context<never>
      const sink = new ContainedListener(() => Effect.fail(new Late()), 1_000, same)
      for (const n of [1, 2]) yield* sink.emit(event(n), told(context))
      assert.deepStrictEqual(logged, [{ event: "Event1", trace_id: "r", error: "Late", cause: "redacted" }])
    }))

  it.live("leave no timer behind that holds the process", () =>
    Effect.gen(function*() {
      let sleeping = 0
      const clock = yield* Clock.Clock
      const counted = Object.assign(Object.create(clock) as Clock.Clock, {
        sleep: () =>
          Effect.suspend(() => (sleeping++, Effect.onInterrupt(Effect.never, () => Effect.sync(() => void sleeping--))))
      })
      const sink = new ContainedListener(() => Effect.yieldNow, 1_000, same)
      yield* sink.emit(event(), told(Context.make(Clock.Clock, counted) as never))
      yield* Effect.sleep(1)
      assert.strictEqual(sleeping, 0)
    }))

  it.effect("are one receiver each, however often registered; none is empty", () =>
    Effect.gen(function*() {
      const listener = () => Effect.void
      const layer = AgentEvent.listen(listener)
      const contextOf = Effect.contextWith((context: Context.Context<never>) => Effect.succeed(context))
      const twice = yield* contextOf.pipe(Effect.provide(layer), Effect.provide(AgentEvent.listen(listener)))
      assert.isUndefined(audienceOf(undefined, Context.empty(), undefined, same))
      const around = audienceOf(undefined, twice, undefined, same)!
      assert.strictEqual(around.sinks.length, 1)
      assert.strictEqual(audienceOf(around, twice, undefined, same), around)
      assert.strictEqual(audienceOf(around, Context.empty(), undefined, same), around)
    }))

  it.effect("receive no event behind the end of a run", () =>
    Effect.gen(function*() {
      const heard: Array<string> = []
      const sinks = [{ emit: ({ _tag }: { readonly _tag: string }) => (heard.push(_tag), Effect.void) }]
      const run = runOf(undefined, {
        id: "r",
        clock: yield* Clock.Clock,
        audience: { sinks, emitted: { events: 0, isOver: false } }
      })
      for (const _tag of ["RunStarted", "RunFinished", "TextDelta"]) yield* emit(run, () => ({ _tag }))
      yield* emit(undefined, () => ({ _tag: "RunStarted" }))
      assert.deepStrictEqual(heard, ["RunStarted", "RunFinished"])
    }))
})
