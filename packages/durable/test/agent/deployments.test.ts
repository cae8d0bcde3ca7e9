/** Deployments while runs wait: the next program resumes a run unless a tool that the run is about has changed. */
import { assert, describe, it } from "@effect/vitest"
import { Agent, Approval, Recovery, Tool } from "@recourse/core"
import { Durable, RunCheck, RunStore } from "@recourse/durable"
import { Drive, ScriptedModel } from "@recourse/testing"
import { Effect, Exit, Layer, Schema } from "effect"
import { localStores } from "../support/localStores.ts"

const defaults = { onError: Recovery.standard }
type Log = Array<string>

/** A desk whose helper refunds; `changed` are described otherwise, `gone` are not there. */
const deskOf = (log: Log, { added = false, changed = [], gone = [] }: {
  readonly added?: boolean
  readonly changed?: ReadonlyArray<string>
  readonly gone?: ReadonlyArray<string>
}) => {
  const tools = (...names: ReadonlyArray<string>) =>
    [...names, ...(added ? ["added"] : [])].filter((name) => !gone.includes(name)).map((name) =>
      Tool.make(name, {
        description: changed.includes(name) ? "Otherwise" : "As before",
        parameters: Schema.Struct({}),
        success: Schema.String,
        effects: "write",
        needsApproval: name === "refund" || name === "pay",
        execute: () => Effect.sync(() => (log.push(name), name))
      })
    )
  const helper = Agent.make("helper", { instructions: "helper", tools: tools("peek", "refund"), defaults })
  const description = changed.includes("ask_helper") ? "Otherwise" : "As before"
  const asked = helper.pipe(Agent.asTool("ask_helper", { description }))
  return Durable.make(
    Agent.make("desk", { instructions: "desk", tools: [...tools("write", "pay"), asked], defaults })
  )
}

const { call, calls, text } = ScriptedModel

const model = ScriptedModel.layer(({ prompt }) =>
  prompt.content.at(-1)?.role === "tool"
    ? text("done")
    : String(prompt.content[0]?.content) === "helper"
    ? call("refund", {}, { id: "r" })
    : calls([
      { name: "write", params: {}, id: "w" },
      { name: "pay", params: {}, id: "p" },
      { name: "ask_helper", params: { input: "refund" }, id: "a" }
    ])
)

const deployments = [
  ["nothing", {}, true],
  ["other tools, added and described otherwise", { added: true, changed: ["write", "peek"] }, true],
  ["other tools, removed", { gone: ["write", "peek"] }, true],
  ["the tool that waits", { changed: ["pay"] }, false],
  ["the tool that waits, removed", { gone: ["pay"] }, false],
  ["the tool of the agent that waits", { changed: ["ask_helper"] }, false],
  ["the tool that waits in an agent", { changed: ["refund"] }, false]
] as const

describe.each(Object.keys(localStores) as ReadonlyArray<keyof typeof localStores>)("a run that waits on %s", (kind) => {
  for (const [what, change, canResume] of deployments) {
    it.effect(`is ${canResume ? "resumed" : "refused"} if a deployment changes ${what}`, () =>
      Drive.drive(
        Effect.gen(function*() {
          const log: Log = []
          const store = yield* RunStore.RunStore
          const within = <A, E>(desk: ReturnType<typeof deskOf>, use: Effect.Effect<A, E, never>) =>
            use.pipe(
              Effect.provide(Layer.fresh(
                Durable.layer([desk]).pipe(
                  Layer.provide([Layer.succeed(RunStore.RunStore, store), model])
                )
              )),
              Effect.scoped
            )
          const until = (desk: ReturnType<typeof deskOf>, status: string) =>
            Effect.repeat(Effect.andThen(Effect.sleep("100 millis"), desk.poll("run")), {
              until: (run) => run.status === status
            })
          const before = deskOf(log, {})
          yield* within(
            before,
            Effect.andThen(before.start("run", "go"), until(before, "waiting")) as Effect.Effect<unknown>
          )
          assert.deepStrictEqual(log, ["write"])

          const after = deskOf(log, change)
          const { resumable, runs } = yield* RunCheck.check([after])
          assert.strictEqual(resumable, canResume ? 1 : 0)
          assert.strictEqual(runs.length, 1)

          const exit = yield* within(
            after,
            Effect.gen(function*() {
              const { pending } = yield* after.poll("run")
              yield* after.decide("run", pending.map((one) => Approval.approve(one)))
              return yield* Effect.exit(after.await("run"))
            }) as Effect.Effect<Exit.Exit<unknown, unknown>>
          )
          assert.strictEqual(Exit.isSuccess(exit), canResume)
          assert.sameMembers(log, canResume ? ["write", "pay", "refund"] : ["write"])
          if (!canResume) assert.include(JSON.stringify(exit), "SnapshotRefused")
        }).pipe(Effect.provide(localStores[kind]))
      ) as Effect.Effect<void>)
  }
})
