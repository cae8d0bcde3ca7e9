/**
 * Call record: the state of one tool call over all its attempts. Mutable, and shared by every `ToolCall` of the call.
 */
/* oxlint-disable max-lines -- the record of a call, and what its fields hold */
import type { ClientFailure, ClientInfo } from "./clientCall.ts"
import type * as Deferred from "effect/Deferred"
import type * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import type * as Schema from "effect/Schema"
import type * as Prompt from "effect/ai/Prompt"
import type { Decision } from "../approval/decision.ts"
import type { BegunCall } from "../approval/snapshot.ts"
import type { DecisionRefused, SnapshotRefused } from "../approval/outcome.ts"
import type { Compensation } from "./compensation.ts"
import type { Claim } from "../idempotency/claims.ts"
import type { Any as Policy, EarlierCall, Effects } from "../../Policy.ts"
import { canonicalJson } from "../foundation/canonicalJson.ts"
import type { Degraded } from "../projection/degraded.ts"
import { addTaint } from "../run/run.ts"
import type { Earlier } from "./earlier.ts"
import type { Audited, WaitsInAgent } from "../run/callResult.ts"
import type {
  ExecutionError,
  FailedAttempt,
  IdempotencyConflict,
  InvalidArgs,
  LedgerUnavailable,
  OutcomeUnknown,
  Timeout
} from "../../ToolError.ts"
import type { RetryProgress } from "./retryProgress.ts"
import type { Listed } from "./toolList.ts"

/** What becomes of a key in the arguments that a tool's schema does not have. */
export type OnUnknownKeys = "refuse" | "drop"

/** What recovery has to know about the tool that it recovers. */
export interface ToolInfo {
  readonly name: string
  readonly description: string | undefined
  readonly effects: Effects | undefined
  /** Whether the tool passes an idempotency key on, so that repeating an attempt does nothing twice. */
  readonly passesKey: boolean
  /** Whether the tool is an agent, which goes on where it was cut off if the run around it does. */
  readonly isAgent?: boolean | undefined
  readonly jsonSchema: () => unknown
  /** What becomes of a key in the arguments that the schema does not have. */
  readonly onUnknownKeys: OnUnknownKeys
  /** How many characters of a result the model reads; left out, the agent says. */
  readonly resultLimit: number | undefined
  /** Whether a call with these arguments needs an approval; left out: none does. */
  readonly needsApproval: ((params: never, callId: string) => Effect.Effect<boolean, never, unknown>) | undefined
  /** Whether the executor calls tools that may need an approval, as the tool declares. */
  readonly asks?: boolean | undefined
  /** Declares what may be said of the executor's own errors. */
  readonly failure: Schema.Top | undefined
  readonly success: Schema.Top
  /** Whether results may hold text from outside. */
  readonly untrusted: boolean
  /** Whether identical calls are meant: it tells a state, or takes a step each time. */
  readonly polls?: boolean | undefined
  /** Whether the key of a call is made of its arguments: equal calls have one key. */
  readonly hasKeyFunction?: boolean | undefined
  /** Whether identical calls of one answer are one execution. */
  readonly coalesce?: boolean | undefined
  /** Whether what it writes is committed with the record of its outcome, where the run's journal can. */
  readonly isTransaction?: boolean | undefined
  /** How its writes are undone, if they can be. */
  readonly compensation?: Compensation | undefined
  /** Whether its description and parameters are from outside as well. */
  readonly foreignDescription: boolean
  /** Set for a tool that the page executes. */
  readonly client?: ClientInfo | undefined
  /** The list that it is from, if that can change while agents run. */
  readonly listed?: Listed | undefined
}

/** Why a call does not reach the executor, whatever recovery does. */
export type Stop =
  & (
    | { readonly _tag: "Denied"; readonly policy: string; readonly reason: string }
    | {
      readonly _tag: "Waiting"
      readonly arguments: Record<string, unknown>
      readonly reasons: ReadonlyArray<string>
      readonly fixedBy: string | undefined
      /** Set where the page executes it. */
      readonly client?: ToolInfo["client"]
      /** The writes that have begun in the call that it is made in. */
      readonly begun: ReadonlyArray<BegunCall>
    }
    | WaitsInAgent
    /** The agent that is the tool does not go on. */
    | { readonly _tag: "Refused"; readonly error: SnapshotRefused | DecisionRefused }
    /** It was cut off, and may not run again: it is no write, so that nothing is known which it could fail with. */
    | { readonly _tag: "CutOff" }
  )
  /** The call within this one that may not run, if it is not this one itself. */
  & { readonly of?: CallRecord | undefined }

