/** Goes on with calls that waited for a person. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { Decision } from "../approval/decision.ts"
import { DecisionRefused } from "../approval/outcome.ts"
import type { NestedRun, PendingCall } from "../approval/snapshot.ts"
import * as Failures from "../projection/failures.ts"
import type * as Tool from "../tool/tool.ts"
import { audit } from "./writeAudit.ts"
import { type Calls, delivered } from "./context.ts"
import { counted } from "./repeatedFailures.ts"
import type { Outcome, Waiting } from "../run/callResult.ts"
import { calledOffWithin } from "./withdrawQuestions.ts"
import type { GoingOn } from "../call/record.ts"
import { canonicalJson } from "../foundation/canonicalJson.ts"
import { execute } from "./runCall.ts"
import type { RawCall } from "../run/callResult.ts"
import { decisionsWithin } from "./nestedCalls.ts"
import { observed } from "./callSpan.ts"
import type { AgentTool } from "../tool/agentTool.ts"
import { after } from "../foundation/sequence.ts"

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
        ...counted(calls, raw, Failures.rejected(reason, calls.run.id, calls.shown.user)),
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
    execute(calls, tool, raw, {
      arguments: args,
      approved: canonicalJson(args),
      ...(fixedBy === undefined ? undefined : { fixedBy })
    })
  )
}

/** Runs a call of an agent again, which goes on where it waited. The call itself has been let on before. */
const goOn = (
  calls: Calls,
  raw: RawCall,
  tool: AgentTool,
  nested: NestedRun,
  decisions: ReadonlyArray<Decision>
): Effect.Effect<Outcome, unknown, unknown> => {
  const { arguments: args, fixedBy, snapshot } = nested
  const goingOn: GoingOn = { snapshot, decisions, begun: false }
  const start = {
    arguments: args,
    approved: canonicalJson(args),
    ...(fixedBy === undefined ? undefined : { fixedBy }),
    goingOn
  }
  return after(
    execute(calls, tool, raw, start),
    () => goingOn.begun ? Effect.void : calledOffWithin(calls.run, calls.shown, nested)
  )
}

/** Goes on with a call that waited, as was decided. Without a decision, or with one that came too late, it waits on. */
export const decide = (
  calls: Calls,
  raw: RawCall,
  waiting: Waiting,
  decisions: ReadonlyMap<string, Decision>
): Effect.Effect<Outcome, unknown, unknown> =>
  Effect.flatMap(Clock.currentTimeMillis, (now) => {
    const tool = calls.tools.get(raw.name)
    if (tool === undefined) return Effect.succeed<Outcome>(waiting)
    if (waiting.nested !== undefined) {
      const within = decisionsWithin(raw.id, decisions.values())
      return within.length === 0
        ? Effect.succeed<Outcome>(waiting)
        : goOn(calls, raw, tool, waiting.nested, within)
    }
    const decision = decisions.get(raw.id)
    const pending = waiting.pending[0]
    if (decision === undefined || pending === undefined) return Effect.succeed<Outcome>(waiting)
    if (decision._tag === "Reject") return reject(calls, raw, tool, decision)
    if (decision._tag === "Respond") return respond(calls, raw, tool, decision)
    return now <= pending.expiresAt
      ? run(calls, raw, tool, pending, decision)
      : Effect.succeed<Outcome>({
        _tag: "Waiting",
        pending: [{
          ...pending,
          code: "approval_expired",
          requestedAt: now,
          expiresAt: now + calls.approvalTimeToLive
        }]
      })
  })
