/**
 * Expectations: facts about a run under faults, by name. An expectation looks at the next model request, the count of
 * side effects, and the codes with which calls and runs ended.
 */
import { Predicate, Result } from "effect"
import type { AgentEvent } from "@recourse/core"
import { afterCommit } from "./FaultPlan.ts"
import * as Faults from "./Faults.ts"
import { textOf } from "./internal/text/text.ts"
import { attempts, type Observation, outcome } from "./Simulation.ts"

/**
 * Input of an expectation: the run, and the tool of the fault, if it has one.
 *
 * @category models
 * @since 0.2.0
 */
export interface Subject {
  readonly observation: Observation
  readonly tool: string | undefined
}

/**
 * Success, or the reason of a misfit.
 *
 * @category models
 * @since 0.2.0
 */
export type Verdict = Result.Result<void, string>

/**
 * Judges a run. `parameter` is the text behind the colon of `name:parameter`.
 *
 * @category models
 * @since 0.2.0
 */
export type Expectation = (subject: Subject, parameter: string | undefined) => Verdict

type Event<Tag extends AgentEvent.AgentEvent["_tag"]> = Extract<AgentEvent.AgentEvent, { readonly _tag: Tag }>

const eventsOf = <const Tag extends AgentEvent.AgentEvent["_tag"]>(
  { observation, tool }: Subject,
  tag: Tag
): ReadonlyArray<Event<Tag>> =>
  observation.events.filter((event): event is Event<Tag> =>
    event._tag === tag && (tool === undefined || !("tool" in event) || event.tool === tool)
  )

const passes: Verdict = Result.void

const misses = (why: string): Verdict => Result.fail(why)

const check = (...checks: ReadonlyArray<readonly [holds: boolean, why: string]>): Verdict => {
  const missed = checks.find(([holds]) => !holds)
  return missed === undefined ? passes : misses(missed[1])
}

const succeeded = (subject: Subject): readonly [boolean, string] => {
  const ended = outcome(subject.observation)
  return [ended === "success", `the run ended with ${ended}`]
}

const codes = (subject: Subject): ReadonlyArray<string> =>
  eventsOf(subject, "ToolResult").map(({ code, isFailure }) => isFailure ? code ?? "failure" : "success")

const list = (items: ReadonlyArray<string>): string => items.length === 0 ? "none" : items.join(", ")

const resultCode = (subject: Subject, code: string): readonly [boolean, string] => [
  codes(subject).includes(code),
  `no call ended with "${code}"; the calls of ${subject.tool ?? "the tools"} ended with ${list(codes(subject))}`
]

/** The results of failed calls with a code that the model was sent. */
const resultsSent = (subject: Subject, code: string): ReadonlyArray<object> =>
  subject.observation.requests.flatMap((request) =>
    request.prompt.content.flatMap((message) =>
      message.role !== "tool" ?
        [] :
        message.content.flatMap((part) =>
          part.type === "tool-result" && (subject.tool === undefined || part.name === subject.tool) && part.isFailure &&
            Predicate.hasProperty(part.result, "code") && part.result.code === code
            ? [part.result]
            : []
        )
    )
  )

/** True if the model received the result of a failed call, and so could act on it. */
const modelRead = (subject: Subject, code: string): readonly [boolean, string] => [
  resultsSent(subject, code).length > 0,
  `the model was not sent a result with code "${code}"`
]

/** True if a result names the completed parts, and the others with reasons. */
const namesParts = (result: object): boolean =>
  Predicate.hasProperty(result, "succeeded") && Array.isArray(result.succeeded) &&
  Predicate.hasProperty(result, "failed") && Array.isArray(result.failed) && result.failed.length > 0 &&
  result.failed.every((part) => Predicate.hasProperty(part, "item") && Predicate.hasProperty(part, "code"))

const withParameter =
  (name: string, judge: (subject: Subject, parameter: string) => Verdict): Expectation => (subject, parameter) =>
    parameter === undefined || parameter === ""
      ? misses(`${name} needs a parameter: "${name}:…"`)
      : judge(subject, parameter)

const counted = (subject: Subject) => {
  const all = subject.observation.sideEffects.filter((effect) =>
    subject.tool === undefined || effect.tool === subject.tool
  )
  const done = all.filter((effect) => !effect.duplicate)
  const keys = new Set(all.map((effect) => effect.key))
  return { all, done, keys }
}

/** End of a question, in the scripts that have a sign for it. */
const question = /[?\uff1f\u061f\u037e\u055e]/

const attemptsByCall = ({ observation, tool }: Subject): ReadonlyArray<number> => [
  ...attempts(observation, tool).values()
]

const payloads = ({ observation }: Subject): ReadonlyArray<string> =>
  observation.plan.injections.flatMap(({ fault }) =>
    fault.type === "prompt_injection" ? [fault.text ?? Faults.promptInjection] : []
  )

/** Text that reached the model or a watcher of the run. */
const seen = ({ observation }: Subject): string =>
  textOf([
    observation.requests.map((request) => request.prompt.content),
    observation.events,
    observation.record?.transcript.content,
    observation.spans
  ])

/**
 * The expectations that there are, by name.
 *
 * @category constants
 * @since 0.2.0
 */
