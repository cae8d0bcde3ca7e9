import { assert, describe, it } from "@effect/vitest"
import { ScriptedModel } from "@recourse/testing"
import { Effect, Stream } from "effect"
import type { AgentEvent } from "@recourse/core"
import { bundled } from "../../../test/support/bundled.ts"
import { execFile } from "node:child_process"
import { join } from "node:path"
import { promisify } from "node:util"
import OpenAI from "openai"
import { keyCounter, question } from "../src/keyCounter.ts"
import * as LocalServer from "../src/localServer.ts"

const malformed = "{name: world, age: 30, active: true}"
const corrected = "{\"name\": \"world\", \"age\": 30, \"active\": true}"

const script = [
  ScriptedModel.call("calculateNumberOfKeys", { json: malformed }),
  ScriptedModel.call("escalate", { reason: `Did you mean ${corrected}?`, severity: "low" }),
  ScriptedModel.call("calculateNumberOfKeys", { json: corrected }),
  ScriptedModel.text("3")
]

describe("the agent", () => {
  it.effect("reads the fixer's corrected JSON, calls again and answers 3", () =>
    Effect.gen(function*() {
      const report = yield* keyCounter.report(question)
      const model = yield* ScriptedModel.ScriptedModel
      yield* model.assertComplete
      const requests = yield* model.requests
      assert.strictEqual(report.exit._tag === "Success" ? report.exit.value : undefined, 3)
      assert.include(JSON.stringify(requests[1]?.prompt.content), malformed)
      const told = requests[2]?.prompt.content.at(-1)
      assert.include(JSON.stringify(told), "Did you mean")
      assert.isTrue(told?.role === "tool" && told.content[0]?.type === "tool-result" && told.content[0].isFailure)
      assert.deepStrictEqual(
        report.executed.filter((call) => call.tool === "calculateNumberOfKeys").map((call) => call.outcome),
        ["failure", "success"]
      )
    }).pipe(Effect.provide(ScriptedModel.layer(script))))

  it.effect("does the same when it is streamed", () =>
    Effect.gen(function*() {
      const events: Array<AgentEvent.AgentEvent> = yield* Stream.runCollect(keyCounter.stream(question))
      const last = events.at(-1)
      assert.isTrue(last?._tag === "RunFinished" && last.output === 3)
    }).pipe(Effect.provide(ScriptedModel.layer(script))))
})

describe("the main job", () => {
  const main = bundled(join(import.meta.dirname, "..", "src", "main.ts"))
  const run = (...args: ReadonlyArray<string>) =>
    promisify(execFile)(process.execPath, [main, ...args], { timeout: 20_000 }).then(
      ({ stderr, stdout }) => ({ code: 0, stdout, stderr }),
      (error: { readonly code: number; readonly stdout: string; readonly stderr: string }) => error
    )

  for (const flags of [[], ["--stream"]]) {
    it(`prints its recovery over HTTP in plain text, and exits 0 ${flags.join(" ")}`, async () => {
      const { code, stdout } = await run(...flags)
      assert.strictEqual(code, 0)
      for (
        const expected of [
          "HTTP 503, request sent again",
          "HTTP 429, request sent again",
          "attempt 1 failed: NotAnObject",
          "decision: ask json-fixer",
          "decision: escalate to the model (low)",
          "result for the model: 3",
          "The answer is 3."
        ]
      ) assert.include(stdout, expected)
      assert.notInclude(stdout, "\u001B")
    }, 30_000)
  }

  it("exits 1 with a sentence about the fault of its server", async () => {
    const { code, stderr } = await run("--base-url", "nonsense", "--model", "x")
    assert.strictEqual(code, 1)
    assert.include(stderr, "not a URL")
  }, 30_000)

  it("exits 1 if the answer is not 3", async () => {
    const wrong = await Effect.runPromise(Effect.scoped(
      Effect.flatMap(
        LocalServer.start([{ content: "4" }]),
        (url) => Effect.promise(() => run("--base-url", url, "--model", "x"))
      )
    ))
    assert.strictEqual(wrong.code, 1)
    assert.include(wrong.stderr, "The answer is 4")
  }, 30_000)
})

describe("the local server", () => {
  it.live("speaks chat completions to the official client", () =>
    Effect.gen(function*() {
      const baseURL = yield* LocalServer.start(LocalServer.script.filter((turn) => !("status" in turn)))
      const client = new OpenAI({ baseURL, apiKey: "none" })
      const messages = [{ role: "user", content: question }] as const
      const first = yield* Effect.promise(() => client.chat.completions.create({ model: "x", messages: [...messages] }))
      const call = first.choices[0]?.message.tool_calls?.[0]
      assert.strictEqual(call?.type === "function" ? call.function.name : undefined, "calculateNumberOfKeys")
      yield* Effect.promise(() => client.chat.completions.create({ model: "x", messages: [...messages] }))
      const chunks = yield* Effect.promise(async () => {
        const stream = await client.chat.completions.create({ model: "x", messages: [...messages], stream: true })
        const names: Array<string | undefined> = []
        for await (const chunk of stream) names.push(chunk.choices[0]?.delta.tool_calls?.[0]?.function?.name)
        return names
      })
      assert.include(chunks, "calculateNumberOfKeys")
    }))
})
