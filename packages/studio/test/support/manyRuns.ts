/** 10,000 runs, one of which has 10,000 events: a list and a run of a busy day. */
import { type AgentEvent, Runs, RunUsage } from "@recourse/core"
import { Effect, Layer, Stream } from "effect"
import { Prompt } from "effect/ai"

const count = 10_000
const start = Date.UTC(2026, 0, 5, 12)

const statuses = ["completed", "completed", "failed", "completed", "cancelled"] as const

const infos: ReadonlyArray<Runs.RunInfo> = Array.from({ length: count }, (_, n) => ({
  runId: `run_${String(n).padStart(5, "0")}`,
  agent: n % 3 === 0 ? "travel" : "support",
  owner: `owner ${n % 50}`,
  status: statuses[n % statuses.length]!,
  startedAt: start + n * 1000,
  updatedAt: start + n * 1000 + 500,
  pending: []
}))

const newest = infos.toSorted(Runs.newestFirst)

/** The run with the many events. */
export const busy = infos[count - 2]!.runId

const common = (sequence: number) => ({
  runId: busy,
  agentRunId: busy,
  path: ["travel"],
  sequence,
  at: start + sequence * 5
})

/** Four events for each of its calls. */
const events: ReadonlyArray<AgentEvent.AgentEvent> = Array.from({ length: count }, (_, n): AgentEvent.AgentEvent => {
  if (n === 0) return { _tag: "RunStarted", version: 2, resumed: false, ...common(n) }
  if (n === count - 1) {
    return {
      _tag: "RunFinished",
      outcome: "success",
      output: "Done",
      usage: RunUsage.none,
      transcript: Prompt.empty,
      ...common(n)
    }
  }
  const call = { ...common(n), callId: `c${Math.floor((n - 1) / 4)}`, tool: "search_flights" }
  const parts = [
    { _tag: "ToolCallStarted", arguments: "{}", resumed: false, ...call },
    { _tag: "ToolAttempt", attempt: 1, delay: 0, arguments: "{}", ...call },
    { _tag: "ToolAttemptSucceeded", attempt: 1, ...call },
    { _tag: "ToolResult", isFailure: false, result: { flight: "Berlin-Porto" }, ...call }
  ] as const
  return parts[(n - 1) % 4]!
})

const unknown = (runId: string) => Effect.fail(new Runs.UnknownRun({ runId }))

/** These runs. */
export const layer: Layer.Layer<Runs.Runs> = Layer.succeed(Runs.Runs, {
  start: ({ agent }) => Effect.fail(new Runs.UnknownAgent({ agent, registered: [] })),
  get: (runId) => {
    const info = infos.find((info) => info.runId === runId)
    return info === undefined ? unknown(runId) : Effect.succeed(info)
  },
  wait: unknown,
  events: (_, from = 0) => Stream.fromIterable(events.slice(from).map((event, n) => ({ number: from + n, event }))),
  decide: unknown,
  cancel: unknown,
  list: (query = {}) => Effect.sync(() => newest.filter((run) => Runs.isOf(run, query)).slice(0, query.limit ?? 100))
})
