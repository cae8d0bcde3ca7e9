/** Laws about every run. */
import { Cause, Duration, Exit } from "effect"
import type { Prompt } from "effect/ai"
import { StoreTimeout } from "@recourse/core"
import * as Simulation from "../simulation/simulation.ts"
import { whyStopped } from "./whyStopped.ts"
import { problemsOfHistory } from "./wellFormedHistory.ts"
import { asManyAsAsked, done } from "./effectOrigins.ts"
import { changedKey, keysOfDoubles, numberedKeys, passKey } from "./keys.ts"
import { count, type Law, moreThan, namesOf, ofEachRun, partsOf, type Trial } from "./law.ts"
import { textOf } from "../text/text.ts"

/** Faults after which streaming has to differ: a started answer is not requested again. */
const differsWhenStreamed: ReadonlySet<string> = new Set(["stream_cut", "empty_answer", "truncated_answer"])

const storeTimeout = Duration.toMillis(StoreTimeout.CurrentStoreTimeout.defaultValue())

/** Time limit of a callback: the tool's timeout, or that of stores and of compensations. */
const callbackTimeout = (tools: Trial["subject"]["tools"], tool: string | undefined): number => {
  const declared = tools.find(({ name }) => name === tool)?.info.compensation?.timeout
  return Math.max(declared === undefined ? compensationTimeout : Duration.toMillis(declared), storeTimeout)
}

/** The default of `compensation.timeout`. */
const compensationTimeout = 30_000

const isStartOfWrite = ({ _tag }: Simulation.Observation["events"][number]): boolean =>
  _tag !== "RunStarted" && _tag !== "RunFinished"

const conversation = (prompt: Prompt.Prompt | undefined): string =>
  textOf(prompt?.content.map(({ content, role }) => ({ role, content })))

type Request = Simulation.Observation["requests"][number]

/** The messages of all requests, each once: a request repeats those of the one before it. */
const messagesOf = (requests: ReadonlyArray<Request>): ReadonlySet<Prompt.Message> =>
  new Set(requests.flatMap(({ prompt }) => prompt.content))

/** Requests to the model: the texts of messages, and each request by their numbers. */
const asked = (requests: ReadonlyArray<Request>): ReadonlyArray<unknown> => {
  const texts = new Map([...messagesOf(requests)].map((message) => [message, textOf(message)]))
  const numbers = new Map([...new Set(texts.values())].map((text, number) => [text, number]))
  return [...numbers.keys(), requests.map(({ prompt }) => prompt.content.map((one) => numbers.get(texts.get(one)!)))]
}

/** All of a run, part by part: parts with the clearest differences come first. */
const everything = (run: Simulation.Observation): Readonly<Record<string, ReadonlyArray<unknown>>> => ({
  message: asked(run.requests),
  "side effect": numberedKeys(run.sideEffects),
  event: run.events,
  fault: run.injected,
  pause: run.pauses.map(({ decidedAt, decisions, snapshot: { mac } }) => ({ decidedAt, decisions, mac })),
  record: [run.record],
  end: [Simulation.outcome(run), run.elapsed]
})

/** The part of two texts around their first difference. */
const around = (text: string, other: string): string => {
  let at = 0
  while (at < text.length && text[at] === other[at]) at++
  const start = Math.max(0, at - 40)
  return `${start === 0 ? "" : "…"}${text.slice(start, at + 60)}${text.length > at + 60 ? "…" : ""}`
}

/** Describes the first difference between two runs. */
const firstDifference = (run: Simulation.Observation, other: Simulation.Observation): string | undefined => {
  const others = everything(other)
  for (const [part, items] of Object.entries(everything(run))) {
    const theirs = others[part]!
    for (let index = 0; index < Math.max(items.length, theirs.length); index++) {
      const [one, two] = [items, theirs].map((all) => index < all.length ? textOf(all[index]) : "none")
      if (one !== two) return `${part} ${index + 1} was ${around(one!, two!)}, then ${around(two!, one!)}`
    }
  }
  return undefined
}

/** True if a run has started: one that is interrupted at its first operations may not have. */
const hasStarted = ({ events, interrupted }: Simulation.Observation): boolean => !interrupted || events.length > 0

const howItEnded = (run: Simulation.Observation): string =>
  Exit.isFailure(run.exit) ? Cause.prettyErrors(run.exit.cause)[0]?.message ?? Simulation.outcome(run) : "success"

