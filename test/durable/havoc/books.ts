/** Compares the book of the bank with the events of a run, the decisions of people and the audit. */
import type { AgentEvent, Audit, Runs } from "@recourse/core"
import type { Booking } from "./bank.ts"

type Result = Extract<AgentEvent.AgentEvent, { readonly _tag: "ToolResult" }>

/** All that is known of a run that has ended. */
export interface Known {
  readonly runId: string
  readonly status: Runs.Status
  readonly events: ReadonlyArray<{ readonly number: number; readonly event: AgentEvent.AgentEvent }>
  /** Lines of the bank about the run. */
  readonly booked: ReadonlyArray<Booking>
  readonly audit: ReadonlyArray<Audit.AuditRecord>
  /** Decisions of people, by the name of the write. */
  readonly decided: ReadonlyMap<string, "approved" | "rejected">
  /** The value that it was sent as a signal. */
  readonly signal: string | undefined
  readonly notes: number
}

const writes = new Set(["pay", "pay_keyed", "transfer", "note"])

/** The last part of the id of a call is the name of its write. */
export const opOf = (callId: string): string => callId.split("/").at(-1)!

/** The results of the writes of a run, by name. */
const resultsOf = ({ events }: Known): ReadonlyMap<string, Result | undefined> => {
  const results = new Map<string, Result | undefined>()
  for (const { event } of events) {
    if (event._tag === "ToolCallStarted" && writes.has(event.tool)) results.set(opOf(event.callId), undefined)
  }
  for (const { event } of events) {
    if (event._tag === "ToolResult" && writes.has(event.tool)) results.set(opOf(event.callId), event)
  }
  return results
}

/** One write, as known to the bank, the run, a person and the audit. */
interface Write {
  readonly op: string
  readonly known: Known
  readonly result: Result | undefined
  /** How many times the bank has booked it, and its compensation. */
  readonly times: number
  readonly undone: number
  readonly compensated: ReadonlyArray<string>
  readonly audited: ReadonlyArray<string>
  readonly decided: "approved" | "rejected" | undefined
}

const writeOf = (known: Known, op: string, result: Result | undefined): Write => {
  const lines = known.booked.filter((line) => line.op === op && !line.isRepeated)
  return {
    op,
    known,
    result,
    times: lines.filter(({ kind }) => kind === "pay").length,
    undone: lines.filter(({ kind }) => kind === "undo").length,
    compensated: known.events.flatMap(({ event }) =>
      event._tag === "ToolCompensated" && opOf(event.callId) === op ? [event.outcome] : []
    ),
    audited: known.audit.filter(({ callId }) => opOf(callId) === op).map(({ decision }) => decision),
    decided: known.decided.get(op)
  }
}

type Rule = readonly [problem: string, isBroken: (write: Write) => boolean]

const isUnknown = ({ result }: Write): boolean => result?.code === "outcome_unknown"
const needsApproval = ({ op }: Write): boolean => op === "t" || op === "u"
/** Whether the writes of the ended run must be compensated. */
const mustCompensate = ({ known: { decided, runId, status }, op }: Write): boolean =>
  /^(failing|cancelled|refused)/.test(runId) && op !== "t" &&
  (status !== "completed" || decided.get("t") === "rejected")

/** Rules that a write can break. */
const rules: ReadonlyArray<Rule> = [
  ["is booked twice", ({ times }) => times > 1],
  ["is compensated twice", ({ undone }) => undone > 1],
  ["is compensated, and was not booked", ({ times, undone }) => undone > 0 && times === 0],
  ["is compensated, and its run continues", (write) => write.undone > 0 && !mustCompensate(write)],
  ["is reported as paid, and is not booked", ({ result, times }) => result?.isFailure === false && times === 0],
  [
    "is reported as not done, and is booked",
    (write) => write.result?.isFailure === true && !isUnknown(write) && write.times > 0
  ],
  [
    "is unknown, which the audit does not have",
    (write) => isUnknown(write) && !write.audited.includes("outcome_unknown")
  ],
  [
    "is booked, and no result, compensation or audit names it",
    ({ audited, compensated, result, times }) =>
      times > 0 && result === undefined && compensated.length === 0 && !audited.includes("outcome_unknown")
  ],
  [
    "is booked, and no person has approved it",
    (write) => write.times > 0 && needsApproval(write) && write.decided !== "approved"
  ],
  [
    "is booked, and the audit has no approval",
    (write) => write.times > 0 && needsApproval(write) && !write.audited.includes("approved")
  ],
  ["was rejected, and succeeds", ({ decided, result }) => decided === "rejected" && result?.isFailure === false],
  ["has two reports of its compensation", ({ compensated }) => compensated.length > 1],
  [
    "is reported as compensated, and the bank has it",
    ({ compensated, undone }) => compensated.includes("undone") && undone === 0
  ],
  [
    "is compensated, which the audit does not have",
    ({ audited, compensated }) => compensated.includes("undone") && !audited.includes("compensated")
  ],
  [
    "is reported as not happened, and is booked",
    ({ compensated, times }) => compensated.includes("not_happened") && times > 0
  ],
  [
    "is not compensated, which the audit does not have",
    ({ audited, compensated }) => compensated.includes("not_undone") && !audited.includes("not_compensated")
  ],
  [
    "is booked, and neither compensated nor reported",
    (write) => write.times > 0 && mustCompensate(write) && write.compensated.length === 0
  ]
]

