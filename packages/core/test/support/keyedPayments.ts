/** A service of payments, its keyed tools, and a ledger that records its operations. */

import { ScriptedModel } from "@recourse/testing"
import { Clock, Data, Duration, Effect, Schema } from "effect"
import type { Agent } from "@recourse/core"
import { IdempotencyLedger, Recovery, Tool, ToolCall } from "@recourse/core"
import { lastResults } from "./kit.ts"

export class Declined extends Data.TaggedError("Declined") {}

export class Lost extends Data.TaggedError("Lost") {}

export const parameters = Schema.Struct({ order: Schema.Int, amount: Schema.optionalKey(Schema.Int) })

/** A service that pays once for each key, and answers late, or not at all, as configured. */
export const service = () => {
  const done = new Map<string, number>()
  const keys: Array<string | undefined> = []
  const pay = (answer: (request: number) => Effect.Effect<void, Declined | Lost> = () => Effect.void) =>
    Effect.flatMap(ToolCall.ToolCall, ({ idempotencyKey }) =>
      Effect.suspend(() => {
        keys.push(idempotencyKey)
        const key = idempotencyKey ?? `none ${keys.length}`
        if (!done.has(key)) done.set(key, done.size + 1)
        return Effect.as(answer(keys.length), `payment ${done.get(key)}`)
      }))
  return { done, keys, pay }
}

/** Runs an agent by a script, and returns its exit, and the model's last request. */
export const play = <E, R>(
  agent: Agent.Agent<string, unknown, E, R>,
  turns: ReadonlyArray<ScriptedModel.Turn>
) =>
  Effect.gen(function*() {
    const report = yield* agent.report("go")
    const script = yield* ScriptedModel.ScriptedModel
    const results = (yield* script.requests).map((request) => lastResults(request.prompt))
    return { report, results, last: results.at(-1) ?? [] }
  }).pipe(Effect.provide(ScriptedModel.layer(turns)))

export const code = (result: unknown): string => (result as { readonly code: string }).code

export const key = ({ order }: { readonly order: number }) => `order-${order}`

export type Paying = ReturnType<typeof service>["pay"]

/** Calls with one key are one payment. */
export const Pay = (pay: Paying, answer?: Parameters<Paying>[0]) =>
  Tool.make("pay", {
    parameters,
    success: Schema.String,
    effects: "write",
    idempotency: { key, rejected: ["Declined"], timeToLive: "1 hour" },
    execute: () => pay(answer)
  })

/** Each call is a payment of its own. */
export const PayByCall = (pay: Paying, answer?: Parameters<Paying>[0]) =>
  Tool.make("pay", {
    parameters,
    success: Schema.String,
    effects: "write",
    idempotency: true,
    execute: () => pay(answer)
  })

export const everything = Recovery.policy({
  ExecutionError: "escalate",
  OutcomeUnknown: "escalate",
  IdempotencyConflict: "escalate",
  LedgerUnavailable: "escalate",
  PartialSuccess: "escalate"
})

// --- a store that can be looked into, and broken

export const recording = (broken: ReadonlySet<ToolErrorOperation> = new Set()) => {
  const log: Array<string> = []
  const entries = new Map<string, IdempotencyLedger.Entry>()
  const step = <A>(operation: ToolErrorOperation, effect: () => A) =>
    Effect.suspend(() => {
      log.push(operation)
      return broken.has(operation)
        ? Effect.fail(new IdempotencyLedger.LedgerError({ operation, reason: "disk full" }))
        : Effect.sync(effect)
    })
  const at = Clock.currentTimeMillis
  const store: IdempotencyLedger.Store = {
    begin: (intent, lease) =>
      Effect.flatMap(at, (now) =>
        step("begin", () => {
          const entry = entries.get(intent.id)
          if (entry !== undefined) return { entry, now }
          entries.set(intent.id, { ...intent, startedAt: now, leasedUntil: now + Duration.toMillis(lease) })
          return undefined
        })),
    renew: (intent, lease) =>
      Effect.flatMap(at, (now) =>
        step("renew", () => {
          const entry = entries.get(intent.id)
          if (entry?.claim !== intent.claim || entry.outcome !== undefined) return false
          const { callId } = intent
          entries.set(intent.id, { ...entry, callId, leasedUntil: now + Duration.toMillis(lease) })
          return true
        })),
    take: (from, intent, lease) =>
      Effect.flatMap(at, (now) =>
        step("take", () => {
          entries.set(intent.id, { ...from, claim: intent.claim, leasedUntil: now + Duration.toMillis(lease) })
          return true
        })),
    complete: (intent, outcome, timeToLive) =>
      Effect.flatMap(at, (now) =>
        step("complete", () => {
          const expiresAt = now + Duration.toMillis(timeToLive)
          entries.set(intent.id, { ...intent, startedAt: now, leasedUntil: now, outcome, expiresAt })
          return "recorded" as const
        })),
    release: (intent) => step("release", () => void entries.delete(intent.id))
  }
  return { log, entries, layer: IdempotencyLedger.layer(store) }
}

export type ToolErrorOperation = IdempotencyLedger.LedgerError["operation"]
