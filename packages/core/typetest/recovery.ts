/** What each combinator does to the error type, and what must not compile. */
import { Data, Effect, Schedule, Schema } from "effect"
import type { AiError, LanguageModel } from "effect/ai"
import {
  Agent,
  type AgentError,
  AiToolkit,
  type Budget,
  ModelError,
  Recovery,
  Tool,
  type ToolCall,
  type ToolError
} from "@recourse/core"
import { type Equals, holds } from "./assert.ts"

/** What any agent can fail with. */
type Own = AiError.AiError | Budget.BudgetExceeded

class NotJson extends Data.TaggedError("NotJson")<{ readonly at: number }> {}
class Down extends Data.TaggedError("Down") {}
class Db extends Data.TaggedError("Db") {}

const Parse = Tool.make("parse", {
  parameters: Schema.Struct({ json: Schema.String }),
  success: Schema.Int,
  effects: "read",
  timeout: "5 seconds",
  execute: ({ json }): Effect.Effect<number, NotJson | Down> =>
    json === "" ? Effect.fail(new NotJson({ at: 0 })) : Effect.succeed(json.length)
})
type Parse = typeof Parse
type Left<T> = Tool.Error<T>
type Execution = ToolError.ExecutionError<NotJson | Down>

// --- what a tool can fail with

holds<Equals<Left<Parse>, ToolError.InvalidArgs | ToolError.InvalidResult | ToolError.Timeout | Execution>>()

const Pure = Tool.make("pure", { execute: () => Effect.void })
holds<Equals<Left<typeof Pure>, ToolError.InvalidArgs | ToolError.InvalidResult>>()

const Write = Tool.make("write", { effects: "write", timeout: "1 second", execute: () => Effect.void })
holds<Equals<Left<typeof Write>, ToolError.InvalidArgs | ToolError.InvalidResult | ToolError.OutcomeUnknown>>()

// @ts-expect-error a result that does not fit `success`
Tool.make("bad", { success: Schema.Int, execute: () => Effect.succeed("one") })

// --- what recovery of one tool removes and adds

const escalated = Parse.pipe(Tool.onError(Recovery.escalate("ExecutionError", "InvalidArgs")))
holds<Equals<Left<typeof escalated>, ToolError.InvalidResult | ToolError.Timeout | ToolError.Escalation>>()

const caught = Parse.pipe(Tool.onError((call) => call.pipe(Effect.catchTag("Timeout", () => Effect.succeed(0)))))
holds<Equals<Left<typeof caught>, ToolError.InvalidArgs | ToolError.InvalidResult | Execution>>()

const retried = Parse.pipe(
  Tool.onError((call) => call.pipe(Recovery.retry({ times: 2, schedule: Schedule.exponential("1 second") })))
)
holds<Equals<Left<typeof retried>, Left<Parse>>>()

const fallen = Parse.pipe(Tool.onError(Recovery.fallback(["Timeout", "ExecutionError"], Effect.fail(new Db()))))
holds<Equals<Left<typeof fallen>, ToolError.InvalidArgs | ToolError.InvalidResult | Db>>()

const oneReason = Parse.pipe(
  Tool.onError((call) => call.pipe(Recovery.catchReason("NotJson", ({ at }) => Effect.succeed(at))))
)
holds<
  Equals<
    Left<typeof oneReason>,
    ToolError.InvalidArgs | ToolError.InvalidResult | ToolError.Timeout | ToolError.ExecutionError<Down>
  >
>()

const allReasons = Parse.pipe(
  Tool.onError((call) =>
    call.pipe(Recovery.catchReasons({ NotJson: ({ at }) => Effect.succeed(at), Down: () => Effect.fail(new Db()) }))
  )
)
holds<Equals<Left<typeof allReasons>, ToolError.InvalidArgs | ToolError.InvalidResult | ToolError.Timeout | Db>>()

const standard = Parse.pipe(Tool.onError(Recovery.standard))
holds<Equals<Left<typeof standard>, ToolError.InvalidResult | ToolError.Escalation | Execution>>()

const keptGoing = Parse.pipe(Tool.onError(Recovery.keepGoing))
holds<Equals<Left<typeof keptGoing>, ToolError.InvalidResult | ToolError.Escalation>>()

// What an executor's error declares is not in its type: standard recovery may hand it to the model, and may leave it.
const onlyExecution = Recovery.standard(Effect.fail(null as unknown as Execution))
holds<Equals<Effect.Error<typeof onlyExecution>, ToolError.Escalation | Execution>>()

