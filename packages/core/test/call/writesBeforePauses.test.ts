/** Writes that started before a pause, and failures that are met again. */

import { assert, describe, it } from "@effect/vitest"
import { ToolError } from "@recourse/core"
import type { Schema } from "effect"
import { Cause, Duration, Effect, Exit } from "effect"
import { open } from "../support/openRecord.ts"
import {
  type CallBeforePause,
  done,
  fields,
  type Info,
  load,
  lost,
  partly,
  pending,
  type Record,
  recordOf,
  tried,
  unknown,
  Writes
} from "../support/callRecords.ts"

const { snapshotAnswer, remember, rememberPart }: {
  readonly snapshotAnswer: (info: Info, call: object, run: undefined) => Effect.Effect<unknown, unknown> | undefined
  readonly remember: (root: Record, calls: ReadonlyArray<CallBeforePause>) => void
  readonly rememberPart: (record: Record) => void
} = await load("replay/snapshotWrites.ts")

const { startedWithin, doneCall, endOf }: {
  readonly startedWithin: (record: Record) => ReadonlyMap<string, Record> | undefined
  readonly doneCall: (record: Record) => Effect.Effect<CallBeforePause | undefined>
  readonly endOf: (record: Record) => unknown
} = await load("replay/pausedWrites.ts")

const Repetition: {
  readonly decideLevel: (record: Record, from: number, error: unknown) => void
  readonly isDecided: (record: Record, error: unknown) => boolean
  readonly noteRepetition: (record: Record, attempt: number) => void
  readonly noteExhausted: (record: Record, error: object) => void
  readonly isExhaustedWithin: (error: unknown) => boolean
} = await load("repetition.ts")

const { noteProgress, progressOf }: {
  readonly noteProgress: (record: Record, retry: object, changed: { readonly times: number }) => void
  readonly progressOf: (record: Record, retry: object) => { readonly times: number }
} = await load("record/recovering.ts")

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
    for (const [given, expected] of cases) assert.strictEqual(endOf(recordOf("write", given)) !== undefined, expected)
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
    remember(root, [{ identity: "a", tool: "t", outcome }])
    root.within = new Set(all)
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
      remember(root, [earlier])
      assert.strictEqual(yield* stored({ ...done, answered: { value: "y" } }, "before"), earlier)
      remember(root, [{ identity: "before", tool: "t" }])
      assert.isUndefined(yield* stored(done, "before"))
    }))
})

describe("writes started before the pause", () => {
  const outcome = { _tag: "Result", value: "x" }

  it("are among the started writes", () => {
    const root = recordOf("read")
    remember(root, [{ identity: "a", tool: "t", outcome }, { identity: "b", tool: "t" }])
    assert.deepStrictEqual([...root.callsBeforePause!.unmatched], ["a"])
    assert.deepStrictEqual(["a", "b", "c"].map((identity) => root.callsBeforePause!.has(identity)), [true, true, false])
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
          const ended = snapshotAnswer(record.tool!, { id: "c", record }, undefined)
          if (ended === undefined) return undefined
          const exit = yield* Effect.exit(ended)
          const shown = Exit.isSuccess(exit)
            ? exit.value
            : (exit.cause.reasons.find(Cause.isFailReason)?.error as { readonly _tag: string } | undefined)?._tag
          return [shown, record.happened, record.count, record.startedAt, !root.callsBeforePause!.unmatched.has("a")]
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
    noteProgress(record, one, { times: 2 })
    assert.deepStrictEqual([one, other].map((retry) => progressOf(record, retry).times), [2, 0])
  })
})
