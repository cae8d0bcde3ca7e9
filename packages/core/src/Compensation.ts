/**
 * Compensation of runs that have ended: a person requests the compensation of one or all writes of a run.
 *
 * The events of the run have the writes, if an engine stores them with `AgentEvent.Details`. Each write is compensated by a run of its own,
 * whose id is made of the write: a second click joins it, and a durable engine recovers it after a crash.
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import type { InvalidInput } from "./AgentError.ts"
import { type Agent, fromExecute, ownToolsOf } from "./internal/agent/agent.ts"
import { sha256 } from "./internal/foundation/digest.ts"
import { CompensationOutcome, type EndedWrite, endedWrites } from "./internal/run/endedWrites.ts"
import { CompensableWrite } from "./internal/run/writes/completedWrites.ts"
import {
  isEnded,
  type RunInfo,
  Runs,
  type RunsService,
  type RunsUnavailable,
  type UnknownAgent,
  type UnknownRun
} from "./Runs.ts"

/**
 * Input of a run that compensates.
 *
 * @category schemas
 * @since 0.2.0
 */
export const Request = Schema.Struct({
  /** The run whose write it is. */
  runId: Schema.String,
  /** The person who requests it. */
  by: Schema.optionalKey(Schema.String),
  /** The write, as `ToolResult` has it. */
  write: Schema.Json
})

/**
 * Input of a run that compensates.
 *
 * @category models
 * @since 0.2.0
 */
export type Request = typeof Request.Type

/**
 * Outcome of the compensation.
 *
 * @category schemas
 * @since 0.2.0
 */
export const Answer = Schema.Struct({ ...CompensationOutcome.fields, by: Schema.optionalKey(Schema.String) })

/**
 * Outcome of the compensation.
 *
 * @category models
 * @since 0.2.0
 */
export type Answer = typeof Answer.Type

const ending = "/compensation"

/**
 * Returns the name of the agent that compensates the writes of an agent.
 *
 * @category getters
 * @since 0.2.0
 */
export const nameOf = (agent: string): string => `${agent}${ending}`

/**
 * Whether an agent of this name compensates the writes of another one.
 *
 * @category predicates
 * @since 0.2.0
 */
export const isName = (agent: string): boolean => agent.endsWith(ending)

const decodeWrite = Schema.decodeUnknownOption(CompensableWrite)

/**
 * Returns the agent that compensates writes of ended runs of `self`, with the services and the `compensation` of `self`. Returns undefined if no
 * tool of it has a `compensate`. `Durable.layer` and `MemoryRuns.layer` add it by themselves.
 *
 * @category constructors
 * @since 0.2.0
 */
export const agent = <In, Out, E, R>(self: Agent<In, Out, E, R>): Agent<Request, Answer, E, R> | undefined => {
  const tools = ownToolsOf(self as Agent<never, unknown, unknown, unknown>)
  if (!tools.some(({ tool }) => tool.info.compensation !== undefined)) return undefined
  return fromExecute(nameOf(self.name), (request: Request, mode) => {
    const { by } = request
    return Option.match(decodeWrite(request.write), {
      onNone: () => Effect.succeed<Answer>({ outcome: "not_undone", because: "unreadable" }),
      onSome: (write) =>
        self.runIn(request as never, { ...mode, ended: { write, tools, by } }) as Effect.Effect<
          unknown,
          E,
          R
        > as Effect.Effect<
          Answer,
          E,
          R
        >
    })
  })
}

const runWrite = Schema.Struct({
  /** Unique among the writes of its run. */
  id: Schema.String,
  agentRunId: Schema.String,
  /** The call, with the calls of agents around it: `call_1/pay_1`. */
  callId: Schema.String,
  tool: Schema.String,
  /** Names of the agents from the outermost to the one that made the call. */
  path: Schema.Array(Schema.String),
  /** When its result was announced, in milliseconds since the epoch. */
  at: Schema.Finite,
  /** Its executed arguments in JSON. */
  arguments: Schema.String,
  /**
   * `partial`, `pending`: it was done in part, or continues as a task. `not_happened`: it had given no answer, and `reconcile` has found no
   * effect. `not_compensated`: its compensation has failed or was impossible, for the reason in `because`.
   */
  state: Schema.Literals([
    "done",
    "unknown",
    "partial",
    "pending",
    "compensating",
    "compensated",
    "not_happened",
    "not_compensated"
  ]),
  /** Whether {@link compensate} takes it. */
  canCompensate: Schema.Boolean,
  because: CompensationOutcome.fields.because,
  /** Tag of the error of its `compensate`. */
  error: CompensationOutcome.fields.error,
  /** The person who requested it, after the run had ended. */
  by: Schema.optionalKey(Schema.String),
  /** The run that compensates it. */
  compensatedBy: Schema.optionalKey(Schema.String)
})

