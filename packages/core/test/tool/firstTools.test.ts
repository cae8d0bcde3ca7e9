/** Tools of first programs: attempts and ends by the declared effects, the ending of the executor and the recovery. */
import { assert, describe, it } from "@effect/vitest"
import { Drive, ScriptedModel } from "@recourse/testing"
import { Cause, Effect, Exit, Layer, Schema } from "effect"
import { Agent, IdempotencyLedger, Recovery, Tool, type ToolCall } from "@recourse/core"
import { lastResults } from "../support/kit.ts"

type Recover = (
  call: Effect.Effect<string, unknown, ToolCall.ToolCall>
) => Effect.Effect<string, unknown, ToolCall.ToolCall>

const retried = (times: number): Recover => (call) => Recovery.retry<unknown>({ times })(call)
const standard = Recovery.standard as never as Recover

/** The recoveries that first programs write: of the tool, below the agent's standard. */
const recoveries: Readonly<Record<string, Recover | undefined>> = {
  "no recovery of its own": undefined,
  standard,
  "retry": retried(2),
  "retry, then standard": (call) => standard(retried(2)(call)),
  "no retry, then standard": (call) => standard(retried(0)(call))
}

const endings: Readonly<Record<string, Effect.Effect<string, string>>> = {
  timeout: Effect.never,
  failure: Effect.fail("down"),
  rejection: Effect.promise(() => Promise.reject(new Error("ECONNREFUSED")))
}

/** Runs an agent whose model calls a tool with the same arguments a number of times. */
const run = (options: object, ending: string, recovery: string, calls = 1) =>
  Effect.gen(function*() {
    let attempts = 0
    const tool = Tool.make(
      "look",
      {
        parameters: Schema.Struct({ order: Schema.String }),
        success: Schema.String,
        timeout: "1 second",
        execute: () => Effect.suspend(() => (attempts++, endings[ending]!)),
        ...options
      } as never
    ) as Tool.Any
    const own = recoveries[recovery]
    const agent = Agent.make("a", {
      tools: [own === undefined ? tool : Tool.onError(tool as never, own as never)],
      defaults: { onError: Recovery.standard }
    } as never) as never as Agent.Agent<string, string, unknown, never>
    const exit = yield* Drive.drive(Effect.exit(agent.run("go")))
    const { prompt } = yield* (yield* ScriptedModel.ScriptedModel).lastRequest
    const read = lastResults(prompt)[0]?.result as
      | { readonly code: string; readonly safe_to_retry: boolean }
      | undefined
    const error = Exit.isFailure(exit) ? Cause.squash(exit.cause) as { readonly _tag: string } : undefined
    return { attempts, read, end: error?._tag ?? read?.code }
  }).pipe(
    Effect.provide(
      Layer.merge(
        IdempotencyLedger.layerMemory,
        ScriptedModel.layer([
          ...Array.from({ length: calls }, () => ScriptedModel.call("look", { order: "7" })),
          ScriptedModel.text("done")
        ])
      )
    )
  )

const reading = { effects: "read" }
const writing = { effects: "write" }
const keyed = { effects: "write", idempotency: { key: ({ order }: { readonly order: string }) => order } }

/** The number of attempts, and the code that the model reads or the error that ends the run. */
const table: ReadonlyArray<readonly [object, ending: string, recovery: string, attempts: number, end: string]> = [
  [{}, "timeout", "no recovery of its own", 1, "timeout"],
  [{}, "failure", "no recovery of its own", 1, "ExecutionError"],
  [{}, "rejection", "no recovery of its own", 1, "ExecutorDefect"],
  [reading, "timeout", "no recovery of its own", 3, "timeout"],
  [reading, "failure", "no recovery of its own", 1, "ExecutionError"],
  [reading, "rejection", "no recovery of its own", 1, "ExecutorDefect"],
  [writing, "timeout", "no recovery of its own", 1, "outcome_unknown"],
  [writing, "failure", "no recovery of its own", 1, "outcome_unknown"],
  [reading, "timeout", "standard", 3, "timeout"],
  [reading, "timeout", "retry", 3, "timeout"],
  [reading, "timeout", "retry, then standard", 3, "timeout"],
  [reading, "timeout", "no retry, then standard", 1, "timeout"],
  [keyed, "timeout", "standard", 3, "outcome_unknown"],
  [keyed, "timeout", "retry, then standard", 3, "outcome_unknown"],
  [keyed, "timeout", "no retry, then standard", 1, "outcome_unknown"]
]

describe("a tool of a first program", () => {
  it.effect.each(table)(
    "%j with a %s and %s: %d attempts, %s",
    ([options, ending, recovery, attempts, end]) =>
      Effect.gen(function*() {
        const seen = yield* run(options, ending, recovery)
        assert.deepStrictEqual([seen.attempts, seen.end], [attempts, end])
      })
  )

  for (const recovery of ["standard", "retry, then standard"]) {
    it.effect(`is not executed again under a key whose outcome is unknown: ${recovery}`, () =>
      Effect.gen(function*() {
        const { attempts, read } = yield* run(keyed, "timeout", recovery, 2)
        assert.strictEqual(attempts, 3)
        assert.deepInclude(read, { code: "outcome_unknown", safe_to_retry: false })
      }))
  }
})
