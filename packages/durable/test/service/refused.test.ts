/**
 * Durable runs that the present agent does not continue: their writes are compensated, or reported as uncompensated.
 * And decisions that it refuses.
 */
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer, Logger, Schema, Stream } from "effect"
import { Agent, Approval, Recovery, Runs, Tool } from "@recourse/core"
import { Durable, RunStore } from "@recourse/durable"
import { ScriptedModel, VirtualTime } from "@recourse/testing"
import { operationsBetween } from "../../../core/test/support/operations.ts"

const worldOf = () => {
  const log: Array<string> = []
  const kept = Effect.runSync(Effect.scoped(Layer.build(Layer.fresh(RunStore.layerMemory))))
  const store = Layer.succeedContext(kept)
  const Flight = Tool.make("flight", {
    success: Schema.String,
    effects: "write",
    execute: () =>
      Effect.andThen(Effect.sync(() => log.push("flight")), Effect.as(Effect.sleep("30 millis"), "booked")),
    compensate: () => Effect.andThen(Effect.sync(() => log.push("unflight")), Effect.sleep("30 millis"))
  })
  const Pay = Tool.make("pay", {
    success: Schema.Int,
    effects: "write",
    needsApproval: true,
    execute: () => Effect.sync(() => log.push("pay"))
  })
  const OtherPay = Tool.make("pay", {
    description: "Pays in another way",
    success: Schema.Int,
    effects: "write",
    needsApproval: true,
    execute: () => Effect.sync(() => log.push("pay"))
  })
  const options = { defaults: { onError: Recovery.keepGoing }, compensation: {} } as const
  const older = { version: "2", previousVersions: { "1": "continue" } } as const
  const first = Durable.make(Agent.make("clerk", { tools: [Flight, Pay], ...options }))
  /** The next version's agents. */
  const next = {
    "has other tools": Durable.make(Agent.make("clerk", { tools: [Flight, OtherPay], ...options }), older),
    "cannot wait": Durable.make(Agent.fromFunction("clerk", (text: string) => Effect.succeed(text)), older),
    "takes another input": Durable.make(
      Agent.make("clerk", { tools: [Flight, Pay], ...options, input: Schema.Struct({ n: Schema.Int }) }),
      { ...older, input: Schema.Struct({ n: Schema.Int }) }
    )
  }
  const model = ScriptedModel.layer(({ prompt }) => {
    const turn = prompt.content.filter(({ role }) => role === "assistant").length
    return ScriptedModel.delay(
      "30 millis",
      turn < 2 ? ScriptedModel.call(["flight", "pay"][turn]!, {}, { id: `c${turn}` }) : ScriptedModel.text("done")
    )
  })
  const process = (agent: Durable.Any, limit: number) =>
    Effect.never.pipe(
      Effect.provide(
        Durable.layer([agent], { grace: 1 }).pipe(Layer.provide([store, model])) as Layer.Layer<Runs.Runs>
      ),
      Effect.timeoutOption(limit),
      Effect.provide(Logger.layer([]))
    )
  const client = <A, E>(effect: Effect.Effect<A, E, Runs.Runs>, agents: ReadonlyArray<Durable.Any> = [first]) =>
    Effect.provide(effect, Durable.layerClient(agents).pipe(Layer.provide(store)))
  const pending = Effect.map(
    client(first.poll("r1")),
    (info) => info.pending as unknown as ReadonlyArray<Approval.PendingCall>
  )
  const seen = client(
    Effect.flatMap(Runs.Runs, (runs) => Effect.zip(runs.get("r1"), Stream.runCollect(runs.events("r1"))))
  )
  return { client, first, log, next, pending, process, seen, store: Context.get(kept, RunStore.RunStore) }
}

type World = ReturnType<typeof worldOf>

