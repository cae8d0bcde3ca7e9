/** The codes that a tool declares, for documentation and tests. */
import { assert, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { ErrorProjection, Tool } from "@recourse/core"

const error = (tag: string, code: string | undefined) =>
  Schema.TaggedStruct(tag, {}).annotate(
    ErrorProjection.declare({ code, ...(code === undefined ? { user: "Sorry" } : {}) })
  )

const codesOf = (failure?: Schema.Top) =>
  Tool.codes(Tool.make("t", { ...(failure === undefined ? {} : { failure }), execute: () => Effect.void }))

it("codes of a tool are its failure's, each once, in order", () => {
  assert.deepStrictEqual(codesOf(), [])
  assert.deepStrictEqual(codesOf(Schema.TaggedStruct("Plain", {})), [])
  assert.deepStrictEqual(codesOf(error("A", "not_found")), ["not_found"])
  const nested = Schema.Union([
    error("A", "rate_limited"),
    Schema.Union([error("B", "own"), error("C", "rate_limited")])
  ])
  assert.deepStrictEqual(codesOf(nested), ["rate_limited", "own"])
  assert.deepStrictEqual(codesOf(error("D", undefined)), ["execution_error"])
  assert.deepStrictEqual(codesOf(Schema.Union([error("E", "toString"), Schema.TaggedStruct("F", {})])), ["toString"])
})
