/** The step between arguments that fit and the executor: what the policies and the tool say about the call. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Any as Policy, RequireApproval, Substitute } from "../../Policy.ts"
import type { Call } from "./call.ts"
import type { Stop, ToolInfo } from "./record.ts"
import { canonicalJson } from "../foundation/canonicalJson.ts"

/**
 * The defect that carries a stopped call past all recovery. The call's record holds the same stop, so that swallowing the
 * defect does not help.
 */
export class CallStopped {
  readonly stop: Stop
  constructor(stop: Stop) {
    this.stop = stop
  }
}

/** Stops a call, whatever its recovery does. */
export const stopped = (call: Call, stop: Stop): Effect.Effect<never> =>
  Effect.suspend(() => Effect.die(new CallStopped(call.record.stop = stop)))

const asked = (info: ToolInfo, call: Call, params: unknown): Effect.Effect<boolean, never, unknown> =>
  info.needsApproval === undefined ? Effect.succeed(false) : info.needsApproval(params as never, call.id)

const policiesOf = ({ record }: Call): ReadonlyArray<Policy> => record.gate?.policies() ?? []

/** Whether a call may run without anybody being asked. */
export const isOpen = (info: ToolInfo, call: Call): boolean =>
  call.record.stop === undefined && info.needsApproval === undefined && policiesOf(call).length === 0

/**
 * Lets a call on, or answers in its place, or stops it. The policies and the tool are asked once for the same arguments,
 * unless one answers in the place of the call.
 */
export const admit = (
  info: ToolInfo,
  call: Call,
  object: Record<string, unknown>,
  params: unknown
): Effect.Effect<Option.Option<unknown>, never, unknown> =>
  Effect.gen(function*() {
    const { admitted, approved, fixedBy, gate, stop } = call.record
    if (stop !== undefined) return yield* stopped(call, stop)
    const key = canonicalJson(object)
    if (admitted.includes(key)) return Option.none()

    const approvals: Array<RequireApproval> = []
    let substitute: { readonly verdict: Substitute; readonly policy: string } | undefined
    for (const policy of policiesOf(call)) {
      const verdict = yield* policy.decide({
        runId: gate?.runId ?? "",
        path: gate?.path ?? [],
        tool: info.name,
        callId: call.id,
        effects: info.effects,
        arguments: params,
        taintedBy: gate?.taintedBy() ?? []
      })
      if (verdict._tag === "Deny") {
        return yield* stopped(call, { _tag: "Denied", policy: policy.name, reason: verdict.reason })
      }
      if (verdict._tag === "RequireApproval") approvals.push(verdict)
      if (verdict._tag === "Substitute") substitute ??= { verdict, policy: policy.name }
    }
    const byTool = yield* asked(info, call, params)
    if ((byTool || approvals.length > 0) && approved !== key) {
      const reasons = approvals.flatMap(({ reason }) => reason === undefined ? [] : [reason])
      return yield* stopped(call, { _tag: "Waiting", arguments: object, reasons, fixedBy })
    }
    if (substitute !== undefined) {
      call.record.substitutedBy = substitute.policy
      return Option.some(substitute.verdict.result)
    }
    admitted.push(key)
    return Option.none()
  })
