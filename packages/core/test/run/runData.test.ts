/** Runs as data: a server's view of a run, and the order and filter of a list. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Option, Redacted, Schema } from "effect"
import { Agent, Approval, RunRecord, Runs, StoreTimeout } from "@recourse/core"

const pending = {
  callId: "c1",
  tool: "pay",
  arguments: { amount: 5 },
  argumentsHash: "ab",
  reasons: ["above 100"],
  code: "approval_required",
  requestedAt: 1,
  expiresAt: 2
}
const info = {
  runId: "r1",
  agent: "clerk",
  version: "2",
  status: "queued",
  cancelling: true,
  owner: "ada",
  startedAt: 1,
  updatedAt: 2,
  pending: [pending],
  askedOf: "bob",
  output: { paid: 5 },
  failure: { error: "Down", code: "down", userMessage: "Sorry.", value: { why: "?" } }
}

describe("the known facts of a run", () => {
  const decode = Schema.decodeUnknownOption(Schema.toCodecJson(Runs.RunInfo))
  const encode = Schema.encodeSync(Schema.toCodecJson(Runs.RunInfo))

  it.each(["queued", "running", "waiting", "completed", "failed", "cancelled"])(
    "is read with all that stands in it: a run that is %s",
    (status) => {
      const known = decode({ ...info, status })
      assert.deepStrictEqual<unknown>(Option.map(known, encode), Option.some({ ...info, status }))
    }
  )

  it.each<readonly [wrong: string, json: object]>([
    ["is in a state that there is not", { ...info, status: "bored" }],
    ["is not cancelled, and says so", { ...info, cancelling: false }],
    ["has no id", { ...info, runId: null }],
    ["has failed without a code", { ...info, failure: { error: "Down", userMessage: "Sorry." } }],
    ["waits for a call without a name", { ...info, pending: [{ ...pending, tool: null }] }]
  ])("is not read where it %s", (_, json) => assert.isTrue(Option.isNone(decode(json))))

  it("has its events by their numbers", () => {
    const read = Schema.decodeUnknownOption(Schema.toCodecJson(Runs.NumberedEvent))
    const event = { _tag: "ModelFallback", runId: "r1", agentRunId: "r1", path: [], sequence: 0, at: 0, model: 2 }
    assert.deepStrictEqual<unknown>(read({ number: 3, event }), Option.some({ number: 3, event }))
    assert.isTrue(Option.isNone(read({ number: "3", event })))
  })
})

describe("a list of runs", () => {
  const run = (runId: string, startedAt: number, more?: object) =>
    ({ runId, startedAt, agent: "clerk", status: "running", ...more }) as const
  const all = [
    run("b", 1, { owner: "ada" }),
    run("a", 2, { askedOf: "bob", status: "waiting" }),
    run("c", 2, { agent: "chief" }),
    run("b2", 2),
    run("d", 3)
  ]
  const idsOf = (query: Runs.Query) =>
    all.filter((run) => Runs.isOf(run, query)).toSorted(Runs.newestFirst).map(({ runId }) => runId)

  it.each<readonly [query: Runs.Query, ids: ReadonlyArray<string>]>([
    [{}, ["d", "c", "b2", "a", "b"]],
    [{ owner: "ada" }, ["b"]],
    [{ agent: "chief" }, ["c"]],
    [{ askedOf: "bob" }, ["a"]],
    [{ status: "waiting" }, ["a"]],
    [{ idPrefix: "b" }, ["b2", "b"]],
    [{ startedBefore: 2 }, ["b"]],
    [{ startedAfter: 2 }, ["d", "c", "b2", "a"]],
    [{ startedAfter: 2, startedBefore: 3 }, ["c", "b2", "a"]],
    [{ behind: { runId: "d", startedAt: 3 } }, ["c", "b2", "a", "b"]],
    [{ behind: { runId: "b2", startedAt: 2 } }, ["a", "b"]],
    [{ behind: { runId: "b", startedAt: 1 } }, []]
  ])("has for %o those that fit, the newest first", (query, ids) => assert.deepStrictEqual(idsOf(query), ids))

  it("orders a run and itself as equal", () => {
    const [first, second] = [run("a", 1), run("b", 1)]
    assert.strictEqual(Runs.newestFirst(first, first), 0)
    assert.isAbove(Runs.newestFirst(first, second), 0)
    assert.isBelow(Runs.newestFirst(second, first), 0)
  })
})

it.effect("a record of an agent without a conversation has no snapshot", () =>
  Effect.gen(function*() {
    const record = yield* Agent.fromFunction("shout", (text: string) => Effect.succeed(text)).report("hi")
    const snapshot = yield* RunRecord.snapshot(record).pipe(
      Effect.provide(Approval.layerKey(Redacted.make("k".repeat(32))))
    )
    assert.isTrue(Option.isNone(snapshot))
  }))

it("a store has some time to answer", () => {
  for (const time of [0, -1, "-1 second"] as const) {
    assert.throws(() => StoreTimeout.layer(time as never), /StoreTimeout.layer: timeout is .* longer than 0/)
  }
})
