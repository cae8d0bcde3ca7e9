/**
 * Events in their stored form: later versions decode events of this version. A changed row changes stored data of
 * users.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Option } from "effect"
import { Prompt } from "effect/ai"
import { AgentEvent, Conversation, EventJson } from "@recourse/core"

const common = {
  runId: "r1",
  agentRunId: "r1.2",
  parent: { agentRunId: "r1", callId: "call_1" },
  path: ["chief", "clerk"],
  sequence: 7,
  at: 1_700_000_000_000
}
const call = { ...common, callId: "pay_1", tool: "pay", parentCallId: "order_1" }
const turn = { ...common, turn: 2 }
const part = { ...turn, partId: "text_1" }
const conversation = Conversation.encode(Prompt.make("Pay."))
const usage = {
  turns: 1,
  toolCalls: 2,
  retries: 3,
  fixes: 4,
  transportRetries: 5,
  inputTokens: 6,
  cachedInputTokens: 7,
  outputTokens: 8,
  totalTokens: 9,
  cost: 0.5
}
const pending = {
  callId: "pay_1",
  tool: "pay",
  arguments: { amount: 5 },
  argumentsHash: "ab",
  reasons: ["above 100"],
  code: "approval_required",
  fixedBy: "mender",
  requestedAt: 1,
  expiresAt: 2
}
const start = { ...common, resumed: false, limits: { turns: 3 }, input: "Pay." }
const end = {
  ...common,
  outcome: "failure",
  output: "Paid.",
  error: "BudgetExceeded",
  code: "budget_exceeded",
  userMessage: "I stopped.",
  operatorMessage: "3 of 3 turns",
  retryAfter: 1_000,
  pending: [pending],
  usage
}

const stored: Readonly<Record<AgentEvent.AgentEvent["_tag"], object>> = {
  RunStarted: { ...start, version: 2 },
  RunFinished: { ...end, transcript: conversation, compacted: { count: 3, prompt: conversation } },
  AgentStarted: start,
  AgentFinished: end,
  SkillChosen: { ...common, skill: "refunds" },
  ModelTurnStarted: turn,
  ModelRequested: { ...turn, kept: 1, messages: conversation, tools: ["pay"], toolChoice: "none" },
  TextDelta: { ...part, delta: "Pa" },
  TextFinished: part,
  ReasoningDelta: { ...part, delta: "He w" },
  ReasoningFinished: part,
  ToolCallDelta: { ...turn, callId: "pay_1", tool: "pay", delta: "{\"am" },
  ModelSource: {
    ...turn,
    sourceId: "s1",
    title: "Prices",
    url: "https://example.com/",
    mediaType: "text/plain",
    fileName: "prices.txt"
  },
  ModelFile: { ...turn, mediaType: "image/png", data: "AQID" },
  ProviderToolCall: { ...turn, callId: "search_1", tool: "search", arguments: "{}" },
  ProviderToolResult: { ...turn, callId: "search_1", tool: "search", isFailure: false, result: ["found"] },
  ModelTurnFinished: {
    ...turn,
    text: "Paid.",
    toolCalls: 1,
    finishReason: "stop",
    inputTokens: 10,
    outputTokens: 2
  },
  ModelTurnFailed: { ...turn, error: "RateLimitError", operatorMessage: "429" },
  ModelRetry: { ...turn, retry: 1, delay: 250, error: "RateLimitError" },
  TransportRetry: { ...turn, retry: 1, delay: 250, error: "503", host: "example.com" },
  ModelFallback: { ...common, model: 2 },
  ModelSubstituted: { ...turn, error: "RateLimitError" },
  HistoryMended: { ...common, mended: [{ problem: "call_without_result", callId: "pay_1", tool: "pay" }] },
  MessageJoined: { ...turn, messageId: "m2", text: "In French, please." },
  ContextCompacted: { ...turn, because: "max_tokens", tokensBefore: 9_000, tokens: 900 },
  AnswerRestarted: { ...turn, retry: 1, text: "Pai" },
  OutputCorrection: { ...common, issues: ["amount: expected a number"] },
  ToolCallStarted: { ...call, arguments: "{\"amount\":5}", resumed: true },
  ToolAttempt: { ...call, attempt: 2, delay: 100, arguments: "{\"amount\":5}" },
  ToolAttemptSucceeded: { ...call, attempt: 2 },
  ToolAttemptFailed: { ...call, attempt: 2, error: "ExecutionError", reason: "Down", operatorMessage: "down" },
  ToolAttemptRefused: { ...call, error: "ExecutionError", because: "retry_budget" },
  ToolReplayed: { ...call, entry: "cd", waited: true },
  ToolCircuitOpen: { ...call, circuit: "pay", retryAfter: 500 },
  ToolProgress: { ...call, attempt: 1, progress: 1, total: 2, message: "half", untrusted: "fetch" },
  ToolPreliminaryResult: { ...call, attempt: 1, result: { rows: 1 } },
  ToolCompensated: { ...call, outcome: "not_undone", because: "failed", error: "Down" },
  ToolPending: { ...call, taskId: "t1" },
  ToolRetry: { ...call, retry: 1, delay: 100, error: "ExecutionError" },
  FixStarted: { ...call, fixer: "mender", fix: 1, error: "InvalidArgs" },
  FixFinished: { ...call, fixer: "mender", fix: 1, answer: "arguments", arguments: "{\"amount\":4}" },
  ToolFallback: { ...call, error: "ExecutionError" },
  ToolEscalated: { ...call, code: "not_found", reason: "There is none.", severity: "high" },
  ApprovalRequested: {
    ...call,
    pendingCallId: "chief_1/pay_1",
    code: "approval_required",
    arguments: "{\"amount\":5}",
    argumentsHash: "ab",
    reasons: ["above 100"],
    fixedBy: "mender",
    requestedAt: 1,
    expiresAt: 2
  },
  ApprovalDecided: {
    ...call,
    pendingCallId: "chief_1/pay_1",
    decision: "edited",
    by: "ada",
    reason: "too dear",
    before: "{\"amount\":5}",
    arguments: "{\"amount\":4}"
  },
  ToolResult: {
    ...call,
    isFailure: true,
    code: "permission_denied",
    userMessage: "This is not allowed.",
    retryAfter: 1_000,
    deniedBy: "policy",
    degraded: { source: "cache", asOf: "yesterday" },
    entry: "cd",
    result: { error: "denied" }
  },
  BudgetThreshold: { ...common, agent: "clerk", budget: "turns", threshold: 0.8, used: 8, limit: 10 },
  BudgetExtended: { ...common, agent: "clerk", budget: "turns", limit: 20 }
}

describe("a stored event", () => {
  const rows = Object.entries(stored).map(([_tag, fields]) => ({ _tag, ...fields }))

  it("has a row here for each kind that there is", () => {
    const kinds = AgentEvent.AgentEvent.members.map((kind) => kind.fields._tag.schema.literal)
    assert.deepStrictEqual(Object.keys(stored).toSorted(), kinds.toSorted())
  })

  it.effect.each(rows)("$_tag is read with all that stands in it", (json) =>
    Effect.sync(() => {
      const event = Option.getOrThrow(EventJson.decode(json))
      assert.deepStrictEqual<unknown>(EventJson.encode(event), json)
    }))

  it.effect.each<readonly [rule: string, json: unknown]>([
    ["of a kind that a later version may have", { ...common, _tag: "ToolApplauded" }],
    ["without its run", { _tag: "ModelFallback", model: 2 }],
    ["with an outcome that there is not", { ...end, _tag: "AgentFinished", outcome: "bored" }],
    ["of another version", { ...start, _tag: "RunStarted", version: 3 }],
    ["that is no object", "RunStarted"],
    ["of a nested agent without the run around it", { ...turn, _tag: "ModelTurnStarted", parent: { callId: "c1" } }],
    ["without all that was used", { ...end, _tag: "AgentFinished", usage: { ...usage, cost: "much" } }],
    ["that waits for a call without its hash", {
      ...end,
      _tag: "AgentFinished",
      pending: [{ ...pending, argumentsHash: null }]
    }],
    ["that has mended a call without a name", {
      ...common,
      _tag: "HistoryMended",
      mended: [{ problem: "call_without_result", callId: "pay_1" }]
    }],
    ["with an answer of a source without a name", {
      ...call,
      _tag: "ToolResult",
      isFailure: false,
      result: 1,
      degraded: { asOf: "yesterday" }
    }]
  ])("%s is none", ([, json]) => Effect.sync(() => assert.isTrue(Option.isNone(EventJson.decode(json)))))
})