/** What a person has decided about a call that a tool makes. */
export interface Approval {
  readonly identity: string
  /** The id under which the person was asked, of a call that has not been made since. */
  readonly callId?: string
  readonly arguments: Record<string, unknown>
  readonly fixedBy?: string | undefined
  /** The result that the person gives in the tool's place. */
  readonly response?: { readonly result: unknown } | undefined
  /** The failure that the page gave for a call of a client tool. */
  readonly failed?: ClientFailure | undefined
}

/** Numbers of equal calls, in the order in which they were made, by their tool and arguments. */
export type MadeCalls = Map<string, Array<number>>

/** The calls that a tool makes, by their tools, arguments and numbers. */
export interface Children {
  readonly byPlace: Map<string, CallRecord>
  /** Calls in whose place another one was made: reads that were made anew. */
  readonly earlier: Array<CallRecord>
  /** Those that the attempt of a number has made. */
  readonly made: Map<number, MadeCalls>
  readonly ids: Set<string>
}

/** What an agent that is a tool goes on with. */
export interface Continuation {
  readonly snapshot: unknown
  readonly decisions: ReadonlyArray<Decision>
  /** Whether the agent has gone on. */
  begun: boolean
}

/** What the policies of an agent see of the calls of its run. */
export interface CallLog {
  /** Grows with each call that is let on. */
  readonly version: number
  /** The calls of the run besides this one. */
  readonly before: (record: CallRecord) => ReadonlyArray<EarlierCall>
  /** Notes a call that is let on, until its execution stands in the record of the run. */
  readonly admit: (record: CallRecord, args: unknown) => void
  /** Forgets what was let on within a call that has ended. */
  readonly end: (root: CallRecord) => void
}

/** What an agent says about its calls before they run. */
export interface Gate {
  /** Policies for a call whose arguments may hold the words of these untrusted tools. */
  readonly policies: (taintedBy: ReadonlyArray<string>) => ReadonlyArray<Policy>
  readonly runId: string
  readonly path: ReadonlyArray<string>
  /** Untrusted tools that the run has read. */
  readonly taintedBy: () => ReadonlyArray<string>
  /** Whether a call that waits can be kept: the run may wait, and there is a key for its snapshot. */
  readonly canKeep: boolean
  /** The conversation so far, the answer with the call included. */
  readonly messages: () => ReadonlyArray<Prompt.Message>
  /** The calls of the run that were let on. */
  readonly log: CallLog
}

/** What an attempt of a call fails with. */
export type AttemptError =
  | InvalidArgs
  | ExecutionError
  | Timeout
  | OutcomeUnknown
  | IdempotencyConflict
  | LedgerUnavailable

/** Whether a call did something: no, nobody knows, or yes. */
export type Happened = "no" | "unknown" | "yes"

/** A failure that was followed by another attempt, which has the number. `isFix`: with the arguments of a fixer. */
export interface Repetition {
  readonly failure: string
  readonly attempt: number
  readonly isFix: boolean
}

/** A failed attempt that the journal of the run has not got yet. */
export interface FailedBefore {
  readonly attempt: number
  readonly cause: string
  readonly error: AttemptError
  readonly at: number
  readonly startedAt: number
  readonly executed: boolean
  readonly happened: Happened
}

