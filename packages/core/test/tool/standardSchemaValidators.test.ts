/** Validators of Standard Schemas: their issues, promises and defects; and the JSON Schemas that models are sent. */
import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Fiber, Schema, type StandardSchema } from "effect"
import { Tool as AiTool } from "effect/ai"
import { TestClock } from "effect/testing"
import * as v from "valibot"
import { z } from "zod"
import { ConfigurationError, Tool, type ToolError } from "@recourse/core"
import { by } from "../support/kit.ts"

/** A Standard Schema that answers with one function. */
const byHand = <Output>(
  validate: StandardSchema.StandardSchemaV1<unknown, Output>["~standard"]["validate"]
): StandardSchema.StandardSchemaV1<unknown, Output> => ({
  "~standard": { version: 1, vendor: "hand", validate }
})

const jsonSchema = { type: "object", properties: {} }

const tool = <Output>(
  validate: StandardSchema.StandardSchemaV1<unknown, Output>["~standard"]["validate"],
  execute: (params: Output) => Effect.Effect<unknown> = () => Effect.succeed("ran")
) => Tool.fromStandardSchema("t", { parameters: byHand(validate), jsonSchema, success: Schema.Unknown, execute })

/** The error of a call by hand. */
const failure = <A, R>(call: Effect.Effect<A, ToolError.InvalidArgs | ToolError.InvalidResult, R>, args: unknown) =>
  Effect.map(Effect.flip(by(args)(call)), (error) => {
    assert.strictEqual(error._tag, "InvalidArgs")
    return error._tag === "InvalidArgs" ? error.issues : []
  })

describe("the validator of a Standard Schema", () => {
  it.effect("awaits a validator that returns a promise", () =>
    Effect.gen(function*() {
      let runs = 0
      const asynchronous = tool((value) => {
        runs++
        return Promise.resolve(
          JSON.stringify(value) === "{}" ? { issues: [{ message: "use a key", path: [] }] } : { value: 7 }
        )
      }, Effect.succeed)
      assert.strictEqual(yield* by({ a: 1 })(asynchronous.call), 7)
      assert.strictEqual(runs, 1)
      assert.deepStrictEqual(yield* failure(asynchronous.call, {}), [
        { path: [], expected: "use a key", problem: "invalid" }
      ])
      assert.strictEqual(runs, 2)
    }))

  it.effect("refuses numbers that lose digits before the schema sees them", () =>
    Effect.gen(function*() {
      let runs = 0
      const { call } = tool((value) => {
        runs++
        return { value }
      })
      const [issue] = yield* failure(call, "{\"id\":12345678901234567890}")
      assert.include(issue!.expected, "keeps all its digits")
      assert.strictEqual(runs, 0)
    }))

  it.effect("removes quoted texts and nested values from messages", () =>
    Effect.gen(function*() {
      const { call } = tool(() => ({
        issues: [
          { message: "was \"a \\\"quoted\\\" text\"", path: ["text"] },
          { message: "was {\"pin\":90210}", path: [{ key: "card" }] },
          { message: "is in conflict", path: ["list", 1] },
          { message: "" }
        ]
      }))
      assert.deepStrictEqual(yield* failure(call, { text: "a \"quoted\" text", card: { pin: 90210 }, list: [1, 2] }), [
        { path: ["text"], expected: "was \"…\"", problem: "invalid" },
        { path: ["card"], expected: "was {\"pin\":…}", problem: "invalid" },
        { path: ["list", 1], expected: "is in conflict", problem: "invalid" },
        { path: [], expected: "expected a valid value", problem: "invalid" }
      ])
    }))

  it.effect.each([
    ["throws", () => {
      throw new Error("broken")
    }],
    ["rejects", () => Promise.reject(new Error("broken"))],
    ["returns no result", () => undefined as never]
  ])("a validator that %s is a defect of the call", ([, validate]) =>
    Effect.gen(function*() {
      const exit = yield* Effect.exit(by({})(tool(validate as () => never).call))
      assert.isTrue(Exit.isFailure(exit) && Cause.hasDies(exit.cause) && !Cause.hasFails(exit.cause))
    }))

  it.effect("a validator without an answer is a defect after the timeout", () =>
    Effect.gen(function*() {
      const slow = Tool.fromStandardSchema("slow", {
        parameters: byHand(() => new Promise<never>(() => {})),
        jsonSchema,
        timeout: "2 seconds",
        execute: () => Effect.void
      })
      const fiber = yield* Effect.forkChild(Effect.exit(by({})(slow.call)), { startImmediately: true })
      yield* TestClock.adjust("1999 millis")
      assert.isUndefined(fiber.pollUnsafe())
      yield* TestClock.adjust("1 millis")
      const exit = yield* Fiber.join(fiber)
      assert.isTrue(Exit.isFailure(exit))
      if (Exit.isFailure(exit)) assert.include(String(Cause.squash(exit.cause)), "Tool \"slow\": its schema has not")
    }))
})

describe("the JSON Schema of a Standard Schema", () => {
  const make = (parameters: unknown, more: object = {}) => () =>
    Tool.fromStandardSchema("t", { parameters, execute: () => Effect.void, ...more } as never)
  const refused = (made: () => unknown) => {
    try {
      made()
    } catch (error) {
      assert.instanceOf(error, ConfigurationError.ConfigurationError)
      return (error as Error).message
    }
    return assert.fail("made a tool")
  }

  it("requires jsonSchema for a schema that does not convert itself", () => {
    const plain = v.object({ city: v.string() })
    assert.include(refused(make(plain)), "its schema of valibot does not convert itself")
    assert.strictEqual(AiTool.getJsonSchema(make(plain, { jsonSchema })().definition), jsonSchema)
  })

  it("names the reason of a conversion that fails", () => {
    assert.include(
      refused(make(z.object({ at: z.date() }))),
      "its schema of zod has no JSON Schema: Date cannot be represented in JSON Schema. Pass one as `jsonSchema`"
    )
    assert.strictEqual(AiTool.getJsonSchema(make(z.object({ at: z.date() }), { jsonSchema })().definition), jsonSchema)
  })

  const wrong: ReadonlyArray<readonly [problem: string, parameters: unknown, more?: object]> = [
    ["its arguments are an object, and its JSON Schema has the type \"string\"", z.string()],
    ["it needs parameters", undefined],
    ["parameters is a Schema of effect. Use Tool.make", Schema.Struct({})],
    ["parameters is a JSON Schema. Use Tool.fromJsonSchema", jsonSchema],
    ["parameters is a string and has to be a Standard Schema", "city"],
    ["parameters is an object and has to be a Standard Schema", {}],
    ["there is no option \"onUnknownKeys\"", z.object({}), { onUnknownKeys: "refuse" }],
    ["it needs execute", z.object({}), { execute: undefined }]
  ]
  for (const [problem, parameters, more] of wrong) {
    it(`refuses with a sentence: ${problem}`, () => {
      assert.include(refused(make(parameters, more)), problem)
    })
  }
})
