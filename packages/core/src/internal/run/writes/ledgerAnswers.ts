/**
 * Calls that an idempotency ledger answered with another call's write, for a run and everything nested in it. If the write is compensated,
 * these calls are marked as well; if one of them is live, the write is not compensated because its first caller failed.
 */
import { type CompensableWrite, type CompletedWrite, isSameRun } from "./completedWrites.ts"
import type { Run } from "../run.ts"
import type { LedgerAnswer } from "../state/answersByEntry.ts"

/**
 * Returns the call that represents an inner run in the conversation of `around`; `undefined` if the run is not within
 * it.
 */
const rootIn = (around: Run, { root, run }: LedgerAnswer<Run>): string | undefined => {
  let call: string | undefined = root
  for (let current: Run | undefined = run; current !== undefined; current = current.parent) {
    if (isSameRun(current, around)) return call
    call = current.start.outerCall?.id
  }
  return undefined
}

const isWithin = (run: Run, around: Run): boolean => {
  for (let current: Run | undefined = run; current !== undefined; current = current.parent) {
    if (isSameRun(current, around)) return true
  }
  return false
}

/** Notes a call that an entry of another call answered. */
export const noteLedgerAnswer = (run: Run | undefined, entry: string, root: string): void => {
  run?.writes.ledgerAnswers.add(entry, { run, root })
}

/** The calls of a run's conversation that the entry of a write answered. */
export const answeredCalls = (run: Run, { intent }: CompensableWrite): ReadonlyArray<string> =>
  intent === undefined ? [] : run.writes.ledgerAnswers.of(intent.id).flatMap((answer) => rootIn(run, answer) ?? [])

/** Returns the ids of the entries that answered a call of a run's conversation, or calls within it. */
export const entriesAnswering = (run: Run, root: string): ReadonlyArray<string> =>
  run.writes.ledgerAnswers.all().flatMap(([entry, answers]) =>
    answers.some((answer) => rootIn(run, answer) === root) ? [entry] : []
  )

/**
 * Returns the calls of a run's conversation that entries answered, by the ids of the entries, for a snapshot. A paused
 * nested agent has its own in its own snapshot.
 */
export const storedLedgerAnswers = (
  run: Run,
  pausedCalls: ReadonlyArray<string>
): Readonly<Record<string, ReadonlyArray<string>>> | undefined => {
  const stored = run.writes.ledgerAnswers.all().flatMap(([entry, answers]) => {
    const roots = answers.flatMap((answer) => rootIn(run, answer) ?? []).filter((root) => !pausedCalls.includes(root))
    return roots.length === 0 ? [] : [[entry, [...new Set(roots)]] as const]
  })
  return stored.length === 0 ? undefined : Object.fromEntries(stored)
}

/** Notes the calls of a snapshot that entries answered. */
export const restoreLedgerAnswers = (run: Run, stored: Readonly<Record<string, ReadonlyArray<string>>>): void => {
  for (const [entry, roots] of Object.entries(stored)) for (const root of roots) noteLedgerAnswer(run, entry, root)
}

/** Forgets the calls of a run that failed: their answers reach no one. */
export const forgetLedgerAnswers = (run: Run): void => {
  run.writes.ledgerAnswers.forget((answer) => isWithin(answer.run, run))
}

/**
 * Hands a write of a compensating run over to an outer run whose call its entry answered. Returns whether there is one:
 * then the write stays, and that run compensates it if it fails.
 */
export const handOver = (run: Run, { live, position, write }: CompletedWrite): boolean => {
  const heir = write.intent && run.writes.ledgerAnswers.of(write.intent.id).find((answer) => !isWithin(answer.run, run))
  if (heir === undefined) return false
  run.writes.completed?.remove(write.id)
  const own = { ...write, callId: heir.root, root: heir.root, path: heir.run.path }
  heir.run.writes.completed?.add(heir.run, own, live, position)
  return true
}