// @ts-expect-error a tag that is not there
Parse.pipe(Tool.onError((call) => call.pipe(Effect.catchTag("Nope", () => Effect.succeed(0)))))
// @ts-expect-error a tag that is not there
Parse.pipe(Tool.onError(Recovery.escalate("Nope")))
// @ts-expect-error a timeout that was not declared
Pure.pipe(Tool.onError(Recovery.fallback("Timeout", Effect.void)))
// @ts-expect-error an unknown outcome has no fallback
Write.pipe(Tool.onError(Recovery.fallback("OutcomeUnknown", Effect.void)))
// @ts-expect-error a reason that is not there
Parse.pipe(Tool.onError((call) => call.pipe(Recovery.catchReason("Nope", () => Effect.succeed(0)))))
// @ts-expect-error recovery of another type than the tool's
Parse.pipe(Tool.onError((call) => call.pipe(Effect.catchTag("Timeout", () => Effect.succeed("none")))))
// @ts-expect-error results are checked behind recovery
Parse.pipe(Tool.onError((call) => call.pipe(Effect.catchTag("InvalidResult", () => Effect.succeed(0)))))

// --- fixers

const text = Agent.fromFunction("text", (request: Recovery.FixRequest) => Effect.succeed(request.arguments))
const model = Agent.make("model", { tools: [Tool.escalate, Tool.throwException] })

const fixed = Parse.pipe(Tool.onError(Recovery.fix("InvalidArgs", text)))
holds<Equals<Left<typeof fixed>, Left<Parse>>>()

const fixedByModel = Parse.pipe(Tool.onError(Recovery.fix("InvalidArgs", model)))
holds<
  Equals<
    Left<typeof fixedByModel>,
    Left<Parse> | ToolError.Escalation | ToolError.AgentException | Own | ToolError.InvalidResult
  >
>()
holds<Equals<Tool.Services<typeof fixedByModel>, LanguageModel.LanguageModel>>()

// @ts-expect-error a fixer that answers a number
Parse.pipe(Tool.onError(Recovery.fix("InvalidArgs", Agent.fromFunction("n", () => Effect.succeed(1)))))
Parse.pipe(
  // @ts-expect-error a fixer whose result does not fit the tool's
  Tool.onError(Recovery.fix("ExecutionError", Agent.fromFunction("r", () => Effect.succeed(Recovery.fixResult("x")))))
)
// @ts-expect-error a fixer that takes something else
Parse.pipe(Tool.onError(Recovery.fix("InvalidArgs", Agent.fromFunction("d", (_: Date) => Effect.succeed("")))))
// @ts-expect-error only arguments and executions can be fixed
Parse.pipe(Tool.onError(Recovery.fix("Timeout", text)))

// --- agents

const loud = Agent.make("loud", { tools: [Parse] })
holds<Equals<Agent.Error<typeof loud>, Own | Left<Parse>>>()
holds<Equals<Agent.Services<typeof loud>, LanguageModel.LanguageModel>>()

const quiet = Agent.make("quiet", { tools: [escalated, Write], defaults: { onError: Recovery.standard } })
holds<Equals<Agent.Error<typeof quiet>, Own | ToolError.InvalidResult>>()

const silent = Agent.make("silent", {
  tools: [Parse],
  defaults: {
    onError: Recovery.policy({
      InvalidArgs: "escalate",
      ExecutionError: "escalate",
      Timeout: { retry: { times: 1 }, otherwise: "escalate" },
      InvalidResult: "escalate"
    })
  }
})
holds<Equals<Agent.Error<typeof silent>, Own>>()

const perTool = Agent.make("perTool", {
  tools: [Parse, Write],
  onToolError: {
    parse: (call) =>
      call.pipe(Recovery.escalate("ExecutionError", "InvalidArgs"), Effect.catchTag("Timeout", () => new Db())),
    write: Recovery.standard
  }
})
holds<Equals<Agent.Error<typeof perTool>, Own | ToolError.InvalidResult | Db>>()

class Store extends Data.TaggedError("Store") {}
declare const needs: Effect.Effect<number, Store, "service">
const serviced = Agent.make("serviced", { tools: [Parse], onToolError: { parse: Recovery.fallback("Timeout", needs) } })
holds<Equals<Agent.Services<typeof serviced>, LanguageModel.LanguageModel | "service">>()
holds<Equals<Extract<Agent.Error<typeof serviced>, Store>, Store>>()

const escalating = Agent.make("escalating", { tools: [Tool.escalate] })
holds<Equals<Extract<Agent.Error<typeof escalating>, ToolError.Escalated>, ToolError.Escalated>>()
holds<Equals<Extract<Agent.Error<typeof escalating>, ToolError.Escalation>, never>>()

