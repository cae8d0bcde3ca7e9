/**
 * Child calls: one tool calls another, in its executor, as a fallback or in a race. A child call has its own record
 * below that of its parent.
 */
import * as Context from "effect/Context"
import { canonicalJson } from "../foundation/canonicalJson.ts"
import type { Call } from "./call.ts"
import { idWithin, separator } from "../foundation/idsWithin.ts"
import { newRecord } from "./newRecord.ts"
import * as CallRecord from "./record.ts"

/** The call of an agent that is running, also where a `ToolCall` that was made by hand stands before it. */
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

/** Whether an attempt that repeats a call is the call's own. A read that is made anew is a call of its own. */
const staysOne = ({ effects, passesKey }: CallRecord.ToolInfo): boolean => effects === "write" || passesKey

/** A write is met again that a call has made in whose place this one is made: what is known of it holds for this one too. */
const meet = (write: CallRecord.CallRecord, within: CallRecord.CallRecord): void => {
  if (write.parent === within) return
  ;(write.metIn ??= new Set()).add(within)
  for (const begun of [...write.happened === "no" ? [] : [write], ...write.within ?? []]) {
    CallRecord.forEachAround(write, (around) => void (around.within ??= new Set()).add(begun), CallRecord.outerOf)
  }
  CallRecord.noteRead(within, write.read ?? [])
  if (write.stop !== undefined && write.gate !== undefined) {
    within.stop ??= { ...write.stop, of: write.stop.of ?? write }
  }
}

/**
 * The child's record, by its tool, its arguments, and which of such calls it is in an attempt of the parent. One that
 * follows a call that failed is that call once more: so a retry finds what it repeats. So is one that an attempt of the
 * parent makes in the place of the attempt before.
 */
const recordOf = (tool: CallRecord.ToolInfo, asked: Call, parent: Call): CallRecord.CallRecord => {
  const within = parent.record
  const children: CallRecord.Children = within.children ??= {
    byPlace: new Map(),
    earlier: [],
    made: new Map(),
    ids: new Set()
  }
  const place = `${tool.name.length}:${tool.name}${argumentsKey(asked.arguments)}`
  const { isRepetition: repeats, nth } = callNumber(children, madeBy(children, parent), place, tool)
  const identity = `${within.identity ?? within.callId}/${place}#${nth}`
  const writes = staysOne(tool) ? CallRecord.rootOf(within).writes ??= new Map() : undefined
  const there = writes?.get(identity) ?? children.byPlace.get(`${place}#${nth}`)
  if (there?.tool === tool && (repeats || writes !== undefined || there.claim !== undefined)) {
    meet(there, within)
    return there
  }
  const named = asked.record === within ? asked.id === within.callId ? undefined : asked.id : asked.id
  const approval = within.approvals?.find((approval) => approval.identity === identity)
  const record = newRecord(idOf(within, children.ids, tool.name, named, identity), {
    gate: within.gate,
    parent: within,
    identity,
    level: parent.level,
    approvals: within.approvals
  })
  record.tool = tool
  const replaced = children.byPlace.get(`${place}#${nth}`)
  if (replaced !== undefined) children.earlier.push(replaced)
  children.byPlace.set(`${place}#${nth}`, record)
  writes?.set(identity, record)
  if (approval !== undefined) CallRecord.approve(record, approval)
  return record
}

/** Returns the numbers of the equal calls that an attempt has made, or the recovery around the attempts of a call. */
const madeBy = ({ made }: CallRecord.Children, { attempt, made: own }: Call): CallRecord.MadeCalls => {
  if (attempt === 1 && own !== undefined) return own
  const there = made.get(attempt)
  if (there !== undefined) return there
  const none: CallRecord.MadeCalls = new Map()
  made.set(attempt, none)
  return none
}

/** Returns the records of the calls that an attempt has made. */
export const madeInAttempt = (
  { byPlace, made }: CallRecord.Children,
  attempt: number
): ReadonlySet<CallRecord.CallRecord> =>
  new Set(
    [...made.get(attempt) ?? []].flatMap(([place, numbers]) =>
      numbers.flatMap((nth) => byPlace.get(`${place}#${nth}`) ?? [])
    )
  )

/**
 * Returns the number of a call among those of one name with equal arguments. A call after a failed one repeats that call. A tool that an
 * earlier attempt has called keeps its number, so that two tools of one name do not take each other's. A tool object that is new may be the
 * tool of the earlier attempt, made again: it gets the next number of this attempt.
 */
