/** The table of states and transitions of hosted runs. */
import { assert, describe, it } from "@effect/vitest"
import { HostStates } from "@recourse/durable"

type State = HostStates.State

const { states } = HostStates
const all = Object.keys(states) as ReadonlyArray<State>
const named = Object.entries(HostStates.transitions) as ReadonlyArray<readonly [string, HostStates.Transition]>

describe("states of hosted runs", () => {
  it("are all reached from the start of a run", () => {
    const reached = new Set<State>()
    for (let size = -1; size !== reached.size;) {
      size = reached.size
      for (const [, { from, to }] of named) {
        if (from.length === 0 || from.some((state) => reached.has(state))) reached.add(to)
      }
    }
    assert.deepEqual([...reached].toSorted(), all.toSorted())
  })

  it("end in states that no transition leaves", () => {
    for (const state of ["completed", "failed", "cancelled"] as const) {
      assert.isFalse(named.some(([, { from }]) => from.includes(state)), state)
    }
    for (const state of all.filter((one) => !["completed", "failed", "cancelled"].includes(one))) {
      assert.isTrue(named.some(([, { from, to }]) => from.includes(state) && to !== state), state)
    }
  })

  it("change for an owner only behind the fence of its number", () => {
    for (const [name, { by, fence }] of named) {
      if (by === "settle") assert.strictEqual(fence, "epoch", name)
      if (by === "take") assert.notStrictEqual(fence, "state", name)
    }
  })

  it("reaches all states of executions, and leaves all but the last", () => {
    const transitions: ReadonlyArray<HostStates.ExecutionTransition> = Object.values(HostStates.executionTransitions)
    const reached = new Set<HostStates.ExecutionState>(["loading"])
    for (let size = 0; size !== reached.size;) {
      size = reached.size
      for (const { from, to } of transitions) if (from.some((state) => reached.has(state))) reached.add(to)
    }
    const all = Object.keys(HostStates.executionStates) as ReadonlyArray<HostStates.ExecutionState>
    assert.deepEqual([...reached].toSorted(), all.toSorted())
    const left = all.filter((state) => !transitions.some(({ from }) => from.includes(state)))
    assert.deepEqual(left, ["ended"])
  })
})
