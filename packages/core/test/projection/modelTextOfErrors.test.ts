/** The model's text of an error alone, rule by rule. */
import { assert, describe, it } from "@effect/vitest"
import { Budget, ErrorProjection, ToolError } from "@recourse/core"
import { Duration, Schema } from "effect"
import { AiError } from "effect/ai"

const failures = await import(
  new URL("../../src/internal/projection/failures.ts", import.meta.url).href
) as Readonly<Record<string, (...args: ReadonlyArray<unknown>) => ErrorProjection.ToolFailure>>

const where = { tool: "pay", callId: "c1", attempt: 1, causes: [] } as const
const told = (error: unknown) => ErrorProjection.toolFailure(error, "run-1")
const unclear = new ToolError.OutcomeUnknown({ ...where, after: Duration.seconds(1) })
const slow = new ToolError.Timeout({ ...where, after: Duration.seconds(1) })
const escalated = (code: string, error?: unknown) =>
  new ToolError.Escalation({
    ...where,
    code,
    reason: "Ask the desk",
    severity: "high",
    ...error === undefined ? {} : { error }
  })

describe("an escalation", () => {
  it("under its error's code keeps the error's instruction", () => {
    const { message_for_model, ...rest } = told(escalated("timeout", slow))
    const { message_for_model: _, ...inner } = told(slow)
    assert.deepStrictEqual(rest, { ...inner, severity: "high" } as never)
    assert.strictEqual(message_for_model, "Ask the desk")
  })

  it("under another code keeps repeatability, and no instruction", () => {
    const { instruction, safe_to_retry } = told(escalated("desk", slow))
    assert.deepStrictEqual([instruction, safe_to_retry], [undefined, told(slow).safe_to_retry])
    assert.strictEqual(told(escalated("desk", unclear)).safe_to_retry, false)
  })

  it("an escalation without an error is not safe to retry", () =>
    assert.strictEqual(told(escalated("desk")).safe_to_retry, false))
})

it.each([null, undefined, 5, "hunter2", {}, []])(
  "what is no error of the library has no code of its own: %j",
  (error) => {
    const { code, message_for_model } = told(error)
    assert.strictEqual(code, "execution_error")
    assert.notInclude(message_for_model, "hunter2")
  }
)

describe("an agent", () => {
  it("that escalated: its reason, and the call must not be repeated", () => {
    const { code, message_for_model, safe_to_retry } = told(
      new ToolError.Escalated({ agent: "judge", reason: "A person decides", severity: "high" })
    )
    assert.deepStrictEqual([code, message_for_model, safe_to_retry], ["escalated", "A person decides", false])
  })

  it("that threw an exception: that the run ends, and not why", () => {
    const failure = told(new ToolError.AgentException({ agent: "judge", reason: "hunter2" }))
    assert.deepStrictEqual([failure.code, failure.message_for_model], ["exception", "The run ends."])
    assert.notInclude(JSON.stringify(failure), "hunter2")
  })
})

describe("arguments that do not fit", () => {
  const invalid = (issues: ReadonlyArray<ToolError.Issue>) =>
    told(new ToolError.InvalidArgs({ ...where, issues } as never))

  it("name the first place that has a path, and may be corrected", () => {
    const { field, safe_to_retry } = invalid([
      { path: [], expected: "an object", problem: "invalid" },
      { path: ["order", 0], expected: "text", problem: "invalid" }
    ])
    assert.deepStrictEqual([field, safe_to_retry], ["order.0", true])
  })

  it("name no path if there is none", () =>
    assert.notProperty(invalid([{ path: [], expected: "an object", problem: "invalid" }]), "field"))
})

const model = (reason: AiError.AiErrorReason) =>
  AiError.make({ module: "LanguageModel", method: "generateText", reason })
const declared = (said: Partial<ToolError.Declared>) =>
  new ToolError.ExecutionError({
    ...where,
    reason: "hunter2",
    declared: { code: "no_seat", repeatable: false, ...said }
  })
