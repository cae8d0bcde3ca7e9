/** Recoveries that are functions of the call's arguments: where those are given, and what they cost. */
import { Context, Data, Effect, Schema, SchemaGetter } from "effect"
import { Agent, Recovery, Tool, type ToolCall, type ToolError } from "@recourse/core"
import { type Equals, holds } from "./assert.ts"

class Db extends Data.TaggedError("Db") {}

const Recorded = Tool.make("recorded", {
  parameters: Schema.Struct({ id: Schema.String, at: Schema.DateTimeUtcFromString }),
  success: Schema.String,
  effects: "read",
  timeout: "1 second",
  execute: () => Effect.fail(new Db())
})
type RecordedParams = Tool.ParamsOf<typeof Recorded>
const byParams = Recorded.pipe(
  Tool.onError(Recovery.fallback("ExecutionError", (error, params) => {
    holds<Equals<typeof error, ToolError.ExecutionError<Db>>>()
    holds<Equals<typeof params, RecordedParams>>()
    return Effect.map(params, ({ id }) => id)
  }))
)
holds<Equals<Tool.Error<typeof byParams>, ToolError.InvalidArgs | ToolError.InvalidResult | ToolError.Timeout>>()
holds<Equals<Tool.Services<typeof byParams>, never>>()
// A function that takes no parameters adds nothing of them.
const withoutParams = Recorded.pipe(
  Tool.onError(Recovery.fallback(["InvalidArgs", "ExecutionError"], ({ _tag }) => Effect.succeed(_tag)))
)
holds<Equals<Tool.Error<typeof withoutParams>, ToolError.InvalidResult | ToolError.Timeout>>()
const reasonByParams = Recorded.pipe(Tool.onError(Recovery.catchReason("Db", (reason, params) => {
  holds<Equals<typeof reason, Db>>()
  holds<Equals<typeof params, RecordedParams>>()
  return Effect.map(params, ({ id }) => id)
})))
holds<Equals<Tool.Error<typeof reasonByParams>, Tool.Error<typeof byParams>>>()
const reasonsByParams = Recorded.pipe(Tool.onError(Recovery.catchReasons({
  Db: (reason, params) => {
    holds<Equals<typeof reason, Db>>()
    holds<Equals<typeof params, RecordedParams>>()
    return Effect.map(params, ({ id }) => id)
  }
})))
holds<Equals<Tool.Error<typeof reasonsByParams>, Tool.Error<typeof byParams>>>()
const inTable = Agent.make("table", {
  tools: [Recorded],
  onToolError: {
    recorded: Recovery.fallback("ExecutionError", (_, params) => {
      holds<Equals<typeof params, RecordedParams>>()
      return Effect.map(params, ({ id }) => id)
    })
  }
})
const byHand = Agent.make("table", {
  tools: [Recorded],
  onToolError: {
    recorded: (call, params) => Effect.catchTag(call, "ExecutionError", () => Effect.map(params, ({ id }) => id))
  }
})
holds<Equals<Agent.Error<typeof inTable>, Agent.Error<typeof byHand>>>()
// One that provides what decoding needs, within: the parameters need it again.
class Zone extends Context.Service<Zone, string>()("typetest/Zone") {}
const Zoned = Tool.make("zoned", {
  parameters: Schema.Struct({
    at: Schema.String.pipe(Schema.decodeTo(Schema.String, {
      decode: SchemaGetter.transformEffect((at: string) => Effect.map(Zone, (zone) => `${at} ${zone}`)),
      encode: SchemaGetter.passthrough()
    }))
  }),
  success: Schema.String,
  effects: "read",
  execute: () => Effect.fail(new Db())
}).pipe(
  Tool.onError(Effect.provideService(Zone, "UTC")),
  Tool.onError(Recovery.fallback("ExecutionError", (_, params) => Effect.map(params, ({ at }) => at)))
)
holds<Equals<Tool.Services<typeof Zoned>, Zone>>()
const lent = Recovery.fallback(
  "Timeout",
  (_, params: Effect.Effect<{ readonly id: string }, never, ToolCall.ToolCall>) => Effect.map(params, ({ id }) => id)
)
// @ts-expect-error the parameters of a tool may not fit
Recorded.pipe(Tool.onError(lent))
// @ts-expect-error nothing gives parameters to a recovery that a call is piped into
Recorded.call.pipe(Recovery.fallback("Timeout", (_: unknown, params: RecordedParams) => Effect.as(params, "")))
// @ts-expect-error nor to one of reasons
Recorded.call.pipe(Recovery.catchReason("Db", (_: unknown, params: RecordedParams) => Effect.as(params, "")))
