/**
 * Laws that hold for every agent, whatever goes wrong: checked on runs under random plans of faults.
 *
 * Each plan is run four times: as it is, once more, streamed, and interrupted at some event. A plan that breaks a law is
 * shrunk to a small one and shown with its timeline.
 */
import { Duration, Effect, Schema } from "effect"
import * as Arbitrary from "effect/Arbitrary"
import type { Prompt } from "effect/ai"
import * as FaultPlan from "./FaultPlan.ts"
import type { TestRunner } from "./FaultSuite.ts"
import { textOf } from "./internal/text.ts"
import * as Simulation from "./Simulation.ts"
import type { Subject } from "./Subject.ts"
import * as Timeline from "./Timeline.ts"

/** The runs of one plan. */
export interface Trial {
  readonly subject: Pick<Subject<unknown, unknown, unknown>, "tools" | "budget">
  /** The text that stands in every injected error. */
  readonly secret: string
  readonly plain: Simulation.Observation
  readonly again: Simulation.Observation
  readonly streamed: Simulation.Observation
  readonly interrupted: Simulation.Observation
}

/** A law: the ways in which a trial breaks it, and the run in which it does. */
export type Law = (trial: Trial) => ReadonlyArray<Violation>

/** A way in which a law is broken. */
export interface Violation {
  readonly run: "plain" | "again" | "streamed" | "interrupted"
  readonly problem: string
}

const runs = ["plain", "streamed", "interrupted"] as const

/** A law about each run. */
const ofEachRun = (law: (run: Simulation.Observation, trial: Trial) => ReadonlyArray<string>): Law => (trial) =>
  runs.flatMap((run) => law(trial[run], trial).map((problem) => ({ run, problem })))

const count = <A>(items: Iterable<A>): ReadonlyMap<A, number> => {
  const counts = new Map<A, number>()
  for (const item of items) counts.set(item, (counts.get(item) ?? 0) + 1)
  return counts
}

const moreThan = <A>(items: Iterable<A>, most: number): ReadonlyArray<readonly [A, number]> =>
  [...count(items)].filter(([, times]) => times > most)

const idsIn = (message: Prompt.Message, type: "tool-call" | "tool-result"): ReadonlyArray<string> =>
  typeof message.content === "string" ?
    [] :
    (message.content as ReadonlyArray<Prompt.Part>).flatMap((part) =>
      part.type === type && part.providerExecuted !== true ? [part.id] : []
    )

/** What is wrong with a conversation: calls without their results behind them, results without calls, ids used twice. */
export const problemsOfHistory = (prompt: Prompt.Prompt): ReadonlyArray<string> => {
  const problems: Array<string> = []
  const messages = prompt.content
  let open: ReadonlyArray<string> = []
  for (const message of messages) {
    const results = message.role === "tool" ? idsIn(message, "tool-result") : []
    if (message.role === "tool" || open.length > 0) {
      if (JSON.stringify(results) !== JSON.stringify(open)) {
        problems.push(`calls [${open.join(", ")}] are followed by results [${results.join(", ")}]`)
      }
    }
    open = message.role === "assistant" ? idsIn(message, "tool-call") : []
  }
  if (open.length > 0) problems.push(`calls [${open.join(", ")}] have no results`)
  const calls = messages.flatMap((message) => message.role === "assistant" ? idsIn(message, "tool-call") : [])
  for (const [id] of moreThan(calls, 1)) problems.push(`call id ${id} is used twice`)
  return problems
}

/** Faults after which streaming has to differ: an answer that has begun is not asked for again. */
const differsWhenStreamed: ReadonlySet<string> = new Set(["stream_cut", "empty_answer", "truncated_answer"])

const conversation = (prompt: Prompt.Prompt | undefined): string =>
  textOf(prompt?.content.map(({ content, role }) => ({ role, content })))

const everything = (run: Simulation.Observation): string =>
  textOf([
    Simulation.outcome(run),
    run.events,
    run.requests.map((request) => request.prompt.content),
    run.record,
    run.injected,
    run.sideEffects,
    run.elapsed
  ])