export interface CallRecord {
  readonly callId: string
  tool: ToolInfo | undefined
  /** Attempts begun since the run went on. */
  attempts: number
  /** Attempts that were told before the run paused: numbers go on behind them. */
  attemptsBefore: number
  /** Whether an attempt has reached the executor. */
  executed: boolean
  /** What is known of what the attempts did; of one that runs nobody knows. See `happened.ts`. */
  happened: Happened
  /** What is known of what the attempts did that have ended. */
  known: Happened
  /** Executions that run, and what runs in their place: more than one where a call is raced with itself. */
  running: number
  /** How many of them run in the place of the call. */
  runningInPlace: number
  /** When the first attempt began of which it is not known that it did nothing, in milliseconds since the epoch. */
  startedAt: number
  /** The call of another agent that the run of this one is made for: that agent has this one as a tool, or to recover one. */
  readonly around: CallRecord | undefined
  /** The calls within this one that began something else than a read, if any did. */
  within: Set<CallRecord> | undefined
  causes: ReadonlyArray<FailedAttempt>
  /** What the last attempt failed with; nothing where it did not, or where nobody knows how it ended. */
  lastError: unknown
  /** What the last attempt answered, if it did. */
  answered: { readonly value: unknown } | undefined
  /** What answered last in the place of the call, if something did. */
  answeredInPlace: { readonly by: unknown; readonly value: unknown } | undefined
  /** How the call ended with its tool's recovery, as its agent's got it. */
  endedInTool: Exit.Exit<unknown, unknown> | undefined
  /** How the call ended with its agent's recovery for its tool, as the one for all tools got it. */
  endedInAgent: Exit.Exit<unknown, unknown> | undefined
  /** Failures that were followed by another attempt. */
  repetitions: Array<Repetition> | undefined
  /** How far each retry around the call has come. */
  retries: Map<object, RetryProgress> | undefined
  /** Whether an earlier life of the run may have begun the call of an agent. */
  mayHaveBegun: boolean
  /** Whether it was looked for under the key that an earlier life would have given it. */
  isSought: boolean
  /** What earlier lives of the run left of the call, once it was looked for. */
  earlier: Earlier | undefined
  /** Attempts that failed since the last wait that the journal has. */
  failedNow: Array<FailedBefore> | undefined
  /** Waits of this life that the journal has. */
  waited: number
  /** Errors about which a level of recovery has decided: those around it let them pass. */
  decided: Map<unknown, "rethrown" | "repeated"> | undefined
  /** The moment at which the last attempt started: later marks of `foundation/retried.ts` are of layers within it. */
  moment: number
  lastFailureAt: number | undefined
  /** Set when a fixer answered: the next attempt is the fix's, not a retry. */
  fixed: boolean
  /** Name of the fixer whose arguments are used, if not the model's own. */
  fixedBy: string | undefined
  /** The fixer's arguments, as text. */
  fixedArguments: string | undefined
  /** What the agent says; left out for calls by hand. */
  readonly gate: Gate | undefined
  /** The call that this one is made in, by a tool. */
  readonly parent: CallRecord | undefined
  /** Tells a call that a tool makes from every other call. */
  readonly identity: string | undefined
  /** Whose code has made it: a tool's, or an agent's. */
  readonly level: "tool" | "agent"
  /** What is decided about calls that are made in this one, at whatever depth. */
  readonly approvals: ReadonlyArray<Approval> | undefined
  /** Writes that had begun within the call before the run paused, by their identities; those that were done are met again, or not yet. */
  begunBefore: Map<string, { readonly call: BegunCall; isMet: boolean }> | undefined
  children: Children | undefined
  /** The writes that tools make in the call of an agent, at whatever depth, by their identities. */
  writes: Map<string, CallRecord> | undefined
  /** Other calls in which a write is met that this one has made: reads that are made anew in the place of the call around it. */
  metIn: Set<CallRecord> | undefined
  /** The writes within it that its fixers have made. */
  byFixers: Set<CallRecord> | undefined
  /** The records of calls that were made by hand in this one's place, by the call of an agent that they stand below. */
  adopted: WeakMap<CallRecord, CallRecord> | undefined
  /** How a call has ended, with all its recovery. Calls that are made in it afterwards do not start. */
  ended: "succeeded" | "failed" | undefined
  /** What the last attempt was asked to do. */
  requested: { readonly arguments: unknown; readonly idempotency?: unknown } | undefined
  /** The arguments that a person has decided about, in place of those that it is made with. */
  arguments: Record<string, unknown> | undefined
  response: Approval["response"]
  /** The failure that the page gave for the call. */
  clientFailure: ClientFailure | undefined
  /** The arguments that a person has approved, as canonical JSON. */
  approved: string | undefined
  /** The tool that the call is of, where the run can wait for it; another tool that is run for the call cannot. */
  readonly waitsFor: ToolInfo | undefined
  /** Set while the call goes on with what an agent that is its tool has begun. */
  continuation: Continuation | undefined
  /** Set when the call may not run: every further attempt stops too. */
  stop: Stop | undefined
  /** The policy that answered in the tool's place. */
  substitutedBy: string | undefined
  /** Arguments that may run, as canonical JSON. */
  admitted: ReadonlyArray<string>
  /** Nothing runs any more. Set by a fixer's exception, and then that fixer is not asked again; or where an earlier life began it otherwise. */
  closedBy: { readonly error: unknown; readonly fixer: unknown } | undefined
  /** The call's hold on its idempotency key, once its intent is recorded. */
  claim: Claim | undefined
  /** Done when the attempt that asks for the claim has it, or has not; or when the one that gives it up has. */
  asking: Deferred.Deferred<void> | undefined
  /** The place of the last execution among what the run has done that can be undone. */
  position: number | undefined
  /** Attempts that are at work under the claim: more than one where a call is raced with itself. */
  holders: number
  /** Lets those go on who wait for this call, and gives up its lease. Set while the claim is held. */
  settle: Effect.Effect<void> | undefined
  /** How often the call is being made: more than once where what makes it is raced with itself. */
  made: number
  /** Set when a `Recovery.retry` makes the next attempt: it has checked all rules, and the process-wide retry budget has paid. */
  retryPaid: boolean
  /** Whether what the call did was undone by its compensation. */
  isCompensated: boolean
  /** Untrusted tools that had been read within the call of the model before the present arguments were made. */
  argumentsTaintedBy: ReadonlyArray<string> | undefined
  /** Untrusted tools that were read within the call: its own executor, tools that it called, agents that it ran. */
  read: Array<string> | undefined
  /** The marks of what the result is made of that came from elsewhere: the call's own, and those of calls that it made. */
  degraded: Array<Degraded> | undefined
  /** What an audit is to know of the calls that are made in this one, by call and decision. */
  audited: Map<string, Audited> | undefined
  /** Withdraw the questions of agents within this call, as far as these ask when they are run. */
  questions: Array<Effect.Effect<void>> | undefined
}

