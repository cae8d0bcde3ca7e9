/** The operators that recoveries of drawn programs are made of, and the errors and answers that they meet. */
import { Data, Effect, Schema } from "effect"
import { Agent, Recovery, type Tool } from "@recourse/core"
import type { Step, ToolSpec } from "./program.ts"

/** An executor's error that leaves the outcome open. */
export class ConnectionReset extends Data.TaggedError("ConnectionReset") {}

/** An executor's error that the tool declares as not done. */
export class Declined extends Data.TaggedError("Declined") {}

/** A call, whatever it answers. */
export type Call = Effect.Effect<any, any, any>

/** The arguments of every tool. */
export const Parameters = Schema.Struct({ order: Schema.String })

/** Results of tools. */
export const results = {
  text: { schema: Schema.Struct({ receipt: Schema.String }), of: (receipt: string) => ({ receipt }) },
  date: {
    schema: Schema.Struct({ receipt: Schema.String, at: Schema.Date }),
    of: (receipt: string) => ({ receipt, at: new Date(0) })
  },
  bigint: {
    schema: Schema.Struct({ receipt: Schema.String, amount: Schema.BigInt }),
    of: (receipt: string) => ({ receipt, amount: 7n })
  },
  optional: {
    schema: Schema.Struct({ receipt: Schema.String, note: Schema.UndefinedOr(Schema.String) }),
    of: (receipt: string) => ({ receipt, note: undefined })
  }
} as const

const fixer = Agent.fromFunction("fixer", () => Effect.succeed(JSON.stringify({ order: "a" })))

/** Effect of each operator on a call. */
export const operators: {
  readonly [Op in Step["op"]]: (
    call: Call,
    options: { readonly times: number; readonly spec: ToolSpec; readonly next: Tool.Any | undefined }
  ) => Call
} = {
  retry: (call, { times }) => Recovery.retry({ times })(call),
  effectRetry: (call, { times }) => Effect.retry(call, { times }),
  repeat: (call, { times }) => Effect.repeat(call, { times }),
  timeout: (call) => Effect.timeout(call, "1 second"),
  timeoutRetry: (call, { times }) => call.pipe(Effect.timeout("1 second"), Effect.retry({ times })),
  race: (call) => Effect.race(call, call),
  raceFirst: (call) => Effect.raceFirst(call, call),
  both: (call) => Effect.map(Effect.all([call, call], { concurrency: 2 }), ([first]) => first),
  unfitRetry: (call, { times }) => {
    let tries = 0
    return call.pipe(
      Effect.filterOrFail(() => ++tries > 1, () => new ConnectionReset()),
      Effect.retry({ times })
    )
  },
  standard: (call) => Recovery.standard(call),
  fix: (call) => Recovery.fix("InvalidArgs", fixer as never)(call as never),
  fallbackValue: (call, { spec }) =>
    Recovery.fallback(["ExecutionError", "Timeout"], Effect.succeed(results[spec.result].of("none")))(call as never),
  fallbackTool: (call, { next }) =>
    next === undefined ? call : Recovery.fallback(["ExecutionError", "Timeout"], next.call)(call as never),
  catchTool: (call, { next }) => next === undefined ? call : Effect.catchTag(call, "ExecutionError", () => next.call),
  catchValue: (call, { spec }) =>
    Effect.catchTag(call, ["ExecutionError", "Timeout"] as never, () => Effect.succeed(results[spec.result].of("none")))
}

/** The operators behind which a failure may be an answer, by the program. */
export const answers: ReadonlySet<Step["op"]> = new Set([
  "fallbackValue",
  "fallbackTool",
  "catchTool",
  "catchValue"
])
