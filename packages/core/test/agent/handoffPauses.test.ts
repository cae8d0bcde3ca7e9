/** Handoffs over a pause. */

import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Layer } from "effect"
import { Prompt } from "effect/ai"
import { Agent, Approval, Guardrail } from "@recourse/core"
import { book, call, input, key, type Log, pay, text, tool, type Waits, watched } from "../support/bookings.ts"
import { agentNamed, Boom, handoff, hello, models, stored, to, transfer } from "../support/talkingAgents.ts"

describe("over a pause after a transfer", () => {
  const said = "Pay 5 with 4242"
  const hides = (conversation: Prompt.Prompt) =>
    Effect.succeed(
      JSON.stringify(conversation.content).includes("4242")
        ? Guardrail.change(Prompt.make("Pay 5 with [card]"))
        : undefined
    )
  const agent = (log: Log) =>
    handoff({
      triage: agentNamed("triage", [to("desk")], { guardInput: hides }),
      desk: agentNamed("desk", [pay(log)])
    })
  const play = (dies: number, input = said) =>
    Effect.gen(function*() {
      const log: Log = []
      const seen = watched()
      // The first request runs in parallel to the guard.
      const { layer } = models({
        triage: [...input === said ? [text("unheard")] : [], transfer("desk")],
        desk: [call("pay", {}, { id: "p" }), text("paid")]
      })
      let claims = 0
      const store = Layer.succeed(Approval.Resumptions, {
        claim: () => Effect.suspend(() => ++claims === dies ? Effect.die("down") : Effect.succeed(true))
      })
      const paused = yield* agent(log).start(Prompt.make(input)).pipe(Effect.provide([layer, key]))
      assert(paused._tag === "Paused")
      const decisions = paused.pending.map((one) => Approval.approve(one))
      const exit = yield* Effect.exit(agent(log).resume(stored(paused.snapshot), decisions)).pipe(
        Effect.provide([layer, key, seen.layer, store])
      )
      const last = seen.events.at(-1)
      assert(last?._tag === "RunFinished")
      return { exit, last, log }
    })

  it.effect("a guard's replacement in it is known at its end", () =>
    Effect.gen(function*() {
      const { exit, last, log } = yield* play(0)
      assert.strictEqual(Exit.isSuccess(exit) && exit.value._tag, "Completed")
      assert.deepStrictEqual(log, ["pay"])
      assert.deepStrictEqual(last.replacedInput?.content, Prompt.make("Pay 5 with [card]").content)
      assert.notInclude(JSON.stringify(last.transcript), "4242")
      const other = yield* play(0, "Pay 5")
      assert.isTrue(Exit.isSuccess(other.exit))
      assert.notProperty(other.last, "replacedInput")
    }))

  it.effect("is emitted, though the receiving agent could not resume", () =>
    Effect.gen(function*() {
      const { exit, last, log } = yield* play(2)
      assert.isTrue(Exit.isFailure(exit))
      assert.deepStrictEqual(log, [])
      assert.include(JSON.stringify(last.transcript), "[card]")
    }))

  it.effect("the joint answer of all agents is stored next to a waiting one", () =>
    Effect.gen(function*() {
      const log: Log = []
      const form = () =>
        Agent.all("w", [
          handoff({ triage: agentNamed("triage", [to("desk")]), desk: agentNamed("desk", []) }),
          agentNamed("other", [pay(log)])
        ] as never) as never as Waits
      const { layer } = models({ triage: [transfer("desk")], other: [call("pay", {}, { id: "p" })] })
      const outcome = yield* Effect.gen(function*() {
        const paused = yield* form().start(hello)
        assert(paused._tag === "Paused")
        return yield* form().resume(stored(paused.snapshot), paused.pending.map((one) => Approval.approve(one)))
      }).pipe(Effect.provide([layer, key]))
      assert.deepInclude(outcome, { _tag: "Completed", output: ["done", "done"] })
    }))
})

/** Books, and compensates under a name of its own. */
const bookAt = (log: Log, place: string) =>
  book(log, "book", {
    execute: () => Effect.sync(() => (log.push(`book ${place}`), place)),
    compensate: (_: unknown, said: string) => Effect.sync(() => void log.push(`unbook ${said} at ${place}`))
  })

describe("tools of several agents with one name, over a pause", () => {
  const compensated = (agent: unknown) => (agent as Waits).pipe(Agent.compensated({})) as never as Waits
  const booking = (name: string, log: Log, more: ReadonlyArray<unknown> = []) =>
    agentNamed(name, [bookAt(log, name), ...more])
  const booked = call("book", {}, { id: "b" })
  const paid = call("pay", {}, { id: "p" })
  const boom = call("boom", {}, { id: "x" })
  const cases: Readonly<
    Record<string, readonly [(log: Log) => Waits, Parameters<typeof models>[0], ReadonlyArray<string>]>
  > = {
    "handoff": [
      (log) =>
        compensated(
          handoff({
            triage: booking("triage", log, [to("desk")]),
            desk: booking("desk", log, [pay(log), Boom])
          })
        ),
      { triage: [booked, transfer("desk")], desk: [booked, paid, boom] },
      ["unbook desk at desk", "unbook triage at triage"]
    ],
    "all": [
      (log) => compensated(Agent.all("w", [booking("a", log), booking("b", log, [pay(log), Boom])] as never)),
      { a: [booked], b: [booked, paid, boom] },
      ["unbook b at b", "unbook a at a"]
    ],
    "all, which asks within": [
      (log) =>
        compensated(
          Agent.all("w", [
            booking("a", log),
            (booking("b", log) as never as Waits).pipe(
              Approval.interactive((one) => Effect.succeed(Approval.approve(one)))
            ),
            agentNamed("c", [pay(log), Boom])
          ] as never)
        ),
      { a: [booked], b: [booked], c: [paid, boom] },
      ["unbook b at b", "unbook a at a"]
    ],
    "an agent that is a tool": [
      (log) => {
        const within = agentNamed("a", [bookAt(log, "a"), pay(log)], { input, prompt: undefined })
        return agentNamed("boss", [bookAt(log, "boss"), tool(within, "a"), Boom], { compensation: {} }) as never
      },
      { boss: [booked, call("a", {}, { id: "a" }), boom], a: [booked, paid] },
      ["unbook a at a", "unbook boss at boss"]
    ],
    "two agents of one name, of which nobody knows whose it is": [
      (log) =>
        compensated(Agent.all("w", [
          agentNamed("a", [bookAt(log, "one")]),
          agentNamed("a", [bookAt(log, "two")]),
          agentNamed("c", [pay(log), Boom])
        ] as never)),
      { a: [booked, booked], c: [paid, boom] },
      []
    ]
  }
  for (const [name, [agent, turns, undone]] of Object.entries(cases)) {
    it.effect(`each write is compensated by its own tool: ${name}`, () =>
      Effect.gen(function*() {
        const log: Log = []
        const seen = watched()
        const { layer } = models(turns)
        const begun = yield* agent(log).start(hello).pipe(Effect.provide([layer, key]))
        const paused = begun as Approval.Paused
        const decisions = paused.pending.map((one) => Approval.approve(one))
        yield* Effect.exit(agent(log).resume(stored(paused.snapshot), decisions)).pipe(
          Effect.provide([layer, key, seen.layer])
        )
        assert.sameMembers(log.filter((line) => line.startsWith("un")), [...undone])
        const told = seen.compensations().map((line) => line.split(" ").at(-1)).toSorted()
        assert.deepStrictEqual(told, undone.length > 0 ? ["undone", "undone"] : ["not_undone", "not_undone"])
      }))
  }
})
