/**
 * Child calls: one tool calls another, in its executor, as a fallback or in a race. A child call has its own record
 * below that of its parent.
 */
import * as Context from "effect/Context"
import * as Path from "../../path/path.ts"
import { canonicalJson } from "../../foundation/json/canonicalJson.ts"
import type { Call } from "../call.ts"
import { idBelow, idPart, idWithin, separator } from "../../path/path.ts"
import { type CallRecord, forEachAround, identityOf, newRecord, outerOf, rootOf } from "../record/record.ts"
import { noteRead } from "./untrustedContent.ts"
import { type Approval, noteApproval, setStopWithin } from "../record/admission.ts"
import {
  addChild,
  addChildId,
  addWrite,
  adopt,
  adoptedIn,
  type CallNumbers,
  type Children,
  type MadeCalls,
  madeInAttempt,
  noteMetIn,
  noteWithin,
  takeNumber,
  withNumber
} from "../record/children.ts"
import type { ToolInfo } from "../tool/toolInfo.ts"
import { noteFixed } from "../record/recovering.ts"
import { noteUnknown } from "../record/outcome.ts"
import { close } from "../execute/effects.ts"

/** Makes a call as a person has decided. */
export const approve = (record: CallRecord, approval: Approval): void => {
  noteApproval(record, approval)
  const { arguments: args, fixedBy } = approval
  if (fixedBy !== undefined) noteFixed(record, fixedBy, JSON.stringify(args))
}

/** The running call of an agent, also if a `ToolCall` made by hand hides it. */
export const EnclosingCall: Context.Reference<Call | undefined> = Context.Reference<Call | undefined>(
  "@recourse/core/EnclosingCall",
  { defaultValue: () => undefined }
)

/** Arguments as one text for equal ones, whether they came as text or as an object. */
const argumentsKey = (raw: unknown): string => {
  try {
    const text = typeof raw === "string"
      ? raw
      : JSON.stringify(raw, (_, value) => typeof value === "bigint" ? `${value}n` : value)
    return canonicalJson(JSON.parse(text))
  } catch {
    return String(raw)
  }
}

/** True if an attempt that repeats a call is the call's own. A repeated read is a call of its own. */
const staysOne = ({ effects, passesKey }: ToolInfo): boolean => effects === "write" || passesKey

/** A write within a call that this one replaces is replayed: its known state applies to this one too. */
const meet = (write: CallRecord, within: CallRecord): void => {
  if (write.parent === within) return
  noteMetIn(write, within)
  for (const call of [...write.outcome.happened === "no" ? [] : [write], ...write.children.within ?? []]) {
    forEachAround(write, (around) => noteWithin(around, call), outerOf)
  }
  noteRead(within, write.marks.read ?? [])
  if (write.admission.stop !== undefined && write.gate !== undefined) {
    setStopWithin(within, { ...write.admission.stop, of: write.admission.stop.of ?? write })
  }
}

/**
 * True if a write of an earlier attempt of the parent, or one before it that failed, may be the write of a tool, made
 * again: an executor that makes its tools has new ones each time.
 */
const isMadeAgain = ({ outcome: { happened, isCompensated } }: CallRecord, { effects, passesKey }: ToolInfo): boolean =>
  effects === "write" && !passesKey && happened !== "no" && !isCompensated

/**
 * Returns the child's record, by its tool, its arguments, and its number among such calls in an attempt of the parent.
 * A call after a failed one is that call once more, so that a retry finds the repeated call. So is one that an attempt
 * of the parent makes instead of the attempt before.
 */
const recordOf = (tool: ToolInfo, asked: Call, parent: Call): CallRecord => {
  const within = parent.record
  const place = Path.sibling(tool.name, argumentsKey(asked.arguments))
  const { isRepetition: repeats, nth } = callNumber(within.children, madeBy(parent), place, tool)
  const identity = Path.identityWithin(identityOf(within), place, nth)
  const root = rootOf(within)
  const isOne = staysOne(tool)
  const there = (isOne ? root.children.writes?.get(identity) : undefined) ??
    within.children.byPlace.get(Path.ofEqual(place, nth))
  if (there?.attempts.tool === tool && (repeats || isOne || there.claiming.claim !== undefined)) {
    meet(there, within)
    return there
  }
  const named = asked.record === within ? asked.id === within.callId ? undefined : asked.id : asked.id
  const approval = within.admission.approvals?.find((approval) => approval.identity === identity)
  const record = newRecord(idOf(within, tool.name, named, identity), {
    gate: within.gate,
    parent: within,
    identity,
    level: parent.level,
    approvals: within.admission.approvals,
    tool
  })
  addChild(within, Path.ofEqual(place, nth), record)
  if (isOne) addWrite(root, identity, record)
  if (approval !== undefined) approve(record, approval)
  if (there !== undefined && isMadeAgain(there, tool)) {
    meet(there, within)
    noteUnknown(record)
    close(record)
  }
  return record
}

/** Returns the numbers of the equal calls that an attempt has made, or the recovery around the attempts of a call. */
const madeBy = ({ attempt, made: own, record }: Call): MadeCalls =>
  attempt === 1 && own !== undefined ? own : madeInAttempt(record, attempt)

/** Returns the records of the calls that an attempt has made. */
export const callsOfAttempt = (
  record: CallRecord,
  attempt: number
): ReadonlySet<CallRecord> =>
  new Set(
    [...madeInAttempt(record, attempt)].flatMap(([place, numbers]) =>
      [...numbers.all].flatMap((nth) => record.children.byPlace.get(Path.ofEqual(place, nth)) ?? [])
    )
  )

