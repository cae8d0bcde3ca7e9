/** Records of calls: the known effect of a call, its started inner calls, and its retried failures. */
import { assert, describe, it } from "@effect/vitest"
import { ToolError } from "@recourse/core"
import { Cause, Duration, Effect, Exit, Schema } from "effect"
import { open, openRecord } from "../support/openRecord.ts"
import { openRun } from "../support/openRun.ts"

type Known = "no" | "unknown" | "yes"
type Effects = "read" | "write" | "idempotent" | undefined
type Answer = { readonly value: unknown } | undefined

/** As much of a tool as these rules look at. */
interface Info {
  readonly name: string
  readonly effects: Effects
  readonly passesKey: boolean
  readonly success: Schema.Top
  readonly isAgent?: boolean
}

/** As much of a call's record as these rules look at. */
interface Record {
  readonly callId: string
  readonly parent: Record | undefined
  readonly around: Record | undefined
  readonly identity: string | undefined
  tool: Info | undefined
  count: number
  executed: boolean
  happened: Known
  known: Known
  running: number
  runningInPlace: number
  startedAt: number
  within: Set<Record> | undefined
  causes: ReadonlyArray<object>
  lastError: unknown
  answered: Answer
  answeredInPlace: { readonly by: unknown; readonly value: unknown } | undefined
  isFix: boolean
  repetitions:
    | ReadonlyArray<{ readonly failure: string; readonly attempt: number; readonly isFix: boolean }>
    | undefined
  requested: { readonly arguments: unknown } | undefined
  arguments: unknown
  response: unknown
  approved: string | undefined
  fixedBy: string | undefined
  fixedArguments: string | undefined
  approvals: unknown
  read: ReadonlyArray<string> | undefined
  stop: { readonly of?: Record } | undefined
  callsBeforePause: Map<string, { readonly call: CallBeforePause; isMet: boolean }> | undefined
}

interface CallBeforePause {
  readonly identity: string
  readonly tool: string
  readonly outcome?: Schema.Json
}

type Made = { readonly parent?: Record; readonly around?: Record; readonly identity?: string }
type Exits = Exit.Exit<unknown, unknown>

const call = new URL("../../src/internal/call/", import.meta.url)
const load = async (name: string): Promise<never> => await import(new URL(name, call).href) as never

const { doneBefore, remember, rememberPart }: {
  readonly doneBefore: (info: Info, call: object, run: undefined) => Effect.Effect<unknown, unknown> | undefined
  readonly remember: (root: Record, calls: ReadonlyArray<CallBeforePause>) => void
  readonly rememberPart: (record: Record) => void
} = await load("replay/snapshotWrites.ts")
const { startedWithin, doneCall, isDone }: {
  readonly startedWithin: (record: Record) => ReadonlyMap<string, Record> | undefined
  readonly doneCall: (record: Record) => Effect.Effect<CallBeforePause | undefined>
  readonly isDone: (record: Record) => boolean
} = await load("replay/pausedWrites.ts")
const Log: {
  readonly callLog: (run: object) => {
    readonly version: number
    readonly before: (record: Record) => ReadonlyArray<{
      readonly tool: string
      readonly callId: string
      readonly arguments: unknown
      readonly outcome: string
    }>
    readonly admit: (record: Record, args: unknown) => void
    readonly end: (root: Record) => void
  }
  readonly noLog: { readonly version: number; readonly before: (record: Record) => unknown }
} = await load("callLog.ts")
const Children: { readonly callOf: (tool: Info, asked: never, enclosing: never) => never } = await load(
  "children/childCall.ts"
)
const newRecord = (id: string, made?: object): Record => openRecord<Record>(id, made)
const Happened: {
  readonly begin: (record: Record, now: () => number) => void
  readonly happenedItself: (record: Record) => Known
  readonly inPlace: <A, E>(record: Record, by: unknown, answer: Effect.Effect<A, E>) => Effect.Effect<A, E>
  readonly overtaken: (record: Record, by: unknown) => Exits | undefined
  readonly afterExecution: (record: Record, exit: Exits, isKeyed: boolean, says: (error: unknown) => boolean) => Known
  readonly happened: (record: Record) => Known
  readonly isDoneWithin: (record: Record) => boolean
} = await load("execute/effects.ts")
const Outcome: { readonly endExecution: (record: Record, known: Known) => void } = await load("record/outcome.ts")
const { approve }: { readonly approve: (record: Record, approval: object) => void } = await load("approvedCall.ts")
const { noteRead }: { readonly noteRead: (record: Record, tools: ReadonlyArray<string>) => void } = await load(
  "children/untrustedContent.ts"
)
const Writes: {
  readonly writesWithin: (record: Record) => ReadonlyArray<Record>
  readonly mayHaveWritten: (record: Record) => boolean
} = await load("children/writesWithin.ts")
const { auditedAs }: { readonly auditedAs: (record: Record) => unknown } = await load("auditedCall.ts")
const Repetition: {
  readonly decideLevel: (record: Record, from: number, error: unknown) => void
  readonly isDecided: (record: Record, error: unknown) => boolean
  readonly noteRepetition: (record: Record, attempt: number) => void
  readonly noteExhausted: (record: Record, error: object) => void
  readonly isExhaustedWithin: (error: unknown) => boolean
} = await load("repetition.ts")
const { progressOf }: { readonly progressOf: (record: Record, retry: object) => { times: number } } = await load(
  "record/recovering.ts"
)

