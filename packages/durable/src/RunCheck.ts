/**
 * Check of waiting runs: which of the runs that wait in a store the agents of this program can resume, before it is deployed. It reads
 * the store, claims no run and calls no tool.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import { Explanation } from "@recourse/core/Approval"
import type * as Durable from "./Durable.ts"
import { KnownConversations } from "./internal/store/conversation.ts"
import { noKey } from "./internal/agent/definition.ts"
import type { StoredRun } from "./internal/store/store.ts"
import { Versions } from "./internal/agent/versions.ts"
import { withSnapshot } from "./internal/store/wholeRuns.ts"
import { RunStore, type RunStoreError } from "./RunStore.ts"

/**
 * A run that waits.
 *
 * @category schemas
 * @since 0.2.0
 */
export const CheckedRun = Schema.Struct({
  runId: Schema.String,
  agent: Schema.String,
  version: Schema.String,
  /** True if this program can resume the run. */
  canResume: Schema.Boolean,
  /** Why it cannot. */
  reason: Schema.optionalKey(Schema.String),
  /** Differences of the agent's tools; absent if the program has no agent for the run. */
  explanation: Schema.optionalKey(Explanation)
})

/**
 * A run that waits.
 *
 * @category models
 * @since 0.2.0
 */
export interface CheckedRun extends Schema.Schema.Type<typeof CheckedRun> {}

/**
 * All runs that wait in a store, the newest first.
 *
 * @category schemas
 * @since 0.2.0
 */
export const Report = Schema.Struct({
  /** Number of runs that this program can resume. */
  resumable: Schema.Int,
  runs: Schema.Array(CheckedRun)
})

/**
 * All runs that wait in a store.
 *
 * @category models
 * @since 0.2.0
 */
export interface Report extends Schema.Schema.Type<typeof Report> {}

const checkRun = (versions: Versions, run: StoredRun): Effect.Effect<CheckedRun> => {
  const { agent, runId, version } = run
  const lost = (reason: string): Effect.Effect<CheckedRun> =>
    Effect.succeed({ runId, agent, version, canResume: false, reason })
  const taken = versions.takes(run)
  if (taken === undefined) {
    return lost(`the program has no agent "${agent}" that continues runs of version "${version}"`)
  }
  if (taken.how === "stop") return lost(`the program stops runs of version "${version}"`)
  const { registered: { context, definition } } = taken
  if (definition.explain === undefined) return lost(`agent "${agent}" cannot wait`)
  return Effect.map(
    Effect.provideContext(definition.explain(run.snapshot), Context.merge(noKey, context)) as Effect.Effect<
      Explanation
    >,
    (explanation): CheckedRun => ({
      runId,
      agent,
      version,
      canResume: explanation.canResume,
      ...(explanation.refused === undefined ? undefined : { reason: explanation.refused.message }),
      explanation
    })
  )
}

/** Number of runs that are read at a time. */
const page = 100

/**
 * Explains all runs that wait: which of them these agents can resume, and why not the others. A run whose agent and version the
 * program does not have counts as lost. Signatures are checked with the `SnapshotKey` around it, or with that of `Durable` if there is none.
 *
 * @category running
 * @since 0.2.0
 */
export const check = (
  agents: ReadonlyArray<Durable.Any>
): Effect.Effect<Report, RunStoreError, RunStore> =>
  Effect.gen(function*() {
    const store = yield* RunStore
    const context = yield* Effect.context<never>()
    const versions = new Versions(agents.map(({ definition }) => definition), context)
    const runs: Array<CheckedRun> = []
    let behind: StoredRun | undefined
    while (true) {
      const found: ReadonlyArray<StoredRun> = yield* store.list({ status: "waiting", limit: page, behind })
      for (const run of found) {
        runs.push(yield* checkRun(versions, yield* withSnapshot(store, new KnownConversations(), run)))
      }
      behind = found.at(-1)
      if (found.length < page) break
    }
    return { resumable: runs.filter(({ canResume }) => canResume).length, runs }
  })

/**
 * The brand of checks.
 *
 * @category type IDs
 * @since 0.2.0
 */
export const TypeId = "~@recourse/durable/RunCheck" as const

/**
 * The agents of a program; an effect if they depend on a server's list, such as MCP tools.
 *
 * @category models
 * @since 0.2.0
 */
export type Agents = ReadonlyArray<Durable.Any> | Effect.Effect<ReadonlyArray<Durable.Any>, unknown, Scope.Scope>

/**
 * Check of the command `recourse-runs`: a module exports it.
 *
 * @category models
 * @since 0.2.0
 */
export interface RunCheck {
  readonly [TypeId]: typeof TypeId
  readonly agents: Agents
  readonly layer: Layer.Layer<RunStore, unknown>
}

/**
 * Makes a check for the command `recourse-runs check ./runs.ts`. The module exports it as `default`, or by any name.
 *
 * **Example** (A module for `recourse-runs check`)
 *
 * ```ts
 * import { Layer } from "effect"
 * import { Agent } from "@recourse/core"
 * import { Durable, RunCheck, RunStore } from "@recourse/durable"
 * import { NodeSqliteClient } from "@recourse/sql"
 *
 * const Clerk = Durable.make(Agent.make("clerk", {}))
 *
 * export const runs = RunCheck.make({
 *   agents: [Clerk],
 *   layer: RunStore.layerSql({ create: false }).pipe(Layer.provide(NodeSqliteClient.layer({ filename: "runs.db" })))
 * })
 *
 * RunCheck.isRunCheck(runs) // => true
 * ```
 *
 * @category constructors
 * @since 0.2.0
 */
export const make = (options: {
  /** The agents of the program that is to be deployed, with their `version` and `previousVersions`. */
  readonly agents: Agents
  /** The store of the runs, with the `SnapshotKey` if the program has one of its own. */
  readonly layer: Layer.Layer<RunStore, unknown>
}): RunCheck => ({ [TypeId]: TypeId, ...options })

/**
 * True if a value is a check.
 *
 * @category guards
 * @since 0.2.0
 */
export const isRunCheck = (value: unknown): value is RunCheck =>
  typeof value === "object" && value !== null && TypeId in value
