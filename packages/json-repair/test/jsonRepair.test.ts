import { assert, describe, it } from "@effect/vitest"
import { JsonRepair } from "@recourse/json-repair"
import { ScriptedModel } from "@recourse/testing"
import { Effect, Exit, Schema } from "effect"
import { Agent, Recovery, Tool } from "@recourse/core"

const make = <const Eff extends Tool.Effects>(effects: Eff, options?: JsonRepair.Options) => {
  const seen: Array<string> = []
  const tool = Tool.make("greet", {
    parameters: Schema.Struct({ name: Schema.String }),
    effects,
    execute: ({ name }) => Effect.sync(() => void seen.push(name))
  }).pipe(Tool.onError(Recovery.fix("InvalidArgs", JsonRepair.fixer(options))))
  return { seen, agent: Agent.make("a", { tools: [tool], defaults: { onError: Recovery.standard } }) }
}

const run = (made: ReturnType<typeof make>, args: unknown) =>
  made.agent.report("x").pipe(
    Effect.provide(ScriptedModel.layer([ScriptedModel.call("greet", args), ScriptedModel.text("ok")])),
    Effect.map((report) => {
      assert.isTrue(Exit.isSuccess(report.exit))
      return report
    })
  )

describe("JsonRepair", () => {
  it.effect("repairs syntax, and the record and the transcript say so", () =>
    Effect.gen(function*() {
      const made = make("read")
      const report = yield* run(made, "{name: 'Ada', // hi\n")
      assert.deepStrictEqual(made.seen, ["Ada"])
      assert.strictEqual(report.executed[0]?.fixedBy, "json-repair")
      const result = report.transcript.content.find((message) => message.role === "tool")?.content[0]
      assert.strictEqual(
        (result?.options["recourse"] as { readonly repaired: { readonly by: string } }).repaired.by,
        "json-repair"
      )
    }))

  it.effect("does not invent what the schema asks for", () =>
    Effect.gen(function*() {
      const made = make("read")
      yield* run(made, "{age: 3")
      yield* run(made, { age: 3 })
      assert.deepStrictEqual(made.seen, [])
    }))

  it.effect("declines writes, unless they are named", () =>
    Effect.gen(function*() {
      const guarded = make("write")
      yield* run(guarded, "{name: 'Ada'}")
      assert.deepStrictEqual(guarded.seen, [])
      const named = make("write", { writes: ["greet"] })
      yield* run(named, "{name: 'Ada'}")
      assert.deepStrictEqual(named.seen, ["Ada"])
    }))
})
