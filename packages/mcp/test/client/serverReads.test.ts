import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { LanguageModel } from "effect/ai"
import { ChildProcess } from "effect/process"
import { createRequire } from "node:module"
import { Agent, Recovery } from "@recourse/core"
import { Mcp } from "@recourse/mcp"
import { ScriptedModel } from "@recourse/testing"
import { call, live, named, overStdio } from "../support/helpers.ts"

const path = createRequire(import.meta.url).resolve("@modelcontextprotocol/server-everything/dist/index.js")
const connect = Mcp.stdio(ChildProcess.make(process.execPath, [path, "stdio"], { killSignal: "SIGKILL" }))

const reads = ["list_resources", "read_resource", "list_prompts", "get_prompt"]

describe("resources and prompts of the reference server", () => {
  live("are read by tools that change nothing and are not trusted", () =>
    Effect.gen(function*() {
      const tools = yield* Mcp.tools({ name: "s", connect, resources: true, prompts: true, toolErrors: "fail" })
      for (const name of reads) {
        const { effects, trust } = named(tools, name)
        assert.deepStrictEqual([effects, trust], ["read", "untrusted"])
      }
      const listed = (yield* call(tools, "list_resources")).split("\n").map((line) =>
        JSON.parse(line) as { uri: string }
      )
      assert.isNotEmpty(listed)
      const { model, script } = yield* ScriptedModel.make([
        ScriptedModel.call("s_read_resource", { uri: listed[0]!.uri }),
        ScriptedModel.text("done")
      ])
      yield* Agent.make("a", { tools: [named(tools, "read_resource")], defaults: { onError: Recovery.keepGoing } })
        .run("go").pipe(Effect.provideService(LanguageModel.LanguageModel, model))
      assert.include(JSON.stringify(yield* script.lastRequest), "begins here")
      const prompt = JSON.parse((yield* call(tools, "list_prompts")).split("\n")[0]!) as { name: string }
      assert.include(yield* call(tools, "get_prompt", { name: prompt.name }), "user:")
    }))

  live("that do not exist are arguments that the server refuses", () =>
    Effect.gen(function*() {
      const tools = yield* Mcp.tools({ name: "s", connect, resources: true, prompts: true, toolErrors: "fail" })
      for (
        const [name, args] of [["read_resource", { uri: "demo://nowhere" }], ["get_prompt", {
          name: "nowhere"
        }]] as const
      ) {
        const error = yield* Effect.flip(call(tools, name, args))
        assert.deepStrictEqual([error._tag, error.reason?._tag], ["ExecutionError", "McpInvalidArgs"])
      }
    }))

  live("are no tools unless the program asks for them and the server has them", () =>
    Effect.gen(function*() {
      const isRead = ({ name }: { readonly name: string }) => reads.some((read) => name === `s_${read}`)
      assert.isEmpty((yield* Mcp.tools({ name: "s", connect })).filter(isRead))
      const without = overStdio({ version: "2025-11-25" })
      assert.isEmpty((yield* Mcp.tools({ name: "s", connect: without, resources: true, prompts: true })).filter(isRead))
    }))
})
