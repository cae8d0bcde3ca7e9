/** Tools that diverge behind a pause. */

import { assert, describe, it } from "@effect/vitest"
import { Drive, ScriptedModel, VirtualTime } from "@recourse/testing"
import { Data, Effect, Exit, Layer } from "effect"
import { AgentEvent, Approval, type RunRecord, ToolCall } from "@recourse/core"
import { lastResults } from "../support/kit.ts"
import type { Args } from "../support/waitingCalls.ts"
import {
  agentOf,
  approvedAll,
  asks,
  type Call,
  Declined,
  layer,
  outer,
  pausedOf,
  played,
  resumed,
  stored,
  tool,
  withArguments,
  yes
} from "../support/waitingCalls.ts"

class Lost extends Data.TaggedError("Lost") {}

describe("a tool that diverges", () => {
  const forked = (ways: ReadonlyArray<Call>) => {
    let times = 0
    return outer(() => ways[Math.min(times++, ways.length - 1)]!)
  }

  it.effect("a new write waits for the replay of completed ones", () =>
    Effect.gen(function*() {
      const note = tool("note")
      const asked = tool("pay", asks)
      const agent = agentOf([forked([
        Effect.andThen(note.tool.call.pipe(withArguments({ to: "a" })), asked.tool.call),
        Effect.andThen(note.tool.call.pipe(withArguments({ to: "b" })), asked.tool.call)
      ])])
      const { audit, results } = yield* Drive.drive(approvedAll(agent))
      assert.deepStrictEqual([note.runs, asked.runs], [["a"], []])
      assert.deepStrictEqual(results, ["outcome_unknown"])
      assert.deepStrictEqual(audit.slice(-1), ["denied c/note_1"])
    }).pipe(Effect.provide(layer)))

  it.effect("a new write starts if no write was completed before", () =>
    Effect.gen(function*() {
      const first = tool("first", { execute: () => Effect.fail(new Declined()) })
      const note = tool("note")
      const asked = tool("pay", asks)
      const agent = agentOf([forked([
        Effect.andThen(Effect.option(first.tool.call), asked.tool.call),
        Effect.andThen(note.tool.call, asked.tool.call)
      ])])
      const { results } = yield* approvedAll(agent)
      assert.deepStrictEqual(results, ["pay 1 Ada"])
      assert.deepStrictEqual([note.runs, asked.runs], [["Ada"], ["Ada"]])
    }).pipe(Effect.provide(layer)))

  it.effect("a write with a key does not start, and its key is free", () =>
    Effect.gen(function*() {
      const note = tool("note", { idempotency: { key: ({ to }: typeof Args.Type) => to } })
      const asked = tool("pay", asks)
      const other = note.tool.call.pipe(withArguments({ to: "b" }))
      const agent = agentOf([
        forked([Effect.andThen(note.tool.call, asked.tool.call), Effect.andThen(other, asked.tool.call)])
      ])
      const { results } = yield* Drive.drive(approvedAll(agent))
      assert.deepStrictEqual(results, ["outcome_unknown"])
      const alone = yield* Effect.provideService(
        note.tool.call,
        ToolCall.ToolCall,
        ToolCall.make({ id: "x", arguments: { to: "b" } })
      )
      assert.deepStrictEqual([alone, note.runs], ["note 2 b", ["Ada", "b"]])
    }).pipe(Effect.provide(layer)))

  it.effect("an approved write starts: a tool may detect a completed step", () =>
    Effect.gen(function*() {
      const note = tool("note")
      const asked = tool("pay", asks)
      const agent = agentOf([forked([Effect.andThen(note.tool.call, asked.tool.call), asked.tool.call])])
      const { results } = yield* approvedAll(agent)
      assert.deepStrictEqual(results, ["pay 1 Ada"])
      assert.deepStrictEqual([note.runs, asked.runs], [["Ada"], ["Ada"]])
    }).pipe(Effect.provide(layer)))

  it.effect("a failure has an unknown outcome, also before the replay", () =>
    Effect.gen(function*() {
      const note = tool("note")
      const asked = tool("pay", asks)
      const agent = agentOf([
        forked([Effect.andThen(note.tool.call, asked.tool.call), Effect.fail(new Lost())])
      ])
      const { results } = yield* approvedAll(agent)
      assert.deepStrictEqual(results, ["outcome_unknown"])
    }).pipe(Effect.provide(layer)))
})