const failed = [{ item: "b", code: "sold_out", reason: "No seats" }] as const
const missing = { path: ["seat"], expected: "text", problem: "missing" } as const
const wrong = { path: [], expected: "an object", problem: "invalid" } as const
const went = "Something went wrong. Please try again later."
const slowly = "The service is temporarily slow. Please try again later."
const doubtful = "I could not confirm whether this was done. Please check before trying again."
const onward = "Continue without it."
const later = "Try again later or another way."
const repeatable = "The same call with the same arguments is never done twice: it is safe to make it again. " +
  "Do not change the arguments before you know whether it happened."
const check = "Do not call again. Check first whether it happened."
const lost = "No answer came back. The requested action may have happened."
const unavailable = "The tool is not available."

/** Texts for model and user: code, text for the model, text for the user, safety of a repetition, and all else. */
type Row = readonly [what: unknown, code: string, model: string, user: string, isSafe: boolean, more?: object]

const ofErrors: ReadonlyArray<Row> = [
  // An error of a program is none of ours, though it has the tag of one.
  ...[
    "anything",
    undefined,
    ...["Timeout", "PartialSuccess", "Escalation"].map((_tag) => ({ _tag, reason: "hunter2" }))
  ].map(
    (error): Row => [error, "execution_error", "Tool execution failed.", went, false]
  ),
  [
    new ToolError.InvalidArgs({ ...where, issues: [wrong, missing] }),
    "invalid_arguments",
    "The arguments do not fit: an object; seat: text",
    "I need more information to do that.",
    true,
    {
      field: "seat",
      issues: [wrong, missing],
      instruction: "Call again with the missing arguments. Ask the user for unknown values: do not make them up."
    }
  ],
  [
    new ToolError.InvalidArgs({ ...where, issues: [missing], isRead: true }),
    "missing_required_field",
    "The arguments do not fit: seat: text",
    "I need more information to do that.",
    true,
    { field: "seat", issues: [missing], instruction: "Call again with corrected arguments." }
  ],
  [
    new ToolError.InvalidArgs({ ...where, issues: [wrong] }),
    "invalid_arguments",
    "The arguments do not fit: an object",
    "I need more information to do that.",
    true,
    { issues: [wrong], instruction: "Call again with corrected arguments." }
  ],
  [slow, "timeout", "The tool did not answer in time.", slowly, false, { instruction: later }],
  [
    new ToolError.Timeout({ ...where, after: Duration.seconds(1), repeatable: true }),
    "timeout",
    "The tool did not answer in time.",
    slowly,
    true,
    { instruction: later }
  ],
  [unclear, "outcome_unknown", lost, doubtful, false, { instruction: check }],
  [
    new ToolError.OutcomeUnknown({ ...where, after: Duration.zero, repeatable: true }),
    "outcome_unknown",
    lost,
    doubtful,
    true,
    { instruction: repeatable }
  ],
  // The declaration of an error is used if it was written for an unknown outcome, and not if it declares "not done".
  [
    new ToolError.OutcomeUnknown({
      ...where,
      after: Duration.zero,
      declared: { code: "x", repeatable: false, outcome: "unknown", model: "Look it up.", user: "We will see." }
    }),
    "outcome_unknown",
    "Look it up.",
    "We will see.",
    false,
    { instruction: check }
  ],
  [
    new ToolError.OutcomeUnknown({
      ...where,
      after: Duration.zero,
      declared: { code: "x", repeatable: false, outcome: "not_done", model: "Not booked.", user: "Not booked." }
    }),
    "outcome_unknown",
    lost,
    doubtful,
    false,
    { instruction: check }
  ],
  [
    new ToolError.IdempotencyConflict({ ...where, entry: "e" }),
    "idempotency_conflict",
    "Not done: the same key was used before with other arguments. The state is uncertain.",
    "I could not find out the outcome. A person must look at it.",
    false
  ],
  [
    new ToolError.LedgerUnavailable({ ...where, reason: "hunter2" }),
    "ledger_unavailable",
    "Not done: the call could not be recorded, so it was not executed.",
    slowly,
    true,
    { instruction: later }
  ],
  [
    new ToolError.CircuitOpen({ ...where, circuit: "pay", retryAfter: Duration.millis(1500.2), until: 0 }),
    "circuit_open",
    "The tool is temporarily unavailable.",
    slowly,
    true,
    {
      retry_after_ms: 1501,
      instruction: "Do not call it before 1970-01-01T00:00:00.000Z. Continue without it, or another way."
    }
  ],
  [
    new ToolError.PartialSuccess({ ...where, succeeded: ["a"], failed }),
    "partial_success",
    "1 parts were done and 1 were not.",
    "A part of it was done.",
    false,
    {
      succeeded: ["a"],
      failed,
      instruction: "Do not repeat the completed parts. Decide about each of the others."
    }
  ],
  [
    new ToolError.InvalidResult({ ...where, issues: [wrong] }),
    "invalid_result",
    "The tool ran, but its result cannot be used.",
    went,
    false
  ],
  [
    new ToolError.ExecutionError({ ...where, reason: "hunter2" }),
    "execution_error",
    "Tool execution failed.",
    went,
    false
  ],
  [declared({}), "no_seat", "Tool execution failed.", went, false],
  // Safe if it had no effect or may be repeated, and may succeed later.
  [
    declared({ code: "rate_limited", outcome: "not_done", user: "Later!", model: "Later.", retryAfter: 7 }),
    "rate_limited",
    "Later.",
    "Later!",
    true,
    { retry_after_ms: 7, instruction: "Try again later." }
  ],
  [
    declared({ code: "rate_limited", outcome: "unknown" }),
    "rate_limited",
    "The service limits how often it may be called.",
    "There are too many requests at the moment. Please try again later.",
    false,
    { instruction: "Try again later." }
  ],
  [declared({ outcome: "not_done" }), "no_seat", "Tool execution failed.", went, false],
  [declared({ transient: true, repeatable: true }), "no_seat", "Tool execution failed.", went, true],
  [
    new Budget.BudgetExceeded({ reason: "turns", agent: "a", limit: 1, used: 2 }),
    "budget_exceeded",
    "Tool execution failed.",
    "This took more than it may. I stopped.",
    false
  ],
  [
    new ToolError.NotApproved({ tool: "pay", callId: "c1" }),
    "approval_required",
    "This call was not made: it waits for an approval.",
    "This needs your approval.",
    false
  ],
  [escalated("desk"), "desk", "Ask the desk", went, false, { severity: "high" }],
  [
    escalated("desk", declared({ user: "The desk knows." })),
    "desk",
    "Ask the desk",
    "The desk knows.",
    false,
    { severity: "high" }
  ],
  [escalated("timeout", slow), "timeout", "Ask the desk", slowly, false, { severity: "high", instruction: later }],
  [
    new ToolError.Escalated({ agent: "judge", reason: "A person decides", severity: "high" }),
    "escalated",
    "A person decides",
    went,
    false
  ],
  [new ToolError.AgentException({ agent: "judge", reason: "hunter2" }), "exception", "The run ends.", went, false],
  [
    model(new AiError.RateLimitError({ retryAfter: Duration.millis(10.5) })),
    "rate_limited",
    "The service limits how often it may be called.",
    "There are too many requests at the moment. Please try again later.",
    false,
    { retry_after_ms: 11, instruction: "Try again later." }
  ],
  [
    model(new AiError.QuotaExhaustedError({})),
    "quota_exhausted",
    "The tool is not available: its quota is used up.",
    "The service's quota is used up. Please try again another day.",
    false,
    { instruction: onward }
  ],
  [
    model(new AiError.InvalidRequestError({ parameter: "temperature" })),
    "invalid_request",
    "The tool failed: its model refused the request.",
    "The service could not work with this request. Please put it another way.",
    false,
    { instruction: onward }
  ],
  [
    model(new AiError.InvalidRequestError({ parameter: "model" })),
    "model_not_found",
    unavailable,
    "The service is not set up correctly: its model was not found.",
    false,
    { instruction: onward }
  ],
  [
    model(new AiError.AuthenticationError({ kind: "InvalidKey" })),
    "authentication",
    unavailable,
    "The service is not available.",
    false,
    { instruction: onward }
  ],
  ...[
    new AiError.InternalProviderError({ description: "hunter2" }),
    new AiError.NetworkError({ reason: "TransportError", method: "POST", url: "http://models.test" })
  ].map((reason): Row => [
    model(reason),
    "upstream_error",
    "A service that the tool needs is down.",
    "A service that is needed is not available at the moment. Please try again later.",
    false,
    { instruction: later }
  ]),
  [
    model(new AiError.ContentPolicyError({ description: "hunter2" })),
    "unsafe_output",
    "The output of the tool was blocked as unsafe.",
    "Unsafe content was blocked.",
    false,
    { instruction: onward }
  ],
  [model(new AiError.UnknownError({})), "execution_error", "Tool execution failed.", went, false]
]

