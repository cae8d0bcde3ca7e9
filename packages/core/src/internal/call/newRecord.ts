/** Makes the record of a call: small, as most calls write few of its fields. */
import type { CallRecord } from "./record.ts"

/** Fields that most calls never write: they stand once for all records, until a record writes its own. */
const unwritten = {
  parent: undefined,
  around: undefined,
  identity: undefined,
  approvals: undefined,
  approved: undefined,
  continuation: undefined,
  attemptsBefore: 0,
  begunBefore: undefined,
  children: undefined,
  writes: undefined,
  metIn: undefined,
  byFixers: undefined,
  adopted: undefined,
  ended: undefined,
  arguments: undefined,
  response: undefined,
  clientFailure: undefined,
  stop: undefined,
  substitutedBy: undefined,
  admitted: [],
  startedAt: 0,
  within: undefined,
  causes: [],
  answeredInPlace: undefined,
  runningInPlace: 0,
  endedInTool: undefined,
  endedInAgent: undefined,
  repetitions: undefined,
  retries: undefined,
  mayHaveBegun: false,
  isSought: false,
  earlier: undefined,
  failedNow: undefined,
  waited: 0,
  decided: undefined,
  lastFailureAt: undefined,
  fixed: false,
  fixedBy: undefined,
  fixedArguments: undefined,
  closedBy: undefined,
  claim: undefined,
  asking: undefined,
  position: undefined,
  holders: 0,
  settle: undefined,
  made: 0,
  retryPaid: false,
  isCompensated: false,
  argumentsTaintedBy: undefined,
  read: undefined,
  degraded: undefined,
  audited: undefined,
  questions: undefined
} satisfies Partial<CallRecord>

type Own = Omit<CallRecord, keyof typeof unwritten>

/** What every call writes. */
class Begun implements Own {
  readonly callId: string
  readonly gate: CallRecord["gate"]
  readonly level: CallRecord["level"]
  readonly waitsFor: CallRecord["waitsFor"]
  tool: CallRecord["tool"] = undefined
  attempts = 0
  moment = 0
  executed = false
  happened: CallRecord["happened"] = "no"
  known: CallRecord["known"] = "no"
  running = 0
  requested: CallRecord["requested"] = undefined
  answered: CallRecord["answered"] = undefined
  lastError: unknown = undefined

  constructor(
    callId: string,
    gate: CallRecord["gate"],
    level: CallRecord["level"],
    waitsFor: CallRecord["waitsFor"]
  ) {
    this.callId = callId
    this.gate = gate
    this.level = level
    this.waitsFor = waitsFor
  }

  static {
    Object.assign(this.prototype, unwritten)
  }
}

/** A record of a call that nothing is known of but what it is made with. */
export const newRecord = (
  callId: string,
  { approvals, approved, around, continuation, gate, identity, level = "tool", parent, waitsFor }: Partial<
    Pick<
      CallRecord,
      "gate" | "approved" | "waitsFor" | "continuation" | "parent" | "identity" | "level" | "approvals" | "around"
    >
  > = {}
): CallRecord => {
  const record = new Begun(callId, gate, level, waitsFor) as { -readonly [K in keyof CallRecord]: CallRecord[K] }
  if (parent !== undefined) record.parent = parent
  if (around !== undefined) record.around = around
  if (identity !== undefined) record.identity = identity
  if (approvals !== undefined) record.approvals = approvals
  if (approved !== undefined) record.approved = approved
  if (continuation !== undefined) record.continuation = continuation
  return record
}
