/** Answers of a run. */

import { assert, describe, it } from "@effect/vitest"

const run = new URL("../../src/internal/run/", import.meta.url)

const load = async (name: string): Promise<never> => await import(new URL(name, run).href) as never

interface Call {
  readonly id: string
  readonly name: string
  readonly params: unknown
}

type AnswersState = Readonly<Record<string, ReadonlyArray<{ key: string; print: string; times: number }>>>

interface Answers {
  readonly timesOf: (call: Call) => number
  readonly note: (call: Call, encoded: unknown) => void
  readonly state: () => AnswersState
  readonly restore: (state: AnswersState) => void
}

const { Answers }: { readonly Answers: new() => Answers } = await load("session.ts")

describe("answers", () => {
  const call = (name: string, params: unknown): Call => ({ id: "c", name, params })
  const look = call("look", { n: 1 })

  it("are counted while no call gives a new one", () => {
    const answers = new Answers()
    const times = (...noted: ReadonlyArray<readonly [Call, unknown]>) => {
      for (const [one, encoded] of noted) answers.note(one, encoded)
      return answers.timesOf(look)
    }
    assert.strictEqual(times([look, { a: 1 }]), 0)
    assert.strictEqual(times([look, { a: 1 }]), 2)
    assert.strictEqual(times([call("look", { n: 1 }), { a: 1 }]), 3)
    // Another call gives a new one, then an old one.
    assert.strictEqual(times([call("look", { n: 2 }), "x"]), 0)
    assert.strictEqual(times([look, { a: 1 }]), 1)
    assert.strictEqual(times([call("look", { n: 2 }), "x"], [look, { a: 1 }]), 2)
    assert.strictEqual(times([look, { a: 2 }]), 1)
    assert.strictEqual(times([call("other", { n: 1 }), 1]), 0)
    assert.strictEqual(times([look, { a: 2 }], [call("other", { n: 1 }), 1], [look, { a: 2 }]), 2)
  })

  it("are counted for each call, though others have alike arguments", () => {
    const answers = new Answers()
    const [one, other] = [call("look", { of: [1] }), call("look", { of: [2] })]
    for (const asked of [one, other, one]) answers.note(asked, "x")
    assert.deepStrictEqual([one, other].map((asked) => answers.timesOf(asked)), [1, 1])
    answers.note(other, "x")
    assert.deepStrictEqual([one, other].map((asked) => answers.timesOf(asked)), [1, 2])
  })

  it("are old once another call gives a new one", () => {
    const answers = new Answers()
    const [first, second] = [call("other", { n: 1 }), call("other", { n: 2 })]
    for (const [one, encoded] of [[look, 1], [first, 1], [look, 1], [first, 2], [second, 1]] as const) {
      answers.note(one, encoded)
    }
    assert.strictEqual(answers.timesOf(look), 0)
  })

  it("that are untrusted are compared by content, not by call", () => {
    const answers = new Answers()
    const said = (call_id: string, content: unknown) => ({ untrusted: true, call_id, content })
    answers.note(look, said("c1", "x"))
    answers.note(look, said("c2", "x"))
    assert.strictEqual(answers.timesOf(look), 2)
    answers.note(look, said("c3", "y"))
    assert.strictEqual(answers.timesOf(look), 1)
    for (
      const odd of ["text", null, { untrusted: true }, { untrusted: true, call_id: 1 }, { call_id: 1, content: 2 }]
    ) {
      answers.note(look, odd)
      answers.note(look, odd)
      assert.strictEqual(answers.timesOf(look), 2)
    }
  })

  it("are compared whole without an envelope", () => {
    for (const fields of [{}, { untrusted: true }, { call_id: "c1" }]) {
      const answers = new Answers()
      for (const n of [1, 2]) answers.note(look, { ...fields, content: "x", n })
      assert.strictEqual(answers.timesOf(look), 0)
    }
  })

  it("continue over a pause unchanged", () => {
    const noted: ReadonlyArray<readonly [Call, unknown]> = [
      [look, "x"],
      [call("other", { n: 1 }), "y"],
      [look, "x"],
      [look, "x"],
      [call("other", { n: 2 }), "z"],
      [call("other", { n: 2 }), "z"]
    ]
    // Once is as good as never.
    const repeated = (answers: Answers, one: Call) => Math.max(answers.timesOf(one), 1)
    for (let pause = 0; pause <= noted.length; pause++) {
      const [whole, before, after] = [new Answers(), new Answers(), new Answers()]
      for (const [one, encoded] of noted) whole.note(one, encoded)
      for (const [one, encoded] of noted.slice(0, pause)) before.note(one, encoded)
      const state = JSON.parse(JSON.stringify(before.state())) as AnswersState
      after.restore(state)
      assert.deepStrictEqual(after.state(), before.state(), String(pause))
      for (const [one] of noted) assert.strictEqual(repeated(after, one), repeated(before, one), String(pause))
      for (const [one, encoded] of noted.slice(pause)) after.note(one, encoded)
      for (const [one] of noted) assert.strictEqual(repeated(after, one), repeated(whole, one), String(pause))
    }
    const answers = new Answers()
    for (const [one, encoded] of noted) answers.note(one, encoded)
    assert.deepStrictEqual(
      Object.entries(answers.state()).map(([tool, all]) => [tool, all.map(({ key, times }) => [key, times])]),
      [["look", [["{\"n\":1}", 0]]], ["other", [["{\"n\":1}", 0], ["{\"n\":2}", 2]]]]
    )
  })
})