const infoOf = (effects: Effects, more: Partial<Info> = {}): Info => ({
  name: "t",
  effects,
  passesKey: false,
  success: Schema.String,
  ...more
})

const recordOf = (
  effects: Effects | "none",
  fields: Partial<Record> = {},
  made: Made = {}
): Record => {
  const record = newRecord("c", made)
  if (effects !== "none") record.tool = infoOf(effects)
  return Object.assign(record, fields)
}

const fields = { tool: "t", callId: "c", attempt: 1, causes: [] }
const pending = new ToolError.Pending({ ...fields, taskId: "1" })
const partly = new ToolError.PartialSuccess({ ...fields, succeeded: [], failed: [] })
const unknown = new ToolError.OutcomeUnknown({ ...fields, after: Duration.zero })
const escalated = (callId: string) =>
  new ToolError.Escalation({ ...fields, callId, code: "x", reason: "x", severity: "low" })

const done = { happened: "yes", known: "yes", executed: true } as const
const tried = { happened: "no", known: "no", executed: true } as const
const lost = { happened: "unknown", known: "unknown", executed: true } as const

describe("the effect of a call", () => {
  it("an effect is unknown from the executor's start, for outer calls too", () => {
    const model = recordOf("read")
    const around = recordOf("none", {}, { around: model })
    const outer = recordOf(undefined, {}, { parent: around })
    const write = recordOf("write", {}, { parent: outer })
    Happened.begin(write, () => 7)
    assert.deepStrictEqual([write.happened, write.executed, write.running, write.startedAt], ["unknown", true, 1, 7])
    for (const each of [outer, around, model]) assert.deepStrictEqual([...each.within!], [write])
    Happened.begin(write, () => 9)
    assert.deepStrictEqual([write.running, write.startedAt], [2, 7])
    Outcome.endExecution(write, "yes")
    assert.deepStrictEqual([write.running, write.known, write.happened], [1, "yes", "unknown"])
    Outcome.endExecution(write, "no")
    assert.deepStrictEqual([write.running, write.known, write.happened], [0, "no", "no"])
  })

  it("notes no effect around a read, unless a write started within it", () => {
    const outer = recordOf("read")
    const read = recordOf("read", {}, { parent: outer })
    Happened.begin(read, () => 7)
    assert.deepStrictEqual([read.startedAt, outer.within], [0, undefined])
    read.within = new Set([recordOf("write")])
    Outcome.endExecution(read, "no")
    Happened.begin(read, () => 9)
    assert.deepStrictEqual([read.startedAt, outer.within?.has(read)], [9, true])
  })

  it.effect("is that of its own executions, without replacements", () =>
    Effect.gen(function*() {
      const record = recordOf("write", done)
      const seen: Array<unknown> = []
      const look = Effect.sync(() => {
        seen.push(Happened.happenedItself(record), record.happened, record.running, record.runningInPlace)
      })
      assert.strictEqual(Happened.happenedItself(record), "yes")
      yield* Effect.exit(Happened.inPlace(record, "a", Effect.andThen(look, Effect.fail("no"))))
      assert.deepStrictEqual(seen.splice(0), ["yes", "unknown", 1, 1])
      assert.deepStrictEqual(
        [record.happened, record.running, record.runningInPlace, record.answeredInPlace],
        ["yes", 0, 0, undefined]
      )
      yield* Effect.exit(Happened.inPlace(record, "a", Effect.die("no")))
      assert.deepStrictEqual([record.happened, record.running, record.runningInPlace], ["unknown", 0, 0])
      Happened.begin(record, () => 0)
      yield* Happened.inPlace(record, "a", Effect.as(look, 3))
      assert.deepStrictEqual(seen, ["unknown", "unknown", 2, 1])
      assert.deepStrictEqual(record.answeredInPlace, { by: "a", value: 3 })
    }))

  it("decides whether something else may answer in the place of a write", () => {
    const given = { by: "a", value: 2 }
    const cases: ReadonlyArray<readonly [effects: Effects | "none", Partial<Record>, by: string, unknown]> = [
      ["none", { answered: { value: 1 } }, "a", undefined],
      ["read", { ...done, answered: { value: 1 } }, "a", undefined],
      ["write", {}, "a", undefined],
      ["write", { ...done, answered: { value: 1 } }, "a", 1],
      ["write", { ...done, answered: { value: 1 }, answeredInPlace: given }, "a", 1],
      ["write", { ...done, answeredInPlace: given }, "a", 2],
      ["write", { ...done, answeredInPlace: given }, "b", "OutcomeUnknown"],
      ["write", { ...tried, answeredInPlace: given }, "b", "OutcomeUnknown"],
      ["write", { ...lost, answered: { value: 1 } }, "a", "OutcomeUnknown"],
      ["write", { ...lost, answeredInPlace: given }, "a", "OutcomeUnknown"],
      ["write", lost, "a", "OutcomeUnknown"],
      ["write", done, "a", undefined]
    ]
    for (const [effects, given, by, expected] of cases) {
      const ended = Happened.overtaken(recordOf(effects, given), by)
      const shown = ended && (Exit.isSuccess(ended)
        ? ended.value
        : (ended.cause.reasons.find(Cause.isFailReason)!.error as ToolError.OutcomeUnknown)._tag)
      assert.deepStrictEqual(shown, expected, JSON.stringify([effects, given, by]))
    }
  })

  it("the end of the execution decides a known effect", () => {
    const says = (error: unknown) => error === "not done"
    const within = (happened: Known) => ({ within: new Set([recordOf("write", { happened })]) })
    const both = Exit.failCause(Cause.combine(Cause.fail("not done"), Cause.die("no")))
    const cases: ReadonlyArray<
      readonly [effects: Effects, Exits, Partial<Record>, isKeyed: boolean, Known]
    > = [
      ["write", Exit.succeed(1), {}, false, "yes"],
      ["write", Exit.die("no"), {}, false, "unknown"],
      ["write", both, {}, false, "unknown"],
      ["write", Exit.fail(pending), {}, false, "yes"],
      ["write", Exit.fail(partly), {}, false, "yes"],
      ["write", Exit.fail(unknown), {}, false, "unknown"],
      ["read", Exit.fail(unknown), {}, false, "unknown"],
      ["write", Exit.fail("not done"), {}, false, "no"],
      ["write", Exit.fail("not done"), { known: "yes" }, false, "yes"],
      ["write", Exit.fail("x"), {}, false, "unknown"],
      ["read", Exit.fail("x"), {}, false, "no"],
      ["read", Exit.fail("x"), {}, true, "unknown"],
      ["read", Exit.fail("x"), within("no"), false, "unknown"],
      ["write", Exit.fail(escalated("c")), {}, false, "no"],
      ["write", Exit.fail(escalated("c")), within("unknown"), false, "unknown"],
      ["write", Exit.fail(escalated("c")), within("yes"), false, "no"],
      ["write", Exit.fail(escalated("other")), {}, false, "unknown"],
      ["write", Exit.fail(new ToolError.AgentException({ agent: "a", reason: "x" })), {}, false, "no"]
    ]
    for (const [index, [effects, exit, given, isKeyed, expected]] of cases.entries()) {
      assert.strictEqual(
        Happened.afterExecution(recordOf(effects, given), exit, isKeyed, says),
        expected,
        String(index)
      )
    }
    const agent = recordOf("write")
    agent.tool = infoOf("write", { isAgent: true })
    assert.strictEqual(Happened.afterExecution(agent, Exit.fail(escalated("other")), false, says), "no")
  })

  it("combines its own executions and inner calls", () => {
    const within = (...of: ReadonlyArray<Known>) => ({
      within: new Set(of.map((happened) => recordOf("write", { happened })))
    })
    const cases: ReadonlyArray<
      readonly [effects: Effects | "none", Partial<Record>, Known, isDoneWithin: boolean]
    > = [
      ["none", { happened: "yes" }, "yes", false],
      ["none", { happened: "unknown" }, "unknown", false],
      ["read", { happened: "yes" }, "no", false],
      ["write", { happened: "yes" }, "yes", false],
      ["read", { happened: "yes", ...within("no") }, "yes", false],
      ["read", { happened: "no", ...within("no") }, "no", false],
      ["read", { happened: "unknown", ...within("yes") }, "unknown", true],
      ["write", { happened: "no", ...within("no", "yes") }, "yes", true],
      ["write", { happened: "yes", ...within("no", "unknown") }, "unknown", true]
    ]
    for (const [index, [effects, given, expected, isDoneWithin]] of cases.entries()) {
      const record = recordOf(effects, given)
      assert.strictEqual(Happened.happened(record), expected, String(index))
      assert.strictEqual(Happened.isDoneWithin(record), isDoneWithin, String(index))
    }
  })
})