/** Makes a call as a person has decided. */
export const approve = (record: CallRecord, { arguments: args, failed, fixedBy, response }: Approval): void => {
  record.arguments = args
  record.approved = canonicalJson(args)
  record.response = response
  record.clientFailure = failed
  if (fixedBy === undefined) return
  record.fixedBy = fixedBy
  record.fixedArguments = JSON.stringify(args)
}

/** The call of an agent, or by hand, that a call is made in, at whatever depth; itself, if there is none. */
export const rootOf = (record: CallRecord): CallRecord => record.parent === undefined ? record : rootOf(record.parent)

/** The call that a call is made in: by a tool, or by an agent that runs for it. */
export const outerOf = ({ around, parent }: CallRecord): CallRecord | undefined => parent ?? around

/** Does something to each call that a call is made in by a tool, or also by an agent, and that a write is met in again. */
export const forEachAround = (
  record: CallRecord,
  change: (around: CallRecord) => void,
  next: (record: CallRecord) => CallRecord | undefined = ({ parent }) => parent
): void => {
  for (let call: CallRecord | undefined = record; call !== undefined; call = next(call)) {
    if (call !== record) change(call)
    if (call.metIn === undefined) continue
    for (const other of call.metIn) {
      change(other)
      forEachAround(other, change, next)
    }
  }
}

/** Notes that untrusted tools were read within a call, and in the calls that it is made in. */
export const noteRead = (record: CallRecord, tools: ReadonlyArray<string>): void => {
  if (tools.length === 0) return
  const note = (call: CallRecord): void => addTaint(call.read ??= [], tools)
  note(record)
  forEachAround(record, note)
}

/**
 * Notes the untrusted tools that the arguments of an attempt may repeat: all that were read in the call of the model before the
 * arguments were made. Arguments that an attempt repeats keep the taint that they had.
 */
export const noteArguments = (record: CallRecord, args: unknown): void => {
  if (record.requested !== undefined && record.requested.arguments === args) return
  const { read } = rootOf(record)
  record.argumentsTaintedBy = read === undefined ? undefined : [...read]
}

/** Notes marks of what a call's result is made of. */
export const noteDegraded = (record: CallRecord, marks: ReadonlyArray<Degraded> | undefined): void => {
  if (marks !== undefined) (record.degraded ??= []).push(...marks)
}

/**
 * The writes that have begun in a call: its own, and those within it, also of agents. A call without a tool is one that was done
 * before the run paused, or that an earlier execution has started.
 */
export const writesWithin = (record: CallRecord): ReadonlyArray<CallRecord> =>
  [record, ...record.within ?? []].filter(({ executed, happened, tool }) =>
    tool === undefined ? happened !== "no" : tool.effects === "write" && (executed || happened !== "no")
  )

/** Whether a write may have been done in a call. */
export const mayHaveWritten = (record: CallRecord): boolean =>
  writesWithin(record).some(({ happened }) => happened !== "no")

/** Tells a call from all others within the call of an agent. */
export const identityOf = ({ callId, identity }: CallRecord): string => identity ?? callId

/** What events say of a call. */
export const subjectOf = (record: CallRecord) => ({
  callId: record.callId,
  tool: toolName(record),
  ...(record.parent === undefined ? undefined : { parentCallId: record.parent.callId })
})

/** The name of a call's tool; no name before any attempt. */
export const toolName = ({ tool }: CallRecord): string => tool?.name ?? ""

/** What an error says of its call. */
export interface ErrorFields {
  readonly tool: string
  readonly callId: string
  readonly attempt: number
  readonly causes: ReadonlyArray<FailedAttempt>
}

/** What an error says of its call, as far as that has got. */
export const errorFields = (record: CallRecord): ErrorFields => ({
  tool: toolName(record),
  callId: record.callId,
  attempt: record.attemptsBefore + record.attempts,
  causes: record.causes
})