/** Completed writes are compensated once, or reported, and the run has its failure. */
const laws = Effect.fnUntraced(function*({ log, seen }: World, error: string | undefined, about: string) {
  const [info, events] = yield* seen
  const status = error === undefined ? "cancelled" : "failed"
  assert.deepEqual([info.status, info.failure?.error], [status, error], about)
  assert.deepEqual(events.map(({ number }) => number), events.map((_, n) => n), about)
  const told = events.flatMap(({ event }) => event._tag === "ToolCompensated" ? [event.outcome] : [])
  const undone = log.filter((one) => one === "unflight").length
  assert.isAtMost(undone, 1, about)
  assert.isAtLeast(told.length, 1, about)
  if (undone === 0) assert.deepEqual(told, ["not_undone"], about)
  const last = error === undefined ? { outcome: "interrupted" } as const : { outcome: "failure", error } as const
  assert.deepInclude(events.at(-1)?.event, { _tag: "RunFinished", ...last }, about)
  assert.isFalse(log.includes("pay"), about)
  return undone
})

describe("a durable run that the present agent does not continue", () => {
  for (
    const [version, error] of [
      ["has other tools", "SnapshotRefused"],
      ["cannot wait", "SnapshotRefused"],
      ["takes another input", "InvalidInput"]
    ] as const
  ) {
    it.live(`is compensated, or reported as uncompensated: one that ${version}`, () =>
      Effect.gen(function*() {
        const go = Effect.fnUntraced(function*(killAt: number | undefined) {
          const world = worldOf()
          const { client, first, next, pending, process } = world
          yield* client(first.start("r1", "go"))
          // It waits, or is killed behind the booking.
          const isWaiting = version !== "takes another input"
          yield* VirtualTime.run(process(first, 60_000), isWaiting ? {} : { killAt: 620 })
          if (isWaiting) yield* client(first.decide("r1", [Approval.approve((yield* pending)[0]!)]))
          assert.deepEqual(world.log, ["flight"])
          const killed = yield* VirtualTime.run(process(next[version], 60_000), { startAt: 100_000, killAt })
          yield* VirtualTime.run(process(next[version], 60_000), { startAt: 300_000, identity: 1 })
          return { ...killed, undone: yield* laws(world, error, `killed at ${killAt}`) }
        })
        const { undone } = yield* go(undefined)
        assert.strictEqual(undone, version === "has other tools" ? 1 : 0)
        for (const killAt of operationsBetween(60, 800, 47)) yield* go(killAt)
      }))
  }

  it.live("refuses impossible results of its tool, and is compensated with one", () =>
    Effect.gen(function*() {
      const world = worldOf()
      const { client, first, pending, process } = world
      yield* client(first.start("r1", "go"))
      yield* VirtualTime.run(process(first, 60_000))
      const decide = (result: Schema.Json) =>
        Effect.flatMap(pending, ([call]) => client(first.decide("r1", [Approval.respond(call!, result)])))
      assert.deepInclude(yield* Effect.flip(decide("seven")), { _tag: "DecisionRefused", reason: "invalid_result" })
      assert.strictEqual((yield* client(first.poll("r1"))).status, "waiting")
      // A process that does not have the agent cannot know.
      const [call] = yield* pending
      const blind = Effect.flatMap(Runs.Runs, (runs) => runs.decide("r1", [Approval.respond(call!, "seven")]))
      yield* client(blind, [])
      yield* VirtualTime.run(process(first, 60_000), { startAt: 100_000 })
      assert.strictEqual(yield* laws(world, "DecisionRefused", "a result that does not fit"), 1)
    }))

  for (const how of ["cannot wait", "has a decision that its agent refuses"] as const) {
    it.live(`is compensated if cancelled, or reported as uncompensated: one that ${how}`, () =>
      Effect.gen(function*() {
        const world = worldOf()
        const { client, first, next, pending, process } = world
        yield* client(first.start("r1", "go"))
        yield* VirtualTime.run(process(first, 60_000))
        const [call] = yield* pending
        yield* client(Effect.flatMap(Runs.Runs, (runs) => runs.decide("r1", [Approval.respond(call!, "seven")])), [])
        yield* client(first.cancel("r1"))
        const agent = how === "cannot wait" ? next[how] : first
        yield* VirtualTime.run(process(agent, 60_000), { startAt: 100_000 })
        assert.strictEqual(yield* laws(world, undefined, how), how === "cannot wait" ? 0 : 1)
      }))
  }
})