/** The laws, by name. */
export const all = {
  /** No kind of attempt is made more often than the budget allows. */
  attempts_within_budget: ofEachRun((run, { subject: { budget } }) => {
    if (run.record === undefined || run.events.some(({ _tag }) => _tag === "BudgetExtended")) return []
    const { usage, executed } = run.record
    const over = (kind: string, used: number, limit: number | undefined) =>
      limit !== undefined && used > limit ? [`${used} ${kind}, the budget is ${limit}`] : []
    const attempts = count(run.events.flatMap((event) => event._tag === "ToolAttempt" ? [event.tool] : []))
    const firsts = count(
      run.events.flatMap((event) => event._tag === "ToolAttempt" && event.attempt === 1 ? [event.tool] : [])
    )
    const fixes = count(
      run.events.flatMap((event) => event._tag === "FixFinished" && event.answer === "arguments" ? [event.tool] : [])
    )
    return [
      ...over("turns", usage.turns, budget.turns),
      ...over("tool calls", Math.max(usage.toolCalls, executed.length), budget.toolCalls),
      ...over("fixes", usage.fixes, budget.fixes),
      ...[...attempts].flatMap(([tool, times]) =>
        over(
          `retries of ${tool}`,
          times - (firsts.get(tool) ?? 0) - (fixes.get(tool) ?? 0),
          budget.retriesPerTool
        )
      )
    ]
  }),
  /**
   * A tool that writes reaches its executor at most once for each call id, and does no more than it was called. One that
   * hands on idempotency keys may be asked again, and does it once for each key.
   */
  writes_at_most_once: ofEachRun((run, { subject: { tools } }) =>
    tools.filter(({ effects }) => effects === "write").flatMap(({ name }) => {
      const asked = run.sideEffects.filter(({ tool }) => tool === name)
      const done = asked.filter(({ duplicate }) => !duplicate)
      const executed = (run.record?.executed ?? []).filter(({ tool }) => tool === name)
      const keys = new Set(asked.map(({ key }) => key))
      const isKeyed = run.keyed.includes(name)
      const allowed = isKeyed ? keys.size : executed.length
      return [
        ...(isKeyed ?
          [] :
          moreThan(executed.map(({ callId }) => callId), 1).map(([id, times]) =>
            `${name} ${id} was executed ${times} times`
          )),
        ...(done.length > allowed ? [`${name} did it ${done.length} times, of ${allowed} that were asked for`] : [])
      ]
    })
  ),
  /** Each call id has exactly one result, whatever became of the call. */
  one_result_for_each_call: ofEachRun((run) => {
    const calls = (tag: "ToolCallStarted" | "ToolResult") =>
      run.events.flatMap((event) => event._tag === tag ? [`${event.path.join(" > ")} ${event.callId}`] : [])
    const results = count(calls("ToolResult"))
    return [
      ...moreThan(calls("ToolResult"), 1).map(([call, times]) => `${call} has ${times} results`),
      ...calls("ToolCallStarted").filter((call) => !results.has(call)).map((call) => `${call} has no result`)
    ]
  }),
  /** Every prompt, and the transcript however the run ended, has each call followed by its result, in order. */
  history_is_well_formed: ofEachRun((run) => [
    ...run.requests.flatMap(({ prompt }) => problemsOfHistory(prompt)),
    ...(run.record === undefined ? ["there is no record of the run"] : problemsOfHistory(run.record.transcript))
  ]),
  /** What stands in errors reaches neither model nor user, nor events, nor spans. (Causes of spans are the operator's.) */
  nothing_leaks: ofEachRun((run, { secret }) => {
    const places = {
      "a request to the model": run.requests.map(({ prompt }) => prompt.content),
      "an event": run.events,
      "the transcript": run.record?.transcript.content,
      "a span": run.spans
    }
    return Object.entries(places).flatMap(([place, content]) =>
      textOf(content).includes(secret) ? [`the secret is in ${place}`] : []
    )
  }),
  /** Streamed or not: the same outcome, conversation, executions and side effects. */
  streaming_agrees: ({ plain, streamed }) => {
    if (plain.injected.some(({ type }) => differsWhenStreamed.has(type))) return []
    const parts = (run: Simulation.Observation) => ({
      outcome: Simulation.outcome(run),
      conversation: conversation(run.record?.transcript),
      executions: textOf(run.record?.executed),
      "side effects": textOf(run.sideEffects),
      duration: String(run.elapsed)
    })
    const other: Readonly<Record<string, string>> = parts(streamed)
    return Object.entries(parts(plain)).flatMap(([part, value]) =>
      value === other[part]
        ? []
        : [{ run: "streamed" as const, problem: `${part}: ${value}\nstreamed: ${other[part]}` }]
    )
  },
  /** The same plan gives the same run, to the last event. */
  same_seed_same_run: ({ again, plain }) =>
    everything(plain) === everything(again) ? [] : [{ run: "again", problem: "the second run differs from the first" }],
  /** The run is over at its deadline, and does not hang. */
  deadline_is_kept: ofEachRun((run, { subject: { budget } }) => {
    const limit = budget.duration === undefined ? undefined : Duration.toMillis(budget.duration)
    if (limit === undefined) return []
    return [
      ...(run.stopped === undefined ? [] : [`the run did not end: ${run.stopped}`]),
      ...(run.elapsed > limit ? [`the run took ${run.elapsed} ms of ${limit}`] : [])
    ]
  }),
  /** Nothing is left running, however the run ended. */
  no_fiber_is_left: ofEachRun((run) => run.fibers === 0 ? [] : [`${run.fibers} fibers are alive after the run`]),
  /** One first and one last event. */
  one_terminal_event: ofEachRun((run) => {
    const finished = run.events.filter(({ _tag }) => _tag === "RunFinished").length
    return finished === 1 && run.events.at(-1)?._tag === "RunFinished" && run.events[0]?._tag === "RunStarted"
      ? []
      : [`${finished} terminal events, the last is ${run.events.at(-1)?._tag}`]
  })
} as const satisfies Readonly<Record<string, Law>>

