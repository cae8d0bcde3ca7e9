/** Agents made of agents, over a pause. */

import { assert, describe, it } from "@effect/vitest"
import { ScriptedModel } from "@recourse/testing"
import { Cause, Effect, Exit, Redacted, Schema } from "effect"
import { Agent, Approval, Recovery, Tool } from "@recourse/core"
import { lastResults } from "../support/kit.ts"
import { clerk, key, model, paused, refund, says, stored } from "../support/agentsOverPause.ts"

const { call, text } = ScriptedModel

describe("an agent that is made of agents", () => {
  it.effect("refuses a decision about other arguments, and keeps the snapshot usable", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const agent = Agent.all("all", [clerk(log, "a"), clerk(log, "b")])
      const { pending, snapshot } = paused(yield* agent.start("x"))
      const [a, b] = pending.map((one) => Approval.approve(one))
      const refused = yield* Effect.flip(agent.resume(snapshot, [a!, { ...b!, argumentsHash: "0" }]))
      assert.deepInclude(refused, { _tag: "DecisionRefused", callId: "b/r" })
      assert.deepStrictEqual(log, [])
      const ended = yield* agent.resume(snapshot, [a!, b!])
      assert.deepInclude(ended, { _tag: "Completed", output: ["paid", "paid"] })
      assert.deepStrictEqual(log, ["refund A 500", "refund A 500"])
    }).pipe(Effect.provide([key, model])))

  it.effect("resumes the agent of one name whose tools waited", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const Look = Tool.make("look", { success: Schema.String, effects: "read", execute: () => Effect.succeed("seen") })
      const other = Agent.make("clerk", { tools: [Look], defaults: { onError: Recovery.standard } })
      const agent = Agent.branch("by", (s: string) => s === "x", { onTrue: clerk(log), onFalse: other })
      const swapped = Agent.branch("by", (s: string) => s !== "x", { onTrue: other, onFalse: clerk(log) })
      for (const one of [agent, swapped]) {
        const { pending, snapshot } = paused(yield* one.start("x"))
        const ended = yield* one.resume(stored(snapshot), pending.map((one) => Approval.approve(one)))
        assert.deepInclude(ended, { _tag: "Completed", output: "paid" })
      }
      assert.strictEqual(log.length, 2)
    }).pipe(Effect.provide([key, model])))

  it.effect("resumes the right one of two agents with one id", () =>
    Effect.gen(function*() {
      for (const isFirst of [true, false]) {
        const log: Array<string> = []
        const agents = { x: says("a_b", 1), y: clerk(log, "a/b"), z: clerk(log, "a_b") }
        const agent = () => Agent.route("by", (_: string) => isFirst ? "y" : "z", agents)
        const { pending, snapshot } = paused(yield* agent().start("x"))
        assert.deepStrictEqual(pending.map(({ callId }) => callId), ["a_b/r"])
        const ended = yield* agent().resume(stored(snapshot), pending.map((one) => Approval.approve(one)))
        assert.deepInclude(ended, { _tag: "Completed", output: "paid" })
        assert.deepStrictEqual(log, ["refund A 500"])
      }
    }).pipe(Effect.provide([key, model])))

  it.effect("resumes though a tool of an agent that does not wait changed", () =>
    Effect.gen(function*() {
      const looks = (description: string) =>
        Agent.make("looks", {
          tools: [Tool.make("look", { description, effects: "read", execute: () => Effect.void })],
          instructions: "looks"
        })
      const agent = (description: string) => Agent.all("all", [clerk([]), looks(description)])
      const answers = ScriptedModel.layer((request) =>
        request.prompt.content[0]?.role === "system" || request.prompt.content.at(-1)?.role === "tool"
          ? text("seen")
          : refund
      )
      const { pending, snapshot } = paused(yield* agent("Looks").start("x").pipe(Effect.provide(answers)))
      const decisions = pending.map((one) => Approval.approve(one))
      const ended = yield* agent("Looks away").resume(stored(snapshot), decisions).pipe(Effect.provide(answers))
      assert.deepInclude(ended, { _tag: "Completed", output: ["seen", "seen"] })
    }).pipe(Effect.provide(key)))

  it.effect("gives the reason to refuse an inner snapshot with its own key", () =>
    Effect.gen(function*() {
      const agent = (own: string) =>
        Agent.all("all", [
          clerk([]).pipe(Agent.provide(Approval.layerKey(Redacted.make(own.repeat(32))))),
          clerk([], "other")
        ])
      const { pending, snapshot } = paused(yield* agent("a").start("x"))
      const decided = (name: string) =>
        pending.filter(({ callId }) => callId === `${name}/r`).map((one) => Approval.approve(one))
      const refused = yield* Effect.flip(agent("b").resume(stored(snapshot), decided("clerk")))
      assert.deepInclude(refused, { _tag: "SnapshotRefused", agent: "clerk", reason: "tampered" })
      // Another one may resume: that snapshot was not opened.
      const { pending: left } = paused(yield* agent("b").resume(stored(snapshot), decided("other")))
      assert.deepStrictEqual(left.map(({ callId }) => callId), ["clerk/r"])
    }).pipe(Effect.provide([key, model])))

  it.effect("racing several fails behind a pause with the later failure", () =>
    Effect.gen(function*() {
      let runs = 0
      const down = Agent.fromFunction(
        "down",
        (_: string) => Effect.suspend(() => (runs++, Effect.fail("down" as const)))
      )
      const closed = clerk([]).pipe(
        Agent.andThen(Agent.fromFunction("closed", (_: string) => Effect.fail("closed" as const)))
      )
      let tries = 0
      const either = Agent.branch("either", (_: string) => tries++ % 2 === 0, { onTrue: down, onFalse: closed })
      const forms = {
        firstOf: () => Agent.firstOf("any", [down, closed, down]),
        vote: () => either.pipe(Agent.vote(2))
      }
      for (const form of Object.values(forms)) {
        runs = 0
        const { pending, snapshot } = paused(yield* form().start("x"))
        const before = runs
        assert.isAbove(before, 0)
        const error = yield* Effect.exit(form().resume(stored(snapshot), pending.map((one) => Approval.approve(one))))
        assert.strictEqual(Exit.isFailure(error) && Cause.squash(error.cause), "closed")
        // A failed step does not run again.
        assert.strictEqual(runs, before)
      }
    }).pipe(Effect.provide([key, model])))

  it.effect("stays tainted over a pause by an inner read", () =>
    Effect.gen(function*() {
      const sent: Array<string> = []
      const options = { defaults: { onError: Recovery.standard }, onTainted: "deny" } as const
      const fetch = Tool.make("fetch", { effects: "read", trust: "untrusted", execute: () => Effect.void })
      const ask = Tool.make("ask", { effects: "read", needsApproval: true, execute: () => Effect.void })
      const send = Tool.make("send", { effects: "write", execute: () => Effect.sync(() => void sent.push("sent")) })
      const calls = { reader: "fetch", asker: "ask", writer: "send" }
      const told: Array<unknown> = []
      const answering = ScriptedModel.layer(({ prompt }) => {
        const name = prompt.content[0]!.content as keyof typeof calls
        const [result] = lastResults(prompt)
        if (result === undefined) return call(calls[name], {})
        if (name === "writer") told.push(result.isFailure)
        return text("done")
      })
      for (const reads of [true, false]) {
        const reader = Agent.make("reader", { ...options, instructions: "reader", tools: [fetch] })
        const agent = () =>
          // The asking one has read no untrusted text: both start at once.
          Agent.all("both", [
            reads ? reader : says("reader", "x") as never as typeof reader,
            Agent.make("asker", { ...options, instructions: "asker", tools: [ask] })
          ]).pipe(
            Agent.andThen(Agent.fromFunction("join", (both: ReadonlyArray<string>) => Effect.succeed(both.join(" ")))),
            Agent.andThen(Agent.make("writer", { ...options, instructions: "writer", tools: [send] }))
          )
        const { pending, snapshot } = paused(yield* agent().start("x").pipe(Effect.provide(answering)))
        const ended = yield* agent().resume(stored(snapshot), pending.map((one) => Approval.approve(one))).pipe(
          Effect.provide(answering)
        )
        assert.strictEqual(ended._tag, "Completed")
      }
      assert.deepStrictEqual(told, [true, false])
      assert.deepStrictEqual(sent, ["sent"])
    }).pipe(Effect.provide(key)))

  it.effect("reports calls before and behind a pause", () =>
    Effect.gen(function*() {
      const quiet = Agent.make("quiet", {
        instructions: "quiet",
        tools: [Tool.make("look", { effects: "read", execute: () => Effect.void })]
      })
      const turns = ScriptedModel.layer((request) =>
        request.prompt.content.at(-1)?.role === "tool"
          ? text("done")
          : request.prompt.content[0]?.role === "system"
          ? call("look", {})
          : refund
      )
      const agent = Agent.andThen(quiet, Agent.all("all", [clerk([], "a")])).pipe(
        Approval.interactive((pending) => Effect.succeed(Approval.approve(pending)))
      )
      const { executed } = yield* agent.report("x").pipe(Effect.provide(turns))
      assert.deepStrictEqual(executed.map(({ tool }) => tool), ["look", "refund"])
    }))
})
