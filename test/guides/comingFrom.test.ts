/** The cases of the pages "Coming from …": today's behaviour of each library, and with the adapter. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { z } from "zod"
import { Policy, Recovery, Tool, ToolRun } from "@recourse/core"
import { aiSdk, plainAiSdk } from "../support/adapters/aiSdk.ts"
import { langChain, plainLangChain } from "../support/adapters/langChain.ts"
import type { Loop, PlainLoop, PlainTool, ScriptedTurn } from "../support/adapters/loop.ts"
import { mastra, plainMastra } from "../support/adapters/mastra.ts"
import { openAiAgents, plainOpenAiAgents } from "../support/adapters/openAiAgents.ts"

interface Today {
  readonly plain: PlainLoop
  readonly adapter: Loop
  /** Words that the model reads of an exception. */
  readonly throws: string
  /** Words that it reads of arguments that do not fit. */
  readonly misfit: string
  /** Words that it reads of arguments that are no JSON; absent, if the loop ends without a further request. */
  readonly noJson?: string
}

const secret = "postgres://user:hunter2@db"

const today: ReadonlyArray<Today> = [
  { plain: plainAiSdk, adapter: aiSdk, throws: secret, misfit: "\"order\":7", noJson: "JSON parsing failed" },
  { plain: plainLangChain, adapter: langChain, throws: "Please fix your mistakes", misfit: "{\"order\":7}" },
  {
    plain: plainOpenAiAgents,
    adapter: openAiAgents,
    throws: "An error occurred while running the tool. Please try again.",
    misfit: "An error occurred while running the tool",
    noJson: "Please try again with valid JSON"
  },
  {
    plain: plainMastra,
    adapter: mastra,
    throws: secret,
    misfit: "order: Invalid input",
    noJson: "Provided arguments: {}"
  }
]

const each = today.map((library) => ({ name: library.plain.name, ...library }))

const script = (args: string): ReadonlyArray<ScriptedTurn> => [[{ id: "c1", name: "refund", arguments: args }], "Done."]
const valid = "{\"order\":\"7\"}"

/** A plain tool that counts its executions. */
const plainRefund = (needsApproval: boolean) => {
  let executed = 0
  const tool: PlainTool = {
    name: "refund",
    description: "Refunds an order.",
    parameters: z.object({ order: z.string() }),
    needsApproval,
    execute: async () => {
      executed++
      throw new Error(secret)
    }
  }
  return { tool, executed: () => executed }
}

const Refund = Tool.make("refund", {
  parameters: Schema.Struct({ order: Schema.String }),
  success: Schema.String,
  effects: "write",
  execute: () => Effect.fail(new Error(secret))
})

const adapted = async (loop: Loop, args: string, policies: ReadonlyArray<Policy.Any> = []) => {
  const run = await ToolRun.open(
    "desk",
    { tools: [Refund], defaults: { onError: Recovery.standard }, policies } as never
  )
  const ended = await loop.converse({ run, script: script(args) })
  const { executed } = await run.endPromise()
  return { ...ended, executed: executed.length }
}

describe("plain tools today", () => {
  it.each(each)("give an exception to the model in $name", async ({ plain, throws }) => {
    const { tool } = plainRefund(false)
    const { results, text } = await plain.converse([tool], script(valid))
    assert.include(results["c1"], throws)
    assert.strictEqual(text, "Done.")
  })

  it.each(each)("are not executed with arguments that do not fit in $name", async ({ misfit, noJson, plain }) => {
    const { executed, tool } = plainRefund(false)
    assert.include((await plain.converse([tool], script("{\"order\":7}"))).results["c1"], misfit)
    const { requests, results } = await plain.converse([tool], script("{\"order\":\"7\""))
    if (noJson === undefined) assert.strictEqual(requests, 1)
    else assert.include(results["c1"], noJson)
    assert.strictEqual(executed(), 0)
  })

  it.each(each)("wait for a person in $name", async ({ plain }) => {
    const { executed, tool } = plainRefund(true)
    const { requests } = await plain.converse([tool], script(valid))
    assert.deepStrictEqual([executed(), requests], [0, 1])
  })
})

describe("tools with an adapter", () => {
  it.each(each)("give no exception to the model in $name", async ({ adapter }) => {
    const { results } = await adapted(adapter, valid)
    assert.include(results["c1"], "outcome_unknown")
    assert.notInclude(results["c1"], secret)
  })

  it.each(each)("give the fields that do not fit in $name", async ({ adapter }) => {
    const { executed, results } = await adapted(adapter, "{\"order\":7}")
    assert.include(results["c1"], "invalid_arguments")
    assert.include(results["c1"], "expected string")
    assert.strictEqual(executed, 0)
  })

  it.each(each)("wait in the run in $name", async ({ adapter }) => {
    const ask = Policy.make("ask", () => Policy.requireApproval("a person"), { mayRequestApproval: true })
    const { executed, results } = await adapted(adapter, valid, [ask])
    assert.include(results["c1"], "approval_required")
    assert.strictEqual(executed, 0)
  })
})