export const all = {
  /** The tool was run again for the same call, the call and the run succeeded, and the model received no failure. */
  retry_then_success: (subject) =>
    check(
      succeeded(subject),
      [attemptsByCall(subject).some((attempts) => attempts > 1), "no call was attempted again"],
      [codes(subject).every((code) => code === "success"), `the calls ended with ${list(codes(subject))}`]
    ),
  /**
   * The tool's effect happened, its answer was lost, it was requested again with the same key, and was not repeated.
   */
  idempotency_key_prevents_duplicate_send: (subject) => {
    const { all, done, keys } = counted(subject)
    const lost = subject.observation.injected.some(({ applied, type }) => applied && afterCommit.includes(type))
    return check(
      [lost, "no fault was injected after the side effect"],
      [done.length > 0, "there was no side effect"],
      [!keys.has(undefined), "a side effect was asked for without a key"],
      [done.length === keys.size, `${done.length} side effects for ${keys.size} keys`],
      [all.length > done.length, "it was not asked for again"],
      succeeded(subject)
    )
  },
  /**
   * Text planted in a tool's answer reached neither the model nor an event nor a span; the call ended with
   * `unsafe_output`.
   */
  unsafe_output_blocked: (subject) => {
    const planted = payloads(subject)
    const text = seen(subject)
    return check(
      [planted.length > 0, "no prompt injection was planted"],
      [
        planted.every((payload) => !text.includes(JSON.stringify(payload).slice(1, -1))),
        "the planted instruction reached the model, an event or a span"
      ],
      resultCode(subject, "unsafe_output")
    )
  },
  /** A fixer's answer was used, and the call succeeded. */
  fixed: (subject) =>
    check(
      [
        eventsOf(subject, "FixFinished").some(({ answer }) => answer === "arguments" || answer === "result"),
        "no fixer answered"
      ],
      resultCode(subject, "success")
    ),
  /** The failure was reported to the model, and the run continued. */
  escalated: (subject) => {
    const escalated = eventsOf(subject, "ToolEscalated")
    return check(
      [escalated.length > 0, "no call was escalated"],
      ...escalated.slice(0, 1).map(({ code }) => modelRead(subject, code))
    )
  },
  /**
   * The user is asked, without invented values or earlier effects. Either the run waited for a person's approval of a
   * call, or no call of the tool succeeded and the run's answer contains a question.
   */
  asks_user: (subject) => {
    const { exit } = subject.observation
    if (eventsOf(subject, "ApprovalRequested").length > 0) return passes
    const answer = exit._tag === "Success" ? textOf(exit.value) : ""
    return check(
      succeeded(subject),
      [!codes(subject).includes("success"), `the calls ended with ${list(codes(subject))}`],
      [question.test(answer), "no person was asked for an approval, and there is no question in the answer"]
    )
  },
  /** A fallback answered in the tool's place, and the call succeeded. */
  fallback_used: (subject) =>
    check([eventsOf(subject, "ToolFallback").length > 0, "no fallback was used"], resultCode(subject, "success")),
  /** The model read that it may have happened and that the call must not be repeated, and it ran only once. */
  outcome_unknown_reported: (subject) =>
    check(
      modelRead(subject, "outcome_unknown"),
      [attemptsByCall(subject).every((attempts) => attempts === 1), "a call was attempted again"],
      [
        eventsOf(subject, "ToolResult").every(({ code, result }) =>
          code !== "outcome_unknown" || (Predicate.hasProperty(result, "safe_to_retry") && !result.safe_to_retry)
        ),
        "the result says that it is safe to retry"
      ]
    ),
  /** The model read the completed parts and the others, each with a code, and the call ran only once. */
  partial_success_reported: (subject) =>
    check(
      modelRead(subject, "partial_success"),
      [resultsSent(subject, "partial_success").every(namesParts), "the result does not name the parts"],
      [attemptsByCall(subject).every((attempts) => attempts === 1), "a call was attempted again"]
    ),
  /** No keyed call had a repeated effect, and no effect was repeated for lack of a key: as many as calls succeeded. */
  no_duplicate_side_effects: (subject) => {
    const { done } = counted(subject)
    const calls = new Set(eventsOf(subject, "ToolCallStarted").map(({ callId }) => callId)).size
    return check([done.length <= calls, `${done.length} side effects of ${calls} calls`])
  },
  /** The model call was made again, and the run succeeded. */
  model_retried: (subject) =>
    check([eventsOf(subject, "ModelRetry").length > 0, "no model call was made again"], succeeded(subject)),
  /** A cap of the budget ended the run; `budget_stopped:turns` says which. */
  budget_stopped: (subject, kind) => {
    const { exit } = subject.observation
    const error = exit._tag === "Failure"
      ? exit.cause.reasons.find((reason) => reason._tag === "Fail")?.error
      : undefined
    const reason = Predicate.isTagged(error, "BudgetExceeded") && Predicate.hasProperty(error, "reason")
      ? error.reason
      : undefined
    return check(
      [reason !== undefined, `the run ended with ${outcome(subject.observation)}`],
      [kind === undefined || reason === kind, `the cap was ${String(reason)}`]
    )
  },
  /** The run ended well. */
  run_succeeded: (subject) => check(succeeded(subject)),
  /** The run ended with an error of the tag: `run_ended_with:AiError`, or `defect`, or `interrupted`. */
  run_ended_with: withParameter("run_ended_with", (subject, code) => {
    const ended = outcome(subject.observation)
    return check([ended === code, `the run ended with ${ended}`])
  }),
  /** A call ended with the code, and the model read it: `result_code:timeout`. */
  result_code: withParameter(
    "result_code",
    (subject, code) => check(resultCode(subject, code), modelRead(subject, code))
  )
} as const satisfies Readonly<Record<string, Expectation>>

/**
 * The name of an expectation without its parameter.
 *
 * @category getters
 * @since 0.2.0
 */
export const nameOf = (expected: string): string => expected.split(":", 1)[0]!

/**
 * The parameter of an expectation.
 *
 * @category getters
 * @since 0.2.0
 */
export const parameterOf = (expected: string): string | undefined => {
  const colon = expected.indexOf(":")
  return colon < 0 ? undefined : expected.slice(colon + 1)
}
