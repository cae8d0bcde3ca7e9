/** Starts of attempts that earlier executions of a run have recorded, and the calls that this execution has matched. */
import { assert, describe, it } from "@effect/vitest"
import type { Schema } from "effect"
import { entriesIn } from "../support/interruptedRuns.ts"

interface Start {
  readonly entry: string
  readonly attempt: number | "first"
  readonly key: string | undefined
  readonly isRepeatable: boolean
  readonly isAtomic: boolean
}

interface RunLog {
  readonly add: (path: string, start?: Start) => void
  readonly has: (path: string) => boolean
  readonly hasAppended: (entry: string) => boolean
  readonly hasUnmatchedCall: (scope: string, callId: string) => boolean
  readonly startsOf: (path: string) => ReadonlyArray<Start>
  readonly match: (path: string) => void
  readonly matchCall: (scope: string, callId: string) => void
  readonly hasCounted: (place: string) => boolean
  readonly hasUnmatchedWithin: (scope: string, callId: string) => boolean
}

const { RunLog }: { readonly RunLog: new(journal: object) => RunLog } = await import(
  new URL("../../src/internal/run/runLog.ts", import.meta.url).href
) as never

const replayOf = (records: Readonly<Record<string, Schema.Json>>) =>
  new RunLog({ isResumed: true, entries: entriesIn(new Map(Object.entries(records))) })

const start = (path: string, more: object = {}) => ({ tool: "pay", at: 1, path, attempt: 1, ...more }) as Schema.Json

/** A replay of starts at these paths. */
const startedAt = (...paths: ReadonlyArray<string>) =>
  replayOf(Object.fromEntries(paths.map((path) => [`write ${path}@1`, start(path)])))

const none = { key: undefined, isRepeatable: false, isAtomic: false }

describe("the starts of a call", () => {
  it("are read from the entries of its path, in their order", () => {
    const replay = replayOf({
      "write r/3:pay/c1@1": start("r/3:pay/c1", { effects: "write", key: "k1" }),
      "write r/3:pay/c2@1": start("r/3:pay/c2", { effects: "idempotent" }),
      "write r/3:pay/c1@2": start("r/3:pay/c1", { attempt: 2, key: "k2", begun: { isAtomic: true } }),
      "wait r/3:pay/c1@3": start("r/3:pay/c1", { attempt: 3 })
    })
    assert.deepStrictEqual(replay.startsOf("r/3:pay/c1"), [
      { ...none, entry: "r/3:pay/c1@1", attempt: 1, key: "k1" },
      { ...none, entry: "r/3:pay/c1@2", attempt: 2, key: "k2", isAtomic: true }
    ])
    assert.deepStrictEqual(replay.startsOf("r/3:pay/c2"), [
      { ...none, entry: "r/3:pay/c2@1", attempt: 1, isRepeatable: true }
    ])
    assert.deepStrictEqual(replay.startsOf("r/3:pay/c3"), [])
    assert.isTrue(replay.hasAppended("r/3:pay/c1@2"))
    assert.isFalse(replay.hasAppended("r/3:pay/c1"))
    assert.deepStrictEqual([replay.has("r/3:pay/c1"), replay.has("r/3:pay/c1@1")], [true, false])
  })

  it("decode from older versions' entries, whose keys have the path", () => {
    const replay = replayOf({
      "write r/3:pay/c1": { tool: "pay", at: 1 },
      "write r/3:pay/c1@3": { tool: "pay", at: 2, begun: { write: {} } },
      "write r/3:pay/c2/3:pay{}#1/2": true,
      "write key r/3:pay/c3@12": "k",
      "write key r/3:pay/c4@1": { not: "a key" },
      "write r/3:pay/c5/1": "no start"
    })
    assert.deepStrictEqual(replay.startsOf("r/3:pay/c1"), [
      { ...none, entry: "r/3:pay/c1", attempt: "first" },
      { ...none, entry: "r/3:pay/c1@3", attempt: 3 }
    ])
    assert.deepStrictEqual(replay.startsOf("r/3:pay/c2/3:pay{}#1"), [
      { ...none, entry: "r/3:pay/c2/3:pay{}#1/2", attempt: 2, key: "call", isRepeatable: true }
    ])
    assert.deepStrictEqual(replay.startsOf("r/3:pay/c3"), [
      { ...none, entry: "key r/3:pay/c3@12", attempt: 12, key: "k" }
    ])
    for (const path of ["r/3:pay/c4", "r/3:pay/c5"]) assert.isFalse(replay.has(path), path)
  })

  it("may be added; an outcome without a start belongs to the call", () => {
    const replay = replayOf({
      "child r/3:pay/c1": "paid",
      "write r/3:pay/c2@1": start("r/3:pay/c2"),
      "child r/3:pay/c2@1": 1
    })
    assert.deepStrictEqual(replay.startsOf("r/3:pay/c1"), [])
    assert.deepStrictEqual(["c1", "c2", "c2@1"].map((id) => replay.has(`r/3:pay/${id}`)), [true, true, false])
    const added = { ...none, entry: "x", attempt: 1 }
    replay.add("r/3:pay/c1", added)
    replay.add("r/3:pay/c3", added)
    assert.deepStrictEqual(["c1", "c3"].map((id) => replay.startsOf(`r/3:pay/${id}`)), [[added], [added]])
  })
})