type RunWriteSchemaType = typeof runWrite

/**
 * Schema of a write of an ended run.
 *
 * @category models
 * @since 0.2.0
 */
export interface RunWriteSchema extends RunWriteSchemaType {}

/**
 * A write of a run that has ended, with its present state.
 *
 * @category schemas
 * @since 0.2.0
 */
export const RunWrite: RunWriteSchema = runWrite

/**
 * A write of a run that has ended, with its present state.
 *
 * @category models
 * @since 0.2.0
 */
export type RunWrite = typeof RunWrite.Type

/**
 * The run has not ended: cancel it, and its agent compensates its writes.
 *
 * @category errors
 * @since 0.2.0
 */
export class RunNotEnded extends Schema.TaggedError<RunNotEnded>()("RunNotEnded", {
  runId: Schema.String,
  status: Schema.String
}) {
  override get message(): string {
    return `Run "${this.runId}" has not ended: it is ${this.status}. Cancel it first`
  }
}

/**
 * The run has no such write that can be compensated: it declares no compensation, or one has started or ended already.
 *
 * @category errors
 * @since 0.2.0
 */
export class NotCompensable extends Schema.TaggedError<NotCompensable>()("NotCompensable", {
  runId: Schema.String,
  write: Schema.String
}) {
  override get message(): string {
    return `Run "${this.runId}" has no write "${this.write}" that can be compensated`
  }
}

const states = { undone: "compensated", not_happened: "not_happened", not_undone: "not_compensated" } as const

/** The id of the run that compensates a write. The start of its run distinguishes it from a purged one with the id. */
const runOf = ({ runId, startedAt }: RunInfo, { id }: EndedWrite): Effect.Effect<string> =>
  Effect.map(sha256(JSON.stringify([runId, startedAt, id])), (hash) => `undo_${hash.slice(0, 40)}`)

const infoOf = (runs: RunsService, runId: string): Effect.Effect<RunInfo | undefined, RunsUnavailable> =>
  Effect.catchTag(runs.get(runId), "UnknownRun", () => Effect.undefined)

const decodeAnswer = Schema.decodeUnknownOption(Answer)

/** Returns the answer of a run that compensates. A run that ended without one may have done its work. */
const answerOf = ({ output }: RunInfo): Answer =>
  Option.getOrElse(decodeAnswer(output), () => ({ outcome: "not_undone", because: "failed" }))

const described = (write: EndedWrite, info: RunInfo | undefined): RunWrite => {
  const { compensable, compensated, known, ...rest } = write
  if (info !== undefined && !isEnded(info.status)) {
    return { ...rest, state: "compensating", canCompensate: false, compensatedBy: info.runId }
  }
  const answer: Answer | undefined = info === undefined ? compensated : answerOf(info)
  if (answer === undefined) return { ...rest, state: known, canCompensate: compensable !== undefined }
  const { outcome, ...why } = answer
  const by = info === undefined ? undefined : { compensatedBy: info.runId }
  return { ...rest, ...why, ...by, state: states[outcome], canCompensate: false }
}

const readFrom = Effect.fnUntraced(function*(runs: RunsService, runId: string) {
  const info = yield* runs.get(runId)
  if (!isEnded(info.status)) return yield* new RunNotEnded({ runId, status: info.status })
  const events = yield* Stream.runCollect(runs.events(runId))
  return yield* Effect.forEach(endedWrites(events.map(({ event }) => event)), (write) =>
    Effect.gen(function*() {
      const by = yield* runOf(info, write)
      const found = write.compensable === undefined ? undefined : yield* infoOf(runs, by)
      return { write, by, info, described: described(write, found) }
    }))
})

