/** Structured contents of results: the model reads them, and a schema without required fields does without. */
import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { ToolRun } from "@recourse/core"
import { Mcp } from "@recourse/mcp"
import { live } from "../support/helpers.ts"
import { overHttp } from "../servers/overHttp.ts"

const text = (text: string) => ({ type: "text", text })

/** Calls a tool with that result, and returns the texts that a model reads, or the tag of the error. */
const readOf = (result: object, outputSchema?: unknown) =>
  Effect.gen(function*() {
    const tool = { name: "t", inputSchema: { type: "object" }, ...(outputSchema === undefined ? {} : { outputSchema }) }
    const { url } = yield* overHttp({ version: "2025-06-18", tools: [tool], result })
    const tools = yield* Mcp.tools({ name: "s", connect: Mcp.http(url), trust: "trusted" })
    const run = yield* ToolRun.make("loop", { tools })
    const outcome = yield* Effect.result(run.call({ id: "c1", name: "s_t", arguments: {} }))
    if (outcome._tag === "Failure") return outcome.failure._tag
    const { success } = outcome
    if (success._tag !== "Success" || success.modelOutput === undefined) return success.text
    return success.modelOutput.map((part) => part.type === "text" ? part.text : part.type)
  })

const balance = { type: "object", properties: { balance: { type: "number" } }, required: ["balance"] }

describe("structured content", () => {
  for (
    const [title, result, texts] of [
      ["is read if no block has it", { content: [text("done")], structuredContent: { balance: 42 } }, [
        "done",
        `{"balance":42}`
      ]],
      ["is read without blocks", { content: [], structuredContent: { balance: 42 } }, [`{"balance":42}`]],
      ["is read once if a block is its JSON", {
        content: [text(`{ "b": [1], "a": "x" }`)],
        structuredContent: { a: "x", b: [1] }
      }, [`{ "b": [1], "a": "x" }`]],
      ["is read once if a block is its value", { content: [text("hello")], structuredContent: { result: "hello" } }, [
        "hello"
      ]],
      ["is read once if blocks are its items", {
        content: [text("a"), text("7")],
        structuredContent: { result: ["a", 7] }
      }, ["a", "7"]],
      ["is read if blocks have a part of it", { content: [text("a")], structuredContent: { result: "a", next: 2 } }, [
        "a",
        `{"result":"a","next":2}`
      ]]
    ] as const
  ) live(title, () => Effect.map(readOf(result), (read) => assert.deepStrictEqual(read, [...texts])))
})

describe("an output schema", () => {
  for (const schema of [{}, { type: "object" }, { type: "object", properties: { balance: { type: "number" } } }]) {
    live(
      `without required fields accepts a text: ${JSON.stringify(schema)}`,
      () => Effect.map(readOf({ content: [text("hello")] }, schema), (read) => assert.deepStrictEqual(read, ["hello"]))
    )
  }

  live(
    "that requires a field refuses a text",
    () => Effect.map(readOf({ content: [text("hello")] }, balance), (read) => assert.strictEqual(read, "InvalidResult"))
  )

  live("without required fields refuses another structured content", () =>
    Effect.map(
      readOf({ content: [], structuredContent: { balance: "x" } }, { ...balance, required: [] }),
      (read) => assert.strictEqual(read, "InvalidResult")
    ))
})
