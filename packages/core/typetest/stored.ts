/** Recoveries that are stored, or made for calls whose errors are type parameters, do to a call what they do in place. */
import { Data, Effect, flow, Schema } from "effect"
import type { CircuitBreaker } from "effect/persistence"
import { Agent, Recovery, Tool, type ToolCall, type ToolError } from "@recourse/core"
import { type Equals, holds } from "./assert.ts"

class NotJson extends Data.TaggedError("NotJson") {}
class Down extends Data.TaggedError("Down") {}

declare const off: boolean
const execute = (): Effect.Effect<number, NotJson | Down> => Effect.succeed(1)
const Parse = Tool.make("parse", { success: Schema.Int, effects: "read", timeout: "5 seconds", execute })

type Execution = ToolError.ExecutionError<NotJson | Down>
type Call = Effect.Effect<number, ToolError.InvalidArgs | ToolError.Timeout | Execution, ToolCall.ToolCall>
type Left<T> = Exclude<Tool.Error<T>, ToolError.InvalidResult>
type Without<Tag extends string> = Exclude<Left<typeof Parse>, Recovery.Tagged<Tag>>

// --- each kind, stored, as a tool's own recovery

const retry = Recovery.retry({ times: 1, while: () => true })
const retried = Parse.pipe(Tool.onError(retry))
holds<Equals<Tool.Error<typeof retried>, Tool.Error<typeof Parse>>>()

const retryTagged = Recovery.retry({ times: 1, while: (error: { readonly _tag: string }) => error._tag === "Timeout" })
const retriedTagged = Parse.pipe(Tool.onError((call) => call.pipe(retryTagged)))
holds<Equals<Tool.Error<typeof retriedTagged>, Tool.Error<typeof Parse>>>()

const retryDown = Recovery.retry({ times: 1, while: (error: Down) => error._tag === "Down" })
// @ts-expect-error the function does not take all that the call fails with
Parse.pipe(Tool.onError((call) => call.pipe(retryDown)))

const breaker = Recovery.circuitBreaker({ isFailure: (error: { readonly _tag: string }) => error._tag === "Timeout" })
const broken = Parse.pipe(Tool.onError(breaker))
holds<Equals<Left<typeof broken>, Left<typeof Parse> | ToolError.CircuitOpen>>()
holds<Equals<Tool.Services<typeof broken>, CircuitBreaker.CircuitBreaker>>()

const escalate = Recovery.escalate("Timeout")
const escalated = Parse.pipe(Tool.onError(escalate))
holds<Equals<Left<typeof escalated>, Without<"Timeout"> | ToolError.Escalation>>()
// @ts-expect-error nothing of this tag is left
Parse.pipe(Tool.onError((call) => call.pipe(escalate, escalate)))

const escalateWith = Recovery.escalateWith("Timeout", ({ _tag }) => ({ reason: _tag }))
const escalatedWith = Parse.pipe(Tool.onError(escalateWith))
holds<Equals<Left<typeof escalatedWith>, Without<"Timeout"> | ToolError.Escalation>>()

const fallback = Recovery.fallback(["Timeout", "InvalidArgs"], Effect.succeed(1))
const fallen = Parse.pipe(Tool.onError(fallback))
holds<Equals<Left<typeof fallen>, Execution>>()

const catchReason = Recovery.catchReason("Down", ({ _tag }) => Effect.succeed(_tag.length))
const caughtReason = Parse.pipe(Tool.onError(catchReason))
holds<Equals<Left<typeof caughtReason>, Without<"ExecutionError"> | ToolError.ExecutionError<NotJson>>>()

const catchReasons = Recovery.catchReasons({ Down: () => Effect.succeed(1), NotJson: () => Effect.succeed(2) })
const caughtReasons = Parse.pipe(Tool.onError(catchReasons))
holds<Equals<Left<typeof caughtReasons>, Without<"ExecutionError">>>()

