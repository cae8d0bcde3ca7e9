/** Two versions of an agent side by side, over one store. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Layer, Schema, Stream } from "effect"
import { Agent, IdempotencyLedger, Recovery, Runs, Tool } from "@recourse/core"
import { Durable, RunStore } from "@recourse/durable"
import { ScriptedModel, VirtualTime } from "@recourse/testing"
import { ledgerStore } from "../../../core/test/fixtures/sharedStore.ts"

interface Deed {
  readonly version: string
  readonly deed: string
}

/** A world that outlives the processes. */
const worldOf = () => {
  const deeds: Array<Deed> = []
  const prompts: Array<string> = []
  const store = Layer.succeedContext(Effect.runSync(Effect.scoped(Layer.build(Layer.fresh(RunStore.layerMemory)))))
  const ledger = Layer.suspend(() => IdempotencyLedger.layer(ledgerStore()))
  const model = ScriptedModel.layer(({ prompt }) => {
    const turn = prompt.content.filter(({ role }) => role === "assistant").length
    prompts.push(JSON.stringify(prompt.content.at(-1)))
    return turn === 0
      ? ScriptedModel.calls([
        { name: "mail", params: {}, id: "c1" },
        { name: "pay", params: {}, id: "c2" },
        { name: "look", params: {}, id: "c3" }
      ])
      : ScriptedModel.text("done")
  })
  return { deeds, prompts, store, around: Layer.mergeAll(store, ledger, model) }
}

type World = ReturnType<typeof worldOf>

/** A minute each, so that a process can be killed in the middle. */
const tool = ({ deeds }: World, version: string, name: string, effects: "read" | "write", idempotency?: true) =>
  Tool.make(name, {
    success: Schema.String,
    effects,
    ...(idempotency === undefined ? undefined : { idempotency }),
    execute: () =>
      Effect.sync(() => deeds.push({ version, deed: name })).pipe(
        Effect.andThen(Effect.sleep("1 minute")),
        Effect.as(`${name} done`)
      )
  })

type Older = Durable.Options<Schema.String, Schema.String, Schema.Never>["previousVersions"]

const one = (world: World, previousVersions?: Older) =>
  Durable.make(
    Agent.make("clerk", {
      tools: [
        tool(world, "1", "mail", "write"),
        tool(world, "1", "pay", "write", true),
        tool(world, "1", "look", "read")
      ],
      defaults: { onError: Recovery.keepGoing }
    }),
    { version: "1", previousVersions }
  )

/** The second version has other instructions, no `mail`, and no key for `pay`. */
const two = (world: World, previousVersions?: Older) =>
  Durable.make(
    Agent.make("clerk", {
      instructions: "Better ones",
      tools: [tool(world, "2", "pay", "write"), tool(world, "2", "look", "read")],
      defaults: { onError: Recovery.keepGoing }
    }),
    { version: "2", previousVersions }
  )

const running = (world: World, agents: ReadonlyArray<ReturnType<typeof one>>) =>
  Effect.never.pipe(
    Effect.provide(Durable.layer(agents).pipe(Layer.provide(world.around))),
    Effect.timeoutOption("10 minutes")
  )

const asking = <A, E>(world: World, effect: Effect.Effect<A, E, Runs.Runs>, agent = one(world)) =>
  Effect.provide(effect, Durable.layerClient([agent]).pipe(Layer.provide(world.store)))

/** Begins a run with version 1 and kills its process while all three calls are under way. */
const cutOff = (world: World) =>
  Effect.gen(function*() {
    yield* asking(world, one(world).start("r1", "go"))
    const { elapsed, stopped } = yield* VirtualTime.run(running(world, [one(world)]), { killAt: 2500 })
    assert.strictEqual(stopped, "killed")
    assert.isBelow(elapsed, 60_000)
    assert.deepEqual(world.deeds.map(({ deed }) => deed).toSorted(), ["look", "mail", "pay"])
  })

const later = { startAt: 3_600_000 }

const resultsOf = (world: World) =>
  Effect.map(
    asking(world, Effect.flatMap(Runs.Runs, (runs) => Stream.runCollect(runs.events("r1")))),
    (events) => events.flatMap(({ event }) => event._tag === "ToolResult" ? [`${event.tool} ${event.code}`] : [])
  )

