/** The account of a run. */

import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit } from "effect"

const run = new URL("../../src/internal/run/", import.meta.url)

const load = async (name: string): Promise<never> => await import(new URL(name, run).href) as never

type Counts = Readonly<Record<string, number>>

/** A clock that is at 1,000 ms, and was at `at` when it was first read. */
const from = (at: number) => {
  let now = at
  return {
    monotonicTimeNanosUnsafe: () => {
      const nanos = BigInt(now) * 1_000_000n
      now = 1000
      return nanos
    }
  }
}

interface LedgerState {
  readonly used: Counts
  readonly retries: Counts
  readonly extended: Counts
  readonly lastTool?: string
}

interface Account {
  readonly limits: Counts
  readonly state: () => LedgerState
  readonly restore: (state: LedgerState) => void
  readonly countReplayed: (state: LedgerState) => void
  readonly fits: (kind: string, tool?: string) => boolean
  readonly charge: (kind: string, tool?: string) => Effect.Effect<void>
  readonly require: (kind: string) => Effect.Effect<void>
  readonly chargeRequest: (tool: string, params: unknown) => Effect.Effect<void>
  readonly refund: (kind: string) => void
  readonly requireArguments: (tool: string, params: unknown) => Effect.Effect<void>
  readonly addTokens: (amount: number) => Effect.Effect<void>
  readonly round: (allFailed: boolean) => Effect.Effect<void>
  readonly continueAfter: (millis: number) => void
  readonly noteElapsed: () => void
  readonly hasTime: (millis: number) => boolean
}

const { Account }: {
  readonly Account: new(
    agent: string,
    limits: Counts,
    thresholds: ReadonlyArray<number>,
    owner: object,
    parent?: Account,
    isLevel?: boolean,
    clock?: { readonly monotonicTimeNanosUnsafe: () => bigint }
  ) => Account
} = await load("account.ts")