describe("started writes within a call that is to wait", () => {
  it("are completed if their end is known", () => {
    const cases: ReadonlyArray<readonly [Partial<Record>, boolean]> = [
      [{ ...done, answered: { value: 1 } }, true],
      [{ ...done, answeredInPlace: { by: 1, value: 1 } }, true],
      [{ ...done, lastError: partly }, true],
      [{ ...done, lastError: pending }, true],
      [{ ...done, lastError: unknown }, false],
      [done, false],
      [{ ...done, running: 1, answered: { value: 1 } }, false],
      [{ ...tried, answered: { value: 1 } }, false],
      [{ ...lost, answered: { value: 1 } }, false]
    ]
    for (const [given, expected] of cases) assert.strictEqual(isDone(recordOf("write", given)), expected)
  })

  /** The call of a model, an inner call that waits, and other started calls. */
  const made = (...writes: ReadonlyArray<(root: Record) => Record>) => {
    const root = recordOf("read")
    const all = writes.map((write) => write(root))
    root.within = new Set(all)
    return { root, all, asked: recordOf("write", {}, { parent: root, identity: "asked" }) }
  }
  const write = (identity: string, given: Partial<Record>) => (parent: Record) =>
    recordOf("write", given, { parent, identity })

  it("are listed by identity, and absent if one is unknown", () => {
    const { all, asked } = made(
      write("tried", tried),
      write("done", { ...done, answered: { value: 1 } }),
      write("read", {})
    )
    assert.deepStrictEqual([...startedWithin(asked)!], [["tried", all[0]!], ["done", all[1]!]])
    const answeredRoot = made(write("lost", lost))
    Object.assign(answeredRoot.root, { ...done, answered: { value: 1 } })
    assert.isUndefined(startedWithin(answeredRoot.asked))
    assert.isUndefined(startedWithin(made(write("no end", done)).asked))
  })

  it("does not hold the call that waits, which may have been tried", () => {
    const { asked, root } = made()
    Object.assign(asked, tried)
    root.within = new Set([asked])
    assert.deepStrictEqual([...startedWithin(asked)!], [])
  })

  it("have the answer of a completed write in another call", () => {
    const { all, asked, root } = made(write("outer", { ...done, answered: { value: 1 } }))
    const inner = recordOf("write", done, { parent: all[0]!, identity: "inner" })
    root.within!.add(inner)
    assert.deepStrictEqual([...startedWithin(asked)!], [["outer", all[0]!]])
    const around = made((root) => recordOf("none", {}, { parent: root }))
    const below = recordOf("write", { ...tried }, { around: around.all[0]! })
    around.root.within = new Set([below])
    assert.deepStrictEqual([...startedWithin(around.asked)!], [])
    Object.assign(below, done)
    Object.assign(around.root, { ...done, answered: { value: 1 } })
    assert.deepStrictEqual([...startedWithin(around.asked)!], [["c", around.root]])
  })

  it("was done before the run paused", () => {
    const { all, asked, root } = made(write("a", done), write("b", done))
    const outcome = { _tag: "Result", value: "x" }
    remember(root, [{ identity: "a", tool: "t", outcome }, { identity: "b", tool: "t", outcome }])
    root.within = new Set(all)
    assert.deepStrictEqual([...startedWithin(asked)!.keys()], ["a", "b"])
    root.callsBeforePause!.delete("b")
    assert.isUndefined(startedWithin(asked))
  })

  it.effect("are stored with their outcome if it has a stored form", () =>
    Effect.gen(function*() {
      const { root } = made()
      const stored = (given: Partial<Record>, identity = "a") => doneCall(write(identity, given)(root))
      const outcome = { _tag: "Result", value: "x" }
      const earlier: CallBeforePause = { identity: "before", tool: "t", outcome }
      assert.deepStrictEqual(yield* stored({ ...done, answered: { value: "x" } }), {
        identity: "a",
        tool: "t",
        outcome
      })
      assert.isUndefined(yield* stored(done))
      assert.isUndefined(yield* stored({ ...done, answered: { value: 7 } }))
      root.callsBeforePause = new Map([["before", { call: earlier, isMet: false }]])
      assert.strictEqual(yield* stored({ ...done, answered: { value: "y" } }, "before"), earlier)
      root.callsBeforePause = new Map([["before", { call: { identity: "before", tool: "t" }, isMet: false }]])
      assert.isUndefined(yield* stored(done, "before"))
    }))
})