/** The name of a law. */
export type LawName = keyof typeof all

/** How laws are checked. */
export interface Options {
  /** How many plans. Default: 100. */
  readonly runs?: number | undefined
  /** Where chance begins: the same seed checks the same plans. Default: 1. */
  readonly seed?: number | undefined
  /** Which laws. Default: all of them. */
  readonly laws?: ReadonlyArray<LawName> | undefined
  /** Laws of your own, by name. */
  readonly more?: Readonly<Record<string, Law>> | undefined
  /** How many faults a plan has at most. Default: 4. */
  readonly faults?: number | undefined
  /** Plays a broken trial again: what `LawBroken.replay` holds. */
  readonly replay?: string | undefined
}

/** What was checked. */
export interface LawsReport {
  readonly plans: number
  readonly laws: ReadonlyArray<string>
  /** How often each fault was injected. */
  readonly injected: Readonly<Record<string, number>>
  /** How often the runs ended in which way. */
  readonly outcomes: Readonly<Record<string, number>>
}

/** A law does not hold. */
export class LawBroken extends Schema.TaggedError<LawBroken>()("LawBroken", {
  law: Schema.String,
  problem: Schema.String,
  /** The smallest plan that was found to break it. */
  plan: FaultPlan.FaultPlan,
  scenario: Schema.String,
  /** The event at which the run was interrupted, where it is the interrupted run that breaks the law. */
  interruptAt: Schema.optionalKey(Schema.Int),
  timeline: Schema.String,
  replay: Schema.String
}) {
  override get message(): string {
    return [
      `Law ${this.law} does not hold: ${this.problem}`,
      "",
      `Plan (scenario ${this.scenario}${
        this.interruptAt === undefined ? "" : `, interrupted at event ${this.interruptAt}`
      }):`,
      FaultPlan.print(this.plan),
      "",
      "Timeline:",
      this.timeline,
      "",
      `Replay: ${this.replay}`
    ].join("\n")
  }
}

interface Drawn {
  readonly plan: FaultPlan.FaultPlan
  readonly scenario: string
  readonly interruptAt: number
}

const between = (minimum: number, maximum: number) => Schema.Int.check(Schema.isBetween({ minimum, maximum }))

const toFault = (type: string, amount: number, tags: ReadonlyArray<string>, reason: FaultPlan.ModelErrorReason) => {
  switch (type) {
    case "failure":
      return { type, ...(tags.length === 0 ? {} : { error: { _tag: tags[amount % tags.length]! } }) }
    case "delay":
    case "model_delay":
      return { type, millis: amount }
    case "rate_limit":
      return { type, retryAfter: amount }
    case "model_error":
      return { type, reason }
    case "stream_cut":
      return { type, after: amount % 8 }
    default:
      return { type }
  }
}

/** Draws plans for a subject. */
const drawn = <In, Out, E>(subject: Subject<In, Out, E>, faults: number): Arbitrary.Arbitrary<Drawn> => {
  const toolNames = subject.tools.map(({ name }) => name)
  const tags = Object.keys(subject.failures)
  const when = {
    from: between(1, 3),
    times: between(1, 3),
    probability: Schema.optionalKey(Schema.Literals([0.25, 0.5, 0.75])),
    amount: between(0, 90_000)
  }
  const onTool = Schema.Struct({
    tool: Schema.Literals(toolNames),
    type: Schema.Literals(FaultPlan.toolFaults),
    ...when
  })
  const onModel = Schema.Struct({
    type: Schema.Literals(FaultPlan.modelFaults),
    reason: FaultPlan.ModelErrorReason,
    ...when
  })
  const one = toolNames.length === 0 ? onModel : Schema.Union([onTool, onModel])
  const input = Schema.Struct({
    seed: between(0, 1_000_000),
    injections: Schema.Array(one).check(Schema.isMaxLength(faults)),
    scenario: Schema.Literals(Object.keys(subject.scenarios)),
    interruptAt: between(1, 40)
  })
  return Arbitrary.map(Arbitrary.schema(input), ({ injections, interruptAt, scenario, seed }) => ({
    scenario,
    interruptAt,
    plan: {
      seed,
      injections: injections.map((injection) => {
        const { amount, from, probability, times, type } = injection
        const reason = "reason" in injection ? injection.reason : "UnknownError"
        const fault = toFault(type, amount, tags, reason)
        return {
          ...("tool" in injection ? { tool: injection.tool } : undefined),
          fault,
          from,
          times,
          ...(probability === undefined ? undefined : { probability })
        } as FaultPlan.Injection
      })
    }
  }))
}