describe("of a call that was partly completed", () => {
  const halfway = Effect.gen(function*() {
    const note = tool("note")
    const asked = tool("pay", asks)
    const agent = agentOf([outer(() => Effect.andThen(note.tool.call, asked.tool.call))])
    const report = yield* played(agent.start("go"))
    return { agent, asked, events: report.events, note, paused: pausedOf(report) }
  })

  it.effect("a partly completed call is not reported as not made: rejected", () =>
    Effect.gen(function*() {
      const { agent, asked, paused } = yield* halfway
      const { audit, events, results } = yield* resumed(agent, paused, [
        Approval.reject(paused.pending[0]!, "too much")
      ])
      assert.deepStrictEqual(results, ["outcome_unknown"])
      assert.deepStrictEqual(asked.runs, [])
      assert.include(audit, "rejected c/pay_1")
      const said = events.findLast((event) => event._tag === "ToolResult" && event.callId === "c")
      assert.include(JSON.stringify(said), "A part of this call was done. A person rejected another: too much")
    }).pipe(Effect.provide(layer)))

  it.effect("an unstarted call is reported as not made: rejected", () =>
    Effect.gen(function*() {
      const first = tool("first", { execute: () => Effect.fail(new Declined()) })
      const asked = tool("pay", asks)
      const agent = agentOf([outer(() => Effect.andThen(Effect.option(first.tool.call), asked.tool.call))])
      const paused = pausedOf(yield* played(agent.start("go")))
      const { results } = yield* resumed(agent, paused, [Approval.reject(paused.pending[0]!, "too much")])
      assert.deepStrictEqual(results, ["permission_denied"])
    }).pipe(Effect.provide(layer)))

  it.effect("a partly completed call is not reported as not made: waiting", () =>
    Effect.gen(function*() {
      const { agent } = yield* halfway
      const { exit } = yield* played(agent.report("go"))
      const { transcript } = (Exit.isSuccess(exit) ? exit.value : assert.fail()) as RunRecord.RunRecord
      const [result] = lastResults(transcript)
      assert.deepInclude(result?.result, {
        code: "outcome_unknown",
        message_for_model: "A part of this call was done. Another part has no approval."
      })
    }).pipe(Effect.provide(layer)))

  it.effect("a partly completed call is never not made, interrupted anywhere", () =>
    Effect.gen(function*() {
      const { agent, asked, note, paused } = yield* halfway
      const go = (interruptAt?: number) => {
        const events: Array<AgentEvent.AgentEvent> = []
        return VirtualTime.run(
          agent.resume(stored(paused), yes(paused)).pipe(
            Effect.provide(Layer.mergeAll(
              ScriptedModel.layer(ScriptedModel.steps([ScriptedModel.text("done")])),
              AgentEvent.listen((event) => Effect.sync(() => void events.push(event))),
              layer
            )),
            Effect.provideService(Approval.Resumptions, { claim: () => Effect.succeed(true) })
          ) as Effect.Effect<unknown, unknown>,
          interruptAt === undefined ? {} : { interruptAt }
        ).pipe(Effect.map(({ operations }) => ({ events, operations })))
      }
      const { operations } = yield* go()
      let cutOff = 0
      for (let at = 1; at <= operations; at++) {
        const { events } = yield* go(at)
        const results = events.flatMap((event) => event._tag === "ToolResult" && event.callId === "c" ? [event] : [])
        for (const { code, isFailure } of results) {
          if (!isFailure) continue
          cutOff++
          assert.strictEqual(code, "outcome_unknown", `operation ${at}`)
        }
      }
      assert.isAbove(cutOff, 20)
      assert.deepStrictEqual(note.runs, ["Ada"])
      assert.isAbove(asked.runs.length, 0)
    }).pipe(Effect.provide(layer)))
})

describe("of a call that waits", () => {
  const done = () => tool("note")
  const declined = () => tool("first", { execute: () => Effect.fail(new Declined()) })
  const look = () => tool("look", { effects: "read" })
  const cases: Readonly<Record<string, readonly [before: ReadonlyArray<ReturnType<typeof tool>>, isInPart: boolean]>> =
    {
      "and did nothing": [[], false],
      "and has read something": [[look()], false],
      "and tried something that was not done": [[declined()], false],
      "and has done something": [[done()], true],
      "and has done something besides what was not done": [[declined(), done()], true]
    }
  for (const [name, [before, isInPart]] of Object.entries(cases)) {
    it.effect(`${name} the model reads that a part was ${isInPart ? "" : "not "}done`, () =>
      Effect.gen(function*() {
        const asked = tool("pay", asks)
        const agent = agentOf([
          outer(() => Effect.andThen(Effect.forEach(before, ({ tool }) => Effect.option(tool.call)), asked.tool.call))
        ])
        const { exit } = yield* played(agent.report("go"))
        const { transcript } = (Exit.isSuccess(exit) ? exit.value : assert.fail()) as RunRecord.RunRecord
        const said = JSON.stringify(lastResults(transcript))
        assert.strictEqual(said.includes("A part of this call was done."), isInPart, said)
      }).pipe(Effect.provide(layer)))
  }
})
