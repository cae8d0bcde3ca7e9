/** Tools whose arguments and results no page sees, on each wire, in streamed arguments and in calls of the provider. */
import { assert, describe, it } from "@effect/vitest"
import { AgUiStream, UiMessageStream } from "@recourse/server"
import type { AgentEvent } from "@recourse/core"

const { publicEvent } = await import(new URL("../../src/internal/wire/publicEvent.ts", import.meta.url).href) as {
  readonly publicEvent: (event: AgentEvent.AgentEvent, shows: (tool: string) => boolean) => unknown
}

const common = { runId: "r", agentRunId: "r", path: ["clerk"], at: 1 }
const call = { ...common, callId: "c", tool: "search" }
const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2, cost: 0 }

/** A run's events of a call, its own and the provider's. */
const events = [
  { ...common, _tag: "RunStarted", version: 1, input: "Go", resumed: false },
  { ...common, _tag: "ModelTurnStarted", turn: 1 },
  { ...call, _tag: "ToolCallDelta", turn: 1, delta: "{\"query\":\"private" },
  { ...call, _tag: "ToolCallDelta", turn: 1, delta: "\"}" },
  { ...call, _tag: "ToolCallStarted", arguments: "{\"query\":\"private\"}", resumed: false },
  { ...call, _tag: "ToolProgress", attempt: 1, progress: 1, message: "private", untrusted: false },
  { ...call, _tag: "ToolPreliminaryResult", attempt: 1, result: "private" },
  { ...call, _tag: "ToolResult", isFailure: false, result: "private" },
  { ...call, _tag: "ProviderToolCall", callId: "p", turn: 1, arguments: "{\"query\":\"private\"}" },
  { ...call, _tag: "ProviderToolResult", callId: "p", turn: 1, isFailure: false, result: "private" },
  { ...common, _tag: "RunFinished", outcome: "success", output: "Done.", usage }
] as unknown as ReadonlyArray<AgentEvent.AgentEvent>

const wires = (
  shows: (tool: string) => boolean
): Readonly<Record<string, (event: AgentEvent.AgentEvent) => unknown>> => {
  const ui = UiMessageStream.make({ messageId: "m", approvalId: (id) => id, shows })
  const agUi = AgUiStream.make({ threadId: "t", runId: () => "r", interruptId: (id) => id, shows })
  return {
    "AI SDK": (event) => ui.next(event),
    "AG-UI": (event) => agUi.next(event),
    events: (event) => publicEvent(event, shows)
  }
}

describe("a hidden tool", () => {
  for (const name of Object.keys(wires(() => true))) {
    it(`is emitted by name, without arguments and results: ${name}`, () => {
      const told = (shows: (tool: string) => boolean) => JSON.stringify(events.map(wires(shows)[name]!))
      assert.include(told(() => true), "private")
      assert.notInclude(told((tool) => tool !== "search"), "private")
      assert.include(told((tool) => tool !== "search"), "search")
    })
  }
})
