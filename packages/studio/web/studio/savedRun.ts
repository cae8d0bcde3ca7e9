/** A run as files: a test that replays it, its failures as a fault plan of the test kit, and a request without secrets. */
import * as RunTimeline from "@recourse/server/RunTimeline"
import { exact } from "../shared/exact.ts"

/** A name of a file. */
export const fileOf = (runId: string): string => runId.replaceAll(/[^\w.-]/g, "_")

export const saveText = (name: string, text: string): void => {
  const url = URL.createObjectURL(new Blob([text], { type: "text/plain" }))
  const link = document.createElement("a")
  link.href = url
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(url), 10_000)
}

type Event = Parameters<RunTimeline.RunTimeline["next"]>[0]

const eventsOf = (log: string): ReadonlyArray<Event> =>
  log.split("\n").flatMap((line) => line === "" ? [] : [JSON.parse(line) as Event])

/** A request of a run's log, as JSON. */
export const redactedRequest = (log: string, number: number): string => {
  const timeline = RunTimeline.fromEvents(eventsOf(log))
  const request = timeline.requests.find((one) => one.number === number)
  if (request === undefined) throw new Error("The log of the run has no such request.")
  const { agent, toolChoice, tools, turn } = request
  return exact({ agent, turn, messages: timeline.messages(request), tools, toolChoice })
}

/** A test of the run, together with its log. */
export const testOf = (runId: string, agent: string): string =>
  `/** The run ${
    fileOf(runId)
  } of agent "${agent}" goes as it did: the model and the tools answer as they were recorded. */
import { Replay } from "@recourse/testing"
import { Effect, Option } from "effect"
import { readFileSync } from "node:fs"
import { assert, it } from "vitest"
// The agent of the run, and its tools.
import { agent, tools } from "./agent.ts"

it("${fileOf(runId)} goes as it did", async () => {
  const log = readFileSync(new URL("./${fileOf(runId)}.jsonl", import.meta.url), "utf8")
  const recording = Replay.fromEvents(await Effect.runPromise(Replay.parseLog(log)))
  const { difference } = await Effect.runPromise(Replay.run(agent, recording, { tools }))
  assert.strictEqual(Option.getOrElse(Option.map(difference, Replay.print), () => "no difference"), "no difference")
})
`

/** A fault of the test kit, as JSON of \`FaultPlan\`. */
export type Fault =
  | { readonly tool: string; readonly fault: Readonly<Record<string, unknown>>; readonly from: number }
  | { readonly fault: Readonly<Record<string, unknown>>; readonly from: number }

const modelReasons = new Set([
  "NetworkError",
  "RateLimitError",
  "QuotaExhaustedError",
  "AuthenticationError",
  "ContentPolicyError",
  "InvalidRequestError",
  "InternalProviderError",
  "InvalidResponseError",
  "InvalidOutputError",
  "UnknownError"
])

/** The fault of an attempt's error. One of a write may have come behind its effect; the plan has it before, as no log knows better. */
const toolFault = (error: string, reason: string | undefined): Readonly<Record<string, unknown>> | undefined => {
  switch (error) {
    case "Timeout":
      return { type: "timeout" }
    case "OutcomeUnknown":
      return { type: "timeout_after_commit" }
    case "Defect":
      return { type: "defect" }
    case "Interrupted":
      return undefined
    case "InvalidResult":
      return { type: "invalid_result" }
    default:
      return { type: "failure", error: { _tag: reason ?? error } }
  }
}

/** The recorded failures of tools and of the model. Executions of a tool and model calls are counted over the run. */
export const faultsOf = (log: string): ReadonlyArray<Fault> => {
  const executions = new Map<string, number>()
  const attempts = new Map<string, number>()
  const faults: Array<Fault> = []
  let modelCalls = 0
  for (const event of eventsOf(log)) {
    switch (event._tag) {
      case "ModelTurnStarted":
        modelCalls++
        break
      case "ModelRetry":
        // The call that failed, and the next one.
        faults.push({ fault: modelFault(event.error), from: modelCalls++ })
        break
      case "ModelTurnFailed":
        faults.push({ fault: modelFault(event.error), from: modelCalls })
        break
      case "ToolAttempt": {
        const nth = (executions.get(event.tool) ?? 0) + 1
        executions.set(event.tool, nth)
        attempts.set(`${event.agentRunId} ${event.callId} ${event.attempt}`, nth)
        break
      }
      case "ToolAttemptFailed": {
        const fault = toolFault(event.error, event.reason)
        const from = attempts.get(`${event.agentRunId} ${event.callId} ${event.attempt}`)
        if (fault !== undefined && from !== undefined) faults.push({ tool: event.tool, fault, from })
        break
      }
      default:
        break
    }
  }
  return faults
}

const modelFault = (error: string): Readonly<Record<string, unknown>> => ({
  type: "model_error",
  reason: modelReasons.has(error) ? error : "UnknownError"
})

/** The plan as the kit parses it. */
export const planOf = (faults: ReadonlyArray<Fault>): string =>
  `${exact({ seed: 1, injections: faults.map((fault) => ({ ...fault, times: 1 })) })}\n`

/** A test that runs the agent under the plan, with the recorded answers of its model, and without its services. */
export const failingTestOf = (runId: string, agent: string): string =>
  `/** The failures of the run ${
    fileOf(runId)
  } of agent "${agent}", injected by the test kit: no service is called for them. */
import { Conversation } from "@recourse/core"
import { FaultPlan, Faults, ScriptedModel } from "@recourse/testing"
import { Effect, Exit, Layer, Option } from "effect"
import { readFileSync } from "node:fs"
import { assert, it } from "vitest"
// The agent of the run, with its services, or stand-ins of them.
import { agent } from "./agent.ts"

const read = (ending: string) => readFileSync(new URL("./${fileOf(runId)}" + ending, import.meta.url), "utf8")

it("${fileOf(runId)} fails as it did", async () => {
  const plan = await Effect.runPromise(FaultPlan.parse(read(".faults.json")))
  const events = read(".jsonl").trim().split("\\n").map((line) => JSON.parse(line))
  const started = events.find(({ _tag }) => _tag === "RunStarted")
  const finished = events.findLast(({ _tag }) => _tag === "RunFinished")
  const turns = []
  const last = new Map()
  for (const event of events) {
    if (event._tag === "ModelTurnFinished") {
      const turn = { text: event.text, calls: [] }
      turns.push(turn)
      last.set(event.agentRunId, turn)
    } else if (event._tag === "ToolCallStarted" && event.parentCallId === undefined && !event.resumed) {
      const { agentRunId, callId: id, tool: name } = event
      last.get(agentRunId)?.calls.push({ id, name, params: JSON.parse(event.arguments) })
    }
  }
  const model = ScriptedModel.layer(
    turns.map(({ calls, text }) => calls.length === 0 ? ScriptedModel.text(text) : ScriptedModel.calls(calls))
  )
  const input = Option.getOrElse(Conversation.decode(started.input), () => started.input)
  const [exit, injected] = await Effect.runPromise(
    Effect.gen(function*() {
      const exit = yield* Effect.exit(agent.run(input))
      return [exit, yield* (yield* Faults.FaultLog).injected]
    }).pipe(Effect.provide(Faults.layer(plan).pipe(Layer.provideMerge(model))))
  )
  assert.strictEqual(injected.length, plan.injections.length)
  assert.strictEqual(Exit.isSuccess(exit) ? "success" : "failure", finished.outcome)
})
`