describe("writes started before the pause", () => {
  const outcome = { _tag: "Result", value: "x" }

  it("are among the started writes", () => {
    const root = recordOf("read")
    remember(root, [{ identity: "a", tool: "t", outcome }, { identity: "b", tool: "t" }])
    assert.deepStrictEqual([...root.callsBeforePause!.values()].map(({ isMet }) => isMet), [false, true])
    assert.deepStrictEqual(
      [...root.within!].map(open).map(({ happened, identity, known, parent }) => [identity, happened, known, parent]),
      [
        ["a", "yes", "yes", root]
      ]
    )
    const itself = recordOf("write")
    remember(itself, [{ identity: "c", tool: "t", outcome }])
    assert.deepStrictEqual([itself.happened, itself.known, itself.within], ["yes", "yes", undefined])
    const part = recordOf("write", {}, { identity: "i" })
    rememberPart(part)
    assert.deepStrictEqual(
      Writes.writesWithin(part).map(open).map((
        { callId, happened, identity, known, parent }
      ) => [callId, identity, happened, known, parent]),
      [
        ["c", "i", "yes", "yes", part]
      ]
    )
  })

  it.effect("answer once with their result, unknown if it cannot be decoded", () =>
    Effect.gen(function*() {
      const ends = (outcome: Schema.Json | undefined, given: Partial<Record> = {}) =>
        Effect.gen(function*() {
          const root = recordOf("read")
          remember(root, [{ identity: "a", tool: "t", ...(outcome === undefined ? undefined : { outcome }) }])
          const record = recordOf("write", given, { parent: root, identity: "a" })
          const ended = doneBefore(record.tool!, { id: "c", record }, undefined)
          if (ended === undefined) return undefined
          const exit = yield* Effect.exit(ended)
          const shown = Exit.isSuccess(exit)
            ? exit.value
            : (exit.cause.reasons.find(Cause.isFailReason)?.error as { readonly _tag: string } | undefined)?._tag
          return [shown, record.happened, record.count, record.startedAt, root.callsBeforePause!.get("a")!.isMet]
        })
      assert.isUndefined(yield* ends(undefined))
      assert.deepStrictEqual(yield* ends(outcome), ["x", "yes", 1, 0, true])
      assert.deepStrictEqual(yield* ends({ _tag: "Pending", taskId: "1" }), ["Pending", "yes", 1, 0, true])
      assert.deepStrictEqual(yield* ends({ _tag: "Result", value: 7 }), ["OutcomeUnknown", "unknown", 1, 0, true])
      assert.deepStrictEqual(yield* ends({ _tag: "Other" }), ["OutcomeUnknown", "unknown", 1, 0, true])
      const again = yield* ends(outcome, { ...done, answered: { value: "y" }, count: 1 })
      assert.deepStrictEqual(again, ["y", "yes", 1, 0, false])
    }))
})

