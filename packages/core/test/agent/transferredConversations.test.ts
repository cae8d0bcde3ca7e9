/** Failures and ends of transferred conversations. */

import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Schema } from "effect"
import type { Prompt } from "effect/ai"
import { Agent, type ConfigurationError, type ToolError } from "@recourse/core"
import { book, call, key, type Log, type Waits, watched } from "../support/bookings.ts"
import { agentNamed, Boom, handoff, hello, models, stored, to, transfer } from "../support/talkingAgents.ts"

describe("the failure of an agent that transfers its conversation", () => {
  const failing = (agent: Agent.Agent<Prompt.Prompt, string, unknown, never>) =>
    Effect.map(
      Effect.flip(agent.run(hello)).pipe(
        Effect.provide([
          models({ triage: [call("transfer_to_desk", { note: "It is about a bill." }, { id: "t" })] }).layer,
          key
        ])
      ),
      (error) => (error as ToolError.ExecutionError<Agent.HandedOff>).reason
    )
  const triage = agentNamed("triage", [to("desk")]) as unknown as Agent.Agent<Prompt.Prompt, string, unknown, never>

  it.effect("names the receiver, and if it exists: outside unknown", () =>
    Effect.gen(function*() {
      const given = yield* failing(triage)
      assert.instanceOf(given, Agent.HandedOff)
      assert.deepInclude(given, { _tag: "HandedOff", to: "desk", note: "It is about a bill." })
      assert.isUndefined(given.isRefused)
      assert.strictEqual(given.message, "The conversation was given to \"desk\"")
      const refused = yield* failing(handoff({ triage, desk: agentNamed("desk", []) }, { times: 0 }) as never)
      assert.deepInclude(refused, { to: "desk", isRefused: true })
      assert.strictEqual(refused.message, "The conversation was given to \"desk\", and no agent takes it")
    }))

  it("a handed-off failure decodes from its JSON", () => {
    const given = new Agent.HandedOff({ to: "desk", note: "n", isRefused: true })
    const json = stored(Schema.encodeUnknownSync(Agent.HandedOff)(given))
    assert.deepStrictEqual(json, { _tag: "HandedOff", to: "desk", note: "n", isRefused: true } as never)
    assert.deepStrictEqual(Schema.decodeUnknownSync(Agent.HandedOff)(json), given)
    assert.throws(() => Schema.decodeUnknownSync(Agent.HandedOff)({ _tag: "HandedOff", to: "desk", isRefused: false }))
    assert.throws(() => Schema.decodeUnknownSync(Agent.HandedOff)({ _tag: "HandedOff" }))
  })
})

describe("a conversation without a receiver", () => {
  const ends = {
    "it has changed hands too often": { options: { times: 0 }, name: "desk" },
    "no agent has that name": { options: {}, name: "nobody" }
  } as const
  const places = {
    "the agent that gave it away": [{ compensation: {} }, (agent: Waits) => agent],
    "what is around it": [{}, (agent: Waits) => agent.pipe(Agent.compensated({})) as never as Waits],
    "what is around it and around another one that could take it": [
      {},
      (agent: Waits) =>
        Agent.handoff("outer", {
          start: "triage",
          agents: { triage: agent.pipe(Agent.compensated({})), desk: agentNamed("desk", []) } as never
        }) as never as Waits
    ]
  } as const
  for (const [why, { name, options }] of Object.entries(ends)) {
    for (const [who, [more, around]] of Object.entries(places)) {
      it.effect(`is the failure of the run, because ${why}: ${who} compensates its writes`, () =>
        Effect.gen(function*() {
          const log: Log = []
          const seen = watched()
          const triage = agentNamed("triage", [book(log), to(name)], more)
          const agent = around(handoff({ triage, desk: agentNamed("desk", []) }, options))
          const exit = yield* Effect.exit(agent.run(hello)).pipe(
            Effect.provide([models({ triage: [call("book", {}, { id: "b" }), transfer(name)] }).layer, key, seen.layer])
          )
          assert.isTrue(Exit.isFailure(exit))
          const error = Exit.isFailure(exit) ? Cause.squash(exit.cause) as { readonly _tag: string } : undefined
          const ended: ConfigurationError.ConfigurationError["_tag"] | "ExecutionError" = name === "nobody"
            ? "ConfigurationError"
            : "ExecutionError"
          assert.strictEqual(error?._tag, ended)
          assert.deepStrictEqual(log, ["book", "unbook"])
          assert.strictEqual(seen.compensations().length, 1)
        }))
    }
  }

  it.effect("with a receiver is compensated by that one", () =>
    Effect.gen(function*() {
      const log: Log = []
      const triage = agentNamed("triage", [book(log), to("desk")], { compensation: {} })
      const agent = handoff({ triage, desk: agentNamed("desk", [Boom]) })
      yield* Effect.exit(agent.run(hello)).pipe(
        Effect.provide([
          models({ triage: [call("book", {}, { id: "b" }), transfer("desk")], desk: [call("boom", {})] }).layer,
          key
        ])
      )
      assert.deepStrictEqual(log, ["book"])
    }))
})
