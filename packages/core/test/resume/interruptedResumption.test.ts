import { assert, describe, it } from "@effect/vitest"
import { ScriptedModel } from "@recourse/testing"
import { Effect, Fiber, Layer, Redacted, Schema } from "effect"
import { Agent, Approval, Policy, Recovery, Tool } from "@recourse/core"
import { NodeSqliteClient } from "@recourse/sql"

const key = Approval.layerKey(Redacted.make("0123456789abcdef0123456789abcdef"))

interface World {
  readonly ran: Array<string>
  /** Held: the step of that name waits for ever. */
  hold: "policy" | "model" | "execute" | undefined
  /** The step that is held now. */
  at?: World["hold"]
}

/** Waits until a step is held. */
const reached = (world: World, step: World["hold"]): Effect.Effect<void> =>
  Effect.suspend(() =>
    world.at === step
      ? Effect.void
      : Effect.flatMap(Effect.promise(() => new Promise((done) => setTimeout(done, 1))), () => reached(world, step))
  )

const held = (world: World, step: World["hold"]): Effect.Effect<void> =>
  Effect.suspend(() => {
    if (world.hold !== step) return Effect.void
    world.at = step
    return Effect.never
  })

const deskOf = (world: World) => {
  const Refund = Tool.make("refund", {
    parameters: Schema.Struct({ n: Schema.Number }),
    success: Schema.String,
    effects: "write",
    needsApproval: true,
    execute: ({ n }) =>
      Effect.andThen(Effect.sync(() => void world.ran.push(`refund ${n}`)), Effect.as(held(world, "execute"), "done"))
  })
  const options = {
    defaults: { onError: Recovery.standard },
    policies: [Policy.make("slow", () => Effect.as(held(world, "policy"), Policy.allow))]
  } as const
  const clerk = Agent.make("clerk", {
    ...options,
    instructions: "clerk",
    input: Schema.Struct({ n: Schema.Number }),
    tools: [Refund]
  })
  const Ask = clerk.pipe(
    Agent.asTool("ask", {
      description: "Asks",
      parameters: Schema.Struct({ n: Schema.Number }),
      success: Schema.String,
      effects: "write"
    })
  )
  return Agent.make("desk", { ...options, tools: [Refund, Ask] })
}

const isClerk = ({ content }: ScriptedModel.Request["prompt"]) => content[0]?.role === "system"

/** Calls the tool, and says "ok" once it has an answer. */
const model = (world: World, tool: "refund" | "ask"): ScriptedModel.Behaviour => ({ prompt }) => {
  if (prompt.content.at(-1)?.role === "tool") {
    if (world.hold !== "model") return ScriptedModel.text("ok")
    world.at = "model"
    return ScriptedModel.hang
  }
  return isClerk(prompt)
    ? ScriptedModel.call("refund", { n: 1 }, { id: "r" })
    : ScriptedModel.call(tool, { n: 1 }, { id: "c" })
}

const environment = (world: World, tool: "refund" | "ask") => Layer.merge(key, ScriptedModel.layer(model(world, tool)))

const paused = (world: World, tool: "refund" | "ask") =>
  Effect.map(deskOf(world).start("go").pipe(Effect.provide(environment(world, tool))), (outcome) => {
    assert.strictEqual(outcome._tag, "Paused")
    return outcome as Approval.Paused
  })

const resume = (world: World, tool: "refund" | "ask", { pending, snapshot }: Approval.Paused, approves = true) =>
  deskOf(world).resume(
    JSON.parse(JSON.stringify(snapshot)),
    pending.map((call) => approves ? Approval.approve(call) : Approval.reject(call, "no"))
  ).pipe(Effect.provide(environment(world, tool)))

const settle = (times: number) =>
  Effect.forEach(Array.from({ length: times }), () => Effect.yieldNow, { discard: true })

