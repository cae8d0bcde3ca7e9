/** Schemas of results: a result without one is refused, and so are schemas of other libraries. */
import { Agent, Tool } from "@recourse/core"
import { Effect, Schema } from "effect"
import { z } from "zod"

// @ts-expect-error `execute` has a result, and `success` is missing: add its Schema, or end with Effect.asVoid.
Tool.make("t", { effects: "read", execute: () => Effect.succeed({ degrees: 21 }) })
// @ts-expect-error `execute` has a result, and `success` is missing: add its Schema, or end with Effect.asVoid.
Tool.fromStandardSchema("t", { parameters: z.object({ n: z.number() }), execute: ({ n }) => Effect.succeed(n) })
Tool.make("t", { effects: "read", success: Schema.Unknown, execute: () => Effect.succeed({ degrees: 21 }) })
Tool.make("t", { effects: "read", execute: () => Effect.asVoid(Effect.succeed(21)) })
Tool.make("t", { effects: "read", execute: () => Effect.fail("down") })
Tool.make("t", {
  effects: "read",
  execute: (): never => {
    throw new Error("down")
  }
})

// @ts-expect-error success is a Schema of effect, such as Schema.String
Tool.make("t", { success: z.string(), execute: () => Effect.succeed("rain") })
// @ts-expect-error output is a Schema of effect, such as Schema.String
Agent.make("a", { output: z.object({ a: z.string() }) })
// @ts-expect-error input is a Schema of effect, such as Schema.String
Agent.make("a", { input: z.object({ a: z.string() }) })