export const runLaws = {
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
   * A tool that writes reaches its executor at most once for each call id. One that hands on idempotency keys may be asked again, and
   * does no more different things in all attempts of a call than one of them has asked for.
   */
  writes_at_most_once: ofEachRun((run, { subject: { tools } }) =>
    namesOf(tools, ({ effects }) => effects === "write").flatMap((name) => {
      const times = done(run).filter(({ tool }) => tool === name).length
      const allowed = asManyAsAsked(run, name)
      const executed = (run.record?.executed ?? []).filter(({ tool }) => tool === name)
      return [
        ...(run.keyed.includes(name)
          ? []
          : moreThan(executed.map(({ callId }) => callId), 1).map(([id, times]) =>
            `${name} ${id} was executed ${times} times`
          )),
        ...(times > allowed
          ? [`${name} did it ${times} times, of ${allowed} that were asked for${keysOfDoubles(run, name)}`]
          : [])
      ]
    })
  ),
  /** Each call id has exactly one result, whatever became of the call; none only if the run ended while it waits. */
  one_result_per_call: ofEachRun((run) => {
    const calls = (tag: "ToolCallStarted" | "ToolResult" | "ApprovalRequested") =>
      run.events.flatMap((event) => event._tag === tag ? [`${event.path.join(" > ")} ${event.callId}`] : [])
    const results = count(calls("ToolResult"))
    const last = partsOf(run.events).findLast((part, index) => index === 0 || part.some(isStartOfWrite))?.at(-1)
    const isWaiting = last?._tag === "RunFinished" && last.outcome === "paused"
    const asked = run.events.filter((event) => event._tag === "ApprovalRequested")
    const waiting = new Set(
      isWaiting
        ? [
          ...calls("ApprovalRequested"),
          // A call of an agent waits together with its inner calls.
          ...run.events.flatMap((event) =>
            event._tag === "ToolCallStarted" &&
              asked.some(({ path }) =>
                path.length > event.path.length && event.path.every((name, i) => name === path[i])
              )
              ? [`${event.path.join(" > ")} ${event.callId}`]
              : []
          )
        ]
        : []
    )
    return [
      ...moreThan(calls("ToolResult"), 1).map(([call, times]) => `${call} has ${times} results`),
      ...[...new Set(calls("ToolCallStarted"))].filter((call) => !results.has(call) && !waiting.has(call))
        .map((call) => `${call} has no result`)
    ]
  }),
  /** Every prompt, and the transcript however the run ended, has each call followed by its result, in order. */
  history_is_well_formed: ofEachRun((run) => [
    ...run.requests.flatMap(({ prompt }) => problemsOfHistory(prompt)),
    ...(run.record !== undefined
      ? problemsOfHistory(run.record.transcript)
      : hasStarted(run)
      ? [`there is no record of the run, which ended before it began: ${howItEnded(run)}`]
      : [])
  ]),
  /** Texts of errors reach neither model nor user, nor events, nor spans. (Causes of spans are the operator's.) */
  errors_are_redacted: ofEachRun((run, { secret }) => {
    const places = {
      "a request to the model": [...messagesOf(run.requests)].map(({ content }) => content),
      "an event": run.events,
      "the transcript": run.record?.transcript.content,
      "a snapshot": run.pauses.map(({ snapshot }) => snapshot),
      "a span": run.spans
    }
    return Object.entries(places).flatMap(([place, content]) =>
      textOf(content).includes(secret) ? [`the secret is in ${place}`] : []
    )
  }),
  /** Streamed or not: the same outcome, conversation, executions and side effects. */
  streaming_agrees: ({ again, plain, streamed }) => {
    if (plain.injected.some(({ type }) => differsWhenStreamed.has(type))) return []
    // Keys that two runs of one plan do not share are another law's.
    const isSteady = changedKey(plain, again) === undefined
    const parts = (run: Simulation.Observation) => ({
      outcome: Simulation.outcome(run),
      conversation: conversation(run.record?.transcript),
      executions: textOf(run.record?.executed),
      "side effects": textOf(
        (isSteady ? run.sideEffects : numberedKeys(run.sideEffects)).map(({ executions: _, ...effect }) => effect)
      ),
      duration: String(run.elapsed)
    })
    const other: Readonly<Record<string, string>> = parts(streamed)
    return Object.entries(parts(plain)).flatMap(([part, value]) =>
      value === other[part]
        ? []
        : [{ run: "streamed" as const, problem: `${part}: ${value}\nstreamed: ${other[part]}` }]
    )
  },
  /** The same plan gives the same run, to the last event, but for keys of services. */
  same_seed_same_run: ({ again, plain }) => {
    const difference = firstDifference(plain, again)
    return difference === undefined
      ? []
      : [{ run: "again", problem: `the second run differs from the first: ${difference}` }]
  },
  /** The same plan asks services under the same keys. */
  same_seed_same_keys: ({ again, plain }) => {
    const tool = changedKey(plain, again)
    return tool === undefined
      ? []
      : [{ run: "again", problem: `${tool} asks the service under another key in each run: ${passKey}` }]
  },
  /** The run is over at its deadline, and does not hang. The time that it waits for decisions does not count. */
  deadlines_are_respected: ofEachRun((run, { subject: { budget, tools } }) => {
    const limit = budget.duration === undefined ? undefined : Duration.toMillis(budget.duration)
    if (limit === undefined) return []
    // A store has its own time, behind the deadline too: completed calls are still to be recorded.
    const hung = run.injected.reduce((sum, { tool, type }) => {
      if (type === "store_hangs") return sum + storeTimeout
      return type === "callback_hangs" ? sum + callbackTimeout(tools, tool) : sum
    }, 0)
    return [
      ...whyStopped(run),
      ...(run.elapsed - run.waited - hung > limit ? [`the run took ${run.elapsed - run.waited} ms of ${limit}`] : [])
    ]
  }),
  /** No fiber is left running, at any end of the run. */
  no_fibers_leak: ofEachRun((run) => run.fibers === 0 ? [] : [`${run.fibers} fibers are alive after the run`]),
  /** One first and one last event; of a run that paused, of each of its parts, and all but the last part paused. */
  one_terminal_event: ofEachRun((run) => {
    if (!hasStarted(run)) return []
    const parts = partsOf(run.events)
    return [
      ...(run.events[0]?._tag === "RunStarted" ? [] : [`the first event is ${run.events[0]?._tag}`]),
      ...parts.flatMap((events, index) => {
        const finished = events.filter((event) => event._tag === "RunFinished")
        const isLast = index === parts.length - 1
        return finished.length !== 1 || events.at(-1)?._tag !== "RunFinished"
          ? [`${finished.length} terminal events, the last is ${events.at(-1)?._tag}`]
          : isLast || finished[0]?.outcome === "paused"
          ? []
          : [`the run continued after it had ended with ${finished[0]?.outcome}`]
      })
    ]
  })
} as const satisfies Readonly<Record<string, Law>>
