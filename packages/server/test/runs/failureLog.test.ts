/** Failed runs in the log of a server: one redacted record for each, with runs in memory and with durable runs. */
import { assert, describe, it } from "@effect/vitest"
import { Durable, RunStore } from "@recourse/durable"
import { ScriptedModel } from "@recourse/testing"
import { Effect, Layer, Logger, References } from "effect"
import { AiError, Prompt } from "effect/ai"
import { type Options, serve } from "../support/kit.ts"

interface Line {
  readonly level: string
  readonly text: string
  readonly annotations: Readonly<Record<string, unknown>>
}

const secret = "sk-123456789012345678901234"

const runsOf: Readonly<Record<string, Options>> = {
  "runs in memory": {},
  "durable runs": {
    runs: (agent) =>
      Durable.layer([Durable.make(agent as never, { input: Prompt.Prompt } as never)], { poll: "20 millis" }).pipe(
        Layer.provide(RunStore.layerMemory)
      ) as never
  }
}

const endings = {
  "a model server that is down": {
    turn: () =>
      ScriptedModel.failWith(AiError.make({
        module: "Test",
        method: "call",
        reason: new AiError.AuthenticationError(
          { kind: "InvalidKey", description: `key ${secret} was refused` } as never
        )
      })),
    level: "Warn",
    error: "AiError"
  },
  "a defect": {
    turn: () => {
      throw new Error(`the script broke ${secret}`)
    },
    level: "Error",
    error: "Defect"
  }
} as const

describe("the log of a server", () => {
  for (const [name, options] of Object.entries(runsOf)) {
    for (const [ending, { error, level, turn }] of Object.entries(endings)) {
      it.live(`has one record of a run that fails: ${ending}, ${name}`, () => {
        const lines: Array<Line> = []
        const logger = Logger.make(({ fiber, logLevel, message }) => {
          const annotations = fiber.getRef(References.CurrentLogAnnotations)
          const text = [message].flat().map(String).join(" ")
          if (logLevel === "Warn" || logLevel === "Error" || logLevel === "Fatal") {
            lines.push({ level: logLevel, text, annotations })
          }
        })
        return Effect.gen(function*() {
          const server = yield* serve(turn as never, options)
          yield* server.post("/agents/clerk/chat", {
            id: "t1",
            trigger: "submit-message",
            messages: [{ id: "m1", role: "user", parts: [{ type: "text", text: "Hello" }] }]
          })
          const [run] = yield* server.runs.list()
          assert.strictEqual(run?.status, "failed")
          assert.deepStrictEqual(lines.map(({ level }) => level), [level], JSON.stringify(lines))
          assert.deepInclude(lines[0]!.annotations, { agent: "clerk", run_id: run.runId, error })
          assert.include(lines[0]!.text, `Run ${run.runId} of agent "clerk"`)
          assert.include(lines[0]!.text, ending === "a defect" ? "the script broke" : "InvalidKey")
          // The cause names the run, whose id looks as random as a key.
          assert.include(lines[0]!.text, `at run ${run.runId} of agent "clerk"`)
          assert.notInclude(JSON.stringify(lines), secret)
        }).pipe(Effect.provide(Logger.layer([logger])))
      })
    }
  }
})
