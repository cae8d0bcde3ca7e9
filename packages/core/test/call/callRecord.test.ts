/** Records of calls: the known effect of a call, its started inner calls, and its retried failures. */

import { assert, describe, it } from "@effect/vitest"
import { ToolError } from "@recourse/core"
import { Cause, Effect, Exit } from "effect"
import { openRun } from "../support/openRun.ts"
import {
  begin,
  done,
  type Effects,
  type Exits,
  fields,
  Happened,
  infoOf,
  type Known,
  load,
  lost,
  newRecord,
  noteRead,
  Outcome,
  partly,
  pending,
  type Record,
  recordOf,
  tried,
  unknown,
  Writes
} from "../support/callRecords.ts"

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
} = await load("../round/roundContext.ts")

const { approve }: { readonly approve: (record: Record, approval: object) => void } = await load(
  "children/childCall.ts"
)

const { auditedAs }: { readonly auditedAs: (record: Record) => unknown } = await load("auditedCall.ts")

const escalated = (callId: string) =>
  new ToolError.Escalation({ ...fields, callId, code: "x", reason: "x", severity: "low" })

describe("the effect of a call", () => {
  it("an effect is unknown from the executor's start, for outer calls too", () => {
    const model = recordOf("read")
    const around = recordOf("none", {}, { around: model })
    const outer = recordOf(undefined, {}, { parent: around })
    const write = recordOf("write", {}, { parent: outer })
    begin(write, () => 7)
    assert.deepStrictEqual([write.happened, write.executed, write.running, write.startedAt], ["unknown", true, 1, 7])
    for (const each of [outer, around, model]) assert.deepStrictEqual([...each.within!], [write])
    begin(write, () => 9)
    assert.deepStrictEqual([write.running, write.startedAt], [2, 7])
    Outcome.endExecution(write, "yes")
    assert.deepStrictEqual([write.running, write.known, write.happened], [1, "yes", "unknown"])
    Outcome.endExecution(write, "no")
    assert.deepStrictEqual([write.running, write.known, write.happened], [0, "no", "no"])
  })

  it("notes no effect around a read, unless a write started within it", () => {
    const outer = recordOf("read")
    const read = recordOf("read", {}, { parent: outer })
    begin(read, () => 7)
    assert.deepStrictEqual([read.startedAt, outer.within], [0, undefined])
    read.within = new Set([recordOf("write")])
    Outcome.endExecution(read, "no")
    begin(read, () => 9)
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
      begin(record, () => 0)
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

  it("the end of a failed execution decides a known effect", () => {
    const says = (error: unknown) => error === "not done"
    const within = (happened: Known) => ({ within: new Set([recordOf("write", { happened })]) })
    const both = Exit.failCause(Cause.combine(Cause.fail("not done"), Cause.die("no")))
    const cases: ReadonlyArray<
      readonly [effects: Effects, Exits, Partial<Record>, isKeyed: boolean, Known]
    > = [
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