describe("a call that an earlier execution has started", () => {
  it("a started call stays unmatched until its outcome is known", () => {
    const replay = startedAt("r/3:pay/c1")
    assert.isTrue(replay.hasUnmatchedCall("r", "c1"))
    replay.match("r/3:pay/c1")
    replay.match("r/3:pay/c2")
    assert.isFalse(replay.hasUnmatchedCall("r", "c1"))
    assert.isFalse(replay.hasUnmatchedCall("r", "c2"))
  })

  const within: ReadonlyArray<readonly [is: boolean, path: string]> = [
    [true, "r/4:book/c1/x"],
    // The name of a tool may hold anything.
    [true, "r/12:a/c2/b:3:d e/c1/x"],
    // By an agent within it, and by one within a call of its tool.
    [true, "r/2:c1/10:bookkeeper#1/4:book/x"],
    [true, "r/11:c1/4:desk#1/4:desk#1/4:book/x"],
    // Of the call itself, of another call, and of another run.
    [false, "r/4:book/c1"],
    [false, "r/4:book/c2/x"],
    [false, "r/4:book/x/c1/y"],
    [false, "q/4:book/c1/x"],
    [false, "rr/4:book/c1/x"],
    [false, "r/4:book/c11/x"],
    [false, "r/2:c2/4:desk#1/4:book/x"],
    [false, "r/12:c11/4:desk#1/4:desk#1/4:book/x"],
    // Of a tool that is named as the call.
    [false, "r/2:c1/c2"]
  ]
  for (const [is, path] of within) {
    it(`is ${is ? "" : "not "}within the call c1 at ${path}`, () => {
      const replay = startedAt(path)
      assert.strictEqual(replay.hasUnmatchedWithin("r", "c1"), is)
      // The call itself is one of the calls.
      assert.strictEqual(replay.hasUnmatchedCall("r", "c1"), is || path === "r/4:book/c1")
      replay.match(path)
      assert.isFalse(replay.hasUnmatchedWithin("r", "c1"))
    })
  }

  const matched: ReadonlyArray<readonly [is: boolean, below: string]> = [
    [true, "4:book/i1"],
    [true, "4:book/i1/x"],
    [true, "2:i1/5:clerk#1/4:book/x"],
    [false, "4:book/i2"],
    [false, "4:book/i11"],
    [false, "4:book/i2/x"],
    [false, "2:i2/5:clerk#1/4:book/x"]
  ]
  for (const [is, below] of matched) {
    it(`is ${is ? "" : "not "}matched with the recorded call i1 at ${below}`, () => {
      const replay = startedAt(`r/2:c1/4:desk#1/${below}`)
      replay.matchCall("r/2:c1/4:desk#1", "i1")
      assert.strictEqual(replay.hasUnmatchedWithin("r", "c1"), !is)
    })
  }
})

describe("an agent whose runs older versions have counted", () => {
  const records = {
    "model r/2:c1/5:clerk#1/1": {},
    "write r/2:c2/4:desk#1/3:pay/c1@1": start("r/2:c2/4:desk#1/3:pay/c1"),
    "child r/2:c3/4:till#2/3:pay/c1": "paid",
    "call r/2:c4/4:shop#1/c1": {},
    "model r/2:c5/4:bank(x)#1/1": {}
  }

  it("has an entry under one of its numbers", () => {
    const replay = replayOf(records)
    const counted = (place: string) => replay.hasCounted(place)
    assert.deepStrictEqual(["r/2:c1/5:clerk", "r/2:c2/4:desk", "r/2:c3/4:till"].filter((place) => !counted(place)), [])
    const others = ["r/2:c1/5:cler", "r/2:c1", "r/2:c4/4:shop", "r/2:c5/4:bank", "r/2:c6/4:desk"]
    assert.deepStrictEqual(others.filter(counted), [])
  })

  it("finds a counted agent without reading the journal again", () => {
    let reads = 0
    const entries = entriesIn(new Map(Object.entries(records)))
    const replay = new RunLog({ isResumed: true, entries: (kind: "model") => (reads++, entries(kind)) })
    replay.hasCounted("r/2:c1/5:clerk")
    const once = reads
    for (let n = 0; n < 100; n++) replay.hasCounted(`r/2:c${n}/5:other`)
    assert.strictEqual(reads, once)
  })
})