const of = (name: string, ...args: ReadonlyArray<unknown>) => failures[name]!(...args, "run-1")

const ofCalls: ReadonlyArray<Row> = [
  [
    of("toolNotFound", "fly".repeat(50), ["walk"]),
    "tool_not_found",
    `There is no tool "${"fly".repeat(21)}f…".`,
    went,
    false,
    { available_tools: ["walk"], instruction: "Use one of the available tools." }
  ],
  [of("notRun", false), "not_run", "Not run: the run ended before.", "This was not done.", true],
  [
    of("notRun", true),
    "not_run",
    "Not finished: the run ended while the tool was running.",
    "This was not done.",
    false
  ],
  [
    of("denied"),
    "permission_denied",
    "This call is not allowed.",
    "This is not allowed.",
    false,
    { instruction: "Do not make this call again. Continue without it." }
  ],
  ...[false, true].flatMap((undoes): ReadonlyArray<Row> => {
    const undoing = "Earlier writes of this run are compensated when you have answered: say so."
    return [
      [
        failures["rejected"]!("too dear", "run-1", undefined, undoes),
        "permission_denied",
        "A person rejected this call: too dear",
        "This is not allowed.",
        false,
        { instruction: undoes ? undoing : "Do not make this call again. Continue without it." }
      ],
      [
        failures["rejectedInPart"]!("too dear", "run-1", undefined, undoes),
        "outcome_unknown",
        "A part of this call was done. A person rejected another: too dear",
        doubtful,
        false,
        { instruction: undoes ? undoing : check }
      ]
    ]
  }),
  [
    of("rejected", "too dear"),
    "permission_denied",
    "A person rejected this call: too dear",
    "This is not allowed.",
    false,
    { instruction: "Do not make this call again. Continue without it." }
  ],
  [
    of("rejectedInPart", "too dear"),
    "outcome_unknown",
    "A part of this call was done. A person rejected another: too dear",
    doubtful,
    false,
    { instruction: check }
  ],
  [
    of("blocked", "ref-1"),
    "unsafe_output",
    "The output of the tool was blocked as unsafe. Reference: ref-1",
    "Unsafe content was blocked.",
    false,
    { instruction: onward }
  ],
  [
    of("waiting"),
    "approval_required",
    "This call was not made: it waits for an approval.",
    "This needs your approval.",
    false
  ],
  [
    of("doneInPart"),
    "outcome_unknown",
    "A part of this call was done. Another part has no approval.",
    doubtful,
    false,
    { instruction: check }
  ],
  [
    of("sameResult", 3),
    "repeated_call",
    "This call was not made: it gave the same result 3 times, and no call since then has given anything new.",
    went,
    false,
    {
      instruction: "Use the result that is already here, change the arguments, use another tool, or answer without it."
    }
  ],
  [
    of("repeatedCall", 3, "timeout"),
    "repeated_call",
    "This call failed 3 times with the same arguments and the same error (timeout).",
    went,
    false,
    { instruction: "Do not make this call again. Change the arguments, use another tool, or answer without it." }
  ],
  // A call that failed and may have been done all the same. Its own word stays, and not the sentence of its error.
  [of("mayHaveHappened", slow, false, true), "outcome_unknown", lost, doubtful, false, { instruction: check }],
  [of("mayHaveHappened", unclear, true, true), "outcome_unknown", lost, doubtful, false, { instruction: check }],
  [of("mayHaveHappened", unclear, false, false), "outcome_unknown", lost, doubtful, false, { instruction: check }],
  ...[unclear, slow].map((error): Row => [
    of("mayHaveHappened", error, true, false),
    "outcome_unknown",
    lost,
    doubtful,
    true,
    { instruction: repeatable }
  ]),
  ...[escalated("desk"), escalated("desk", slow)].map((error): Row => [
    of("mayHaveHappened", error, false, true),
    "outcome_unknown",
    "Ask the desk",
    doubtful,
    false,
    { severity: "high", instruction: check }
  ]),
  [
    of("mayHaveHappened", escalated("desk", declared({ model: "Ask the desk" })), false, true),
    "outcome_unknown",
    lost,
    doubtful,
    false,
    { instruction: check }
  ]
]

