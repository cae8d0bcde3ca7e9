/** Failed results: the text about a call that failed, was interrupted, or has no result, by its known state. */
import { assert, describe, it } from "@effect/vitest"
import { Duration } from "effect"
import { ToolError } from "@recourse/core"
import { openRecord } from "../support/openRecord.ts"

const room = new URL("../../src/internal/", import.meta.url)
const load = async (name: string): Promise<never> => await import(new URL(name, room).href) as never

interface Failure {
  readonly code: string
  readonly message_for_model: string
  readonly safe_to_retry: boolean
  readonly instruction?: string
}

const { failureOf, failureOfInterrupted, failureOfEnded }: {
  readonly failureOf: (record: object | undefined, error: unknown, traceId: string) => Failure
  readonly failureOfEnded: (record: object | undefined, error: unknown, traceId: string) => Failure
  readonly failureOfInterrupted: (record: object, traceId: string) => Failure
} = await load("result/failureOf.ts")
const newRecord = (id: string, made?: object): Record<string, unknown> => openRecord(id, made)

type Effects = "read" | "idempotent" | "write"

const recordOf = (
  effects: Effects,
  happened: "no" | "yes" | "unknown" = "no",
  within?: ReadonlyArray<"no" | "yes" | "unknown">
) =>
  Object.assign(newRecord("c1"), {
    tool: { name: "book", effects, passesKey: false, results: { areUntrusted: false } },
    happened,
    known: happened,
    ...(within === undefined
      ? undefined
      : { within: new Set(within.map((happened) => Object.assign(newRecord("c2"), { happened }))) })
  })

const fields = (callId: string) => ({ tool: "book", callId, attempt: 1, causes: [] })

/** A failure that is safe to repeat, of the call itself or of one within it. */
const timeout = (callId: string) =>
  new ToolError.Timeout({ ...fields(callId), after: Duration.seconds(1), repeatable: true })
const escalated = (error: unknown) =>
  new ToolError.Escalation({
    ...fields("c1"),
    code: "escalated",
    reason: "Look at it.",
    severity: "low",
    ...(error === undefined ? undefined : { error })
  })
const partial = new ToolError.PartialSuccess({ ...fields("c1"), succeeded: [1], failed: [] })
const invalid = new ToolError.InvalidResult({ ...fields("c1"), issues: [] })

describe("a call that failed", () => {
  it("reports a failed call as possibly done, unless declared otherwise", () => {
    const code = (happened: "no" | "yes" | "unknown", error: unknown) =>
      failureOf(recordOf("write", happened), error, "r").code
    for (const error of [partial, invalid, escalated(partial), escalated(invalid), escalated(undefined)]) {
      const said = code("no", error)
      assert.notStrictEqual(said, "outcome_unknown")
      assert.strictEqual(code("yes", error), said)
      assert.strictEqual(code("unknown", error), "outcome_unknown")
    }
    for (const error of [timeout("c1"), escalated(timeout("c1")), "no"]) {
      assert.notStrictEqual(code("no", error), "outcome_unknown")
      assert.strictEqual(code("yes", error), "outcome_unknown")
    }
  })

  it("may be repeated if repeatable: a read only without inner writes", () => {
    const mayBeMadeAgain = (record: object) => failureOf(record, "no", "r").safe_to_retry
    assert.isFalse(mayBeMadeAgain(recordOf("write", "unknown")))
    assert.isTrue(mayBeMadeAgain(recordOf("idempotent", "unknown")))
    assert.isTrue(mayBeMadeAgain(recordOf("idempotent", "unknown", ["unknown"])))
    assert.isFalse(mayBeMadeAgain(recordOf("read", "no", ["unknown"])))
    assert.isFalse(mayBeMadeAgain(recordOf("read", "no", ["yes"])))
  })

  it("a repeatable inner call does not make its outer call repeatable", () => {
    const told = (record: object | undefined, error: unknown) => {
      const { instruction, safe_to_retry } = failureOf(record, error, "r")
      return [safe_to_retry, instruction !== undefined]
    }
    const [own] = [told(undefined, timeout("c1"))]
    assert.isTrue(own[0])
    for (const effects of ["read", "idempotent", "write"] as const) {
      // Its own text stays.
      assert.deepStrictEqual(told(recordOf(effects), timeout("c1")), own)
      for (const error of [timeout("c2"), escalated(timeout("c2"))]) {
        const other = told(undefined, error)
        const isSafe = other[0] === true && effects === "write" ? [false, false] : other
        assert.deepStrictEqual(told(recordOf(effects), error), isSafe, effects)
      }
    }
    assert.deepStrictEqual(told(recordOf("read", "no", ["no"]), timeout("c2")), [false, false])
    // The rest of the text does not change.
    const { instruction: _, ...whole } = failureOf(undefined, timeout("c2"), "r")
    assert.deepStrictEqual(failureOf(recordOf("write"), timeout("c2"), "r"), { ...whole, safe_to_retry: false })
  })

  it("has no text of its own if no call was made", () => {
    assert.deepStrictEqual(failureOf(undefined, partial, "r"), failureOf(recordOf("write"), partial, "r"))
    assert.deepStrictEqual(failureOfEnded(undefined, partial, "r"), failureOf(undefined, partial, "r"))
  })
})

describe("a call that has no result as its run ended", () => {
  it("was not run, was not finished, or may have been done", () => {
    const told = (record: object | undefined, error?: unknown) => {
      const { code, message_for_model } = failureOfEnded(record, error, "r")
      return [code, message_for_model.split(":")[0]]
    }
    assert.deepStrictEqual(told(undefined), ["not_run", "Not run"])
    assert.deepStrictEqual(told(recordOf("write")), ["not_run", "Not run"])
    assert.deepStrictEqual(told(Object.assign(recordOf("read"), { executed: true })), ["not_run", "Not finished"])
    assert.strictEqual(told(Object.assign(recordOf("write", "unknown"), { executed: true }))[0], "outcome_unknown")
    assert.strictEqual(told(recordOf("write"), timeout("c1"))[0], "timeout")
  })
})

describe("a call that was cut off and may not run again", () => {
  it("reports an interrupted call as a timed-out read, or as unknown", () => {
    const code = (record: object) => failureOfInterrupted(record, "r").code
    assert.deepStrictEqual(
      [recordOf("read"), recordOf("idempotent"), recordOf("write"), recordOf("read", "no", ["no"])].map(code),
      ["timeout", "timeout", "outcome_unknown", "outcome_unknown"]
    )
  })
})
