/** What idempotency, circuits, fallbacks and tasks do to the error type and the needs of a tool. */
import { Data, Effect, Schema } from "effect"
import type { AiError, LanguageModel } from "effect/ai"
import type { CircuitBreaker } from "effect/persistence"
import {
  Agent,
  type Approval,
  type Budget,
  type IdempotencyLedger,
  Reconciliation,
  Recovery,
  Tool,
  ToolCall,
  type ToolError
} from "@recourse/core"
import { type Equals, holds } from "./assert.ts"

/** What any agent can fail with. */
type Own = AiError.AiError | Budget.BudgetExceeded

class Declined extends Data.TaggedError("Declined") {}
class Lost extends Data.TaggedError("Lost") {}
type Left<T> = Tool.Error<T>
type Execution = ToolError.ExecutionError<Declined | Lost>
type Ledger = ToolError.OutcomeUnknown | ToolError.IdempotencyConflict | ToolError.LedgerUnavailable

const parameters = Schema.Struct({ order: Schema.Int })
const execute = ({ order }: { readonly order: number }): Effect.Effect<string, Declined | Lost> =>
  order === 0 ? Effect.fail(new Declined()) : Effect.succeed("paid")

// --- idempotency of a tool: what may have happened may be retried, and has no fallback

const Pay = Tool.make("pay", {
  parameters,
  success: Schema.String,
  effects: "write",
  timeout: "5 seconds",
  idempotency: true,
  execute
})
holds<
  Equals<Left<typeof Pay>, ToolError.InvalidArgs | ToolError.InvalidResult | Execution | Ledger>
>()
holds<Equals<Tool.Services<typeof Pay>, IdempotencyLedger.IdempotencyLedger>>()

declare const bank: Effect.Effect<Reconciliation.Reconciliation<string>, Lost, "bank">
const Reconciled = Tool.make("pay", {
  parameters,
  success: Schema.String,
  effects: "write",
  execute,
  idempotency: { key: ({ order }) => order.toFixed(), rejected: ["Declined"], reconcile: () => bank }
})
holds<Equals<Left<typeof Reconciled>, ToolError.InvalidArgs | ToolError.InvalidResult | Execution | Ledger>>()
holds<Equals<Tool.Services<typeof Reconciled>, IdempotencyLedger.IdempotencyLedger | "bank">>()

const NotPassedOn = Tool.make("pay", {
  parameters,
  success: Schema.String,
  effects: "write",
  timeout: "5 seconds",
  execute
})
holds<
  Equals<
    Left<typeof NotPassedOn>,
    ToolError.InvalidArgs | ToolError.InvalidResult | Execution | ToolError.OutcomeUnknown
  >
>()
holds<Equals<Tool.Services<typeof NotPassedOn>, never>>()

const operated = NotPassedOn.pipe(Tool.onError(Recovery.idempotent()))
holds<Equals<Left<typeof operated>, ToolError.InvalidArgs | ToolError.InvalidResult | Execution | Ledger>>()
holds<Equals<Tool.Services<typeof operated>, IdempotencyLedger.IdempotencyLedger>>()

Tool.make("bad", {
  parameters,
  success: Schema.String,
  execute,
  // @ts-expect-error a tag that the executor does not fail with
  idempotency: { rejected: ["Nope"] }
})
Tool.make("bad", {
  parameters,
  success: Schema.String,
  execute,
  // @ts-expect-error a result of another type than the tool's
  idempotency: { reconcile: () => Effect.succeed(Reconciliation.completed(1)) }
})

// --- a write with a key may wait for an approval, too

const Approved = Tool.make("pay", {
  parameters,
  success: Schema.String,
  effects: "write",
  timeout: "5 seconds",
  idempotency: { key: ({ order }) => order.toFixed() },
  needsApproval: ({ order }) => order > 100,
  execute
})
holds<
  Equals<
    Left<typeof Approved>,
    | ToolError.InvalidArgs
    | ToolError.InvalidResult
    | Execution
    | Ledger
    | ToolError.NotApproved
  >
>()
const pays = Agent.make("pays", { tools: [Approved], defaults: { onError: Recovery.standard } })
holds<
  Equals<
    Agent.Services<typeof pays>,
    LanguageModel.LanguageModel | IdempotencyLedger.IdempotencyLedger | Approval.SnapshotKey
  >
>()
holds<
  Equals<
    Agent.Error<typeof pays>,
    | Own
    | ToolError.InvalidResult
    | Execution
    | ToolError.IdempotencyConflict
    | Approval.ApprovalRequired
  >
>()

// --- what may have happened: no other answer takes its place, whatever the tool's keys

// @ts-expect-error a keyed write does not fail with Timeout: without an answer it may have happened
Pay.pipe(Tool.onError(Recovery.fallback("Timeout", Effect.succeed("cached"))))
// @ts-expect-error there is no fallback for an unknown outcome
Pay.pipe(Tool.onError(Recovery.fallback("OutcomeUnknown", Effect.succeed("cached"))))
const refused = Pay.pipe(Tool.onError(Recovery.fallback("ExecutionError", Effect.succeed("elsewhere"))))
holds<Equals<Left<typeof refused>, ToolError.InvalidArgs | ToolError.InvalidResult | Ledger>>()

