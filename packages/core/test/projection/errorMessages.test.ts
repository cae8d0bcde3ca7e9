/** Texts of an error for operators and logs: the call, the attempt and the fault, and no value of a call. */
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Exit, Schema } from "effect"
import { AgentError, ConfigurationError, Guardrail, Journal, OutputGuard, Runs, ToolError } from "@recourse/core"

const call = {
  tool: "pay",
  callId: "c1",
  attempt: 2,
  causes: [{ attempt: 1, error: "Timeout" }, { attempt: 2, error: "ExecutionError", reason: "down" }]
}
const where = "tool \"pay\" (call c1, attempt 2)"
const issues: ReadonlyArray<ToolError.Issue> = [
  { path: [], expected: "expected an object", problem: "invalid" },
  { path: ["items", 0, "price"], expected: "expected a number", problem: "missing" }
]
const two = "expected an object; items.0.price: expected a number"
const more: ReadonlyArray<ToolError.Issue> = [...issues, ...issues]
const declared: ToolError.Declared = {
  code: "down",
  model: "It is down.",
  user: "Sorry.",
  retryAfter: 5,
  transient: true,
  repeatable: false,
  outcome: "not_done"
}
const after = Duration.seconds(3)

type Row = readonly [error: Error, message: string]

const ofTools: ReadonlyArray<Row> = [
  [new ToolError.InvalidArgs({ ...call, issues, isRead: true }), `Invalid arguments for ${where}: arguments: ${two}`],
  [new ToolError.ExecutionError({ ...call, reason: "down", declared }), `Execution failed in ${where}`],
  [new ToolError.Timeout({ ...call, after, repeatable: true }), `No answer within 3s from ${where}`],
  [
    new ToolError.OutcomeUnknown({ ...call, after, reason: "down", declared, underKey: true, repeatable: true }),
    `Outcome unknown after 3s in ${where}`
  ],
  [new ToolError.OutcomeUnknown({ ...call, after: Duration.zero }), `Outcome unknown in ${where}`],
  [
    new ToolError.IdempotencyConflict({ ...call, entry: "ab" }),
    `The idempotency key of ${where} belongs to a call with other arguments`
  ],
  [
    new ToolError.LedgerUnavailable({ ...call, reason: "down" }),
    `Not run, because the ledger is not available: ${where}`
  ],
  [
    new ToolError.CircuitOpen({ ...call, circuit: "pay", retryAfter: after, until: 9 }),
    `Circuit open for 3s: ${where}`
  ],
  [
    new ToolError.PartialSuccess({ ...call, succeeded: [1], failed: [{ item: 2, code: "down", reason: "Down." }] }),
    `1 of 2 parts failed in ${where}`
  ],
  [new ToolError.Pending({ ...call, taskId: "t1", retryAfter: after }), `Task t1 is pending in ${where}`],
  [new ToolError.InvalidResult({ ...call, issues }), `Invalid result of ${where}: result: ${two}`],
  [
    new ToolError.Escalation({ ...call, code: "down", reason: "It is down.", severity: "high", error: "down" }),
    `Escalation (high) from ${where}: It is down.`
  ]
]

