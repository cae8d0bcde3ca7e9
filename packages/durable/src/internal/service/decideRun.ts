/** Decisions about the calls of a run. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import { type Decision, DecisionRefused, decodeDecisions } from "@recourse/core/Approval"
import type { RunsService } from "@recourse/core/Runs"
import { noKey } from "../agent/definition.ts"
import type { Store, StoredRun } from "../store/store.ts"
import { ended } from "../store/unemittedEnds.ts"
import { withSnapshot } from "../store/wholeRuns.ts"
import type { Here } from "./here.ts"
import { available, infoOf, type StoredRuns } from "./storedRuns.ts"

/** The first decision that no call of the run waits for. */
const refusalOf = (run: StoredRun, decisions: ReadonlyArray<Decision>): DecisionRefused | undefined => {
  const pending = new Map(infoOf({ ...run, status: "waiting" }).pending.map((call) => [call.callId, call]))
  const seen = new Set<string>()
  for (const { argumentsHash, callId } of decisions) {
    const call = ended.has(run.status) || run.isCancelled ? undefined : pending.get(callId)
    const reason = call === undefined
      ? "unknown_call"
      : call.argumentsHash !== argumentsHash
      ? "other_arguments"
      : seen.has(callId)
      ? "twice"
      : undefined
    if (reason !== undefined) return new DecisionRefused({ callId, reason })
    seen.add(callId)
  }
  return undefined
}

/**
 * True if only the agent can check the decisions: results and failures of calls have schemas, and a page executes the
 * calls of client tools. The stored calls of the run are enough for all others.
 */
const needsAgent = (run: StoredRun, decisions: ReadonlyArray<Decision>): boolean => {
  const approvals = new Set(
    infoOf(run).pending.flatMap(({ callId, code }) =>
      code === "approval_required" || code === "approval_expired" ? [callId] : []
    )
  )
  return decisions.some(({ _tag, callId }) => _tag === "Respond" || _tag === "Fail" || !approvals.has(callId))
}

/** Makes the operation `decide`. */
export const decideRun = (
  store: Store,
  { get }: StoredRuns,
  { agents, conversations }: Here
): RunsService["decide"] =>
  Effect.fnUntraced(function*(runId, decisions) {
    const run = yield* get(runId)
    const decoded = yield* Effect.fromResult(decodeDecisions(decisions))
    const refused = refusalOf(run, decoded)
    if (refused !== undefined) return yield* Effect.fail(refused)
    const taken = needsAgent(run, decoded) ? agents().takes(run) : undefined
    if (taken !== undefined && taken.how !== "stop") {
      const { registered: { context, definition } } = taken
      const { snapshot } = yield* available(withSnapshot(store, conversations, run))
      yield* Effect.provideContext(
        definition.check(snapshot, decoded),
        Context.merge(noKey, context)
      ) as Effect.Effect<void, DecisionRefused>
    }
    const stored = decoded.map((decision) => ({
      callId: decision.callId,
      decision: decision as unknown as Schema.Json
    }))
    if (stored.length === 0) return
    const { decidedBefore } = yield* available(store.decide(runId, run.segment, stored))
    if (decidedBefore !== undefined) {
      return yield* Effect.fail(new DecisionRefused({ callId: decidedBefore, reason: "twice" }))
    }
  })
