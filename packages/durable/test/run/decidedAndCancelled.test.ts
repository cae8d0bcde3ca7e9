/** Runs that a person decides and another one cancels at the same time: the decided write is not made, and those before are compensated. */
import { assert, describe, it } from "@effect/vitest"
import { Approval } from "@recourse/core"
import { VirtualTime } from "@recourse/testing"
import { Effect, Exit } from "effect"
import type * as Schema from "effect/Schema"
import { client, laws, runner, travel, untilEnded, untilWaiting, whats, worldOf } from "../support/travel.ts"

describe("a waiting run that is decided and cancelled at the same time", () => {
  for (const first of ["the decision", "the cancellation"] as const) {
    it.live(`is compensated, without the decided write: ${first} comes first`, () =>
      Effect.gen(function*() {
        const all = worldOf("pay")
        const agent = travel(all.world)
        yield* VirtualTime.run(runner(all, agent, untilWaiting(agent)))
        const stored = (yield* all.store.get("r1"))!
        const [call] = stored.pending as unknown as ReadonlyArray<Approval.PendingCall>
        // The service has read the run before the other request changed it.
        const decided = { callId: call!.callId, decision: Approval.approve(call!) as unknown as Schema.Json }
        const decide = all.store.decide("r1", stored.segment, [decided])
        const cancel = client(all, agent, agent.cancel("r1"))
        yield* first === "the decision" ? Effect.andThen(decide, cancel) : Effect.andThen(cancel, decide)
        const { exit } = yield* VirtualTime.run(runner(all, agent, untilEnded(agent)))
        assert.strictEqual(Exit.isSuccess(exit) && exit.value.status, "cancelled")
        assert.strictEqual(all.world.paid, 0)
        assert.deepEqual(whats(all.world), ["hotel-Rome", "flight-Rome"])
        laws(all.world, first)
      }))
  }
})