describe("an account", () => {
  const told: Array<string> = []
  const owner = {
    onThreshold: (...all: ReadonlyArray<unknown>) => Effect.sync(() => void told.push(all.join(" "))),
    onExtended: () => Effect.void,
    onExceeded: undefined
  }
  const accounts = (limits: Counts, thresholds: ReadonlyArray<number> = [], around: Counts = {}) => {
    told.length = 0
    const outer = new Account("outer", around, thresholds, owner)
    return { outer, inner: new Account("inner", limits, thresholds, owner, outer) }
  }
  const isStopped = (effect: Effect.Effect<void>): boolean => Exit.isFailure(Effect.runSyncExit(effect))

  it("emits each threshold once, also of each outer run", () => {
    const { inner } = accounts({ turns: 4 }, [0, 0.5], { turns: 2 })
    for (let turn = 0; turn < 2; turn++) Effect.runSync(inner.charge("turns"))
    assert.deepStrictEqual(told, ["turns 0 1 4", "turns 0 1 2", "turns 0.5 1 2", "turns 0.5 2 4"])
    assert.isTrue(isStopped(inner.charge("turns")))
    assert.isTrue(isStopped(inner.require("toolCalls")))
    const none = accounts({ tokens: 4 }, [0, 1])
    Effect.runSync(none.inner.addTokens(0))
    assert.deepStrictEqual(told, [])
    Effect.runSync(none.inner.addTokens(4))
    assert.deepStrictEqual(told, ["tokens 0 4 4", "tokens 1 4 4"])
  })

  it("takes a charge back, here and around", () => {
    const { inner, outer } = accounts({ toolCalls: 2 })
    for (let call = 0; call < 2; call++) Effect.runSync(inner.charge("toolCalls"))
    assert.isFalse(inner.fits("toolCalls"))
    inner.refund("toolCalls")
    assert.deepStrictEqual([inner, outer].map((account) => account.state().used["toolCalls"]), [1, 1])
  })

  it("counts an earlier execution's usage, without its duration", () => {
    const { inner, outer } = accounts({ turns: 4, retriesPerTool: 3 })
    const state = {
      used: { turns: 2, duration: 7, allFailureRounds: 1, tokens: 5 },
      retries: { look: 1 },
      extended: { turns: 2, tokens: 1 }
    }
    inner.countReplayed(state)
    inner.countReplayed(state)
    for (const account of [inner, outer]) {
      const { retries, used } = account.state()
      assert.deepStrictEqual(
        [used["turns"], used["duration"], used["allFailureRounds"], used["tokens"], retries],
        [4, 0, 0, 10, { look: 2 }]
      )
    }
    assert.deepStrictEqual([inner.limits, inner.state().extended], [{ turns: 8, retriesPerTool: 3 }, { turns: 4 }])
    const again = accounts({ turns: 4, retriesPerTool: 3 }).inner
    again.restore(inner.state())
    assert.deepStrictEqual(again.state(), inner.state())
    assert.notProperty(again.state(), "lastTool")
    const rows = accounts({ sameToolInARow: 2 }).inner
    Effect.runSync(rows.chargeRequest("look", {}))
    const after = accounts({ sameToolInARow: 2 }).inner
    after.restore(rows.state())
    assert.strictEqual(after.state().lastTool, "look")
    Effect.runSync(after.chargeRequest("look", {}))
    assert.isTrue(isStopped(after.chargeRequest("look", {})))
    assert.isTrue(isStopped(after.chargeRequest("other", {})))
  })

  it("has time for a wait that ends before each deadline", () => {
    const { inner: untimed, outer: around } = accounts({ duration: 100 }, [], { duration: 150 })
    assert.isTrue(untimed.hasTime(1e6))
    const inner = new Account("inner", { duration: 100 }, [], owner, around, true, from(1_000))
    assert.deepStrictEqual([99, 100, 101].map((millis) => inner.hasTime(millis)), [true, false, false])
    const outer = new Account("outer", { duration: 150 }, [], owner, undefined, true, from(940))
    const within = new Account("inner", { duration: 100 }, [], owner, outer, true, from(1_000))
    assert.deepStrictEqual([89, 90].map((millis) => within.hasTime(millis)), [true, false])
    const extended = { ...owner, onExceeded: () => Effect.void }
    const moved = new Account("a", { duration: 100 }, [], extended, undefined, true, from(0))
    assert.isTrue(moved.hasTime(1e6))
    assert.isTrue(accounts({}).inner.hasTime(1e6))
  })

  it("measures a resumed run from the time that it ran before", () => {
    const account = new Account("a", { duration: 100 }, [], owner, undefined, true, from(990))
    const { extended, retries, used } = account.state()
    account.restore({ extended, retries, used: { ...used, duration: 30 } })
    account.continueAfter(20)
    assert.deepStrictEqual([39, 40].map((millis) => account.hasTime(millis)), [true, false])
    account.noteElapsed()
    assert.strictEqual(account.state().used["duration"], 60)
    assert.deepStrictEqual([39, 40].map((millis) => account.hasTime(millis)), [true, false])
  })

  it("ends calls with larger arguments than its cap or outer ones", () => {
    const { inner } = accounts({ argumentSize: 5 })
    assert.deepStrictEqual(
      ["12345", "123456", [123], [1234]].map((all) => isStopped(inner.requireArguments("t", all))),
      [
        false,
        true,
        false,
        true
      ]
    )
    const each = (params: unknown) =>
      isStopped(accounts({}, [], { argumentSize: 5 }).inner.requireArguments("t", params))
    assert.deepStrictEqual(["12345", "123456", [123], [12345]].map(each), [false, true, false, true])
  })

  it("counts rounds in which all calls failed in a row", () => {
    const { inner, outer } = accounts({ allFailureRounds: 3 })
    const rounds = () => [inner, outer].map((account) => account.state().used["allFailureRounds"])
    for (const allFailed of [true, true]) Effect.runSync(inner.round(allFailed))
    assert.deepStrictEqual(rounds(), [2, 2])
    Effect.runSync(inner.round(false))
    assert.deepStrictEqual(rounds(), [0, 0])
  })
})
