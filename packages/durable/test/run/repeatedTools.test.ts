/** Calls whose process is killed in them: only those that declare that they may be repeated run again. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Layer, Schema } from "effect"
import { Agent, Audit, Recovery, Tool } from "@recourse/core"
import { Durable, RunStore } from "@recourse/durable"
import { ScriptedModel, VirtualTime } from "@recourse/testing"

const office = (effects: "read" | "idempotent" | "write" | undefined) => {
  const starts: Array<string> = []
  const prompts: Array<string> = []
  const audited: Array<string> = []
  const Post = Tool.make("post", {
    success: Schema.String,
    ...(effects === undefined ? {} : { effects }),
    execute: () => Effect.as(Effect.andThen(Effect.sync(() => starts.push("post")), Effect.sleep("20 seconds")), "sent")
  })
  const agent = Durable.make(Agent.make("office", { tools: [Post], defaults: { onError: Recovery.keepGoing } }))
  const model = ScriptedModel.layer(({ prompt }) => {
    prompts.push(JSON.stringify(prompt.content.at(-1)))
    return prompt.content.some(({ role }) => role === "tool")
      ? ScriptedModel.text("done")
      : ScriptedModel.call("post", {}, { id: "c1" })
  })
  const audit = Audit.layer(({ decision }) => Effect.sync(() => audited.push(decision)))
  const store = Layer.succeedContext(Effect.runSync(Effect.scoped(Layer.build(Layer.fresh(RunStore.layerMemory)))))
  const execution = (options: VirtualTime.Options) =>
    VirtualTime.run(
      agent.run("r1", "go").pipe(
        Effect.provide(Durable.layer([agent]).pipe(Layer.provide(Layer.mergeAll(store, model, audit))))
      ),
      { ...options, steps: 1_000_000 }
    )
  return { audited, execution, starts, prompts }
}

/** A kill within the call, by the declared effects of its tool. */
const table = [
  { effects: "read", repeats: true, audited: [] },
  { effects: "idempotent", repeats: true, audited: [] },
  { effects: "write", repeats: false, audited: ["outcome_unknown"] },
  { effects: undefined, repeats: false, audited: ["outcome_unknown"] }
] as const

describe("a call whose process is killed", () => {
  for (const { effects, repeats, ...expected } of table) {
    const name = effects === undefined ? "no effects" : `effects "${effects}"`
    it.live(`${repeats ? "runs again" : "does not run again"} if its tool declares ${name}`, () =>
      Effect.gen(function*() {
        const { operations } = yield* office(effects).execution({})
        let killedWithin = 0
        for (let at = 1; at <= 20; at++) {
          const { audited, execution, prompts, starts } = office(effects)
          const first = yield* execution({ killAt: Math.ceil((operations * at) / 21) })
          assert.strictEqual(first.stopped, "killed")
          const started = starts.length
          const last = yield* execution({ startAt: first.elapsed + 120_000, identity: 1 })
          const about = `killed after ${first.elapsed} ms: ${prompts.at(-1)}`
          assert.deepEqual(last.exit, Exit.succeed("done"), about)
          if (!repeats) assert.strictEqual(starts.length, 1, about)
          // The call had no result: it runs again, or the model reads that its outcome is unknown.
          if (started === 0 || starts.length === 1 && prompts.at(-1)!.includes("sent")) continue
          killedWithin++
          assert.strictEqual(starts.length, repeats ? 2 : 1, about)
          assert.include(prompts.at(-1)!, repeats ? "sent" : "outcome_unknown", about)
          assert.deepEqual<ReadonlyArray<string>>(audited, expected.audited, about)
        }
        assert.isAbove(killedWithin, 1)
      }))
  }
})
