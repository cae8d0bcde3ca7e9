/** All models of a run follow the caller's streaming option: those of inner agents, and of resumed runs too. */
import { assert, describe, it } from "@effect/vitest"
import { ScriptedModel } from "@recourse/testing"
import { Effect, Schema, Stream } from "effect"
import { Agent, Approval } from "@recourse/core"
import { boss, call, key, pay, standard, text, tool, type Waits } from "../support/bookings.ts"

const paying = Agent.make("paying", {
  ...standard,
  instructions: "paying",
  input: Schema.Unknown,
  tools: [pay([])]
})

const forms: Readonly<Record<string, Waits>> = {
  "an agent": paying as never,
  "agents of which an agent is made": Agent.all("w", [paying]) as never,
  "an agent that is a tool": boss([tool(paying, "ask")]) as never
}

const decided = (paused: Approval.Paused) => paused.pending.map((one) => Approval.approve(one))

type Options = { readonly streaming: boolean } | undefined

const ways: Readonly<Record<string, readonly [(agent: Waits) => Effect.Effect<unknown, unknown, never>, boolean]>> = {
  "run": [(agent) => Effect.exit(agent.run({})), false],
  "stream": [(agent) => Effect.exit(Stream.runDrain(agent.stream({}))), true],
  ...Object.fromEntries(
    [undefined, false, true].flatMap((streaming) => {
      const options: Options = streaming === undefined ? undefined : { streaming }
      const about = streaming === undefined ? "" : streaming ? ", streamed" : ", not streamed"
      return [
        [`run${about || " plainly"}`, [(agent: Waits) => Effect.exit(agent.run({}, options)), streaming === true]],
        [`start${about}`, [(agent: Waits) => agent.start({}, options), streaming === true]]
      ]
    })
  )
}

const goingOn: Readonly<
  Record<
    string,
    readonly [(agent: Waits, paused: Approval.Paused) => Effect.Effect<unknown, unknown, never>, boolean]
  >
> = {
  "resume": [(agent, paused) => agent.resume(paused.snapshot, decided(paused)), false],
  "resume, not streamed": [
    (agent, paused) => agent.resume(paused.snapshot, decided(paused), { streaming: false }),
    false
  ],
  "resume, streamed": [(agent, paused) => agent.resume(paused.snapshot, decided(paused), { streaming: true }), true],
  "resumeStream": [(agent, paused) => Stream.runDrain(agent.resumeStream(paused.snapshot, decided(paused))), true]
}

const asked = (run: Effect.Effect<unknown, unknown, never>) =>
  Effect.gen(function*() {
    const requests: Array<boolean> = []
    const turns = {
      boss: ScriptedModel.steps([call("ask", {}, { id: "a" }), text("done")]),
      paying: ScriptedModel.steps([call("pay", {}, { id: "p" }), text("paid")])
    }
    const layer = ScriptedModel.layer((request, index) => {
      requests.push(request.streaming)
      const [first] = request.prompt.content
      const who = first?.role === "system" && first.content.startsWith("boss") ? "boss" : "paying"
      return turns[who](request, index)
    })
    const before = yield* Effect.provide(run, [layer, key])
    return { before, requests }
  })

for (const [name, agent] of Object.entries(forms)) {
  describe(`the models of ${name}`, () => {
    for (const [way, [run, expected]] of Object.entries(ways)) {
      it.effect(`are asked ${expected ? "streamed" : "at once"}: ${way}`, () =>
        Effect.gen(function*() {
          const { requests } = yield* asked(run(agent))
          assert.isAbove(requests.length, 0)
          assert.isTrue(requests.every((streaming) => streaming === expected))
        }))
    }

    for (const [way, [run, expected]] of Object.entries(goingOn)) {
      it.effect(`are called ${expected ? "streamed" : "at once"}, at its continuation: ${way}`, () =>
        Effect.gen(function*() {
          const { before } = yield* asked(agent.start({}))
          const { requests } = yield* asked(run(agent, before as Approval.Paused))
          assert.isAbove(requests.length, 0)
          assert.isTrue(requests.every((streaming) => streaming === expected))
        }))
    }
  })
}