/**
 * Errors of reading the writes of a run.
 *
 * @category errors
 * @since 0.2.0
 */
export type ReadError = UnknownRun | RunNotEnded | InvalidInput | RunsUnavailable

/**
 * Returns the writes of a run that has ended, in the order of their results, with their present states.
 *
 * @category accessors
 * @since 0.2.0
 */
export const writes = (runId: string): Effect.Effect<ReadonlyArray<RunWrite>, ReadError, Runs> =>
  Effect.flatMap(Runs, (runs) => Effect.map(readFrom(runs, runId), (all) => all.map(({ described }) => described)))

/**
 * Which writes of a run are compensated.
 *
 * @category options
 * @since 0.2.0
 */
export interface CompensateOptions {
  /** The run whose writes are compensated. */
  readonly runId: string
  /** The ids of the writes. Left out: all that can be. */
  readonly writes?: ReadonlyArray<string> | undefined
  /** The person who requests it. */
  readonly by?: string | undefined
}

/**
 * Compensates writes of a run that has ended, the newest first, each at most once: a write whose compensation has started is awaited. Returns
 * all writes of the run. If it is interrupted, it starts no further compensation; those that have started continue.
 *
 * **Example** (Undo a booking of yesterday)
 *
 * ```ts
 * import { Effect, Layer } from "effect"
 * import { Agent, Compensation, Runs, Tool } from "@recourse/core"
 * import { Durable, RunStore } from "@recourse/durable"
 * import { ScriptedModel } from "@recourse/testing"
 *
 * const log: Array<string> = []
 * const Book = Tool.make("book", {
 *   effects: "write",
 *   execute: () => Effect.sync(() => void log.push("booked")),
 *   compensate: () => Effect.sync(() => void log.push("cancelled"))
 * })
 * const Travel = Durable.make(Agent.make("travel", { tools: [Book] }))
 *
 * const program = Effect.gen(function*() {
 *   yield* Travel.run("trip-7", "Rome, please")
 *   const first = yield* Compensation.compensate({ runId: "trip-7", by: "ada" })
 *   const second = yield* Compensation.compensate({ runId: "trip-7", by: "bob" })
 *   return [...first, ...second].map(({ by, state }) => `${state} by ${by}`)
 * }).pipe(Effect.provide(
 *   Durable.layer([Travel]).pipe(
 *     Layer.provide(RunStore.layerMemory),
 *     Layer.provide(ScriptedModel.layer([ScriptedModel.call("book", {}), ScriptedModel.text("Booked.")]))
 *   )
 * ))
 *
 * await Effect.runPromise(program) // => ["compensated by ada", "compensated by ada"]
 * log // => ["booked", "cancelled"]
 * ```
 *
 * @category running
 * @since 0.2.0
 */
export const compensate: (
  options: CompensateOptions
) => Effect.Effect<ReadonlyArray<RunWrite>, ReadError | NotCompensable | UnknownAgent, Runs> = Effect.fnUntraced(
  function*(
    options: CompensateOptions
  ) {
    const { by, runId } = options
    const runs = yield* Runs
    const all = yield* readFrom(runs, runId)
    const isTaken = ({ canCompensate, state }: RunWrite) => canCompensate || state === "compensating"
    const chosen = new Set(
      options.writes ?? all.flatMap(({ described }) => isTaken(described) ? [described.id] : [])
    )
    for (const id of chosen) {
      const found = all.find(({ write }) => write.id === id)?.described
      if (found === undefined || !(isTaken(found) || found.compensatedBy !== undefined)) {
        return yield* new NotCompensable({ runId, write: id })
      }
    }
    for (const { by: compensatingRun, info: { agent, owner }, write } of all.toReversed()) {
      if (!chosen.has(write.id)) continue
      const input: Request = { runId, write: write.compensable!, ...(by === undefined ? undefined : { by }) }
      const started = runs.start({ agent: nameOf(agent), input, runId: compensatingRun, owner })
      // Another person was first.
      yield* Effect.catchTag(started, "RunConflict", () => Effect.void)
      yield* runs.wait(compensatingRun)
    }
    return yield* writes(runId)
  }
)