const ofOthers: ReadonlyArray<Row> = [
  [new ToolError.NotApproved({ tool: "pay", callId: "c1" }), "Call c1 of tool \"pay\" needs an approval"],
  [
    new ToolError.NotCompensated({ tool: "pay", callId: "c1", because: "pending", arguments: { amount: 5 } }),
    "The call c1 of \"pay\" is not compensated (pending)"
  ],
  [
    new ToolError.NotCompensated({
      tool: "pay",
      callId: "c1",
      because: "failed",
      arguments: { amount: 5 },
      error: "Down",
      reason: "down"
    }),
    "The call c1 of \"pay\" is not compensated (failed: Down)"
  ],
  [
    new ToolError.Escalated({ agent: "clerk", reason: "I cannot.", severity: "low" }),
    "Agent \"clerk\" escalated (low): I cannot."
  ],
  [
    new ToolError.AgentException({ agent: "clerk", reason: "I cannot." }),
    "Agent \"clerk\" threw an exception: I cannot."
  ],
  [
    new AgentError.InvalidInput({ agent: "clerk", issues }),
    `The input of agent "clerk" does not fit its schema: ${two}`
  ],
  [
    new AgentError.InvalidInput({ agent: "clerk", issues: [...issues, issues[1]!] }),
    `The input of agent "clerk" does not fit its schema: ${two}; items.0.price: expected a number`
  ],
  [
    new AgentError.InvalidOutput({ agent: "clerk", issues: more }),
    `The answer of agent "clerk" does not fit its output schema: ${two}; expected an object; and 1 more`
  ],
  [
    new AgentError.SkillNotChosen({
      agent: "clerk",
      reason: "ambiguous",
      chosen: ["a", "b"],
      available: ["a", "b", "c"]
    }),
    "Agent \"clerk\" could not choose a skill (ambiguous): available are a, b, c"
  ],
  [new Runs.UnknownRun({ runId: "r1" }), "There is no run \"r1\""],
  [
    new Runs.UnknownAgent({ agent: "clerk", registered: ["chief", "cook"] }),
    "No agent \"clerk\" is registered: there are chief, cook"
  ],
  [new Runs.UnknownAgent({ agent: "clerk", registered: [] }), "No agent \"clerk\" is registered: there are none"],
  [
    new Runs.RunConflict({ runId: "r1", differs: "input" }),
    "Run \"r1\" was started with another input: use another id for this one"
  ],
  [
    new Runs.RunsUnavailable({ operation: "list", reason: new Error("down") }),
    "The store of runs does not answer: list"
  ],
  [new Guardrail.UnsafeInput({ category: "secrets" }), "Unsafe input: secrets"],
  [new OutputGuard.UnsafeOutput({ category: "secrets" }), "Unsafe output: secrets"],
  [
    new Journal.TransactionFailed({ reason: new Error("down") }),
    "The transaction of the call could not be committed, so no part of the call is stored"
  ],
  [
    new Journal.NonDeterminismError({ runId: "r1", step: "call c1" }),
    "Run \"r1\" is not deterministic: replay diverged from its log at \"call c1\". Usual causes: a deployment, or instructions that read the clock."
  ],
  [
    new ConfigurationError.ConfigurationError({ subject: "Tool \"pay\"", problem: "it has no name" }),
    "Tool \"pay\": it has no name"
  ]
]

const schemaOf = (error: Error): Schema.Codec<Error> => error.constructor as never

describe("an error", () => {
  it.effect.each([...ofTools, ...ofOthers])("says %s", ([error, message]) =>
    Effect.gen(function*() {
      assert.strictEqual(error.message, message)
      const again = yield* Effect.flatMap(
        Schema.encodeEffect(schemaOf(error))(error),
        Schema.decodeUnknownEffect(schemaOf(error))
      )
      assert.deepStrictEqual({ ...again }, { ...error }, "is read again with all of its fields")
      assert.strictEqual(again.message, message)
    }))

  it("an error of a transaction has the database's message", () => {
    const reason = new Error("down")
    assert.strictEqual(new Journal.TransactionFailed({ reason }).reason, reason)
  })

  it.effect.each<readonly [about: string, Kind: Schema.Codec<unknown, unknown>, json: object]>([
    ["an issue without a place", ToolError.InvalidArgs as never, { ...call, issues: [{ ...issues[0], path: 7 }] }],
    ["an issue of another kind", ToolError.InvalidResult as never, {
      ...call,
      issues: [{ ...issues[0], problem: "odd" }]
    }],
    ["a cause without a number", ToolError.Pending as never, { ...call, causes: [{ error: "Timeout" }], taskId: "t1" }],
    ["a declaration without a code", ToolError.ExecutionError as never, {
      ...call,
      reason: 1,
      declared: { ...declared, code: 5 }
    }],
    ["a part without a reason", ToolError.PartialSuccess as never, {
      ...call,
      succeeded: [],
      failed: [{ item: 2, code: "down" }]
    }]
  ])("is not read from what has %s", ([, Kind, json]) =>
    Effect.gen(function*() {
      const _tag =
        (Kind as unknown as { readonly fields: { readonly _tag: { schema: { literal: string } } } }).fields._tag
          .schema.literal
      assert.isTrue(Exit.isFailure(yield* Effect.exit(Schema.decodeUnknownEffect(Kind)({ ...json, _tag }))))
    }))

  it("recognises a call's error by identity, not by name", () => {
    for (const [error] of ofTools) assert.isTrue(ToolError.isToolError(error), error.name)
    for (const [error] of ofOthers) assert.isFalse(ToolError.isToolError(error), error.name)
    assert.isFalse(ToolError.isToolError({ ...ofTools[0]![0] }))
  })

  it("an error of a call has its cause, for operators", () => {
    const error = new Error("no connection")
    const causes = [
      new ToolError.ExecutionError({ ...call, reason: error }),
      new ToolError.OutcomeUnknown({ ...call, after, reason: error }),
      new ToolError.LedgerUnavailable({ ...call, reason: error }),
      new ToolError.Escalation({ ...call, code: "down", reason: "Down.", severity: "low", error })
    ].map(({ cause }) => cause)
    assert.deepStrictEqual(
      causes.map((cause) => cause instanceof Error && cause.message),
      causes.map(() => "no connection")
    )
  })
})
