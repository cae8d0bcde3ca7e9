/** Options of durable agents: what is stored, who decides, how many runs go on at once. */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import { ConfigurationError } from "@recourse/core/ConfigurationError"
import type * as Asking from "./asking.ts"
import { checkName, timeOf } from "./requests.ts"
import type { Queue as StoredQueue } from "./store.ts"

/** A question to a person about calls that wait. */
export type Question = Asking.Question

/** How people are asked to decide about calls that wait. */
export interface Approvals<out R = never> {
  /**
   * Who is asked, in this order: each where nobody has decided for so long since the calls wait. Default of `after`: at once. `RunInfo` and
   * `Runs.list` have who was asked last.
   */
  readonly people?: ReadonlyArray<{ readonly to: string; readonly after?: Duration.Input | undefined }> | undefined
  /** Tells a person that they are asked, by mail for example. Done by a runner, at least once for each person. */
  readonly notify?: ((question: Question) => Effect.Effect<void, never, R>) | undefined
  /**
   * What becomes of a call whose approval has expired (`approval.timeToLive` of the agent) and that nobody has decided about. `"reject"`: the
   * model learns that it was not allowed, and the run goes on. Default: it waits on; an approval that comes too late asks again.
   */
  readonly expired?: "wait" | "reject" | undefined
}

/** How many runs of an agent go on, over all runners. Those that wait for people, runs or signals do not count. */
export interface Queue {
  /** How many go on at once. Default: as many as the runners have room for. */
  readonly concurrency?: number | undefined
  /** How many begin in a time, at most. What was begun before goes on whatever the rate is. */
  readonly rate?: { readonly limit: number; readonly per: Duration.Input } | undefined
}

/** How an agent becomes durable: by the schemas of what is stored. */
export interface Options<Input extends Schema.Top, Output extends Schema.Top, Errors extends Schema.Top, AR = never> {
  readonly approvals?: Approvals<AR> | undefined
  readonly queue?: Queue | undefined
  /** Default: text. */
  readonly input?: Input | undefined
  /** Default: text. */
  readonly output?: Output | undefined
  /**
   * The errors of the program's own that `await` fails with as they are: each has to be there. One of the library, such as `AiError`,
   * becomes `RunFailed` unless it is there, too.
   */
  readonly errors?: Errors | undefined
  /**
   * Names the version of the agent. A run stays with the version that began it: a process that has another one leaves it alone, unless
   * `older` says what it does. Default: `"1"`.
   */
  readonly version?: string | undefined
  /**
   * What is done with runs that other versions began, by version: `"continue"` goes on with them, and leaves nothing to the older
   * version from then on; `"stop"` ends them with `VersionStopped`. Those of a version that is not named are left to the
   * processes that have it.
   */
  readonly older?: Readonly<Record<string, "continue" | "stop">> | undefined
  /**
   * Whether models are asked for streams, so that those who read a run's events see an answer while it is written. An answer that
   * is cut behind its first part is then begun again only by `ModelError.retry({ restart: true })`. Default: yes.
   */
  readonly streaming?: boolean | undefined
}

/** What the store has to know of a queue. */
export const queueOf = (agent: string, queue: Queue | undefined): StoredQueue | undefined => {
  if (queue === undefined) return undefined
  const { concurrency, rate } = queue
  const perMillis = rate === undefined ? 0 : Duration.toMillis(Duration.fromInputUnsafe(rate.per))
  if (
    (concurrency !== undefined && !(concurrency >= 1)) || (rate !== undefined && !(rate.limit >= 1 && perMillis > 0))
  ) {
    throw new ConfigurationError({
      subject: `Durable agent "${agent}"`,
      problem: "a queue lets at least one run go on, and at least one begin in a time"
    })
  }
  return { concurrency, ...(rate === undefined ? undefined : { rate: { limit: rate.limit, perMillis } }) }
}

/** What a runner has to know of how people are asked. */
export const askingOf = (subject: string, approvals: Approvals<unknown> | undefined): Asking.Asking | undefined =>
  approvals && {
    people: (approvals.people ?? []).map(({ after, to }) => {
      checkName(subject, "a person who is asked", to)
      return { to, afterMillis: after === undefined ? 0 : timeOf(subject, "after", after) }
    }),
    notify: approvals.notify ?? (() => Effect.void),
    rejectsExpired: approvals.expired === "reject"
  }
