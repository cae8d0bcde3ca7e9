/** Runs in memory beyond their capacity. */
import { assert, describe, it } from "@effect/vitest"
import { Agent, Approval, Recovery, Runs, Tool } from "@recourse/core"
import { MemoryRuns } from "@recourse/server"
import { ScriptedModel } from "@recourse/testing"
import { Deferred, Effect, Layer, Redacted } from "effect"

const gate = Deferred.makeUnsafe<void>()
const slow = Agent.fromFunction("slow", (text: string) => Effect.as(Deferred.await(gate), text))
const quick = Agent.fromFunction("quick", (text: string) => Effect.succeed(text))
const Pay = Tool.make("pay", { effects: "write", needsApproval: true, execute: () => Effect.void })
const asking = Agent.make("asking", { tools: [Pay], defaults: { onError: Recovery.standard } })

const runs = MemoryRuns.layer({ agents: [slow, quick, asking], capacity: 2 }).pipe(
  Layer.provide([
    Approval.layerKey(Redacted.make("0123456789abcdef0123456789abcdef")),
    ScriptedModel.layer(() => ScriptedModel.call("pay", {}))
  ])
)

const start = (service: Runs.RunsService, agent: string, runId: string) =>
  service.start({ agent, input: "Hi", runId, owner: "ada" })

describe("runs in memory beyond their capacity", () => {
  it.live("lose the run that ended first", () =>
    Effect.gen(function*() {
      const service = yield* Runs.Runs
      yield* start(service, "slow", "r1")
      yield* start(service, "quick", "r2")
      yield* service.wait("r2")
      yield* Deferred.succeed(gate, undefined)
      yield* service.wait("r1")
      yield* start(service, "quick", "r3")
      assert.strictEqual((yield* Effect.flip(service.get("r2")))._tag, "UnknownRun")
      assert.strictEqual((yield* service.get("r1")).status, "completed")
    }).pipe(Effect.provide(runs)))

  it.live("are refused while no run has ended", () =>
    Effect.gen(function*() {
      const service = yield* Runs.Runs
      for (const runId of ["r1", "r2"]) {
        yield* start(service, "asking", runId)
        yield* service.get(runId).pipe(Effect.repeat({ until: ({ status }) => status === "waiting" }))
      }
      assert.strictEqual((yield* Effect.flip(start(service, "quick", "r3")))._tag, "RunsUnavailable")
      assert.strictEqual((yield* service.get("r1")).status, "waiting")
    }).pipe(Effect.provide(runs)))
})
