import { assert, describe, it } from "@effect/vitest"
import { AiSdkTools } from "@recourse/ai-sdk"
import { Tool, ToolRun } from "@recourse/core"
import { Effect, Schema } from "effect"
import { Prompt } from "effect/ai"
import { aiSdk } from "../../../test/support/adapters/aiSdk.ts"
import { testAdapter } from "../../../test/support/adapters/testAdapter.ts"

testAdapter(aiSdk)

describe("ids of calls that are used again", () => {
  it("give each call its own result", async () => {
    const Draw = Tool.make("draw", {
      success: Schema.String,
      effects: "read",
      toModelOutput: () => [Prompt.textPart({ text: "a picture" })],
      execute: () => Effect.succeed("drawn")
    })
    const Look = Tool.make("look", { success: Schema.String, effects: "read", execute: () => Effect.succeed("seen") })
    const run = await ToolRun.open("loop", { tools: [Draw, Look] })
    const { draw, look } = AiSdkTools.tools(run)
    const read = async (tool: AiSdkTools.SdkTool) => {
      const output = await tool.execute({}, { toolCallId: "call_0" })
      return tool.toModelOutput({ toolCallId: "call_0", output })
    }
    assert.strictEqual((await read(draw!)).type, "content")
    assert.deepStrictEqual(await read(look!), { type: "text", value: "seen" })
    assert.strictEqual((await read(draw!)).type, "content")
    await run.endPromise()
  })
})