describe("a resumption that is interrupted", () => {
  for (const tool of ["refund", "ask"] as const) {
    it.effect(`before the call ran (${tool}) gives its snapshot back`, () =>
      Effect.gen(function*() {
        const world: World = { ran: [], hold: undefined }
        const pause = yield* paused(world, tool)
        world.hold = "policy"
        const fiber = yield* Effect.forkChild(resume(world, tool, pause), { startImmediately: true })
        yield* reached(world, world.hold)
        assert.isUndefined(fiber.pollUnsafe())
        // Meanwhile no other process has it.
        const other = yield* Effect.flip(resume({ ran: world.ran, hold: undefined }, tool, pause))
        assert.deepInclude(other, { _tag: "SnapshotRefused", reason: "used" })
        yield* Fiber.interrupt(fiber)
        assert.deepStrictEqual(world.ran, [])
        world.hold = undefined
        const again = yield* resume(world, tool, pause)
        assert.strictEqual(again._tag, "Completed")
        assert.deepStrictEqual(world.ran, ["refund 1"])
        assert.deepInclude(yield* Effect.flip(resume(world, tool, pause)), { reason: "used" })
      }))

    it.effect(`after the call began (${tool}) has used it up`, () =>
      Effect.gen(function*() {
        const world: World = { ran: [], hold: undefined }
        const pause = yield* paused(world, tool)
        world.hold = "execute"
        const fiber = yield* Effect.forkChild(resume(world, tool, pause), { startImmediately: true })
        yield* reached(world, world.hold)
        yield* Fiber.interrupt(fiber)
        world.hold = undefined
        assert.deepInclude(yield* Effect.flip(resume(world, tool, pause)), { reason: "used" })
        assert.deepStrictEqual(world.ran, ["refund 1"])
      }))

    it.effect(`after a rejection (${tool}), during a model request, releases it, nested too`, () =>
      Effect.gen(function*() {
        const world: World = { ran: [], hold: undefined }
        const pause = yield* paused(world, tool)
        world.hold = "model"
        const fiber = yield* Effect.forkChild(resume(world, tool, pause, false), { startImmediately: true })
        yield* reached(world, world.hold)
        yield* Fiber.interrupt(fiber)
        world.hold = undefined
        assert.strictEqual((yield* resume(world, tool, pause))._tag, "Completed")
        assert.deepStrictEqual(world.ran, ["refund 1"])
      }))

    it.effect(`at any step (${tool}): runs at most once, else frees the snapshot`, () =>
      Effect.gen(function*() {
        const seen = new Set<string>()
        for (let step = 0; step < 120; step++) {
          const world: World = { ran: [], hold: undefined }
          const pause = yield* paused(world, tool)
          const fiber = yield* Effect.forkChild(resume(world, tool, pause), { startImmediately: true })
          yield* settle(step)
          yield* Fiber.interrupt(fiber)
          const before = world.ran.length
          const again = yield* Effect.exit(resume(world, tool, pause))
          const outcome = again._tag === "Success" ? again.value._tag : (yield* Effect.flip(again))._tag
          assert.strictEqual(outcome, before === 0 ? "Completed" : "SnapshotRefused", `step ${step}`)
          assert.deepStrictEqual(world.ran, ["refund 1"], `step ${step}`)
          seen.add(outcome)
        }
        assert.isTrue(seen.has("Completed"))
      }))
  }

  it.effect("gives it back in a table, too", () =>
    Effect.gen(function*() {
      const world: World = { ran: [], hold: undefined }
      const pause = yield* paused(world, "refund")
      world.hold = "policy"
      const fiber = yield* Effect.forkChild(resume(world, "refund", pause), { startImmediately: true })
      yield* reached(world, world.hold)
      assert.deepInclude(yield* Effect.flip(resume(world, "refund", pause)), { reason: "claimed" })
      yield* Fiber.interrupt(fiber)
      world.hold = undefined
      assert.strictEqual((yield* resume(world, "refund", pause))._tag, "Completed")
      assert.deepStrictEqual(world.ran, ["refund 1"])
    }).pipe(
      Effect.provide(
        Approval.layerResumptionsSql().pipe(Layer.provide(NodeSqliteClient.layer({ filename: ":memory:" })))
      )
    ))
})
