/** Repetition of a call whose agent wrote before a pause. */
import { assert, describe, it } from "@effect/vitest"
import { Drive, ScriptedModel } from "@recourse/testing"
import { Effect, Redacted, Schedule, Schema } from "effect"
import { Agent, Approval, Recovery, Tool } from "@recourse/core"
import { lastResults } from "../support/kit.ts"

const { call, failure, text } = ScriptedModel

/** A clerk that pays, asks a person, and whose model fails after the pause; and an agent that has it as a tool and repeats its call. */
const world = (effects: "write" | "read") => {
  let paid = 0
  const told: Array<unknown> = []
  const pay = Tool.make("pay", { success: Schema.String, effects, execute: () => Effect.sync(() => (paid++, "paid")) })
  const ask = Tool.make("ask", {
    success: Schema.String,
    effects: "read",
    needsApproval: true,
    execute: () => Effect.succeed("asked")
  })
  const clerk = Agent.make("clerk", {
    instructions: "clerk",
    tools: [pay, ask],
    defaults: { onError: Recovery.keepGoing }
  }).pipe(Agent.asTool("clerk", { description: "Works" }))
  const again = Recovery.retry({ times: 1, schedule: Schedule.forever, while: () => true })
  const boss = Agent.make("boss", {
    instructions: "boss",
    tools: [clerk.pipe(Tool.onError(again))],
    defaults: { onError: Recovery.keepGoing }
  })
  let failures = 1
  const model = ScriptedModel.layer(({ prompt }) => {
    const [first] = prompt.content
    const results = lastResults(prompt)
    const ofClerk = first?.role === "system" && first.content === "clerk"
    const count = prompt.content.filter(({ role }) => role === "tool").length
    if (ofClerk && count < 2) return call(count === 0 ? "pay" : "ask", {}, { id: `c${count}` })
    if (ofClerk) return failures-- > 0 ? failure("InvalidRequestError") : text("all done")
    if (count === 0) return call("clerk", { input: "Pay" }, { id: "b0" })
    told.push(...results.map(({ result }) => Object(result)["code"] ?? result))
    return text("end")
  })
  const play = Effect.gen(function*() {
    let ended = yield* boss.start("go")
    for (let pauses = 0; ended._tag === "Paused"; pauses++) {
      assert.isBelow(pauses, 3)
      ended = yield* boss.resume(
        JSON.parse(JSON.stringify(ended.snapshot)),
        ended.pending.map((one) => Approval.approve(one))
      )
    }
    return { paid, told }
  })
  return Drive.drive(Effect.provide(play, [model, Approval.layerKey(Redacted.make("k".repeat(32)))]))
}

describe("a repeated call whose agent worked before a pause", () => {
  it.effect("is outcome_unknown if the agent has paid", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* world("write"), { paid: 1, told: ["outcome_unknown"] })
    }))

  it.effect("runs the agent again if it has only read", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* world("read"), { paid: 2, told: ["all done"] })
    }))
})
