/** A run with two calls, one of which needs an approval. */

import { assert } from "@effect/vitest"
import { ScriptedModel } from "@recourse/testing"
import { Effect, Layer, Redacted } from "effect"
import { Agent, Approval, Recovery } from "@recourse/core"
import { lastResults } from "./kit.ts"
import { Note, Refund } from "./refundTools.ts"

export const key = Approval.layerKey(Redacted.make("0123456789abcdef0123456789abcdef"))

/** A fresh agent value, like in another process. */
export const fresh = (log: Array<string>, options?: { readonly turns?: number }) =>
  Agent.make("refunds", {
    tools: [Refund(log), Note(log)],
    defaults: { onError: Recovery.standard },
    approval: { timeToLive: "1 hour" },
    ...(options?.turns === undefined ? undefined : { budget: { turns: options.turns } })
  })

export const twoCalls = ScriptedModel.calls([
  { name: "note", params: { text: "a" } },
  { name: "refund", params: { order: "A-1", amount: 500 } },
  { name: "note", params: { text: "b" } }
])

export const withScript = (turns: ReadonlyArray<ScriptedModel.Turn>) => Layer.merge(key, ScriptedModel.layer(turns))

export const paused = (
  log: Array<string>,
  turn: ScriptedModel.Turn = twoCalls,
  options?: { readonly turns?: number }
) =>
  Effect.gen(function*() {
    const outcome = yield* fresh(log, options).start("go").pipe(Effect.provide(withScript([turn])))
    assert.strictEqual(outcome._tag, "Paused")
    return outcome as Approval.Paused
  })

/** JSON and back, as if the snapshot had been stored. */
export const stored = (snapshot: Approval.Snapshot): unknown => JSON.parse(JSON.stringify(snapshot))

/** Resumes with a fresh agent; answers the outcome and the results of the next request. */
export const resumed = (
  log: Array<string>,
  snapshot: unknown,
  decisions: ReadonlyArray<Approval.Decision>,
  turns: ReadonlyArray<ScriptedModel.Turn> = [ScriptedModel.text("done")]
) =>
  Effect.gen(function*() {
    const outcome = yield* fresh(log).resume(snapshot, decisions)
    const script = yield* ScriptedModel.ScriptedModel
    const requests = yield* script.requests
    return { outcome, results: requests.flatMap((request) => lastResults(request.prompt)), requests }
  }).pipe(Effect.provide(withScript(turns)))

export const only = (paused: Approval.Paused): Approval.PendingCall => {
  assert.strictEqual(paused.pending.length, 1)
  return paused.pending[0]!
}
