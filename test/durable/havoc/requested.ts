/** Compares the book of the bank with the compensations of an ended run that people have requested, several at once. */
import { Compensation } from "@recourse/core"
import { Effect } from "effect"
import type { Booking } from "./bank.ts"
import { opOf } from "./books.ts"

/** Two people compensate a run as soon as it has ended. */
export const requestTwice = (runId: string) =>
  Effect.forEach(["Ada", "Bob"], (by) => Compensation.compensate({ runId, by }), { concurrency: 2, discard: true })

type Rule = readonly [
  problem: string,
  isBroken: (write: { readonly state: string; readonly times: number; readonly undone: number }) => boolean
]

const rules: ReadonlyArray<Rule> = [
  ["is compensated twice on request", ({ undone }) => undone > 1],
  ["is compensated on request, and was not booked", ({ times, undone }) => undone > 0 && times === 0],
  [
    "is reported as compensated on request, and the bank has it",
    ({ state, undone }) => state === "compensated" && undone === 0
  ],
  ["is not compensated on request", ({ state }) => state === "done" || state === "compensating"],
  [
    "is compensated on request, which no report has",
    ({ state, undone }) => undone > 0 && state !== "compensated" && state !== "not_compensated"
  ]
]

/** Returns a sentence for each write of a run that the bank has in another way than its compensations report. */
export const requestedProblems = Effect.fnUntraced(function*(runId: string, booked: ReadonlyArray<Booking>) {
  yield* requestTwice(runId)
  const writes = yield* Compensation.writes(runId)
  const known = new Set(writes.map(({ callId }) => opOf(callId)))
  const unknown = booked.filter(({ kind, op }) => kind === "pay" && !known.has(op)).map(({ op }) =>
    `${runId}: the write ${op} is booked, and no person can compensate it`
  )
  const broken = writes.flatMap(({ callId, state }) => {
    const op = opOf(callId)
    const lines = booked.filter((line) => line.op === op && !line.isRepeated)
    const times = lines.filter(({ kind }) => kind === "pay").length
    const undone = lines.filter(({ kind }) => kind === "undo").length
    return rules.flatMap(([problem, isBroken]) =>
      isBroken({ state, times, undone }) ? [`${runId}: the write ${op} (${state}) ${problem}`] : []
    )
  })
  return {
    problems: [...unknown, ...broken],
    compensated: writes.filter(({ state }) => state === "compensated").length
  }
})