/** The statuses that a run may end with. */
const endsOf = (runId: string): ReadonlyArray<string> =>
  runId.startsWith("failing")
    ? ["failed"]
    : runId.startsWith("cancelled") || runId.startsWith("recalled")
    ? ["cancelled", "completed"]
    : ["completed"]

/** Problems of a run in addition to those of its writes. */
const problemsOf = ({ events, notes, runId, signal, status }: Known, noted: Result | undefined) => {
  const received = events.map(({ event }) => event).find((event) =>
    event._tag === "ToolResult" && event.tool === "parcel"
  )
  const ends = events.filter(({ event }) => event._tag === "RunFinished" && event.outcome !== "paused")
  const problems: ReadonlyArray<readonly [string, boolean]> = [
    ["should not have ended so", !endsOf(runId).includes(status)],
    ["has another number of notes than its result says", noted !== undefined && notes !== (noted.isFailure ? 0 : 1)],
    ["has several notes", notes > 1],
    ["does not know of a write in a transaction", noted?.code === "outcome_unknown"],
    ["has gaps between its events", events.some(({ number }, index) => number !== index)],
    [`has ${ends.length} ends`, ends.length !== 1],
    ["received another value", received?._tag === "ToolResult" && received.result !== signal]
  ]
  return problems.flatMap(([problem, isBroken]) => isBroken ? [problem] : [])
}

/** The books of all runs. */
export class Books {
  readonly counts = {
    runs: 0,
    completed: 0,
    failed: 0,
    cancelled: 0,
    writes: 0,
    keyedRepeated: 0,
    unknown: 0,
    notDone: 0,
    compensated: 0,
    notCompensated: 0,
    /** Writes of ended runs that people have compensated. */
    requested: 0,
    /** Writes that are not compensated, of which people have no report besides the events: a process was killed before it sent it. */
    unreported: 0
  }
  /** A sentence for each book that is wrong. */
  readonly wrong: Array<string> = []

  /** Checks a run. */
  check(known: Known): void {
    const { booked, runId, status } = known
    const { counts } = this
    counts.runs++
    if (status !== "completed" && status !== "failed" && status !== "cancelled") {
      this.wrong.push(`${runId} has not ended: ${status}`)
      return
    }
    counts[status]++
    counts.keyedRepeated += booked.filter(({ isRepeated, kind }) => isRepeated && kind === "pay").length
    const results = resultsOf(known)
    for (const op of new Set([...results.keys(), ...booked.map(({ op }) => op)])) {
      if (op !== "n") this.checkWrite(writeOf(known, op, results.get(op)))
    }
    for (const problem of problemsOf(known, results.get("n"))) this.wrong.push(`${runId} (${status}) ${problem}`)
  }

  private checkWrite(write: Write): void {
    const { counts } = this
    const { compensated, known: { booked, runId, status }, op } = write
    counts.writes += write.times
    if (isUnknown(write)) counts.unknown++
    else if (write.result?.isFailure === true) counts.notDone++
    if (compensated.includes("undone")) counts.compensated++
    if (compensated.includes("not_undone")) {
      counts.notCompensated++
      if (!booked.some((line) => line.kind === "report" && line.op === op)) counts.unreported++
    }
    for (const [problem, isBroken] of rules) {
      if (isBroken(write)) this.wrong.push(`${runId} (${status}): the write ${op} ${problem}`)
    }
  }
}
