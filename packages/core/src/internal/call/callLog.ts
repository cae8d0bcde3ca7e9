/** Call log: the calls of a run that were let on, for policies that look at them. Made of the run's record, so that it outlives a pause. */
import type { EarlierCall } from "../../Policy.ts"
import type { ExecutedCall } from "../run/runEntries.ts"
import type { Run } from "../run/run.ts"
import { admitCall, forgetAdmitted } from "../run/state/runState.ts"
import { type CallLog, type CallRecord, rootOf, toolName } from "./record/record.ts"

const rootRun = (run: Run): Run => run.parent === undefined ? run : rootRun(run.parent)

const argumentsOf = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

const ofExecuted = (entry: ExecutedCall): EarlierCall => ({
  tool: entry.tool,
  callId: entry.callId,
  get arguments() {
    return argumentsOf(entry.arguments)
  },
  outcome: entry.outcome
})

const keyOf = (agentRunId: string | undefined, callId: string, tool: string): string =>
  `${agentRunId ?? ""}\n${callId}\n${tool}`

class RunCalls implements CallLog {
  private readonly run: Run

  constructor(run: Run) {
    this.run = run
  }

  get version(): number {
    return this.run.counts.admitted.version
  }

  private get agentRunId(): string | undefined {
    return this.run.parent === undefined ? undefined : this.run.agentRunId
  }

  before(record: CallRecord): ReadonlyArray<EarlierCall> {
    const calls = new Map<string, EarlierCall>()
    for (const entry of rootRun(this.run).counts.executed) {
      calls.set(keyOf(entry.agentRunId, entry.callId, entry.tool), ofExecuted(entry))
    }
    for (const [made, { agentRunId, arguments: args }] of this.run.counts.admitted.calls ?? []) {
      const other = made as CallRecord
      const key = keyOf(agentRunId, other.callId, toolName(other))
      if (!calls.has(key)) {
        calls.set(key, { tool: toolName(other), callId: other.callId, arguments: args, outcome: "running" })
      }
    }
    calls.delete(keyOf(this.agentRunId, record.callId, toolName(record)))
    return [...calls.values()]
  }

  admit(record: CallRecord, args: unknown): void {
    admitCall(this.run, record, this.agentRunId ?? "", args)
  }

  end(root: CallRecord): void {
    forgetAdmitted(this.run, (record) => rootOf(record as CallRecord) === root)
  }
}

/** The log of an agent's run: it shows the calls of the outermost run that the agent's is part of. */
export const callLog = (run: Run): CallLog => new RunCalls(run)

/** The log of calls that no run holds together. */
export const noLog: CallLog = { version: 0, before: () => [], admit: () => {}, end: () => {} }
