/** Goes on with calls that waited for a person. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { type Decision, DecisionRefused, type PendingCall } from "../Approval.ts"
import * as ErrorProjection from "../ErrorProjection.ts"
import type * as Tool from "../Tool.ts"
import { audit } from "./audit.ts"
import { type Calls, counted, delivered, type Outcome } from "./calls.ts"
import { canonicalJson } from "./canonicalJson.ts"
import { execute, observed } from "./execute.ts"
import type { RawCall } from "./modelCall.ts"
import type { AgentTool } from "./pipeline.ts"

type Deciding<D extends Decision["_tag"]> = (
  calls: Calls,
  raw: RawCall,
  tool: AgentTool,
  decision: Extract<Decision, { readonly _tag: D }>
) => Effect.Effect<Outcome, unknown, unknown>

const reject: Deciding<"Reject"> = (calls, raw, _tool, { by, reason }) =>
  observed(
    calls,
    raw,
    Effect.suspend(() =>
      delivered(calls, {
        ...counted(calls, raw, ErrorProjection.rejected(reason, calls.run.id, calls.shown.user)),
        verdict: { decision: "rejected", by, reason }
      })
    )
  )

/** Reads the result that a person gave in a tool's place. JSON says nothing as `null`. */
export const readResult = (
  { success }: Tool.Any,
  { callId, result }: Extract<Decision, { readonly _tag: "Respond" }>
): Effect.Effect<unknown, DecisionRefused, unknown> => {
  const decode = Schema.decodeUnknownEffect(success)
  return decode(result).pipe(
    Effect.catchIf(() => result === null, () => decode(undefined)),
    Effect.mapError(() => new DecisionRefused({ callId, reason: "invalid_result" }))
  )
}

const respond: Deciding<"Respond"> = (calls, raw, { tool }, decision) =>
  observed(
    calls,
    raw,
    Effect.flatMap(readResult(tool, decision), (value) =>
      delivered(calls, {
        call: raw,
        isFailure: false,
        encoded: decision.result,
        modelOutput: tool.definition.toModelOutput?.(value),
        repaired: undefined,
        verdict: { decision: "responded", by: decision.by }
      }))
  )

/** Runs a call as a person has approved it, with the arguments that it was approved for. */
const run = (
  calls: Calls,
  raw: RawCall,
  tool: AgentTool,
  pending: PendingCall,
  decision: Extract<Decision, { readonly _tag: "Approve" | "Edit" }>
): Effect.Effect<Outcome, unknown, unknown> => {
  const isEdited = decision._tag === "Edit"
  const args = isEdited ? decision.arguments : pending.arguments
  const fixedBy = isEdited ? decision.by ?? "approval" : pending.fixedBy
  return Effect.andThen(
    audit(
      calls.run,
      { id: raw.id, tool: raw.name, args },
      { decision: isEdited ? "edited" : "approved", by: decision.by }
    ),
    observed(
      calls,
      raw,
      execute(calls, tool, raw, {
        arguments: args,
        approved: canonicalJson(args),
        ...(fixedBy === undefined ? undefined : { fixedBy })
      })
    )
  )
}

/** Goes on with a call that waited, as was decided. Without a decision, or with one that came too late, it waits on. */
export const decide = (
  calls: Calls,
  raw: RawCall,
  pending: PendingCall,
  decision: Decision | undefined
): Effect.Effect<Outcome, unknown, unknown> =>
  Effect.flatMap(Clock.currentTimeMillis, (now) => {
    const tool = calls.tools.get(raw.name)
    if (decision === undefined || tool === undefined) return Effect.succeed<Outcome>({ _tag: "Waiting", pending })
    if (decision._tag === "Reject") return reject(calls, raw, tool, decision)
    if (decision._tag === "Respond") return respond(calls, raw, tool, decision)
    return now <= pending.expiresAt
      ? run(calls, raw, tool, pending, decision)
      : Effect.succeed<Outcome>({
        _tag: "Waiting",
        pending: {
          ...pending,
          code: "approval_expired",
          requestedAt: now,
          expiresAt: now + calls.approvalTimeToLive
        }
      })
  })
