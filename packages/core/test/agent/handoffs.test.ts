/** Agents that share a conversation, with pauses and compensations. */

import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Schema } from "effect"
import { Approval, Tool, type ToolError } from "@recourse/core"
import { call, key, type Log, pay } from "../support/bookings.ts"
import { agentNamed, handoff, hello, models, stored, to, transfer } from "../support/talkingAgents.ts"

describe("a conversation that is given away", () => {
  for (const waits of [false, true]) {
    it.effect(`keeps its system messages ${waits ? "over a pause" : "in one go"}`, () =>
      Effect.gen(function*() {
        const log: Log = []
        const agent = () =>
          handoff({ triage: agentNamed("triage", [pay(log), to("desk")]), desk: agentNamed("desk", []) })
        const { layer, prompts } = models({
          triage: [...waits ? [call("pay", {}, { id: "p" })] : [], transfer("desk")]
        })
        const begun = yield* agent().start(hello).pipe(Effect.provide([layer, key]))
        if (begun._tag === "Paused") {
          const decisions = begun.pending.map((one) => Approval.approve(one))
          yield* agent().resume(stored(begun.snapshot), decisions).pipe(Effect.provide([layer, key]))
        }
        assert.deepStrictEqual(log, waits ? ["pay"] : [])
        const systems = prompts.at(-1)!.content.flatMap(({ content, role }) => role === "system" ? [content] : [])
        assert.deepStrictEqual(systems, ["desk", "Be polite."])
      }))
  }
})

describe("the note of a transfer", () => {
  const read = (params: object) =>
    Effect.gen(function*() {
      const { layer, prompts } = models({ triage: [call("transfer_to_desk", params, { id: "t" })] })
      const agent = handoff({ triage: agentNamed("triage", [to("desk")]), desk: agentNamed("desk", []) })
      yield* agent.run(hello).pipe(Effect.provide([layer, key]))
      return prompts.at(-1)!.content.slice(2)
    })

  it.effect("reaches the next agent as a model's words, else all messages do", () =>
    Effect.gen(function*() {
      const [said, note, ...rest] = yield* read({ note: "It is about a bill." })
      assert.include(JSON.stringify(said), "Hello")
      assert.deepStrictEqual(rest, [])
      assert.strictEqual(note?.role, "user")
      assert.deepStrictEqual(note?.options, { recourse: { handoff: true } } as never)
      assert.deepStrictEqual(
        note?.role === "user" && note.content.map((part) => part.type === "text" && part.text),
        ["Note of the agent before, which was written by a model and not by the user: It is about a bill."]
      )
      assert.strictEqual((yield* read({})).length, 1)
    }))
})

it("the handoff tool describes the purpose of a note", () => {
  const { definitions, schema } = Schema.toJsonSchemaDocument(to("desk").parameters)
  assert.include(JSON.stringify([schema, definitions]), "\"note\"")
  assert.include(JSON.stringify([schema, definitions]), "Facts that the next agent has to know")
})

it.effect("a failure without a handoff is the failure of the run", () =>
  Effect.gen(function*() {
    const broken = Tool.make("broken", { effects: "read", execute: () => Effect.fail("no" as const) })
    const agent = handoff({ triage: agentNamed("triage", [broken, to("desk")]), desk: agentNamed("desk", []) })
    const error = yield* Effect.flip(agent.run(hello) as Effect.Effect<string, ToolError.ExecutionError<string>>).pipe(
      Effect.provide([models({ triage: [call("broken", {})] }).layer, key])
    )
    assert.deepInclude(error, { _tag: "ExecutionError", reason: "no" })
  }))

it.effect("an agent failing before its start leaves the earlier messages emitted", () =>
  Effect.gen(function*() {
    const unready = (name: string) => agentNamed(name, [], { instructions: () => Effect.fail("down") })
    const told = (agents: Readonly<Record<string, unknown>>) =>
      Effect.gen(function*() {
        const { exit, transcript } = yield* handoff(agents).report(hello)
        assert.isTrue(Exit.isFailure(exit))
        return transcript.content.map(({ role }) => role)
      }).pipe(Effect.provide([models({ triage: [transfer("desk")] }).layer, key]))
    assert.deepStrictEqual(yield* told({ triage: unready("triage") }), [])
    assert.deepStrictEqual(
      yield* told({ triage: agentNamed("triage", [to("desk")]), desk: unready("desk") }),
      ["system", "user"]
    )
  }))

it("a handoff is refused if it starts with a missing agent", () => {
  assert.throws(() => handoff({ desk: agentNamed("desk", []) }), "it has no agent \"triage\" to hand over to")
  assert.throws(() => handoff({ desk: agentNamed("desk", []) }, { start: "toString" }), "it has no agent \"toString\"")
})

it.effect("a conversation changes agents up to the limit, then fails", () =>
  Effect.gen(function*() {
    const play = (times: number | undefined, transfers: number) => {
      const turns = Array.from({ length: transfers }, (_, index) => transfer(index % 2 === 0 ? "desk" : "triage"))
      const agents = { triage: agentNamed("triage", [to("desk")]), desk: agentNamed("desk", [to("triage")]) }
      return Effect.exit(handoff(agents, times === undefined ? {} : { times }).run(hello)).pipe(
        Effect.provide([
          models({
            triage: turns.filter((_, index) => index % 2 === 0),
            desk: turns.filter((_, index) => index % 2 === 1)
          }).layer,
          key
        ])
      )
    }
    for (
      const [times, transfers, isGood] of [[undefined, 5, true], [undefined, 6, false], [1, 1, true], [
        1,
        2,
        false
      ]] as const
    ) {
      assert.strictEqual(Exit.isSuccess(yield* play(times, transfers)), isGood, `${times} ${transfers}`)
    }
    // Also if no agent has that name.
    const exit = yield* Effect.exit(handoff({ triage: agentNamed("triage", [to("nobody")]) }, { times: 0 }).run(hello))
      .pipe(Effect.provide([models({ triage: [transfer("nobody")] }).layer, key]))
    assert.strictEqual(
      Exit.isFailure(exit) && (Cause.squash(exit.cause) as { readonly _tag: string })._tag,
      "ExecutionError"
    )
  }))