const callNumber = (
  { byPlace }: CallRecord.Children,
  made: CallRecord.MadeCalls,
  place: string,
  tool: CallRecord.ToolInfo
): { readonly nth: number; readonly isRepetition: boolean } => {
  const numbers = made.get(place)
  const last = numbers?.at(-1)
  const before = last === undefined ? undefined : byPlace.get(`${place}#${last}`)
  if (before?.ended === "failed" && (before.tool === tool || ownNumber(byPlace, numbers, place, tool) === undefined)) {
    return { nth: last!, isRepetition: true }
  }
  let nth = ownNumber(byPlace, numbers, place, tool) ?? 1
  while (numbers?.includes(nth) === true) nth++
  if (numbers === undefined) made.set(place, [nth])
  else numbers.push(nth)
  return { nth, isRepetition: false }
}

/** Returns the number of the first call of a tool that this attempt has not made yet. */
const ownNumber = (
  byPlace: CallRecord.Children["byPlace"],
  numbers: ReadonlyArray<number> | undefined,
  place: string,
  tool: CallRecord.ToolInfo
): number | undefined => {
  for (let nth = 1;; nth++) {
    const record = byPlace.get(`${place}#${nth}`)
    if (record === undefined) return undefined
    if (record.tool === tool && numbers?.includes(nth) !== true) return nth
  }
}

/**
 * Forgets the calls that the attempts of a call have made: the next ones take their numbers. Not while another attempt of the call is executed,
 * because that one has its numbers.
 */
export const forgetMadeCalls = (call: Call): void => {
  const { children, running } = call.record
  if (children !== undefined && running === 0) madeBy(children, call).clear()
}

/** The id below a call's under which it was made, or a call in it, when a person was asked. */
const askedUnder = (callId: string, approval: CallRecord.Approval): string | undefined =>
  approval.callId?.startsWith(`${callId}${separator}`) === true
    ? idWithin(callId, approval.callId.slice(callId.length + separator.length).split(separator)[0]!)
    : undefined

/** An id below the parent's: under which a person was asked, or that the program gave the call, or the tool's name with a number. */
const idOf = (
  { approvals = [], callId }: CallRecord.CallRecord,
  ids: Set<string>,
  tool: string,
  named: string | undefined,
  identity: string
): string => {
  for (const approval of approvals) {
    if (!`${approval.identity}/`.startsWith(`${identity}/`)) continue
    const before = askedUnder(callId, approval)
    if (before === undefined || ids.has(before)) continue
    ids.add(before)
    return before
  }
  const base = (named ?? tool).replaceAll(separator, "_")
  for (let n = 1;; n++) {
    const id = idWithin(callId, named !== undefined && n === 1 ? base : `${base}_${n}`)
    if (ids.has(id) || approvals.some((approval) => askedUnder(callId, approval) === id)) continue
    ids.add(id)
    return id
  }
}

/** Whether a call was made by hand within the call of an agent: it is not that call, and no agent has made it. */
export const isByHandWithin = ({ record }: Call, enclosing: Call | undefined): boolean =>
  enclosing !== undefined && enclosing.record !== record && record.gate === undefined && record.parent === undefined

/**
 * The call in which a tool is to run where it is run for `asked`: `asked` itself, or a call below it, if that is another
 * tool's, or has other arguments; or one below the call of an agent, if `asked` was made by hand within it.
 */
export const callOf = (tool: CallRecord.ToolInfo, asked: Call, enclosing: Call | undefined): Call => {
  const { record } = asked
  // A call that was made by hand may stand in a program for good: in each call of an agent it is another one.
  const isRoot = record.gate === undefined && record.parent === undefined
  const byHand = isRoot && (record.tool === undefined || enclosing !== undefined)
  const parent = !byHand ? asked : enclosing === undefined || enclosing.record === record ? undefined : enclosing
  if (parent === undefined) return asked
  if (!byHand && record.tool === tool && isSame(record, asked)) return asked
  const adopted = record.adopted?.get(parent.record)
  const child = adopted?.tool === tool && isSame(adopted, asked) ? adopted : recordOf(tool, asked, parent)
  if (byHand) (record.adopted ??= new WeakMap()).set(parent.record, child)
  const { lookupOnly, scope } = parent
  return {
    id: child.callId,
    arguments: child.arguments ?? asked.arguments,
    attempt: 1,
    level: "tool",
    scope,
    identity: child.identity,
    lookupOnly,
    // A key that was asked for around the parent is the parent's.
    idempotency: asked.idempotency === parent.record.requested?.idempotency ? undefined : asked.idempotency,
    made: new Map(),
    record: child
  }
}

/** Whether a call has the arguments that its record's last attempt had. */
const isSame = ({ requested }: CallRecord.CallRecord, asked: Call): boolean =>
  requested === undefined || requested.arguments === asked.arguments ||
  argumentsKey(requested.arguments) === argumentsKey(asked.arguments)
