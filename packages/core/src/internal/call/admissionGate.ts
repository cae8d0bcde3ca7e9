/** Admission gate: the verdict of policies and tool on a call, between valid arguments and the executor. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type { Any as Policy, Request, Verdict } from "../../Policy.ts"
import type { Call } from "./call.ts"
import { doneCall, endOf, startedWithin, triedCall } from "./replay/pausedWrites.ts"
import { CurrentRun } from "../run/run.ts"
import { happenedItself } from "./execute/effects.ts"
import { type CallRecord, isStopped, repeatStop, rootOf, type Stop, stopNow, stopped } from "./record/record.ts"
import { quietSiblings } from "./children/blockedQuestion.ts"
import { noteAdmitted, noteSubstitute } from "./record/admission.ts"
import type { ToolInfo } from "./tool/toolInfo.ts"
import type { CallBeforePause } from "../approval/snapshot.ts"
import { DecisionRefused } from "../approval/outcome.ts"
import { canonicalJson } from "../foundation/json/canonicalJson.ts"
import { resultOrEffect } from "../foundation/options/hookResult.ts"
import type { Kind } from "../foundation/options/optionCheck.ts"

/** True if an execution can be repeated at a resumption: neither a write nor under a key. */
const isRepeatable = ({ claiming: { claim }, attempts: { tool } }: CallRecord, level: Call["level"]): boolean =>
  claim === undefined && !tool!.passesKey &&
  (tool!.effects === "read" || tool!.effects === "idempotent" || (tool!.effects === undefined && level === "tool"))

/** True if a call made by a tool can wait: at the resumption its outer calls are made again. */
const canWait = (record: CallRecord): boolean => {
  for (let made = record; made.parent !== undefined; made = made.parent) {
    const { parent } = made
    if (happenedItself(parent) !== "no" && !isRepeatable(parent, made.level) && endOf(parent) === undefined) {
      return false
    }
  }
  return rootOf(record).waitsFor !== undefined
}

/** The waiting call would be made again, with an inner call of unknown outcome. */
export const cannotWait: Stop = {
  _tag: "Denied",
  policy: "approval",
  reason: "It needs an approval, and its outer call cannot be repeated"
}

/**
 * Makes a call wait, with the started calls in parallel to it or within it. The last check and the stop are one step.
 */
const waitWithin = (
  call: Call,
  stop: Omit<Stop & { readonly _tag: "Waiting" }, "startedCalls">,
  read: ReadonlyMap<CallRecord, CallBeforePause | undefined> = new Map()
): Effect.Effect<never, never, unknown> =>
  Effect.suspend(() => {
    const within = canWait(call.record) ? startedWithin(call.record) : undefined
    if (within === undefined) return stopNow(call, cannotWait)
    const writes = [...within.values()]
    const unread = writes.filter((write) => write.outcome.happened === "yes" && !read.has(write))
    if (unread.length > 0) {
      return Effect.flatMap(
        Effect.forEach(unread, (write) => Effect.map(doneCall(write), (done) => [write, done] as const)),
        (more) => waitWithin(call, stop, new Map([...read, ...more]))
      )
    }
    const startedCalls = writes.flatMap((write) =>
      write.outcome.happened === "yes" ? read.get(write) ?? [] : [triedCall(write)]
    )
    return stopNow(call, startedCalls.length === writes.length ? { ...stop, startedCalls } : cannotWait)
  })

const asked = (info: ToolInfo, call: Call, params: unknown): Effect.Effect<boolean, never, unknown> =>
  info.approval.isNeeded === undefined ? Effect.succeed(false) : info.approval.isNeeded(params as never, call.id)

/** Untrusted tools whose words the arguments of a call may hold: read by its run, or within the call of the model. */
const taintOf = ({ marks: { argumentsTaintedBy }, gate }: CallRecord): ReadonlyArray<string> => {
  const ofRun = gate!.taintedBy
  return argumentsTaintedBy === undefined ? ofRun : [...new Set([...ofRun, ...argumentsTaintedBy])]
}

const policiesOf = ({ record, record: { gate } }: Call): ReadonlyArray<Policy> =>
  gate === undefined ? [] : taintOf(record).length === 0 ? gate.policies : [gate.quarantine(), ...gate.policies]

/** True if a call may run without a question to a person. */
export const isOpen = (info: ToolInfo, call: Call): boolean =>
  info.approval.isNeeded === undefined && policiesOf(call).length === 0 && !isStopped(call.record)

/** A person's answer instead of a tool's. */
const responded = (
  call: Call,
  result: unknown,
  success: Schema.Top
): Effect.Effect<Option.Option<unknown>, never, unknown> => {
  const decode = Schema.decodeUnknownEffect(Schema.toCodecJson(success))
  return decode(result).pipe(
    Effect.map(Option.some),
    Effect.catch(() =>
      stopped(call, {
        _tag: "Refused",
        error: new DecisionRefused({ callId: call.id, reason: "invalid_result" })
      })
    )
  )
}

/** Verdict of a policy, and whether it read the calls of the run. */
interface Said {
  readonly policy: Policy
  readonly verdict: Verdict
  readonly hasLooked: boolean
}

