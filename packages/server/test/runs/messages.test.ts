/** Messages for runs in memory: one that no run can read is refused. */
import { assert, describe, it } from "@effect/vitest"
import { Agent, Recovery, Runs, Tool } from "@recourse/core"
import { MemoryRuns } from "@recourse/server"
import { ScriptedModel, VirtualTime } from "@recourse/testing"
import { Effect, Layer, Schema } from "effect"
import { Prompt } from "effect/ai"

const slow = Tool.make("slow", {
  success: Schema.Null,
  effects: "read",
  execute: () => Effect.delay(Effect.succeed(null), "10 seconds")
})
const clerk = Agent.make("clerk", {
  input: Prompt.Prompt,
  prompt: (conversation) => conversation,
  tools: [slow],
  defaults: { onError: Recovery.keepGoing }
})

describe("a message for a run in memory", () => {
  it.live("is refused if no run can read it", () =>
    Effect.gen(function*() {
      const program = Effect.gen(function*() {
        const runs = yield* Runs.Runs
        yield* runs.start({ agent: "clerk", input: "Hello", runId: "r1" })
        const add = (message: unknown) => runs.addMessage!("r1", message as Runs.UserMessage)
        for (const content of [7, 7n, null, undefined, [{ type: "dance" }]]) {
          assert.strictEqual((yield* Effect.flip(add({ id: "m1", content })))._tag, "InvalidInput", String(content))
        }
        assert.strictEqual((yield* Effect.flip(add({ content: "Hello" })))._tag, "InvalidInput")
        assert.isTrue(yield* add({ id: "m1", content: "In French." }))
        return (yield* runs.wait("r1")).status
      })
      const { exit } = yield* VirtualTime.run(
        program.pipe(
          Effect.provide(
            MemoryRuns.layer({ agents: [clerk] }).pipe(
              Layer.provide(ScriptedModel.layer([ScriptedModel.call("slow", {}), ScriptedModel.text("Bonjour.")]))
            )
          )
        )
      )
      assert.strictEqual(yield* exit, "completed")
    }))
})

describe("a list of runs in memory", () => {
  const queries: Readonly<Record<string, object>> = {
    "a misspelt owner": { onwer: "ada" },
    "a status that no run has": { status: "sleeping" },
    "a limit of none": { limit: 0 },
    "a time that is none": { startedAfter: NaN },
    "a run without a start": { behind: { runId: "r1" } },
    "an owner that is no text": { owner: 7 }
  }
  for (const [name, query] of Object.entries(queries)) {
    it.effect(`is refused for ${name}`, () =>
      Effect.gen(function*() {
        const runs = yield* Runs.Runs
        const refused = yield* Effect.flip(runs.list(query as Runs.Query))
        assert.strictEqual(refused._tag, "InvalidInput")
        assert.deepStrictEqual(yield* runs.list({ owner: "ada", limit: 1, status: undefined }), [])
      }).pipe(Effect.provide(MemoryRuns.layer({ agents: [clerk] }).pipe(Layer.provide(ScriptedModel.layer([]))))))
  }
})