Agent.make("a", {
  tools: [Parse],
  // @ts-expect-error a tool that is not there
  onToolError: { nope: Recovery.standard }
})
Agent.make("a", {
  tools: [Parse],
  onToolError: {
    // @ts-expect-error recovery of another type than the tool's
    parse: (call) => call.pipe(Effect.catchTag("Timeout", () => Effect.succeed("none")))
  }
})
Agent.make("a", {
  output: Schema.Int,
  // @ts-expect-error an answer of another type than the agent's
  onModelError: () => ModelError.respondWith("zero")
})
const answered = Agent.make("a", {
  output: Schema.Int,
  onModelError: (error, { attempt }) =>
    error.isRetryable && attempt < 3 ? ModelError.retry({ times: 2 }) : ModelError.respondWith(0)
})
holds<Equals<Agent.Output<typeof answered>, number>>()
// @ts-expect-error input of another type
answered.run(1)

const asTool = answered.pipe(
  Agent.andThen(Agent.fromFunction("s", (n: number) => Effect.succeed(String(n)))),
  Agent.asTool("ask", { description: "", parameters: Schema.String, success: Schema.String })
)
holds<
  Equals<
    Left<typeof asTool>,
    ToolError.InvalidArgs | ToolError.InvalidResult | ToolError.ExecutionError<Own | AgentError.InvalidOutput>
  >
>()

// @ts-expect-error agents that do not fit each other
Agent.andThen(answered, Agent.fromFunction("d", (_: Date) => Effect.void))

// --- conversions

const kit = AiToolkit.toToolkit([Parse], { defaults: { onError: Recovery.standard } })
type Handled = ReturnType<typeof kit.handle<"parse">>
holds<Equals<Effect.Error<Handled>, AiError.AiError>>()

export type Unused = ToolCall.ToolCall

// --- an agent that is made in place is the agent that it would be elsewhere

const together = Agent.all("together", [Agent.make("left", {}), Agent.make("right", {})])
holds<Equals<Agent.Error<typeof together>, Own>>()
holds<Equals<Agent.Services<typeof together>, LanguageModel.LanguageModel>>()

// --- fallbacks of the error, and of the arguments

const Dated = Tool.make("dated", {
  parameters: Schema.Struct({ id: Schema.String, at: Schema.DateTimeUtcFromString }),
  success: Schema.String,
  effects: "read",
  timeout: "1 second",
  execute: () => Effect.fail(new Db())
}).pipe(
  Tool.onError((call, params) => {
    holds<Equals<Effect.Success<typeof params>["id"], string>>()
    holds<Equals<Effect.Error<typeof params>, ToolError.InvalidArgs>>()
    return call.pipe(
      Recovery.fallback("ExecutionError", (error) => {
        holds<Equals<typeof error, ToolError.ExecutionError<Db>>>()
        return Effect.map(params, ({ id }) => id)
      }),
      Recovery.fallback(["Timeout"], ({ after }) => Effect.succeed(String(after)))
    )
  })
)
holds<Equals<Tool.Error<typeof Dated>, ToolError.InvalidArgs | ToolError.InvalidResult>>()
// @ts-expect-error the error of a timeout has no reason
Dated.pipe(Tool.onError(Recovery.fallback("InvalidArgs", ({ reason }) => Effect.succeed(reason))))

// --- errors whose tags are names of what every object inherits

class Built extends Data.TaggedError("constructor")<{ readonly on: number }> {}
class Prototype extends Data.TaggedError("__proto__") {}
const Inherits = Tool.make("inherits", {
  success: Schema.Int,
  effects: "read",
  execute: (): Effect.Effect<number, Down | Built | Prototype> => Effect.succeed(1)
})
const other = Inherits.pipe(Tool.onError((call) => call.pipe(Recovery.catchReasons({ Down: () => Effect.succeed(1) }))))
holds<
  Equals<
    Left<typeof other>,
    ToolError.InvalidArgs | ToolError.InvalidResult | ToolError.ExecutionError<Built | Prototype>
  >
>()
const own = Inherits.pipe(
  Tool.onError((call) =>
    call.pipe(
      Recovery.catchReasons({
        constructor: ({ on }: Built) => {
          holds<Equals<typeof on, number>>()
          return Effect.succeed(on)
        },
        ["__proto__"]: () => Effect.succeed(1)
      })
    )
  )
)
holds<
  Equals<Left<typeof own>, ToolError.InvalidArgs | ToolError.InvalidResult | ToolError.ExecutionError<Down>>
>()
Inherits.pipe(
  // @ts-expect-error a handler of another error
  Tool.onError((call) => call.pipe(Recovery.catchReasons({ constructor: (_: Db) => Effect.succeed(1) })))
)
