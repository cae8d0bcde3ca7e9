/**
 * An inner agent of a durable run that the run resumes or ends without is compensated once, for any killed or stopped
 * process.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit } from "effect"
import { VirtualTime } from "@recourse/testing"
import { operationsBetween } from "../../../core/test/support/operations.ts"
import { type Composition, compositions, type Left, lost, made, reportOf, stores } from "../support/composedAgents.ts"
import { runner, untilEnded } from "../support/travel.ts"

const names = Object.keys(compositions) as ReadonlyArray<Composition>
const apart = 727

/** Operations of a run without a killed or stopped process. */
const operationsOf = new Map<string, number>()
const countOperations = (composition: Composition, left: Left) =>
  Effect.gen(function*() {
    const name = `${composition}, ${left}`
    const known = operationsOf.get(name)
    if (known !== undefined) return known
    const { operations } = yield* live(made(composition, left, "memory"), {})
    operationsOf.set(name, operations)
    return operations
  })

const live = ({ agent, within }: ReturnType<typeof made>, options: VirtualTime.Options) =>
  within((all) =>
    VirtualTime.run(runner(all, agent, Effect.andThen(agent.start("r1", "Rome"), untilEnded(agent))), options)
  )

for (const left of ["at work", "waiting"] as const) {
  describe(`an agent within a durable run that is left ${left}`, () => {
    for (const store of stores) {
      for (const composition of names) {
        const { ended } = compositions[composition]

        it.live(`is compensated: ${composition}, ${store}`, () =>
          Effect.gen(function*() {
            const one = made(composition, left, store)
            const { exit } = yield* live(one, {})
            assert.strictEqual(Exit.isSuccess(exit) && exit.value.status, ended)
            const told = yield* reportOf(one)
            lost(one, told, "whole")
            assert.sameMembers(one.world.undone.map(({ what }) => what), ["flight-Rome", "hotel-Rome"])
            assert.strictEqual(told.length, 2)
            one.remove()
          }))

        // The connection of a killed process would stay open in this one.
        for (const end of store === "memory" ? ["is killed", "stops"] as const : []) {
          it.live(
            `is compensated once, wherever its process ${end}: ${composition}, ${store}`,
            () =>
              Effect.gen(function*() {
                const operations = yield* countOperations(composition, left)
                const broken: Array<string> = []
                for (const at of operationsBetween(20, operations, apart)) {
                  const one = made(composition, left, store)
                  yield* live(one, end === "is killed" ? { killAt: at } : { interruptAt: at })
                  const between = one.world.undone.length
                  const { exit } = yield* live(one, { startAt: 61_000, identity: 1 })
                  const about = `it ${end} at ${at} of ${operations}, ${between} undone before`
                  try {
                    assert.strictEqual(Exit.isSuccess(exit) && exit.value.status, ended, about)
                    lost(one, yield* reportOf(one), about)
                  } catch (error) {
                    broken.push((error as Error).message)
                  }
                  one.remove()
                }
                assert.strictEqual(broken.slice(0, 2).join(" | "), "", `${broken.length} broken`)
              }),
            60_000
          )
        }
      }
    }
  })
}

describe("a durable run whose failure does not recur in the next execution", () => {
  it.live("does not continue with compensated writes", () =>
    Effect.gen(function*() {
      const composition = "a sibling of Agent.all fails"
      const operations = yield* countOperations(composition, "at work")
      const ends = new Set<string>()
      for (const killAt of operationsBetween(20, operations, Math.ceil(apart / 12))) {
        const one = made(composition, "at work", "memory", true)
        yield* live(one, { killAt })
        const between = one.world.undone.length
        const { exit } = yield* live(one, { startAt: 61_000, identity: 1 })
        const about = `killed at ${killAt}, ${between} undone before`
        const info = Exit.isSuccess(exit) ? exit.value : undefined
        assert.isDefined(info, about)
        ends.add(info!.status)
        if (info!.status === "completed") assert.deepEqual(one.world.undone, [], about)
        else lost(one, yield* reportOf(one), about)
      }
      assert.deepEqual(ends, new Set(["completed", "failed"]))
    }), 60_000)
})