const toText = Recovery.fix("InvalidArgs", Agent.fromFunction("f", () => Effect.succeed(Recovery.fixResult(1))))
const fixed = Parse.pipe(Tool.onError(toText))
holds<Equals<Left<typeof fixed>, Left<typeof Parse>>>()
const wrongFix = Recovery.fix("InvalidArgs", Agent.fromFunction("f", () => Effect.succeed(Recovery.fixResult("text"))))
// @ts-expect-error the call answers a number
Parse.pipe(Tool.onError(wrongFix))

const flowed = flow(Recovery.retry({ times: 1 }), Recovery.circuitBreaker())
const both = Parse.pipe(Tool.onError(flowed))
holds<Equals<Left<typeof both>, Left<typeof Parse> | ToolError.CircuitOpen>>()

// --- and as an agent's

const agent = Agent.make("a", {
  tools: [Parse],
  onToolError: { parse: (call) => call.pipe(catchReasons, retryTagged, escalate, fallbackArgs) }
})
const fallbackArgs = Recovery.fallback("InvalidArgs", Effect.succeed(1))
const bare = Agent.make("a", {})
holds<Equals<Agent.Error<typeof agent>, Agent.Error<typeof bare> | ToolError.InvalidResult>>()

// --- tables

const table: Recovery.Table = { InvalidArgs: "escalate", Timeout: "rethrow" }
holds<Equals<ReturnType<typeof ofTable>, Recovery.RecoveryPolicy<never, ToolError.Escalation, never>>>()
const ofTable = () => Recovery.policy(table)
const withTable = Agent.make("a", { tools: [Parse], defaults: { onError: Recovery.policy(table) } })
holds<Equals<Agent.Error<typeof withTable>, Agent.Error<typeof bare> | Tool.Error<typeof Parse>>>()

const model = Agent.make("model", {})
// @ts-expect-error a table that says nothing of its fixers has none that fail
Recovery.policy({ InvalidArgs: { fix: model, otherwise: "escalate" } } satisfies Recovery.Table)
const saying: Recovery.Table<Agent.Error<typeof model>, Agent.Services<typeof model>> = {
  InvalidArgs: { fix: model, otherwise: "escalate" }
}
const said = Agent.make("a", { tools: [Parse], defaults: { onError: Recovery.policy(saying) } })
holds<Equals<Agent.Error<typeof said>, Agent.Error<typeof bare> | Tool.Error<typeof Parse>>>()

// A policy that hands errors to the model only sometimes may fail with an escalation.
const sometimes = Recovery.policy({ Timeout: off ? "escalate" : "rethrow" })(Parse.call)
holds<
  Equals<typeof sometimes, Effect.Effect<number, Tool.Error<typeof Parse> | ToolError.Escalation, ToolCall.ToolCall>>
>()

// --- calls whose errors are type parameters

const generic = <A, E, R>(call: Effect.Effect<A, E | ToolError.InvalidArgs, R>) =>
  call.pipe(
    Recovery.retry({ times: 1, while: (error) => error !== undefined }),
    Recovery.circuitBreaker(),
    Recovery.escalateWith("InvalidArgs", (error) => ({ reason: error._tag }))
  )
const applied = generic(Recovery.escalate("Timeout")(Parse.call))
holds<
  Equals<
    typeof applied,
    Effect.Effect<
      number,
      Execution | ToolError.Escalation | ToolError.CircuitOpen | ToolError.InvalidResult,
      ToolCall.ToolCall | CircuitBreaker.CircuitBreaker
    >
  >
>()

// --- what is known of a call is known where its recovery is made

export const inPlace = (call: Call) => [
  call.pipe(Recovery.retry({ times: 1, while: (error) => error._tag === "Timeout" })),
  // @ts-expect-error there is no such tag
  call.pipe(Recovery.retry({ times: 1, while: (error) => error._tag === "Timeot" })),
  // @ts-expect-error nor is there here
  call.pipe(Recovery.escalate("Timeot")),
  // @ts-expect-error nor here
  call.pipe(Recovery.fallback("CircuitOpen", Effect.succeed(1)))
]