describe("a failure that is met again", () => {
  const failed = (reason: unknown, ...before: ReadonlyArray<unknown>) =>
    new ToolError.ExecutionError({
      ...fields,
      reason,
      causes: [...before, reason].map((reason, index) => ({ attempt: index + 1, error: "ExecutionError", reason }))
    })
  const [a, b] = [{ _tag: "A" }, { _tag: "B" }]
  const causes = (...reasons: ReadonlyArray<unknown>) =>
    reasons.map((reason, index) => ({ attempt: index + 1, error: "ExecutionError", reason }))
  const isDecided = (record: Record, from: number, error: unknown) => {
    Repetition.decideLevel(record, from, error)
    return Repetition.isDecided(record, error)
  }

  it("only the level that repeated an attempt decides its failure", () => {
    const record = recordOf("read")
    const foreign = new Error("no")
    assert.isFalse(isDecided(record, 0, failed(a)))
    assert.isFalse(isDecided(record, 0, foreign))
    Repetition.noteRepetition(record, 1)
    record.causes = causes(b, a)
    Repetition.noteRepetition(record, 3)
    assert.deepStrictEqual(record.repetitions, [
      { failure: "", attempt: 1, isFix: false },
      { failure: "ExecutionError/A", attempt: 3, isFix: false }
    ])
    assert.isTrue(isDecided(record, 1, failed(a, b)))
    assert.isFalse(isDecided(record, 1, failed(b, a)))
    assert.isFalse(isDecided(record, 2, failed(a)))
    assert.isFalse(isDecided(record, 2, foreign))
    assert.isTrue(isDecided(record, 1, foreign))
    record.causes = causes("a text of several words")
    Repetition.noteRepetition(record, 4)
    assert.strictEqual(record.repetitions!.at(-1)!.failure, "ExecutionError/")
    assert.isTrue(isDecided(record, 1, failed("another text")))
    assert.isTrue(isDecided(record, 1, failed(a)))
    record.causes = causes("RATE_LIMITED")
    Repetition.noteRepetition(record, 5)
    assert.strictEqual(record.repetitions!.at(-1)!.failure, "ExecutionError/RATE_LIMITED")
    assert.isFalse(isDecided(record, 1, failed("NOT_FOUND")))
  })

  it("counts failures of any kind by their cause", () => {
    const issues: ReadonlyArray<never> = []
    for (
      const make of [
        (more: object) => new ToolError.Timeout({ ...fields, ...more, after: Duration.zero }),
        (more: object) => new ToolError.OutcomeUnknown({ ...fields, ...more, after: Duration.zero }),
        (more: object) => new ToolError.InvalidArgs({ ...fields, ...more, issues })
      ]
    ) {
      const record = recordOf("read", { causes: [{ attempt: 1, error: "Timeout" }] as never })
      Repetition.noteRepetition(record, 2)
      assert.isTrue(isDecided(record, 0, make({ causes: [{ attempt: 2, error: "Timeout" }] })))
      assert.isFalse(isDecided(record, 0, make({ causes: [{ attempt: 2, error: "InvalidArgs" }] })))
    }
  })

  it("leaves the progress of each retry as it is", () => {
    const record = recordOf("read")
    const [one, other] = [{}, {}]
    progressOf(record, one).times = 2
    assert.deepStrictEqual([one, other].map((retry) => progressOf(record, retry).times), [2, 0])
  })
})