describe("a run that a previous version of its agent started", () => {
  it.live("is left to that version", () =>
    Effect.gen(function*() {
      const world = worldOf()
      yield* cutOff(world)
      yield* VirtualTime.run(running(world, [two(world)]), later)
      assert.strictEqual((yield* asking(world, one(world).poll("r1"))).status, "running")
      assert.isFalse(world.deeds.some(({ version }) => version === "2"))
      // New runs begin with the new version, and are not taken by the old one.
      yield* asking(world, two(world).start("r2", "go"), two(world))
      yield* VirtualTime.run(running(world, [one(world)]), later)
      const [first, second] = yield* asking(world, Effect.all([one(world).poll("r1"), one(world).poll("r2")]))
      assert.deepEqual([first.status, first.version, second.status, second.version], [
        "completed",
        "1",
        "queued",
        "2"
      ])
      assert.strictEqual(world.deeds.filter(({ deed }) => deed === "mail").length, 1)
    }))

  it.live("continues with that version in a process that has both", () =>
    Effect.gen(function*() {
      const world = worldOf()
      yield* cutOff(world)
      yield* asking(world, two(world).start("r2", "go"), two(world))
      yield* VirtualTime.run(running(world, [two(world), one(world)]), later)
      const [first, second] = yield* asking(world, Effect.all([one(world).poll("r1"), one(world).poll("r2")]))
      assert.deepEqual([first.version, second.version], ["1", "2"])
      assert.deepEqual([first.status, second.status], ["completed", "completed"])
      const versions = new Set(world.deeds.slice(3).map(({ deed, version }) => `${deed} ${version}`))
      assert.isTrue(versions.has("pay 1") && versions.has("pay 2") && !versions.has("mail 2"))
    }))

  it.live("continues with a newer declared one; other started calls are unknown", () =>
    Effect.gen(function*() {
      const world = worldOf()
      yield* cutOff(world)
      const newer = two(world, { "1": "continue" })
      // Both run: the previousVersions one does not take it back.
      const ended = yield* VirtualTime.runAll<unknown, unknown, never>([
        { effect: running(world, [newer]) },
        { effect: Effect.andThen(Effect.sleep("5 seconds"), running(world, [one(world)])), identity: 1 }
      ], later)
      assert.isTrue(ended.every(({ exit }) => Exit.isSuccess(exit)))
      const info = yield* asking(world, newer.poll("r1"), newer)
      assert.deepEqual([info.status, info.version], ["completed", "2"])
      // The mail has no tool any more, and the payment had a key: neither is made again.
      assert.deepEqual(world.deeds.slice(3), [{ version: "2", deed: "look" }])
      assert.deepEqual((yield* resultsOf(world)).toSorted(), [
        "look undefined",
        "mail outcome_unknown",
        "pay outcome_unknown"
      ])
      assert.strictEqual(world.prompts.length, 2)
      assert.include(world.prompts[1]!, "outcome_unknown")
    }))

  it.live("is stopped by a newer one that declares it, with an error", () =>
    Effect.gen(function*() {
      const world = worldOf()
      yield* cutOff(world)
      const newer = two(world, { "1": "stop" })
      yield* VirtualTime.run(running(world, [newer]), later)
      const error = yield* asking(world, Effect.flip(newer.await("r1")), newer)
      assert.deepEqual(error, new Durable.VersionStopped({ runId: "r1", version: "1" }))
      const events = yield* asking(world, Effect.flatMap(Runs.Runs, (runs) => Stream.runCollect(runs.events("r1"))))
      const last = events.at(-1)?.event
      assert.strictEqual(last?._tag === "RunFinished" && last.code, "version_stopped")
      assert.strictEqual(world.deeds.length, 3)
    }))

  it.live("is registered once for each version", () =>
    Effect.gen(function*() {
      const world = worldOf()
      const both = Layer.build(Durable.layer([one(world), one(world)])).pipe(
        Effect.provide(world.around),
        Effect.scoped
      )
      const exit = yield* Effect.exit(both)
      assert.isTrue(Exit.hasDies(exit) && String(exit).includes("registered twice"))
    }))
})
