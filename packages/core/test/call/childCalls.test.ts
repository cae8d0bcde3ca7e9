/** Calls that another call makes: the same child call, or another one. */

import { assert, describe, it } from "@effect/vitest"
import { open } from "../support/openRecord.ts"
import {
  begin,
  Happened,
  type Info,
  infoOf,
  load,
  noteRead,
  Outcome,
  type Record,
  recordOf
} from "../support/callRecords.ts"

const Children: { readonly callOf: (tool: Info, asked: never, enclosing: never) => never } = await load(
  "children/childCall.ts"
)

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
    begin(write, () => 0)
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