describe("the record of a call", () => {
  it("uses a person's decision", () => {
    const record = recordOf("write", { fixedBy: "before" })
    approve(record, { identity: "c", arguments: { b: 1, a: 2 }, response: { result: 3 } })
    assert.deepStrictEqual(
      [record.arguments, record.approved, record.response, record.fixedBy, record.fixedArguments],
      [{ b: 1, a: 2 }, "{\"a\":2,\"b\":1}", { result: 3 }, "before", undefined]
    )
    approve(record, { identity: "c", arguments: { b: 1 }, fixedBy: "person" })
    assert.deepStrictEqual([record.fixedBy, record.fixedArguments, record.response], ["person", "{\"b\":1}", undefined])
  })

  it("records read sources in all outer calls, and none without reads", () => {
    const outer = recordOf("read")
    const record = recordOf("read", {}, { parent: outer })
    noteRead(record, [])
    assert.deepStrictEqual([record.read, outer.read], [undefined, undefined])
    noteRead(record, ["t"])
    noteRead(record, ["t", "u"])
    assert.deepStrictEqual([record.read, outer.read], [["t", "u"], ["t", "u"]])
  })

  it("contains its started writes", () => {
    const cases: ReadonlyArray<
      readonly [effects: Effects | "none", Partial<Record>, isWrite: boolean, mayHaveWritten: boolean]
    > = [
      ["none", { happened: "yes" }, true, true],
      ["none", { happened: "unknown" }, true, true],
      ["none", {}, false, false],
      ["read", done, false, false],
      ["write", done, true, true],
      ["write", tried, true, false],
      ["write", { happened: "unknown" }, true, true],
      ["write", {}, false, false]
    ]
    for (const [index, [effects, given, isWrite, mayHaveWritten]] of cases.entries()) {
      const record = recordOf(effects, given)
      const outer = recordOf("read", { within: new Set([record]) })
      assert.deepStrictEqual(Writes.writesWithin(record), isWrite ? [record] : [], String(index))
      assert.deepStrictEqual(Writes.writesWithin(outer), isWrite ? [record] : [], String(index))
      assert.strictEqual(Writes.mayHaveWritten(outer), mayHaveWritten, String(index))
    }
  })

  it("audits a call that another call made", () => {
    const root = recordOf("read")
    assert.isUndefined(auditedAs(root))
    const child = recordOf("write", {}, { parent: root })
    assert.deepStrictEqual(auditedAs(child), { id: "c", tool: "t", args: undefined })
    child.requested = { arguments: { n: 1 } }
    assert.deepStrictEqual(auditedAs(child), { id: "c", tool: "t", args: { n: 1 } })
  })

  it("has no other calls without a run", () => {
    assert.deepStrictEqual([Log.noLog.version, Log.noLog.before(recordOf("read"))], [0, []])
  })
})