// A write may be interrupted, raced or timed by whoever runs it: its outcome can be unknown although it never fails.
const Tick = Tool.make("tick", { effects: "write", execute: () => Effect.void })
holds<Equals<Left<typeof Tick>, ToolError.InvalidArgs | ToolError.InvalidResult | ToolError.OutcomeUnknown>>()

// Its executor is taken at its word.
const Says = Tool.make("says", {
  effects: "read",
  execute: (): Effect.Effect<void, ToolError.OutcomeUnknown | Lost> => Effect.fail(new Lost())
})
holds<
  Equals<
    Left<typeof Says>,
    | ToolError.InvalidArgs
    | ToolError.InvalidResult
    | ToolError.OutcomeUnknown
    | ToolError.ExecutionError<Lost>
  >
>()

// Nobody said what it does: a timeout is one, unless it has a key.
const options = { parameters, success: Schema.String, timeout: "5 seconds", execute } as const
const Undeclared = Tool.make("undeclared", options)
holds<
  Equals<Left<typeof Undeclared>, ToolError.InvalidArgs | ToolError.InvalidResult | Execution | ToolError.Timeout>
>()
const UndeclaredKeyed = Tool.make("undeclared", { ...options, idempotency: true })
holds<Equals<Left<typeof UndeclaredKeyed>, ToolError.InvalidArgs | ToolError.InvalidResult | Execution | Ledger>>()
const ReadKeyed = Tool.make("read", { ...options, effects: "read", idempotency: true })
holds<
  Equals<
    Left<typeof ReadKeyed>,
    ToolError.InvalidArgs | ToolError.InvalidResult | Execution | ToolError.Timeout | Ledger
  >
>()

// --- what standard recovery leaves

const standard = Pay.pipe(Tool.onError(Recovery.standard))
holds<
  Equals<
    Left<typeof standard>,
    ToolError.InvalidResult | ToolError.Escalation | Execution | ToolError.IdempotencyConflict
  >
>()

// --- circuits

const circuit = NotPassedOn.pipe(
  Tool.onError((call) =>
    call.pipe(Recovery.circuitBreaker({ isFailure: (error) => error._tag === "OutcomeUnknown", hide: true }))
  )
)
holds<
  Equals<
    Left<typeof circuit>,
    | ToolError.InvalidArgs
    | ToolError.InvalidResult
    | Execution
    | ToolError.OutcomeUnknown
    | ToolError.CircuitOpen
  >
>()
holds<Equals<Tool.Services<typeof circuit>, CircuitBreaker.CircuitBreaker>>()

const fallen = circuit.pipe(
  Tool.onError(
    Recovery.fallback(["CircuitOpen", "ExecutionError"], Effect.succeed("cached"), {
      degraded: (answer) => ({ source: answer })
    })
  )
)
holds<
  Equals<Left<typeof fallen>, ToolError.InvalidArgs | ToolError.InvalidResult | ToolError.OutcomeUnknown>
>()

// --- parts, and tasks that go on

const Send = Tool.make("send", {
  effects: "write",
  execute: () => ToolCall.partial({ succeeded: [1], failed: [{ item: "b", code: "no", reason: "no" }] })
})
holds<
  Equals<
    Left<typeof Send>,
    | ToolError.InvalidArgs
    | ToolError.InvalidResult
    | ToolError.OutcomeUnknown
    | ToolError.PartialSuccess<number, string>
  >
>()

const Render = Tool.make("render", {
  success: Schema.String,
  effects: "write",
  timeout: "1 second",
  execute: () => ToolCall.pending("7"),
  status: (id): Effect.Effect<string, Lost | ToolError.Pending, ToolCall.ToolCall | "jobs"> =>
    id === "7" ? ToolCall.pending(id) : Effect.fail(new Lost())
})
holds<
  Equals<
    Left<typeof Render>,
    | ToolError.InvalidArgs
    | ToolError.InvalidResult
    | ToolError.OutcomeUnknown
    | ToolError.Pending
    | ToolError.Timeout
    | ToolError.ExecutionError<Lost>
  >
>()
holds<Equals<Tool.Services<typeof Render>, "jobs">>()

// @ts-expect-error a state of another type than the tool's result
Tool.make("render", { success: Schema.String, execute: () => ToolCall.pending("7"), status: () => Effect.succeed(1) })

const agent = Agent.make("a", { tools: [Render, Send], defaults: { onError: Recovery.standard } })
holds<
  Equals<
    Agent.Error<typeof agent>,
    Own | ToolError.InvalidResult | ToolError.ExecutionError<Lost>
  >
>()
holds<Equals<Agent.Services<typeof agent>, LanguageModel.LanguageModel | "jobs">>()

// --- a tool that is made in place is the tool that it would be elsewhere: without parameters and result

const inPlace = Agent.make("a", {
  tools: [
    Tool.make("look", { execute: () => Effect.void }),
    Tool.make("tick", { effects: "write", idempotency: true, execute: () => Effect.void })
  ]
})
holds<Equals<Agent.Services<typeof inPlace>, LanguageModel.LanguageModel | IdempotencyLedger.IdempotencyLedger>>()