/**
 * Returns the number of a call among those of one name with equal arguments. A call after a failed one repeats that call. A tool that an
 * earlier attempt has called keeps its number, so that two tools of one name do not take each other's. A tool object that is new may be the
 * tool of the earlier attempt, made again: it gets the next number of this attempt.
 */
const callNumber = (
  { byPlace }: Children<CallRecord>,
  made: MadeCalls,
  place: string,
  tool: ToolInfo
): { readonly nth: number; readonly isRepetition: boolean } => {
  const numbers = made.get(place)
  const last = numbers?.last
  const before = last === undefined ? undefined : byPlace.get(Path.ofEqual(place, last))
  if (
    before?.outcome.ended === "failed" &&
    (before.attempts.tool === tool || ownNumber(byPlace, numbers, place, tool) === undefined)
  ) {
    return { nth: last!, isRepetition: true }
  }
  let nth = ownNumber(byPlace, numbers, place, tool) ?? numbers?.free ?? 1
  while (numbers?.all.has(nth) === true) nth++
  made.set(place, withNumber(numbers, nth))
  return { nth, isRepetition: false }
}

/** Returns the number of the first call of a tool that this attempt has not made yet. */
const ownNumber = (
  byPlace: Children<CallRecord>["byPlace"],
  numbers: CallNumbers | undefined,
  place: string,
  tool: ToolInfo
): number | undefined => {
  for (let nth = numbers?.free ?? 1;; nth++) {
    const record = byPlace.get(Path.ofEqual(place, nth))
    if (record === undefined) return undefined
    if (record.attempts.tool === tool && numbers?.all.has(nth) !== true) return nth
  }
}

/**
 * Forgets the calls that the attempts of a call have made: the next ones take their numbers. Not while another attempt of the call is executed,
 * because that one has its numbers.
 */
export const forgetMadeCalls = (call: Call): void => {
  const { record } = call
  if (record.outcome.running === 0) madeBy(call).clear()
}

/** The id below a call's under which it was made, or a call in it, when a person was asked. */
const askedUnder = (callId: string, approval: Approval): string | undefined => {
  const below = approval.callId === undefined ? undefined : idBelow(callId, approval.callId)
  return below === undefined ? undefined : idWithin(callId, below.split(separator)[0]!)
}

/** An id below the parent's: under which a person was asked, or that the program gave the call, or the tool's name with a number. */
const idOf = (
  record: CallRecord,
  tool: string,
  named: string | undefined,
  identity: string
): string => {
  const { admission: { approvals = [] }, callId } = record
  const { ids } = record.children
  for (const approval of approvals) {
    if (approval.identity !== identity && !Path.isBelow(approval.identity, identity)) continue
    const before = askedUnder(callId, approval)
    if (before === undefined || ids.has(before)) continue
    addChildId(record, before)
    return before
  }
  const base = idPart(named ?? tool)
  const numbered = (n: number) => idWithin(callId, named !== undefined && n === 1 ? base : `${base}_${n}`)
  const isTaken = (n: number) => {
    const id = numbered(n)
    return ids.has(id) || approvals.some((approval) => askedUnder(callId, approval) === id)
  }
  // Of an id that the program gave, the first has no number.
  const id = numbered(takeNumber(record, `${named === undefined ? "_" : "="}${base}`, isTaken))
  addChildId(record, id)
  return id
}

/** True if a call was made by hand within the call of an agent: it is not that call, and no agent has made it. */
export const isByHandWithin = ({ record }: Call, enclosing: Call | undefined): boolean =>
  enclosing !== undefined && enclosing.record !== record && record.gate === undefined && record.parent === undefined

/**
 * Returns the call in which a tool runs for `asked`: `asked` itself, or a call below it, if that is another tool's, or
 * has other arguments. If `asked` was made by hand within an agent's call, a call below that one.
 */
export const callOf = (tool: ToolInfo, asked: Call, enclosing: Call | undefined): Call => {
  const { record } = asked
  // A call made by hand may be a constant of the program: in each call of an agent it is another one.
  const isRoot = record.gate === undefined && record.parent === undefined
  const byHand = isRoot && (record.attempts.tool === undefined || enclosing !== undefined)
  const parent = !byHand ? asked : enclosing === undefined || enclosing.record === record ? undefined : enclosing
  if (parent === undefined) return asked
  if (!byHand && record.attempts.tool === tool && isSame(record, asked)) return asked
  const adopted = adoptedIn(record, parent.record)
  const child = adopted?.attempts.tool === tool && isSame(adopted, asked) ? adopted : recordOf(tool, asked, parent)
  if (byHand) adopt(record, parent.record, child)
  const { lookupOnly, scope } = parent
  return {
    id: child.callId,
    arguments: child.admission.arguments ?? asked.arguments,
    attempt: 1,
    level: "tool",
    scope,
    identity: child.identity,
    lookupOnly,
    // A key that was asked for around the parent is the parent's.
    idempotency: asked.idempotency === parent.record.attempts.requested?.idempotency ? undefined : asked.idempotency,
    made: new Map(),
    record: child
  }
}

/** True if a call has the arguments of its record's last attempt. */
const isSame = ({ attempts: { requested } }: CallRecord, asked: Call): boolean =>
  requested === undefined || requested.arguments === asked.arguments ||
  argumentsKey(requested.arguments) === argumentsKey(asked.arguments)