describe("a call that another call makes", () => {
  type Asked = {
    readonly id: string
    readonly arguments: unknown
    readonly attempt: number
    readonly level: "tool"
    readonly scope?: string
    readonly lookupOnly?: boolean
    readonly idempotency?: unknown
    readonly identity?: string | undefined
    readonly record: Record
  }
  const outer = infoOf("read")
  const inner = { ...infoOf("write"), name: "inner" }
  const callOf = (tool: Info, asked: Asked, enclosing?: Asked): Asked => {
    const call: Asked = Children.callOf(tool, asked as never, enclosing as never)
    open(call.record)
    return call
  }
  const askedOf = (args: unknown, more: Partial<Asked> = {}): Asked => {
    const record = recordOf("none")
    return { id: record.callId, arguments: args, attempt: 1, level: "tool", record, ...more }
  }
  /** A call of `outer` that runs. */
  const running = (more: Partial<Asked> = {}, args: unknown = { n: 1 }): Asked => {
    const asked = askedOf(args, more)
    asked.record.tool = outer
    asked.record.requested = asked
    return asked
  }

  it("makes a child call, unless tool and arguments are its own", () => {
    const asked = running()
    assert.strictEqual(callOf(outer, asked), asked)
    assert.strictEqual(callOf(outer, { ...asked, arguments: "{\"n\": 1}" }).record, asked.record)
    asked.record.requested = undefined
    assert.strictEqual(callOf(outer, asked), asked)
    asked.record.requested = asked
    const other = callOf(outer, { ...asked, arguments: { n: 2 } })
    assert.deepStrictEqual([other.id, other.identity, other.record.parent], [
      "c/t_1",
      "c/1:t{\"n\":2}#1",
      asked.record
    ])
    const below = callOf(inner, asked)
    assert.deepStrictEqual([below.id, below.identity], ["c/inner_1", "c/5:inner{\"n\":1}#1"])
    below.record.requested = below
    assert.deepStrictEqual(callOf(outer, below).identity, "c/5:inner{\"n\":1}#1/1:t{\"n\":1}#1")
  })

  it("makes another call for other arguments, of any kind", () => {
    const circular: { self?: object } = {}
    circular.self = circular
    const asked = running()
    const all = [{ n: 1n }, { n: 2n }, { n: "1n" }, "no json", "no other json", circular, { a: 1, b: 2 }]
    const records = all.map((args) => callOf(inner, { ...asked, arguments: args }).record)
    assert.deepStrictEqual(new Set(records.map(({ identity }) => identity!.replace(/#\d+$/, ""))).size, all.length - 1)
    for (const record of records) Object.assign(record, { ended: "failed" })
    assert.strictEqual(callOf(inner, { ...asked, arguments: "{\"b\":2,\"a\":1}" }).record, records.at(-1))
  })

  it("repeats an inner call after a failure or in a repeated attempt", () => {
    const asked = running()
    const first = callOf(inner, asked).record
    const second = callOf(inner, asked).record
    assert.notStrictEqual(second, first)
    Object.assign(second, { ended: "failed" })
    assert.strictEqual(callOf(inner, asked).record, second)
    // A write is one call, executed or not: a parallel one may be about to run it.
    assert.strictEqual(callOf(inner, { ...asked, attempt: 2 }).record, first)
    assert.notStrictEqual(callOf({ ...inner }, { ...asked, attempt: 3 }).record, first)
    const claimed = running()
    const held = callOf(outer, { ...claimed, arguments: {} }).record
    Object.assign(held, { claim: {} })
    assert.strictEqual(callOf(outer, { ...claimed, arguments: {}, attempt: 2 }).record, held)
    const read = running()
    const seen = callOf(outer, { ...read, arguments: {} }).record
    seen.executed = true
    assert.notStrictEqual(callOf(outer, { ...read, arguments: {}, attempt: 2 }).record, seen)
  })

  it("replays a write in a repeated read with its known state", () => {
    const asked = running()
    const below = (attempt: number) => {
      const read = callOf(outer, { ...asked, arguments: {}, attempt })
      read.record.requested = read
      return read
    }
    const reads = [below(1), below(2), below(3)]
    const write = callOf(inner, reads[0]!).record
    assert.strictEqual(callOf(inner, reads[1]!).record, write)
    Happened.begin(write, () => 0)
    Outcome.endExecution(write, "yes")
    noteRead(write, ["outside"])
    Object.assign(write, { stop: { _tag: "CutOff" }, gate: {} })
    assert.strictEqual(callOf(inner, reads[2]!).record, write)
    for (const { record } of reads) {
      assert.deepStrictEqual([Happened.happened(record), record.read], ["yes", ["outside"]])
      assert.deepStrictEqual([...record.within ?? []], [write])
    }
    assert.deepStrictEqual(reads.map(({ record }) => record.stop?.of), [undefined, undefined, write])
    assert.deepStrictEqual([...asked.record.within ?? []], [write])
  })

  it("has a child id: of the approval, the program, or a numbered tool", () => {
    const asked = running()
    const named = (id: string) => callOf(inner, { ...askedOf({ n: 7 }), id }, asked).id
    assert.deepStrictEqual([named("pay"), named("pay"), named("a/b")], ["c/pay", "c/pay_2", "c/a_b"])
    const waiting = running()
    const [one, two] = ["c/5:inner{\"n\":1}#1", "c/5:inner{\"n\":1}#2"]
    Object.assign(waiting.record, {
      approvals: [
        { identity: one, callId: "c/inner_2", arguments: { n: 8 } },
        { identity: two, callId: "c/inner_2", arguments: { n: 9 } },
        { identity: "other", callId: "c/inner_1", arguments: {} }
      ]
    })
    const decided = callOf(inner, waiting)
    assert.deepStrictEqual([decided.id, decided.arguments], ["c/inner_2", { n: 8 }])
    assert.strictEqual(callOf(inner, waiting).id, "c/inner_3")
    assert.strictEqual(callOf(inner, { ...waiting, arguments: {} }).id, "c/inner_4")
  })

  it("made by hand is a child of the running agent's call", () => {
    const enclosing = running({ scope: "run", lookupOnly: true })
    const hand = askedOf({ n: 1 })
    assert.strictEqual(callOf(inner, hand), hand)
    assert.strictEqual(callOf(inner, hand, { ...hand }), hand)
    const adopted = callOf(inner, hand, enclosing)
    assert.deepStrictEqual([adopted.scope, adopted.lookupOnly, adopted.record.parent], ["run", true, enclosing.record])
    adopted.record.requested = adopted
    assert.strictEqual(callOf(inner, hand, enclosing).record, adopted.record)
    assert.strictEqual(callOf(inner, { ...hand, arguments: "{\"n\":1}" }, enclosing).record, adopted.record)
    const other = callOf(inner, { ...hand, arguments: { n: 2 } }, enclosing).record
    assert.notStrictEqual(other, adopted.record)
    assert.notStrictEqual(callOf({ ...inner }, { ...hand, arguments: { n: 2 } }, enclosing).record, other)
    hand.record.tool = inner
    hand.record.requested = hand
    assert.strictEqual(callOf(inner, hand, enclosing).record.parent, enclosing.record)
  })

  it("has its requested key, not the outer call's", () => {
    const key = {}
    const keyed = running({ idempotency: key })
    assert.isUndefined(callOf(inner, keyed).idempotency)
    assert.strictEqual(callOf(inner, { ...keyed, idempotency: 1 }).idempotency, 1)
    const none = running()
    none.record.requested = undefined
    assert.strictEqual(callOf(inner, { ...none, idempotency: key }).idempotency, key)
  })
})

describe("the log of a run's calls", () => {
  const logOf = (run: object) => Log.callLog(run)
  const executed = (callId: string, tool: string, outcome: string, agentRunId?: string) => ({
    tool,
    callId,
    arguments: "{\"n\":1}",
    outcome,
    ...(agentRunId === undefined ? undefined : { agentRunId })
  })
  const of = (callId: string, tool: string, parent?: Record) => {
    const record = parent === undefined ? newRecord(callId) : newRecord(callId, { parent })
    record.tool = { ...infoOf("write"), name: tool }
    return record
  }

  it("has each other call once: executed, or else running", () => {
    const run = openRun({
      agentRunId: "root",
      parent: undefined,
      executed: [
        executed("c1", "pay", "failure"),
        executed("c1", "pay", "success"),
        executed("c2", "pay", "unknown", "n")
      ]
    })
    const log = logOf(run)
    const [first, second, third] = [of("c1", "pay"), of("c2", "pay"), of("c3", "look")]
    log.admit(first, { n: 2 })
    log.admit(third, { n: 3 })
    assert.strictEqual(log.version, 2)
    const seen = (record: Record) =>
      log.before(record).map(({ callId, outcome, tool, ...call }) => [callId, tool, outcome, call.arguments])
    assert.deepStrictEqual(seen(of("c4", "look")), [
      ["c1", "pay", "success", { n: 1 }],
      ["c2", "pay", "unknown", { n: 1 }],
      ["c3", "look", "running", { n: 3 }]
    ])
    // Neither itself, nor its earlier attempts; a call with its id in an inner agent is another one.
    assert.deepStrictEqual(seen(third).map(([callId]) => callId), ["c1", "c2"])
    assert.deepStrictEqual(seen(first).map(([callId]) => callId), ["c2", "c3"])
    assert.deepStrictEqual(seen(second).map(([callId]) => callId), ["c1", "c2", "c3"])
    const nested = logOf(openRun({ agentRunId: "n", parent: run }))
    assert.deepStrictEqual(nested.before(second).map(({ callId }) => callId), ["c1", "c3"])
    const within = of("c5", "look", third)
    nested.admit(of("c2", "pay"), {})
    nested.admit(within, {})
    assert.deepStrictEqual(nested.before(of("c9", "x")).map(({ callId }) => callId), ["c1", "c2", "c3", "c5"])
    log.end(third)
    assert.deepStrictEqual(nested.before(of("c9", "x")).map(({ callId }) => callId), ["c1", "c2"])
  })

  it("shows arguments that are no JSON as they are", () => {
    const run = openRun({ executed: [{ ...executed("c1", "t", "failure"), arguments: "{" }] })
    assert.deepStrictEqual(logOf(run).before(of("c2", "t"))[0]!.arguments, "{")
  })
})
