/**
 * Runs as a service: start, watch, decide, cancel, list, by the id of a run. A server needs no more of an engine than this:
 * `@recourse/durable` offers it over a database, from any process.
 */
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Stream from "effect/Stream"
import type * as Prompt from "effect/ai/Prompt"
import { InvalidInput } from "./AgentError.ts"
import { AgentEvent, Pending } from "./AgentEvent.ts"
import type { Decision } from "./internal/approval/decision.ts"
import type { DecisionRefused } from "./internal/approval/outcome.ts"
import { stackless } from "./internal/foundation/stacklessError.ts"
export { monotonicMillis } from "./internal/foundation/monotonicTime.ts"
export { logFailure } from "./internal/run/observe/logFailure.ts"

/**
 * No run has the id: it was never started, or it ended so long ago that it was deleted.
 *
 * @category errors
 * @since 0.2.0
 */
export class UnknownRun extends Schema.TaggedError<UnknownRun>()("UnknownRun", {
  runId: Schema.String
}) {
  override get message(): string {
    return `There is no run "${this.runId}"`
  }
}

/** @internal Makes the error without a stack: the answer to each new message is looked up before its run starts. */
export const unknownRun = (runId: string): UnknownRun => stackless(() => new UnknownRun({ runId }))

/**
 * No agent of the name is registered.
 *
 * @category errors
 * @since 0.2.0
 */
export class UnknownAgent extends Schema.TaggedError<UnknownAgent>()("UnknownAgent", {
  agent: Schema.String,
  registered: Schema.Array(Schema.String)
}) {
  override get message(): string {
    return `No agent "${this.agent}" is registered: there are ${this.registered.join(", ") || "none"}`
  }
}

/**
 * The id belongs to a run of another agent, or with another input. Give each run an id of its own.
 *
 * @category errors
 * @since 0.2.0
 */
export class RunConflict extends Schema.TaggedError<RunConflict>()("RunConflict", {
  runId: Schema.String,
  differs: Schema.Literals(["agent", "input"])
}) {
  override get message(): string {
    return `Run "${this.runId}" was started with another ${this.differs}: use another id for this one`
  }
}

/**
 * The store of the runs cannot be read or written. The outcome is unknown: repeat the request with the same run id.
 *
 * @category errors
 * @since 0.2.0
 */
export class RunsUnavailable extends Schema.TaggedError<RunsUnavailable>()("RunsUnavailable", {
  operation: Schema.String,
  reason: Schema.Defect()
}) {
  override get message(): string {
    return `The store of runs does not answer: ${this.operation}`
  }
}

/**
 * State of a run. `waiting`: for the decisions of people.
 *
 * @category schemas
 * @since 0.2.0
 */
export const Status = Schema.Literals(["queued", "running", "waiting", "completed", "failed", "cancelled"])

/**
 * State of a run.
 *
 * @category models
 * @since 0.2.0
 */
export type Status = typeof Status.Type

/**
 * Returns true if a run of this state has ended: it completed, failed or was cancelled.
 *
 * **Example**
 *
 * ```ts
 * import { Runs } from "@recourse/core"
 *
 * Runs.isEnded("completed") // => true
 * Runs.isEnded("waiting") // => false
 * ```
 *
 * @category predicates
 * @since 0.2.0
 */
export const isEnded = (status: Status): boolean =>
  status === "completed" || status === "failed" || status === "cancelled"

/**
 * Failure of a run, taken from its last event.
 *
 * @category schemas
 * @since 0.2.0
 */
export const Failure = Schema.Struct({
  error: Schema.String,
  code: Schema.String,
  userMessage: Schema.String,
  /** The error as JSON, if the program has declared a schema of it. */
  value: Schema.optionalKey(Schema.Json)
})

/**
 * Failure of a run, taken from its last event.
 *
 * @category errors
 * @since 0.2.0
 */
export type Failure = typeof Failure.Type

