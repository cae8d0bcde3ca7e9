/** Invariants of a run of the agent of these tests, for any fate of its processes. */
import type { RunStore } from "@recourse/durable"
import assert from "node:assert/strict"
import type { Deed } from "./chief.ts"

/** Observations of a run: writes reported as unknown, and calls repeated under their key. */
export interface Seen {
  readonly unknown: number
  readonly repeated: number
  readonly asked: number
}

/** Compares the external effects with the run's reports. */
export const laws = (
  deeds: ReadonlyArray<Deed>,
  steps: ReadonlyArray<RunStore.Step>,
  status: string,
  notes: number,
  about: string
): Seen => {
  assert.equal(status, "completed", about)
  // Once, in any case, and never reported as unknown.
  assert.equal(notes, 1, `${about}: notes`)
  const noted = steps.filter(({ key, kind }) => kind === "call" && key.endsWith("c5"))
  assert.ok(noted.length === 1 && !JSON.stringify(noted).includes("outcome_unknown"), `${about}: notes`)
  const writes = deeds.filter(({ deed }) => deed.startsWith("book")).map(({ deed }) => deed)
  assert.equal(new Set(writes).size, writes.length, `${about}: ${writes.join()}`)
  const keys = deeds.filter(({ deed }) => deed === "pay").map(({ key }) => key)
  assert.equal(new Set(keys).size, 1, about)
  const told = JSON.stringify(steps.filter(({ kind }) => kind === "call"))
  if (writes.length < 2) assert.ok(told.includes("outcome_unknown"), about)
  const asked = deeds.filter(({ deed }) => deed.startsWith("ask"))
  const answers = steps.filter(({ kind }) => kind === "model")
  assert.equal(answers.length, 5, about)
  assert.equal(new Set(asked.map(({ deed }) => deed)).size, 5, about)
  const numbers = steps.flatMap(({ events, firstEvent }) => events.map((_, index) => firstEvent + index))
  assert.deepEqual(numbers, numbers.map((_, index) => index), about)
  const unknown = steps.filter(({ kind, value }) =>
    kind === "call" && JSON.stringify(value).includes("outcome_unknown")
  )
  return { unknown: unknown.length, repeated: keys.length - 1, asked: asked.length - 5 }
}