describe("texts for model and user", () => {
  const rows = [...ofErrors.map(([error, ...row]) => [told(error), ...row] as const), ...ofCalls]
  for (const [index, [failure, code, model, user, isSafe, more = {}]] of rows.entries()) {
    it(`${index < ofErrors.length ? "of an error" : "of a call"}: ${code}, "${model.slice(0, 40)}"`, () => {
      assert.deepStrictEqual(failure, {
        status: "error",
        code,
        message_for_model: model,
        message_for_user: user,
        safe_to_retry: isSafe,
        trace_id: "run-1",
        ...more
      } as never)
      // The schema of a failure has all its fields.
      assert.deepStrictEqual(Schema.decodeUnknownSync(ErrorProjection.ToolFailure)(failure), failure as never)
    })
  }

  it("texts of an untrusted tool name it in the failure schema", () => {
    const decode = Schema.decodeUnknownExit(ErrorProjection.ToolFailure)
    const failure = { ...of("denied"), untrusted: "page" }
    assert.deepStrictEqual(Schema.decodeUnknownSync(ErrorProjection.ToolFailure)(failure), failure)
    for (
      const change of [{ status: "ok" }, { code: undefined }, { failed: [{ item: 1 }] }, { retry_after_ms: 0.5 }]
    ) {
      assert.strictEqual(decode({ ...failure, ...change })._tag, "Failure")
    }
  })
})