const runInfo = Schema.Struct({
  runId: Schema.String,
  agent: Schema.String,
  /** The version of the agent that runs it, if the engine distinguishes versions. */
  version: Schema.optionalKey(Schema.String),
  status: Status,
  /**
   * It is cancelled and has not ended. If it is `queued`, it waits for a runner with its agent, in its version: only
   * that runner can compensate its writes.
   */
  cancelling: Schema.optionalKey(Schema.Literal(true)),
  /** Owner of the run, given by the program that started it. */
  owner: Schema.optionalKey(Schema.String),
  startedAt: Schema.Finite,
  updatedAt: Schema.Finite,
  /** The calls that wait for decisions. */
  pending: Schema.Array(Pending),
  /** The last person who was asked to decide, if the engine asks people. */
  askedOf: Schema.optionalKey(Schema.String),
  /** Output of a completed run in JSON. */
  output: Schema.optionalKey(Schema.Json),
  /** Of a failed run. */
  failure: Schema.optionalKey(Failure)
})

type RunInfoSchemaType = typeof runInfo

/**
 * Schema of the known facts of a run.
 *
 * @category models
 * @since 0.2.0
 */
export interface RunInfoSchema extends RunInfoSchemaType {}

/**
 * Known facts of a run. Times are milliseconds since the epoch.
 *
 * @category schemas
 * @since 0.2.0
 */
export const RunInfo: RunInfoSchema = runInfo

/**
 * Known facts of a run.
 *
 * @category models
 * @since 0.2.0
 */
export type RunInfo = typeof RunInfo.Type

/**
 * An event with its number in the run, over all processes that the run was in. 0 is the first, and none is left out.
 *
 * @category schemas
 * @since 0.2.0
 */
export const NumberedEvent = Schema.Struct({ number: Schema.Int, event: AgentEvent })

/**
 * An event with its number in the run.
 *
 * @category models
 * @since 0.2.0
 */
export type NumberedEvent = typeof NumberedEvent.Type

/**
 * Request to start a run.
 *
 * @category models
 * @since 0.2.0
 */
export interface StartRequest {
  readonly agent: string
  /** JSON that the agent's `input` schema reads. */
  readonly input: unknown
  /** Starting the same run again answers that run. At most 255 characters. Default: random. */
  readonly runId?: string | undefined
  readonly owner?: string | undefined
  /** Delay before the start. Default: none. An engine without a database does not support it. */
  readonly delay?: Duration.Input | undefined
}

/**
 * A user's message for a running run.
 *
 * @category models
 * @since 0.2.0
 */
export interface UserMessage {
  /** Identifies the message among those of the run. */
  readonly id: string
  /** Its text, or its parts. */
  readonly content: Prompt.UserMessageEncoded["content"]
}

/**
 * Filter of listed runs. The newest come first; of runs with the same start, the one with the greater id.
 *
 * @category models
 * @since 0.2.0
 */
export interface Query {
  readonly status?: Status | undefined
  readonly agent?: string | undefined
  readonly owner?: string | undefined
  /** Only runs that wait for this person's decision. */
  readonly askedOf?: string | undefined
  /** Only runs whose id begins so. */
  readonly idPrefix?: string | undefined
  /** Only runs that were started before this time, in milliseconds since the epoch. */
  readonly startedBefore?: number | undefined
  /** Only runs that were started at this time or later. */
  readonly startedAfter?: number | undefined
  /** Only runs behind this one in the list: the last one of the page before. */
  readonly behind?: Pick<RunInfo, "runId" | "startedAt"> | undefined
  /** Default: 100. */
  readonly limit?: number | undefined
}

/** @internal True if databases store a text unchanged: PostgreSQL has no NUL, and UTF-8 no half of a surrogate pair. */
export const isStorable = (text: unknown): text is string => typeof text === "string" && !/\0|\p{Cs}/u.test(text)
const isTime = (time: unknown): boolean => Number.isFinite(time) && Math.abs(time as number) <= Number.MAX_SAFE_INTEGER

