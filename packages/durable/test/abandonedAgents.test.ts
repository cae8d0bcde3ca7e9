/**
 * An inner agent of a durable run that the run resumes or ends without is compensated once, for any killed or stopped
 * process.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit } from "effect"
import { VirtualTime } from "@recourse/testing"
import { type Composition, compositions, lost, made, reportOf, stores } from "./composedAgents.ts"
import { runner, untilEnded } from "./travel.ts"

const names = Object.keys(compositions) as ReadonlyArray<Composition>
/** Every operation, if `RECOURSE_EVERY_STEP` is set; otherwise some, selected by `RECOURSE_SEED`. */
const stride = process.env["RECOURSE_EVERY_STEP"] === undefined ? 361 : 1
const from = 20 + Number(process.env["RECOURSE_SEED"] ?? 0) % stride

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
                const whole = yield* live(made(composition, left, "memory"), {})
                const broken: Array<string> = []
                for (let at = from; at < whole.operations; at += stride) {
                  const one = made(composition, left, store)
                  yield* live(one, end === "is killed" ? { killAt: at } : { interruptAt: at })
                  const between = one.world.undone.length
                  const { exit } = yield* live(one, { startAt: 61_000, identity: 1 })
                  const about = `it ${end} at ${at} of ${whole.operations}, ${between} undone before`
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
      const whole = yield* live(made(composition, "at work", "memory"), {})
      const ends = new Set<string>()
      for (let killAt = from; killAt < whole.operations; killAt += Math.ceil(stride / 8)) {
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