const tags: ReadonlySet<unknown> = new Set(["Allow", "Deny", "RequireApproval", "Substitute"])

const aVerdict: Kind = {
  is: (value) => typeof value === "object" && value !== null && "_tag" in value && tags.has(value._tag),
  called: "a verdict, such as Policy.allow or Policy.deny(reason)"
}

const decided = (policy: Policy, info: ToolInfo, call: Call, params: unknown): Effect.Effect<Said, never, unknown> => {
  const { log, path, runId } = call.record.gate!
  const page = info.client?.page
  let hasLooked = false
  const request: Request = {
    runId,
    path,
    tool: info.name,
    callId: call.id,
    effects: info.effects,
    arguments: params,
    // A page's text may lead to calls of its own tools.
    taintedBy: page === undefined ? taintOf(call.record) : taintOf(call.record).filter((source) => !page.has(source)),
    get calls() {
      hasLooked = true
      return log.before(call.record)
    }
  }
  const hook = { subject: `Policy "${policy.name}"`, name: "decide", kind: aVerdict }
  return Effect.map(
    resultOrEffect<Verdict, never, unknown>(hook, () => policy.decide(request)),
    (verdict) => ({ policy, verdict, hasLooked })
  )
}

/**
 * Returns the verdicts of all policies and of the tool. Each is evaluated once, except for policies that read the calls
 * of the run: if another call was admitted since, they decide again. That ends, because each time a call of the run has
 * been admitted.
 */
const consult = Effect.fnUntraced(function*(
  policies: ReadonlyArray<Policy>,
  info: ToolInfo,
  call: Call,
  params: unknown
): Effect.fn.Return<ReadonlyArray<Said> & { readonly byTool: boolean }, never, unknown> {
  const log = call.record.gate?.log
  let version = log?.version
  const verdicts: Array<Said> = []
  for (const policy of policies) verdicts.push(yield* decided(policy, info, call, params))
  const byTool = yield* asked(info, call, params)
  while (log?.version !== version && verdicts.some(({ hasLooked }) => hasLooked)) {
    version = log!.version
    for (const [index, said] of verdicts.entries()) {
      if (said.hasLooked) verdicts[index] = yield* decided(said.policy, info, call, params)
    }
  }
  return Object.assign(verdicts, { byTool })
})

/**
 * Admits a call, answers in its place, or stops it. All policies and the tool decide once about the same
 * arguments, unless one answers in the place of the call.
 */
export const admit = Effect.fnUntraced(function*(
  info: ToolInfo,
  call: Call,
  object: Record<string, unknown>,
  params: unknown,
  success: Schema.Top
): Effect.fn.Return<Option.Option<unknown>, never, unknown> {
  const { record } = call
  const { admission: { admitted, approved, clientFailure, response }, recovering: { fixedBy }, gate, parent } = record
  if (isStopped(record)) return yield* repeatStop
  const key = canonicalJson(object)
  if (admitted.includes(key)) return Option.none()

  const verdicts = yield* consult(policiesOf(call), info, call, params)
  // A policy has swallowed that a call of its own waits, or was denied.
  if (isStopped(record)) return yield* repeatStop
  const denied = verdicts.find((said) => said.verdict._tag === "Deny")
  if (denied?.verdict._tag === "Deny") {
    return yield* stopped(call, { _tag: "Denied", policy: denied.policy.name, reason: denied.verdict.reason })
  }
  const approvals = verdicts.map(({ verdict }) => verdict).filter((verdict) => verdict._tag === "RequireApproval")
  const { client } = info
  const needsPerson = (approvals.length > 0 || (client === undefined && verdicts.byTool)) && approved !== key
  // The page is asked behind the people.
  const needsPage = client !== undefined && response === undefined && clientFailure === undefined
  if (needsPerson || needsPage) {
    const reasons = needsPerson ? approvals.flatMap(({ reason }) => reason === undefined ? [] : [reason]) : []
    const waiting = {
      _tag: "Waiting",
      arguments: object,
      reasons,
      fixedBy,
      compensation: info.compensation !== undefined ? "declared" : info.effects === "read" ? "not_needed" : undefined,
      client: needsPerson ? undefined : client
    } as const
    if (gate === undefined) return yield* stopped(call, { ...waiting, startedCalls: [] })
    if (parent === undefined || gate.canKeep) {
      yield* quietSiblings(yield* CurrentRun, record)
      if (isStopped(record)) return yield* repeatStop
      return yield* waitWithin(call, waiting)
    }
    const reason =
      "It needs an approval within a call of a run that may not wait: its tool declares no `mayRequestApproval`, or there is no SnapshotKey"
    return yield* stopped(call, { _tag: "Denied", policy: "approval", reason })
  }
  if (response !== undefined) return yield* responded(call, response.result, success)
  const substitute = verdicts.find((said) => said.verdict._tag === "Substitute")
  if (substitute?.verdict._tag === "Substitute") {
    noteSubstitute(call.record, substitute.policy.name)
    return Option.some(substitute.verdict.result)
  }
  noteAdmitted(record, key)
  gate?.log.admit(record, object)
  return Option.none()
})