const text = "expected text without NUL and without half of a surrogate pair"
const time = "expected a finite number of milliseconds since the epoch: leave it out for all times"
const limit = "expected a whole number from 1: leave it out for 100, and ask for the next page with `behind`"
const status = `expected one of ${Status.literals.join(", ")}`

/** A check of a value: its path within its field, its result, and the expectation. */
type Check = readonly [path: ReadonlyArray<string>, isRight: boolean, expected: string]

const isText = (value: unknown): ReadonlyArray<Check> => [[[], isStorable(value), text]]
const isMoment = (value: unknown): ReadonlyArray<Check> => [[[], isTime(value), time]]

/** The checks of each field of a query. */
const queryFields: Readonly<Record<keyof Query, (value: unknown) => ReadonlyArray<Check>>> = {
  status: (value) => [[[], Schema.is(Status)(value), status]],
  agent: isText,
  owner: isText,
  askedOf: isText,
  idPrefix: isText,
  startedBefore: isMoment,
  startedAfter: isMoment,
  behind: (value) => {
    const { runId, startedAt } = Object(value) as { readonly runId: unknown; readonly startedAt: unknown }
    return [[["startedAt"], isTime(startedAt), time], [["runId"], isStorable(runId), text]]
  },
  limit: (value) => [[[], Number.isSafeInteger(value) && (value as number) >= 1, limit]]
}

/**
 * Checks a query, for engines of runs. Fails with `InvalidInput` for a value that no run has, and for a field that there is
 * not: a misspelt `owner` would list the runs of all owners.
 *
 * **Example** (A misspelt field)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Runs } from "@recourse/core"
 *
 * const query = { onwer: "ada" } as Runs.Query
 * const refused = await Effect.runPromise(Effect.flip(Runs.checkQuery(query)))
 * refused.issues.map(({ path }) => path) // => [["onwer"]]
 * ```
 *
 * @category decoding
 * @since 0.2.0
 */
export const checkQuery = (query: Query): Effect.Effect<void, InvalidInput> => {
  const issues = Object.entries(query).flatMap(([name, value]: [string, unknown]): InvalidInput["issues"] => {
    if (!Object.hasOwn(queryFields, name)) {
      return [{
        path: [name],
        expected: `expected one of ${Object.keys(queryFields).join(", ")}`,
        problem: "unexpected"
      }]
    }
    const checks = value === undefined ? [] : queryFields[name as keyof Query](value)
    return checks.flatMap(([path, isRight, expected]) =>
      isRight ? [] : [{ path: [name, ...path], expected, problem: "invalid" }]
    )
  })
  const agent = isStorable(query.agent) ? query.agent : ""
  return issues.length === 0 ? Effect.void : Effect.fail(new InvalidInput({ agent, operation: "list", issues }))
}

/**
 * The order of lists: for a store that sorts by itself.
 *
 * @category getters
 * @since 0.2.0
 */
export const newestFirst = (a: Pick<RunInfo, "runId" | "startedAt">, b: Pick<RunInfo, "runId" | "startedAt">): number =>
  b.startedAt - a.startedAt || (a.runId < b.runId ? 1 : a.runId > b.runId ? -1 : 0)

/**
 * True if a run matches a query, regardless of its limit: for a store that scans all runs.
 *
 * @category predicates
 * @since 0.2.0
 */
export const isOf = (
  run: Pick<RunInfo, "runId" | "startedAt"> & {
    readonly agent: string
    readonly owner?: string | undefined
    readonly askedOf?: string | undefined
    readonly status: Status
  },
  query: Query
): boolean => {
  const { agent, askedOf, behind, idPrefix = "", owner, startedAfter = -Infinity, startedBefore = Infinity, status } =
    query
  return (owner === undefined || run.owner === owner) &&
    (agent === undefined || run.agent === agent) &&
    (askedOf === undefined || run.askedOf === askedOf) &&
    (status === undefined || run.status === status) &&
    run.startedAt < startedBefore && run.startedAt >= startedAfter &&
    run.runId.startsWith(idPrefix) &&
    (behind === undefined || newestFirst(behind, run) < 0)
}

