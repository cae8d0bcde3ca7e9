/** States of an attempt under an idempotency key: the table, and the machine that takes its transitions from it. */
import { assert, describe, it } from "@effect/vitest"

type Transition = { readonly from: ReadonlyArray<string>; readonly to: string }
type Machine = {
  readonly state: string
  readonly move: (event: string) => void
  readonly end: (event: string) => void
}

const room = new URL("../../src/internal/call/ledger/", import.meta.url)
const load = async (name: string): Promise<never> => await import(new URL(name, room).href) as never

const { isEnd, keyStates, keyTransitions }: {
  readonly isEnd: (state: string) => boolean
  readonly keyStates: Readonly<Record<string, string>>
  readonly keyTransitions: Readonly<Record<string, Transition>>
} = await load("keyStates.ts")
const { KeyedAttempt }: { readonly KeyedAttempt: new(options: object) => Machine } = await load("keyedAttempt.ts")

const states = Object.keys(keyStates)
const transitions = Object.entries(keyTransitions)

/** The shortest way to each state, from the first one. */
const ways = new Map<string, ReadonlyArray<string>>([["unclaimed", []]])
for (const state of ways.keys()) {
  for (const [event, { from, to }] of transitions) {
    if (from.includes(state) && !ways.has(to)) ways.set(to, [...ways.get(state)!, event])
  }
}

const machineIn = (state: string): Machine => {
  const machine = new KeyedAttempt({})
  for (const event of ways.get(state)!) machine.move(event)
  return machine
}

describe("the states of an attempt under a key", () => {
  it("are all reached, and each leads to an end", () => {
    assert.deepStrictEqual([...ways.keys()].toSorted(), states.toSorted())
    assert.deepStrictEqual(states.filter(isEnd), ["completed", "released", "lost", "unknown", "refused"])
  })

  it("change by the transitions that leave them, and by no others", () => {
    for (const state of states) {
      for (const [event, { from, to }] of transitions) {
        const machine = machineIn(state)
        if (from.includes(state)) machine.move(event)
        else assert.throws(() => machine.move(event), `cannot ${event} in the state "${state}"`)
        assert.strictEqual(machine.state, from.includes(state) ? to : state)
      }
    }
  })

  it("end once: a later end has no effect", () => {
    for (const state of states.filter(isEnd)) {
      const machine = machineIn(state)
      for (const [event] of transitions) machine.end(event)
      assert.strictEqual(machine.state, state)
    }
    const machine = machineIn("executing")
    machine.end("record")
    assert.strictEqual(machine.state, "completed")
  })
})