const secret = "planted-secret-5d41402abc4b2a76"

/**
 * Checks the laws on a subject under random plans of faults. The subject's `budget` is what it is held to.
 *
 * **Example** (A hundred ways for things to go wrong)
 *
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { Agent, Recovery, Tool } from "recourse"
 * import { Laws, ScriptedModel, Subject } from "@recourse/testing"
 *
 * const Lookup = Tool.make("lookup", { success: Schema.String, effects: "read", execute: () => Effect.succeed("Ada") })
 * const budget = { turns: 5, toolCalls: 5, duration: "30 seconds" } as const
 * const subject = Subject.make({
 *   agent: Agent.make("crm", { tools: [Lookup], defaults: { onError: Recovery.standard }, budget }),
 *   tools: [Lookup],
 *   budget,
 *   scenarios: { default: { input: "Who?", model: [ScriptedModel.call("lookup", {}), ScriptedModel.text("Ada")] } }
 * })
 *
 * const report = await Effect.runPromise(Laws.check(subject, { runs: 100 }))
 *
 * report.plans // => 100
 * ```
 */
export const check = <In, Out, E>(
  subject: Subject<In, Out, E>,
  options?: Options
): Effect.Effect<LawsReport, LawBroken> => {
  const names = options?.laws ?? Object.keys(all) as ReadonlyArray<LawName>
  const laws: ReadonlyArray<readonly [string, Law]> = [
    ...names.map((name) => [name, all[name]] as const),
    ...Object.entries(options?.more ?? {})
  ]
  const injected = new Map<string, number>()
  const outcomes = new Map<string, number>()
  const add = (counts: Map<string, number>, key: string) => counts.set(key, (counts.get(key) ?? 0) + 1)

  const property = ({ interruptAt, plan, scenario: name }: Drawn) =>
    Effect.gen(function*() {
      const scenario = subject.scenarios[name]!
      const plain = yield* Simulation.run(subject, scenario, { plan, secret })
      const trial: Trial = {
        subject: subject as Trial["subject"],
        secret,
        plain,
        again: yield* Simulation.run(subject, scenario, { plan, secret }),
        streamed: yield* Simulation.run(subject, scenario, { plan, secret, streaming: true }),
        interrupted: yield* Simulation.run(subject, scenario, {
          plan,
          secret,
          interruptAt: Math.min(interruptAt, Math.max(1, plain.events.length - 1))
        })
      }
      for (const { type } of plain.injected) add(injected, type)
      add(outcomes, Simulation.outcome(plain))
      for (const [law, holds] of laws) {
        const violation = holds(trial)[0]
        if (violation !== undefined) {
          return yield* new LawBroken({
            law,
            problem: `${violation.problem} (${violation.run} run)`,
            plan,
            scenario: name,
            ...(violation.run === "interrupted" ? { interruptAt } : undefined),
            timeline: Timeline.render(trial[violation.run]),
            replay: ""
          })
        }
      }
      return true
    })

  return Effect.flatMap(
    Arbitrary.checkEffect(drawn(subject, options?.faults ?? 4), property, {
      runs: options?.runs ?? 100,
      seed: options?.seed ?? 1,
      maxShrinks: 300,
      ...(options?.replay === undefined ? undefined : { replay: options.replay })
    }),
    (result): Effect.Effect<LawsReport, LawBroken> => {
      switch (result._tag) {
        case "Passed":
          return Effect.succeed({
            plans: result.runs,
            laws: laws.map(([name]) => name),
            injected: Object.fromEntries(injected),
            outcomes: Object.fromEntries(outcomes)
          })
        case "Falsified":
          return result.failure._tag === "PropertyError"
            ? Effect.fail(new LawBroken({ ...result.failure.error, replay: result.replay }))
            : Effect.die(new Error("A law answered neither yes nor no"))
        default:
          return Effect.die(new Error(Arbitrary.formatCheckFailure(result)))
      }
    }
  )
}

/** Makes a test of {@link check}: `Laws.test(vitest, subject)`. A broken law prints the shrunk plan and the timeline. */
export const test = <In, Out, E>(
  runner: Pick<TestRunner, "it">,
  subject: Subject<In, Out, E>,
  options?: Options & { readonly timeout?: number | undefined }
): void => {
  const runs = options?.runs ?? 100
  runner.it(
    `${subject.name} keeps the laws under ${runs} plans of faults`,
    () => Effect.runPromise(Effect.asVoid(check(subject, options))),
    options?.timeout ?? 120_000
  )
}
