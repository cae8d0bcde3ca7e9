/** The log of a run: an operator's redacted copy of it is a test. */
import { assert, describe, it } from "@effect/vitest"
import { Agent, Recovery, Tool } from "@recourse/core"
import { MemoryRuns } from "@recourse/server"
import { Replay, ScriptedModel } from "@recourse/testing"
import { Data, Effect, Option, Schedule, Schema } from "effect"
import { Prompt } from "effect/ai"
import { serve } from "../support/kit.ts"

class Down extends Data.TaggedError("Down") {}

const secret = "sk-live-51H8xkzQ2m9TnYb7WcPq4RvLd"

const office = (limit: number) => {
  let failures = 0
  const Find = Tool.make("find", {
    parameters: Schema.Struct({ name: Schema.String, password: Schema.String }),
    success: Schema.Struct({ key: Schema.String }),
    effects: "read",
    execute: () =>
      Effect.suspend(() => failures++ === 0 ? Effect.fail(new Down()) : Effect.succeed({ key: `the key is ${secret}` }))
  }).pipe(
    Tool.onError((call) =>
      call.pipe(
        Recovery.retry({ times: limit, schedule: Schedule.recurs(limit) }),
        Recovery.escalate("ExecutionError", "InvalidArgs")
      )
    )
  )
  const agent = Agent.make("clerk", {
    input: Prompt.Prompt,
    prompt: (conversation) => conversation,
    tools: [Find],
    defaults: { onError: Recovery.standard }
  })
  return { agent, tools: [Find] }
}

describe("the log of a run", () => {
  it.live("is for operators, redacted, and replayable to find regressions", () =>
    Effect.gen(function*() {
      const { agent, tools } = office(1)
      const server = yield* serve([
        ScriptedModel.call("find", { name: "Ada", password: "hunter2-and-more" }),
        ScriptedModel.text("Found.")
      ], { runs: () => MemoryRuns.layer({ agents: [agent] }) })
      const { runId } = (yield* server.post("/runs", { agent: "clerk", message: "Find Ada", key: "k" })).json() as {
        readonly runId: string
      }
      yield* server.runs.wait(runId)
      const path = `/operator/runs/${runId}/log`
      assert.strictEqual((yield* server.get(path, "ada")).status, 403)
      assert.strictEqual((yield* server.get(path, "else")).status, 404)
      const { status, text } = yield* server.get(path, "otto")
      assert.strictEqual(status, 200)
      assert.notInclude(text, secret)
      assert.notInclude(text, "hunter2")
      assert.include(text, "redacted")
      const recording = Replay.fromEvents(yield* Replay.parseLog(text))
      const same = yield* Replay.run(office(1).agent, recording, { tools })
      assert.deepStrictEqual(same.difference, Option.none())
      const other = office(0)
      const { difference } = yield* Replay.run(other.agent, recording, { tools: other.tools })
      assert.isTrue(Option.isSome(difference))
    }))
})