/**
 * Runs of registered agents.
 *
 * @category models
 * @since 0.2.0
 */
export interface RunsService {
  /** Starts a run, or joins the one with the id. `isNew`: whether it was started now. */
  readonly start: (
    request: StartRequest
  ) => Effect.Effect<
    { readonly runId: string; readonly isNew: boolean },
    UnknownAgent | InvalidInput | RunConflict | RunsUnavailable
  >
  readonly get: (runId: string) => Effect.Effect<RunInfo, UnknownRun | RunsUnavailable>
  /** Answers when the run has ended. */
  readonly wait: (runId: string) => Effect.Effect<RunInfo, UnknownRun | RunsUnavailable>
  /** The events from a number on (default: 0): those that were, then those that come. Ends with the run. */
  readonly events: (
    runId: string,
    from?: number
  ) => Stream.Stream<NumberedEvent, UnknownRun | InvalidInput | RunsUnavailable>
  /** Decides about pending calls. A decision about a call that is not pending is refused, and so is a second one. */
  readonly decide: (
    runId: string,
    decisions: ReadonlyArray<Decision>
  ) => Effect.Effect<void, UnknownRun | DecisionRefused | RunsUnavailable>
  /**
   * Adds a user's message to a run that is running: the model reads it with its next request. Returns `true` when it has
   * joined the run, and `false` when the run ends, waits for a person or reads no messages, without the message having
   * joined. An interruption withdraws the message unless it has joined. A message with the id of an earlier one is that one.
   *
   * Only agents with a model and without an input guard read messages, and only in their own runs, not in nested ones. Absent
   * if the engine has no inbox of runs. Fails with `InvalidInput` for a message that no run can read.
   */
  readonly addMessage?: (
    runId: string,
    message: UserMessage
  ) => Effect.Effect<boolean, UnknownRun | InvalidInput | RunsUnavailable>
  /**
   * Cancels a run; `false` if it has already ended. Running calls are interrupted; a started write is reported as
   * outcome unknown.
   */
  readonly cancel: (runId: string) => Effect.Effect<boolean, UnknownRun | RunsUnavailable>
  readonly list: (query?: Query) => Effect.Effect<ReadonlyArray<RunInfo>, InvalidInput | RunsUnavailable>
  /**
   * Accepts no more runs, lets running ones end within the time, and interrupts the others lawfully. Absent if the
   * engine's runs continue in another process.
   */
  readonly drain?: (within: Duration.Duration) => Effect.Effect<void>
}

/**
 * Runs of registered agents, by their ids.
 *
 * **Example** (The state of a run)
 *
 * ```ts
 * import { Effect, Layer } from "effect"
 * import { Agent, Runs } from "@recourse/core"
 * import { Durable, RunStore } from "@recourse/durable"
 *
 * const Report = Durable.make(Agent.fromFunction("report", (day: string) => Effect.succeed(`Report of ${day}`)))
 * const Runners = Durable.layer([Report]).pipe(Layer.provide(RunStore.layerMemory))
 *
 * const program = Effect.gen(function*() {
 *   yield* Report.start("run 1", "Monday")
 *   yield* Report.await("run 1")
 *   const runs = yield* Runs.Runs
 *   return (yield* runs.get("run 1")).status
 * })
 *
 * await Effect.runPromise(program.pipe(Effect.provide(Runners))) // => "completed"
 * ```
 *
 * @category services
 * @since 0.2.0
 */
export class Runs extends Context.Service<Runs, RunsService>()("@recourse/core/Runs") {}

/**
 * Owner of the run that calls a tool, given by the program that started the run. The tool checks the owner's rights
 * itself. `undefined` outside of `Runs`.
 *
 * @category services
 * @since 0.2.0
 */
export const Owner: Context.Reference<string | undefined> = Context.Reference<string | undefined>(
  "@recourse/core/Runs/Owner",
  { defaultValue: () => undefined }
)
