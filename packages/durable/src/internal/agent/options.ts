/** Options of durable agents: stored data, deciding people, concurrency. */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import * as Agent from "@recourse/core/Agent"
import { ConfigurationError } from "@recourse/core/ConfigurationError"
import { checkArgument, type Kind } from "@recourse/core/OptionCheck"
import * as Predicate from "effect/Predicate"
import type * as Asking from "./approvalReminders.ts"
import type { Question } from "./approvalReminders.ts"
import { checkName, timeOf } from "../store/requests.ts"
import type { Queue as StoredQueue } from "../store/store.ts"

const anAgent: Kind = {
  is: (value) => Predicate.hasProperty(value, Agent.TypeId),
  called: "an agent, such as Agent.make(\"clerk\", { ... })"
}

/** Throws `ConfigurationError` for arguments of `Durable.make` that the compiler refuses. */
export const checkAgent = (agent: unknown): void => checkArgument("Durable.make", "its first argument", agent, anAgent)

const someDurables: Kind = {
  is: (value) => Array.isArray(value) && value.every((one) => Predicate.hasProperty(one, "definition")),
  called: "a list of durable agents: [Durable.make(agent)]",
  about: (value) => {
    if (!Array.isArray(value)) return undefined
    const index = value.findIndex((one) => !Predicate.hasProperty(one, "definition"))
    return `have at index ${index} ${
      anAgent.is(value[index]) ? "an agent that is not durable" : "a value that is no durable agent"
    }. Make it durable: Durable.make(agent)`
  }
}

/** Throws `ConfigurationError` for agents of a layer that the compiler refuses. */
export const checkAgents = (agents: unknown): void => checkArgument("Durable.layer", "its agents", agents, someDurables)

/**
 * Requests for decisions to people.
 *
 * @category models
 * @since 0.2.0
 */
export interface Approvals<out R = never> {
  /**
   * The asked people, in this order: each if there is no decision for so long since the calls wait. Default of `after`:
   * at once. `RunInfo` and `Runs.list` have the last asked person.
   */
  readonly people?: ReadonlyArray<{ readonly to: string; readonly after?: Duration.Input | undefined }> | undefined
  /** Notifies a person of a question, by mail for example. Executed by a runner, at least once for each person. */
  readonly notify?: ((question: Question) => Effect.Effect<void, never, R>) | undefined
  /**
   * Treatment of an undecided call whose approval has expired (`approval.timeToLive` of the agent). `"reject"`: the
   * model learns that it was not allowed, and the run continues. Default: it still waits; a late approval asks again.
   */
  readonly onExpired?: "wait" | "reject" | undefined
}

/**
 * Number of an agent's concurrent runs, over all runners. Those that wait for people, runs or signals do not count.
 *
 * @category models
 * @since 0.2.0
 */
export interface Queue {
  /** Number of concurrent runs. Default: limited by the runners' room. */
  readonly concurrency?: number | undefined
  /** Maximum of starts in a time. Started runs continue at any rate. */
  readonly rate?: { readonly limit: number; readonly per: Duration.Input } | undefined
}

/**
 * Options of a durable agent: the schemas of its stored data.
 *
 * @category options
 * @since 0.2.0
 */
export interface Options<Input extends Schema.Top, Output extends Schema.Top, Errors extends Schema.Top, AR = never> {
  /** People who are asked about pending calls, and how they are notified. Default: no person is notified. */
  readonly approvals?: Approvals<AR> | undefined
  /** Limits of concurrent runs and of their starts. Default: the runners' room. */
  readonly queue?: Queue | undefined
  /** Schema of the stored input. Default: text. */
  readonly input?: Input | undefined
  /** Schema of the stored output. Default: text. */
  readonly output?: Output | undefined
  /**
   * The errors of the program's own that `await` fails with as they are: each has to be there. One of the library, such as `AiError`,
   * becomes `RunFailed` unless it is there, too.
   */
  readonly errors?: Errors | undefined
  /**
   * Version of the agent. A run stays with the version that started it: a process with another one leaves it alone,
   * unless `previousVersions` handles it. Default: `"1"`.
   */
  readonly version?: string | undefined
  /**
   * Treatment of other versions' runs, by version: `"continue"` continues them, and takes them from the older version
   * from then on; `"stop"` ends them with `VersionStopped`. Those of an unnamed version are left to the processes that
   * have it.
   */
  readonly previousVersions?: Readonly<Record<string, "continue" | "stop">> | undefined
  /**
   * True if models are called for streams, so that readers of a run's events see an answer while it is written. An
   * answer that breaks off behind its first part is then restarted only by `ModelError.retry({ restart: true })`.
   * Default: true.
   */
  readonly streaming?: boolean | undefined
}

const optionNames = Object.keys(
  {
    approvals: true,
    errors: true,
    input: true,
    output: true,
    previousVersions: true,
    queue: true,
    streaming: true,
    version: true
  } satisfies Record<keyof Options<Schema.Top, Schema.Top, Schema.Top, never>, true>
)

/** Throws `ConfigurationError` for an option that there is not: an options object that is spread is not checked by the compiler. */
export const checkOptionNames = (subject: string, options: object | undefined): void => {
  for (const name of Object.keys(options ?? {})) {
    if (!optionNames.includes(name)) {
      throw new ConfigurationError({
        subject,
        problem: `there is no option "${name}". There are: ${optionNames.join(", ")}`
      })
    }
  }
}

/** Facts of a queue for the store. */
export const queueOf = (agent: string, queue: Queue | undefined): StoredQueue | undefined => {
  if (queue === undefined) return undefined
  const { concurrency, rate } = queue
  const perMillis = rate === undefined ? 0 : Duration.toMillis(Duration.fromInputUnsafe(rate.per))
  if (
    (concurrency !== undefined && !(concurrency >= 1)) || (rate !== undefined && !(rate.limit >= 1 && perMillis > 0))
  ) {
    throw new ConfigurationError({
      subject: `Durable agent "${agent}"`,
      problem: "a queue allows at least one concurrent run, and at least one start in a time"
    })
  }
  return { concurrency, ...(rate === undefined ? undefined : { rate: { limit: rate.limit, perMillis } }) }
}

/** A runner's options of questions to people. */
export const askingOf = (subject: string, approvals: Approvals<unknown> | undefined): Asking.Asking | undefined =>
  approvals && {
    people: (approvals.people ?? []).map(({ after, to }) => {
      checkName(subject, "a person who is asked", to)
      return { to, afterMillis: after === undefined ? 0 : timeOf(subject, "after", after) }
    }),
    notify: approvals.notify ?? (() => Effect.void),
    rejectsExpired: approvals.onExpired === "reject"
  }
