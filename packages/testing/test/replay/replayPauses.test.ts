import { assert, describe, it } from "@effect/vitest"
import { FaultPlan, Faults, Replay, ScriptedModel, Simulation, Subject, VirtualTime } from "@recourse/testing"
import { Effect, Exit, Layer, Option } from "effect"
import { Approval } from "@recourse/core"
import { subject as shop } from "../support/shop.ts"
import * as till from "../support/till.ts"

const replayed = (recording: Replay.Recording) =>
  Effect.map(
    Replay.run(till.subject.agent, recording, till.subject).pipe(Effect.provide(Subject.layer)),
    ({ difference, exit }) => ({ difference, exit })
  )

describe("a recording", () => {
  it.effect("covers pauses, with the decisions", () =>
    Effect.gen(function*() {
      const { input, model } = till.subject.scenarios["several"]!
      const decide = (pending: ReadonlyArray<Approval.PendingCall>) =>
        Effect.delay(
          Effect.succeed(
            pending.map((call) => call.tool === "pay" ? Approval.reject(call, "no") : Approval.approve(call))
          ),
          "10 minutes"
        )
      const { exit } = yield* VirtualTime.run(
        Replay.record(till.subject.agent, input, { tools: till.subject.tools, decide }).pipe(
          Effect.provide(Layer.merge(ScriptedModel.layer(model), Subject.layer)),
          Effect.provideService(Approval.Resumptions, { claim: () => Effect.succeed(true) })
        )
      )
      const { recording } = Option.getOrThrow(Exit.getSuccess(exit))
      assert.strictEqual(recording.version, Replay.version)
      assert.deepStrictEqual(recording.pauses?.map(({ decisions, waited }) => [decisions.length, waited]), [
        [3, 600_000],
        [1, 600_000]
      ])
      const stored = yield* Replay.parse(yield* Replay.stringify(recording))
      assert.deepStrictEqual((yield* replayed(stored)).difference, Option.none())

      // Simultaneous waits have any order.
      const events = stored.events.map((event) =>
        event._tag === "RunFinished" && event.pending !== undefined
          ? { ...event, pending: event.pending.toReversed() }
          : event
      )
      assert.isTrue(events.some((event) => event._tag === "RunFinished" && (event.pending?.length ?? 0) > 1))
      assert.deepStrictEqual((yield* replayed({ ...stored, events })).difference, Option.none())

      // Other decisions are another run.
      const pauses = stored.pauses!.map(({ waited }) => ({ waited, decisions: [] }))
      assert.isTrue(Option.isSome((yield* replayed({ ...stored, pauses })).difference))
    }))

  it.effect("of a later version is refused", () =>
    Effect.gen(function*() {
      const empty = { agent: "a", input: "", streaming: false, events: [], modelCalls: [], executions: [] }
      assert.strictEqual((yield* Replay.parse(JSON.stringify(empty))).version, undefined)
      yield* Effect.flip(Replay.parse(JSON.stringify({ ...empty, version: 3 })))
    }))

  it.effect("is made of events alone, over faults, retries and pauses", () =>
    Effect.gen(function*() {
      const plan = FaultPlan.make([
        FaultPlan.onTool("search", { type: "network_error" }),
        FaultPlan.onModel({ type: "model_error", reason: "InternalProviderError" })
      ])
      const run = yield* Simulation.run(shop, shop.scenarios["default"]!, { plan })
      const recording = Replay.fromEvents(run.events)
      assert.deepStrictEqual(recording.modelCalls.map(({ outcome }) => outcome._tag), [
        "Failed",
        "Parts",
        "Parts",
        "Parts"
      ])
      const same = yield* Replay.run(shop.agent, recording, shop).pipe(Effect.provide(Subject.layer))
      assert.deepStrictEqual(same.difference, Option.none())

      const paused = yield* Simulation.run(till.subject, till.subject.scenarios["several"]!)
      const made = Replay.fromEvents(paused.events)
      assert.isAbove(made.pauses?.length ?? 0, 1)
      assert.deepStrictEqual((yield* replayed(made)).difference, Option.none())
    }))

  it.effect("of events that lack an answer is another run", () =>
    Effect.gen(function*() {
      const services = Faults.layer(FaultPlan.none).pipe(
        Layer.provide(ScriptedModel.layer(shop.scenarios["default"]!.model))
      )
      const run = yield* Simulation.run(shop, shop.scenarios["default"]!).pipe(Effect.provide(services))
      const recording = Replay.fromEvents(run.events.filter(({ _tag }) => _tag !== "ToolResult"))
      const other = yield* Replay.run(shop.agent, recording, shop).pipe(Effect.provide(Subject.layer))
      assert.isTrue(Option.isSome(other.difference))
    }))
})
