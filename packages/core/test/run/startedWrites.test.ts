/** Writes that an earlier execution has started. */

import { assert, describe, it } from "@effect/vitest"
import { openRun } from "../support/openRun.ts"
import {
  CompletedWrites,
  type Done,
  type Journal,
  journalOf,
  type Json,
  load,
  type Log,
  RunLog,
  runOf,
  type Write,
  write
} from "../support/partsOfRuns.ts"

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
