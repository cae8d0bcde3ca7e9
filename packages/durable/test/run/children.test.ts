/**
 * Runs started by agents within a run: one for each call, for any ids of the models, and the same one in each
 * execution.
 */
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Exit, Layer, Logger, Schema } from "effect"
import { Agent, Recovery, Tool } from "@recourse/core"
import { Durable, RunStore } from "@recourse/durable"
import { ScriptedModel, VirtualTime } from "@recourse/testing"
import { operationsBetween } from "../../../core/test/support/operations.ts"

const Leaf = Durable.make(
  Agent.fromFunction("leaf", (name: string) => Effect.as(Effect.sleep("50 millis"), `did ${name}`))
)

const Request = Schema.Struct({ text: Schema.String })
const keepGoing = { defaults: { onError: Recovery.keepGoing } } as const

const Begin = Tool.make("begin", {
  success: Schema.String,
  effects: "idempotent",
  execute: () => Effect.flatMap(Durable.childId(), (id) => Leaf.run(id, "it"))
})
const clerk = (name: string) =>
  Agent.make(name, { input: Request, prompt: ({ text }) => text, tools: [Begin], ...keepGoing })
const asTool = (name: string) =>
  clerk(name).pipe(Agent.asTool(name, { description: "Begins", parameters: Request, success: Schema.String }))
/** Calls that start a run, and their number. */
const forms = {
  "of one agent in two calls": { begun: 2, agent: Agent.make("main", { tools: [asTool("one")], ...keepGoing }) },
  "of an agent and of one within": {
    begun: 2,
    agent: Agent.make("main", { tools: [asTool("one"), Begin], ...keepGoing })
  },
  "of steps beside each other": {
    begun: 2,
    agent: Agent.all("main", [
      Agent.make("one", { tools: [Begin], ...keepGoing }),
      Agent.make("two", { tools: [Begin], ...keepGoing })
    ])
  }
} as const

describe("runs that the calls start that have one id", () => {
  for (const [form, { agent, begun }] of Object.entries(forms)) {
    it.live(form, () =>
      Effect.gen(function*() {
        const main = Durable.make(agent as never as Agent.Agent<string, unknown, never, never>, {
          output: Schema.Unknown
        })
        const model = ScriptedModel.layer(({ prompt, tools }) => {
          const isFirst = !prompt.content.some(({ role }) => role === "assistant")
          const within = tools.includes("one")
          return ScriptedModel.delay(
            "20 millis",
            !isFirst
              ? ScriptedModel.text("done")
              : !within
              ? ScriptedModel.call("begin", {}, { id: "call_1" })
              : ScriptedModel.calls([
                { name: "one", params: { text: "x" }, id: "call_2" },
                tools.includes("begin")
                  ? { name: "begin", params: {}, id: "call_1" }
                  : { name: "one", params: { text: "y" }, id: "call_1" }
              ])
          )
        })
        const go = Effect.fnUntraced(function*(killAt: number | undefined) {
          const kept = Effect.runSync(Effect.scoped(Layer.build(Layer.fresh(RunStore.layerMemory))))
          const life = Effect.exit(main.run("r1", "go")).pipe(
            Effect.provide(Durable.layer([main, Leaf]).pipe(Layer.provide([Layer.succeedContext(kept), model]))),
            Effect.provide(Logger.layer([]))
          )
          const first = yield* VirtualTime.run(life, { killAt })
          if (killAt !== undefined) yield* VirtualTime.run(life, { startAt: 60_000, identity: 1 })
          const store = Context.get(kept, RunStore.RunStore)
          const started = yield* store.list({ agent: "leaf" })
          assert.strictEqual((yield* store.get("r1"))?.status, "completed", `killed at ${killAt}`)
          assert.deepEqual(
            started.map(({ status }) => status),
            Array.from({ length: begun }, () => "completed"),
            `killed at ${killAt}`
          )
          return first
        })
        const whole = yield* go(undefined)
        assert.isTrue(Exit.isSuccess(whole.exit))
        for (const killAt of operationsBetween(200, whole.operations, 123)) yield* go(killAt)
      }))
  }
})
