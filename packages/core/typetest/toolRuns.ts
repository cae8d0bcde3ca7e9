/** Types of runs for other loops: outcomes by tool, and the errors that recovery leaves. */
import { Context, Effect, type Layer, Schema, type Scope } from "effect"
import { type Budget, type IdempotencyLedger, Policy, Recovery, Tool, type ToolError, ToolRun } from "@recourse/core"
import { type Equals, holds } from "./assert.ts"

class Bank extends Context.Service<Bank, {}>()("typetest/Bank") {}
class Down extends Schema.TaggedError<Down>()("Down", {}) {}

const Pay = Tool.make("pay", {
  parameters: Schema.Struct({ amount: Schema.Number }),
  success: Schema.Date,
  effects: "idempotent",
  execute: () => Effect.andThen(Bank, Effect.fail(new Down()))
})
const Read = Tool.make("read", { success: Schema.Number, effects: "read", execute: () => Effect.succeed(1) })

declare const bank: Layer.Layer<Bank>
declare const ledger: Layer.Layer<IdempotencyLedger.IdempotencyLedger>

const made = ToolRun.make("loop", { tools: [Pay, Read] })
holds<Equals<Effect.Services<typeof made>, Bank | Scope.Scope>>()

export const outcomes = Effect.flatMap(made, (run) => {
  const pay = run.call({ id: "1", name: "pay", arguments: "{}" })
  holds<Equals<Effect.Success<typeof pay>, ToolRun.Outcome<Date>>>()
  type Errors =
    | ToolError.ExecutionError<Down>
    | ToolError.InvalidArgs
    | ToolError.InvalidResult
    | Budget.BudgetExceeded
    | ToolRun.ToolRunEnded
  holds<Equals<Effect.Error<typeof pay>, Errors>>()
  const other = run.call({ id: "1", name: "other", arguments: {} })
  holds<Equals<Effect.Success<typeof other>, ToolRun.Outcome<never>>>()
  return pay
})

// The policy of all tools handles their errors: those of the budget and of the results are left.
const handled = ToolRun.make("loop", { tools: [Pay, Read], defaults: { onError: Recovery.standard } })
holds<Equals<Extract<Effect.Error<typeof handled>, ToolError.InvalidArgs>, never>>()

// A policy that requests approvals needs no key: the run has no snapshot.
const asks = ToolRun.make("loop", {
  tools: [Read],
  policies: [Policy.make("all", () => Policy.requireApproval("ask"), { mayRequestApproval: true })]
})
holds<Equals<Effect.Services<typeof asks>, Scope.Scope>>()

// @ts-expect-error the run needs the services of its tools
export const withoutLayer = ToolRun.open("loop", { tools: [Pay] })
export const withLayer = ToolRun.open("loop", { tools: [Pay], layer: bank })
// @ts-expect-error of all of them
export const withOther = ToolRun.open("loop", { tools: [Pay], layer: ledger })
// @ts-expect-error there is no such option
ToolRun.make("loop", { tools: [Read], polices: [] })

const one = ToolRun.call(Pay, { id: "1", arguments: "{}", defaults: { onError: Recovery.standard } })
holds<Equals<Extract<Effect.Error<typeof one>, ToolError.InvalidArgs>, never>>()
holds<Equals<Effect.Success<typeof one>, ToolRun.Outcome<Date>>>()
holds<Equals<Effect.Services<typeof one>, Bank>>()
const plain = ToolRun.callPromise(Pay, { id: "1", arguments: "{}", layer: bank })
export const isDown = plain.then((outcome) =>
  outcome._tag === "Unhandled" && outcome.error._tag === "ExecutionError" && outcome.error.reason._tag
)
