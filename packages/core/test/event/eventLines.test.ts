/** Lines of `AgentEvent.describe` for each event, in each of its forms; events without a line. */
import { assert, describe, it } from "@effect/vitest"
import { Prompt } from "effect/ai"
import { AgentEvent } from "@recourse/core"

const common = { runId: "r", agentRunId: "r", path: ["shop", "desk", "clerk"], sequence: 0, at: 0 }
const call = { callId: "c1", tool: "book" }
const turn = { turn: 2 }

const said = (event: object): string | undefined =>
  AgentEvent.describe({ ...common, ...event } as object as AgentEvent.AgentEvent)

const conversation = Prompt.fromMessages([
  Prompt.makeMessage("user", { content: [Prompt.makePart("text", { text: "first" })] }),
  Prompt.makeMessage("user", {
    content: [
      Prompt.makePart("text", { text: "what is" }),
      Prompt.makePart("file", { mediaType: "image/png", data: "x" })
    ]
  }),
  Prompt.makeMessage("assistant", { content: [Prompt.makePart("text", { text: "a cat" })] })
])
const wordless = Prompt.fromMessages([Prompt.makeMessage("system", { content: "s" })])

const long = "x".repeat(99)

const table: Readonly<Record<string, ReadonlyArray<readonly [fields: object, text: string | undefined]>>> = {
  RunStarted: [
    [{ input: "hi", resumed: false }, "clerk asked: hi"],
    [{ input: "hi", resumed: true }, "clerk continues"],
    [{ input: "hi\n\n  there", resumed: false }, "clerk asked: hi there"],
    [{ input: undefined, resumed: false }, "clerk asked: nothing"],
    [{ input: { a: 1 }, resumed: false }, "clerk asked: {\"a\":1}"],
    [{ input: conversation, resumed: false }, "clerk asked: what is (file)"],
    [{ input: wordless, resumed: false }, "clerk asked: "]
  ],
  AgentStarted: [
    [{ input: "hi", resumed: false }, "clerk asked: hi"],
    [{ input: "one\ntwo", resumed: false }, "clerk asked: one …"],
    [{ input: long, resumed: false }, `clerk asked: ${"x".repeat(93)}…`],
    [{ input: "x".repeat(93), resumed: false }, `clerk asked: ${"x".repeat(93)}`]
  ],
  RunFinished: [
    [{ outcome: "success", output: "bye" }, "clerk answered: bye"],
    [{ outcome: "paused", pending: [{ tool: "pay" }, { tool: "book" }] }, "clerk waits for a person: pay, book"],
    [{ outcome: "paused" }, "clerk waits for a person: "],
    [{ outcome: "interrupted" }, "clerk interrupted"],
    [{ outcome: "failure", error: "Down" }, "clerk failed: Down"],
    [{ outcome: "failure", error: "Down", code: "execution_error" }, "clerk failed: Down (execution_error)"]
  ],
  AgentFinished: [[{ outcome: "success" }, "clerk answered: nothing"]],
  SkillChosen: [[{ skill: "sums" }, "clerk works with the skill sums"]],
  ModelTurnStarted: [[turn, "turn 2 model called"]],
  TextDelta: [[turn, undefined]],
  TextFinished: [[turn, undefined]],
  ReasoningDelta: [[turn, undefined]],
  ReasoningFinished: [[turn, undefined]],
  ToolCallDelta: [[turn, undefined]],
  ModelRequested: [[turn, undefined]],
  ToolAttemptSucceeded: [[call, undefined]],
  ModelSource: [
    [{ ...turn, title: "Cats" }, "turn 2 source: Cats"],
    [{ ...turn, title: "Cats", url: "u" }, "turn 2 source: Cats (u)"]
  ],
  ModelFile: [[{ ...turn, mediaType: "image/png", data: new Uint8Array(3) }, "turn 2 file: image/png, 3 bytes"]],
  ProviderToolCall: [[{ ...turn, ...call, arguments: "{}" }, "turn 2 provider runs book {}"]],
  ProviderToolResult: [
    [{ ...turn, ...call, isFailure: true }, "turn 2 provider's book failed"],
    [{ ...turn, ...call, isFailure: false }, "turn 2 provider's book answered"]
  ],
  ModelTurnFinished: [
    [{ ...turn, text: "hello", toolCalls: 0, finishReason: "stop" }, "turn 2 model said: hello"],
    [{ ...turn, text: "hello", toolCalls: 1, finishReason: "stop" }, "turn 2 model said: hello"],
    [{ ...turn, text: "", toolCalls: 0, finishReason: "length" }, "turn 2 model gave no answer (length)"],
    [{ ...turn, text: "", toolCalls: 1, finishReason: "tool-calls" }, undefined]
  ],
  ModelTurnFailed: [[{ ...turn, error: "Lost" }, "turn 2 model failed: Lost"]],
  ModelRetry: [
    [{ ...turn, delay: 0 }, "turn 2 model called again at once"],
    [{ ...turn, delay: 1.4 }, "turn 2 model called again after 1 ms"],
    [{ ...turn, delay: 9_999 }, "turn 2 model called again after 9999 ms"],
    [{ ...turn, delay: 10_000 }, "turn 2 model called again after 10 s"]
  ],
  TransportRetry: [[{ ...turn, error: "503", delay: 5 }, "turn 2 HTTP 503, request sent again after 5 ms"]],
  ModelFallback: [[{ model: 2 }, "clerk next model: number 2"]],
  ModelSubstituted: [[turn, "turn 2 answered in the model's place"]],
  HistoryMended: [
    [
      { mended: [{ problem: "lost", tool: "pay" }, { problem: "twice", tool: "book" }] },
      "clerk conversation mended: lost pay, twice book"
    ]
  ],
  MessageJoined: [[{ ...turn, text: "In French." }, "turn 2 user added: In French."]],
  ContextCompacted: [
    [
      { ...turn, because: "tokens", tokens: 10, tokensBefore: 90 },
      "turn 2 conversation shortened from 90 to 10 tokens (tokens)"
    ]
  ],
  AnswerRestarted: [[turn, "turn 2 answer cut off, begins again"]],
  OutputCorrection: [[{ issues: ["a", "b"] }, "clerk answer does not fit, model corrects it: a; b"]],
  ToolCallStarted: [
    [{ ...call, arguments: "{}", resumed: false }, "book c1 {}"],
    [{ ...call, arguments: "{}", resumed: true }, "book c1 continues with {}"]
  ],
  ToolAttempt: [
    [{ ...call, attempt: 1, delay: 0 }, "book c1 attempt 1"],
    [{ ...call, attempt: 2, delay: 20_400 }, "book c1 attempt 2, after 20 s"]
  ],
  ToolAttemptFailed: [
    [{ ...call, attempt: 2, error: "Timeout" }, "book c1 attempt 2 failed: Timeout"],
    [
      { ...call, attempt: 2, error: "ExecutionError", reason: "Down" },
      "book c1 attempt 2 failed: Down (ExecutionError)"
    ]
  ],
  ToolAttemptRefused: [
    [{ ...call, error: "Down", because: "retry_budget" }, "book c1 not run again: the retry budget is used up"],
    [{ ...call, error: "Down" }, "book c1 not run again, because it has run: Down"],
    [{ ...call, error: "none" }, "book c1 not run again, because it has run"]
  ],
  ToolReplayed: [
    [{ ...call, waited: false }, "book c1 answered by the ledger"],
    [{ ...call, waited: true }, "book c1 answered by the ledger, after the call that was running"]
  ],
  ToolCircuitOpen: [
    [
      { ...call, circuit: "bank", retryAfter: 30_000 },
      "book c1 not run: the circuit bank is open, after 30 s it may be tried"
    ]
  ],
  ToolProgress: [
    [{ ...call, progress: 3 }, "book c1 3"],
    [{ ...call, progress: 3, total: 9, message: "rooms" }, "book c1 3 of 9: rooms"],
    [{ ...call, progress: 3, total: 9, untrusted: "web" }, "book c1 3 of 9 (untrusted)"]
  ],
  ToolPreliminaryResult: [
    [{ ...call, result: "half" }, "book c1 so far: half"],
    [{ ...call, result: { untrusted: true, content: "half" } }, "book c1 so far: (untrusted) half"]
  ],
  ToolCompensated: [
    [{ ...call, outcome: "undone" }, "book c1 undone"],
    [{ ...call, outcome: "not_happened" }, "book c1 no compensation needed: it has not happened"],
    [{ ...call, outcome: "not_undone", because: "failed" }, "book c1 NOT compensated, a person has to look: failed"],
    [
      { ...call, outcome: "not_undone", because: "failed", error: "Down" },
      "book c1 NOT compensated, a person has to look: failed (Down)"
    ]
  ],
  ToolPending: [[{ ...call, taskId: "t" }, "book c1 task t continues"]],
  ToolRetry: [[{ ...call, retry: 1, delay: 0 }, "book c1 decision: retry 1, at once"]],
  FixStarted: [[{ ...call, fixer: "f", fix: 2 }, "book c1 decision: ask f (fix 2)"]],
  FixFinished: [
    [{ ...call, fixer: "f", answer: "declined" }, "book c1 f: declined"],
    [{ ...call, fixer: "f", answer: "arguments", arguments: "{}" }, "book c1 f: arguments {}"]
  ],
  ToolFallback: [[{ ...call, error: "Timeout" }, "book c1 decision: fallback for Timeout"]],
  ToolEscalated: [[
    { ...call, severity: "high", reason: "no room" },
    "book c1 decision: escalate to the model (high): no room"
  ]],
  ApprovalRequested: [
    [{ ...call, code: "approval_required", reasons: [] }, "book c1 waits for a person (approval_required)"],
    [
      { ...call, code: "approval_expired", reasons: ["much", "late"] },
      "book c1 waits for a person (approval_expired): much; late"
    ]
  ],
  ApprovalDecided: [
    [{ ...call, decision: "approved" }, "book c1 approved by a person"],
    [{ ...call, decision: "edited", by: "ada", arguments: "{\"n\":2}" }, "book c1 edited by ada: {\"n\":2}"],
    [{ ...call, decision: "rejected", by: "ada", reason: "too dear" }, "book c1 rejected by ada: too dear"]
  ],
  ToolResult: [
    [{ ...call, isFailure: false, result: { n: 1 } }, "book c1 result for the model: {\"n\":1}"],
    [{ ...call, isFailure: false, result: null }, "book c1 result for the model: null"],
    [
      { ...call, isFailure: false, result: { untrusted: true, content: 3 } },
      "book c1 result for the model: (untrusted) 3"
    ],
    [{ ...call, isFailure: false, result: { untrusted: 1 } }, "book c1 result for the model: {\"untrusted\":1}"],
    [
      { ...call, isFailure: false, result: 3, degraded: { source: "cache" } },
      "book c1 result for the model: 3 (from cache)"
    ],
    [{ ...call, isFailure: true, code: "timeout", result: {} }, "book c1 result for the model: timeout"],
    [{ ...call, isFailure: true, result: {} }, "book c1 result for the model: failure"],
    [{ ...call, parentCallId: "c0", isFailure: false, result: 3 }, "book c1 result: ok"],
    [{ ...call, parentCallId: "c0", isFailure: true, code: "timeout", result: 3 }, "book c1 result: timeout"]
  ],
  BudgetThreshold: [[{ agent: "a", budget: "turns", limit: 9, used: 8 }, "budget turns of a: 8 of 9 used"]],
  BudgetExtended: [[{ agent: "a", budget: "turns", limit: 9 }, "budget turns of a extended to 9"]]
}

describe("an event in words", () => {
  it("has a row here, each of them", () => {
    const tags = AgentEvent.AgentEvent.members.map((member) => member.fields._tag.schema.literal)
    assert.deepStrictEqual(Object.keys(table).toSorted(), tags.toSorted())
  })

  it.each(Object.entries(table))("%s", (_tag, rows) => {
    assert.deepStrictEqual(rows.map(([fields]) => said({ _tag, ...fields })), rows.map(([, text]) => text))
  })

  it("prints no line for an event of an unknown kind", () => {
    assert.isUndefined(said({ _tag: "Later" }))
  })
})
