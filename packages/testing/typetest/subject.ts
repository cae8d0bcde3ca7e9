/** What a subject may need, and what is known of a replay. */
import { Context, Effect, Schema } from "effect"
import { Agent, type AgentError, type Approval, type IdempotencyLedger, Recovery, Tool } from "@recourse/core"
import { FaultPlan, type Laws, type Replay, ScriptedModel, SideEffects, Subject } from "@recourse/testing"

class Db extends Context.Service<Db, { readonly get: Effect.Effect<string> }>()("Db") {}

const tool = <R>(execute: () => Effect.Effect<string, never, R>) =>
  Tool.make("get", { success: Schema.String, effects: "read", execute })

const scenarios = { default: { input: "x", model: [ScriptedModel.text("y")] } } as const

const agent = <R>(execute: () => Effect.Effect<string, never, R>) =>
  Agent.make("a", { tools: [tool(execute)], defaults: { onError: Recovery.policy({ InvalidResult: "escalate" }) } })

const counting = agent(() => Effect.as(Effect.flatMap(SideEffects.SideEffects, (world) => world.all), ""))
export const ok: Subject.Subject<string, string, unknown> = Subject.make({ agent: counting, tools: [], scenarios })

/** The ledger and the key of snapshots are the kit's, and may be left to it. */
declare const keyed: Agent.Agent<string, string, never, IdempotencyLedger.IdempotencyLedger | Approval.SnapshotKey>
Subject.make({ agent: keyed, tools: [], scenarios })

const needy = agent(() => Effect.flatMap(Db, (db) => db.get))
// @ts-expect-error the services of the tools are to be provided before
Subject.make({ agent: needy, tools: [], scenarios })

// @ts-expect-error the scenario's input is the agent's
Subject.make({ agent: counting, tools: [], scenarios: { default: { input: 1, model: [ScriptedModel.text("y")] } } })

// @ts-expect-error a scenario has at least one turn
Subject.make({ agent: counting, tools: [], scenarios: { default: { input: "x", model: [] } } })

declare const replayed: Replay.Replayed<string, AgentError.AgentError>
export const exit: typeof replayed.exit = replayed.exit

// @ts-expect-error a tool has no faults of a store
FaultPlan.onTool("get", { type: "store_fails" })

// @ts-expect-error there is no such store
FaultPlan.onStore("shop", { type: "store_fails" })

// @ts-expect-error there is no such law
export const law: Laws.LawName = "nothing_breaks"
