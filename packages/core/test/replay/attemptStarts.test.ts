/**
 * Writes within a tool that declares itself a read, in an interrupted run: the next execution reports them correctly,
 * whatever it does itself.
 */
import { assert, describe, it } from "@effect/vitest"
import { Drive, ScriptedModel } from "@recourse/testing"
import { Effect, Layer } from "effect"
import { Agent, IdempotencyLedger, Journal, Policy, Recovery, Tool } from "@recourse/core"
import { cuts, journalOf } from "../support/interruptedRuns.ts"
import { collect } from "../support/kit.ts"
import { type AnyTool, clerkOf, toolOf } from "../support/looseTools.ts"

/** A model that calls the tool of its agent once, under an id for each tool. */
const model = (idOf: (tool: string) => string) =>
  ScriptedModel.layer(({ prompt, tools }) =>
    prompt.content.some(({ role }) => role === "tool")
      ? ScriptedModel.text("done")
      : ScriptedModel.call(tools[0]!, {}, { id: idOf(tools[0]!) })
  )

/** Ways of the payment within the tool that reads. */
const within: Readonly<Record<string, (pay: (options: object) => AnyTool) => AnyTool>> = {
  "a write with a key": (pay) => pay({ effects: "write", idempotency: true }),
  "a write with a key of its own": (pay) => pay({ effects: "write", idempotency: { key: () => "order 1" } }),
  "a write that its recovery gives a key": (pay) =>
    pay({ effects: "write" }).pipe(
      Tool.onError((call) => Recovery.idempotent({ key: () => "order 1" })(call as never) as never)
    ) as never,
  "a write that may be repeated": (pay) => pay({ effects: "idempotent" }),
  "an agent that writes": (pay) => clerkOf("clerk", pay({ effects: "write" })),
  "an agent that writes under a key": (pay) => clerkOf("clerk", pay({ effects: "write", idempotency: true })),
  "an agent that writes under a key, as it says that it reads": (pay) =>
    clerkOf("clerk", pay({ effects: "write", idempotency: true }), { effects: "read" })
}

/** Behaviour of the second execution, and the reported result of the call if the first one had paid. */
const ways = {
  "makes it again": () => "ok",
  "fails before it": () => "outcome_unknown",
  "answers without it": () => "outcome_unknown",
  // A call of an agent has its outcome in the journal, and a call with a key in the ledger, whatever the policies say today.
  "may not make it": (by: string) => by === "a write that may be repeated" ? "outcome_unknown" : "ok"
}

const keepGoing = Tool.onError(Recovery.escalate("ExecutionError") as never) as never as (tool: AnyTool) => AnyTool

describe("a payment within a read, in a recovered run", () => {
  for (const [by, made] of Object.entries(within)) {
    for (const [way, expected] of Object.entries(ways)) {
      it.effect(`${by}: the next execution ${way}`, () =>
        Effect.gen(function*() {
          let met = 0
          for (const cut of cuts(6)) {
            let paid = 0
            const { kept, life } = journalOf()
            const ledger = Layer.succeedContext(
              yield* Effect.scoped(Layer.build(Layer.fresh(IdempotencyLedger.layerMemory)))
            )
            const live = (number: number) => {
              const payment = made((options) =>
                toolOf("pay", { execute: () => Effect.sync(() => (paid++, "paid")), ...options })
              )
              const execute = () =>
                number === 1 && way === "fails before it"
                  ? Effect.fail("broken")
                  : number === 1 && way === "answers without it"
                  ? Effect.succeed("looked")
                  : payment.call
              const look = keepGoing(toolOf("look", { execute, effects: "read", mayRequestApproval: true }))
              const mayNot = Policy.make("mayNot", ({ tool }) =>
                Effect.succeed(tool === "pay" ? Policy.deny("no") : Policy.allow))
              const policies = number === 1 && way === "may not make it" ? [mayNot] : []
              const { events, layer } = collect()
              const agent = Agent.make(
                "main",
                { tools: [look], policies, defaults: { onError: Recovery.keepGoing } } as never
              )
              return Drive.drive(
                Effect.exit(agent.run("go", { runId: "run_1" }) as Effect.Effect<unknown, unknown>).pipe(
                  Effect.as(events),
                  Effect.provide([
                    model((tool) =>
                      `c ${tool}`
                    ),
                    layer,
                    ledger
                  ]),
                  Effect.provideService(Journal.CurrentJournal, life(number === 0 ? cut : undefined).journal)
                )
              )
            }
            yield* live(0)
            if (paid === 0 || kept.has("call /c look")) {
              continue
            }
            met++
            const results = (yield* live(1)).flatMap((event) => event._tag === "ToolResult" ? [event] : [])
            const codes = results.flatMap(({ callId, code }) => callId === "c look" ? [code ?? "ok"] : [])
            // An agent has read that its payment is unknown, and has answered: its answer is in place of an unknown outcome.
            const isUnknown = results.some(({ code, tool }) => tool === "pay" && code === "outcome_unknown")
            assert.deepStrictEqual(codes, [isUnknown ? "outcome_unknown" : expected(by)], cut.about)
            if (by !== "a write that may be repeated") {
              assert.strictEqual(paid, 1, cut.about)
            }
          }
          assert.isAbove(met, 0)
        }))
    }
  }
})

describe("a tool that reads", () => {
  const recordsOf = (look: AnyTool) =>
    Effect.gen(function*() {
      const { kept, life } = journalOf()
      const agent = Agent.make("main", { tools: [look], defaults: { onError: Recovery.keepGoing } } as never)
      yield* Drive.drive(
        (agent.run("go", { runId: "run_1" }) as Effect.Effect<unknown, unknown>).pipe(
          Effect.provide([
            model(() => "c"),
            Layer.fresh(IdempotencyLedger.layerMemory)
          ]),
          Effect.provideService(Journal.CurrentJournal, life().journal)
        )
      )
      return [...kept.keys()].filter((key) => key.startsWith("write "))
    })
  const around = (inner: AnyTool, effects: string) => toolOf("look", { execute: () => inner.call, effects })
  const pay = (options: object) => toolOf("pay", { execute: () => Effect.succeed("paid"), ...options })
  const keyed = { effects: "write", idempotency: true }

  it.effect("records each write that it makes, and no read and no agent", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* recordsOf(around(pay(keyed), "read")), ["write run_1/3:pay/c/3:pay{}#1@1"])
      assert.deepStrictEqual(yield* recordsOf(around(pay({ effects: "read" }), "read")), [])
      assert.deepStrictEqual(yield* recordsOf(around(clerkOf("clerk", pay({ effects: "read" })), "read")), [])
    }))

  it.effect("records the start of each write, of the model and within it", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* recordsOf(around(pay(keyed), "write")), [
        "write run_1/4:look/c@1",
        "write run_1/3:pay/c/3:pay{}#1@1"
      ])
      assert.deepStrictEqual(yield* recordsOf(pay(keyed)), ["write run_1/3:pay/c@1"])
      assert.deepStrictEqual(yield* recordsOf(pay({ effects: "idempotent" })), ["write run_1/3:pay/c@1"])
    }))
})