describe("a failure that consists of the library's own texts passes no guard", () => {
  const { isOwn } = failures as unknown as {
    readonly isOwn: (failure: ErrorProjection.ToolFailure, user: (code: string) => string) => boolean
  }
  const user = (code: string) => told(escalated(code)).message_for_user
  const invalid = told(new ToolError.InvalidArgs({ ...where, issues: [missing] }))
  const cases: ReadonlyArray<readonly [what: string, failure: ErrorProjection.ToolFailure, isOwn: boolean]> = [
    ["a fixed sentence", of("denied"), true],
    ["what is made of a schema", invalid, true],
    ["not run", of("notRun", false), true],
    ["not finished", of("notRun", true), true],
    ["a person's reason", of("rejected", "too dear"), false],
    ["another text for the user", { ...of("denied"), message_for_user: "No!" }, false],
    ["another text with issues", { ...invalid, message_for_model: "Hm." }, false],
    ["the sentence of another code", { ...of("denied"), message_for_model: of("waiting").message_for_model }, false],
    ["another text of a call that was not run", { ...of("notRun", true), message_for_model: "Hm." }, false],
    ["a code of a program with a sentence of ours", {
      ...told(escalated("desk")),
      message_for_model: of("notRun", true).message_for_model
    }, false]
  ]
  for (const [what, failure, expected] of cases) {
    it(`${what}: ${expected}`, () => assert.strictEqual(isOwn(failure, user), expected))
  }
})
