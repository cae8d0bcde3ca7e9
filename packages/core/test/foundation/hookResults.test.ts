/** Functions in options that return a promise, or a value of another kind: no rule is skipped because of it, and no write runs. */
import { assert, describe, it } from "@effect/vitest"
import {
  Agent,
  AgentEvent,
  Conversation,
  Guardrail,
  IdempotencyLedger,
  Policy,
  Recovery,
  Skill,
  Tool
} from "@recourse/core"
import { ScriptedModel } from "@recourse/testing"
import { Cause, Effect, Exit, Layer, Logger, Schema } from "effect"

const rejected = () => Promise.reject(new Error("no handler"))
const skills = [Skill.make("s", { description: "Pays" })]

/** Options of a tool or an agent whose function returns what the compiler refuses, and the problem that is named. */
const wrong: ReadonlyArray<readonly [about: string, tool: object, agent: object, problem: string]> = [
  ...([
    ["undefined", () => undefined, "undefined"],
    ["a boolean", () => false, "a boolean"],
    ["a promise", async () => Policy.deny("no"), "a promise"],
    ["a rejected promise", rejected, "a promise"],
    ["a constructor", () => Policy.deny, "a function"],
    ["an Effect of no verdict", () => Effect.void, "undefined"],
    ["an Effect of a promise", () => Effect.succeed(Promise.resolve(Policy.deny("no"))), "a promise"]
  ] as const).map(([about, decide, kind]) =>
    [`a policy: ${about}`, {}, { policies: [Policy.make("p", decide as never)] }, `decide returned ${kind}`] as const
  ),
  [
    "a policy that no constructor has made",
    {},
    { policies: [{ name: "p", tools: [], mayRequestApproval: false, decide: async () => Policy.deny("no") }] },
    "decide returned a promise"
  ],
  ["needsApproval: undefined", { needsApproval: () => undefined }, {}, "needsApproval returned undefined"],
  ["needsApproval: a text", { needsApproval: () => "yes" }, {}, "needsApproval returned a string"],
  ["needsApproval: a promise", { needsApproval: async () => true }, {}, "needsApproval returned a promise"],
  [
    "needsApproval: an Effect of a text",
    { needsApproval: () => Effect.succeed("yes") },
    {},
    "needsApproval returned a string"
  ],
  ["idempotency.key: undefined", { idempotency: { key: () => undefined } }, {}, "idempotency.key returned undefined"],
  ["idempotency.key: a promise", { idempotency: { key: async () => "7" } }, {}, "idempotency.key returned a promise"],
  ["idempotency.key: an object", { idempotency: { key: () => ({}) } }, {}, "idempotency.key returned an object"],
  ["idempotency.key: empty", { idempotency: { key: () => "" } }, {}, "idempotency.key returned a string"],
  ["prepareTurn: a promise", {}, { prepareTurn: async () => ({ tools: [] }) }, "prepareTurn returned a promise"],
  ["prepareTurn: null", {}, { prepareTurn: () => null }, "prepareTurn returned null"],
  ["prepareTurn: a misspelt field", {}, { prepareTurn: () => ({ tool: [] }) }, "Did you mean \"tools\"?"],
  ["prepareTurn: a wrong choice", {}, { prepareTurn: () => ({ toolChoice: "always" }) }, "toolChoice is \"always\""],
  ["instructions: a promise", {}, { instructions: async () => "Be careful." }, "instructions returned a promise"],
  ["instructions: undefined", {}, { instructions: () => undefined }, "instructions returned undefined"],
  ["prompt: a promise", {}, { prompt: async () => "Pay" }, "prompt returned a promise"],
  ["prompt: undefined", {}, { prompt: () => undefined }, "prompt returned undefined"],
  ["skill: undefined", {}, { skills, skill: () => undefined }, "skill returned undefined"],
  ["skill: a promise", {}, { skills, skill: async () => "s" }, "skill returned a promise"],
  ["guardInput: undefined", {}, { guardInput: () => undefined }, "guardInput returned undefined"],
  ["guardInput: a promise", {}, { guardInput: rejected }, "guardInput returned a promise"],
  ["guardInput: an Effect of false", {}, { guardInput: () => Effect.succeed(false) }, "guardInput returned a boolean"],
  ["compact.by: undefined", {}, { compact: { maxTokens: 1, by: () => undefined } }, "compact.by returned undefined"],
  ["compact.by: a promise", {}, { compact: { maxTokens: 1, by: rejected } }, "compact.by returned a promise"]
]

const run = (tool: object, agent: object, turns: ReadonlyArray<ScriptedModel.Turn>) => {
  const paid: Array<string> = []
  const Pay = (Tool.make as (name: string, options: object) => Tool.Any)("pay", {
    parameters: Schema.Struct({ order: Schema.String }),
    success: Schema.String,
    effects: "write",
    execute: ({ order }: { readonly order: string }) => Effect.sync(() => (paid.push(order), "paid")),
    ...tool
  })
  const clerk =
    (Agent.make as never as (name: string, options: object) => Agent.Agent<string, unknown, unknown, never>)(
      "clerk",
      {
        tools: [Pay],
        defaults: { onError: Recovery.standard },
        ...agent
      }
    )
  return clerk.run("Pay order 7").pipe(
    Effect.exit,
    Effect.map((exit) => ({ exit, paid })),
    Effect.provide([ScriptedModel.layer(turns), IdempotencyLedger.layerMemory, Conversation.layerMemory])
  )
}

/** The text of the defect that has ended a run. */
const defectOf = (exit: Exit.Exit<unknown, unknown>): string =>
  Exit.isFailure(exit) && Cause.hasDies(exit.cause) ? Cause.pretty(exit.cause) : `no defect: ${String(exit)}`

describe("results of functions in options", () => {
  for (const [about, tool, agent, problem] of wrong) {
    it.live(`ends the run before a write: ${about}`, () =>
      Effect.gen(function*() {
        const { exit, paid } = yield* run(tool, agent, [
          ScriptedModel.call("pay", { order: "7" }),
          ScriptedModel.text("Done.")
        ])
        assert.include(defectOf(exit), problem)
        assert.deepStrictEqual(paid, [])
      }))
  }

  const answers: ReadonlyArray<readonly [about: string, guard: () => unknown, problem: string]> = [
    ["undefined", () => undefined, "guardOutput returned undefined"],
    ["a rejected promise", rejected, "guardOutput returned a promise"],
    ["an Effect of false", () => Effect.succeed(false), "guardOutput returned a boolean"]
  ]
  for (const [about, guardOutput, problem] of answers) {
    it.live(`withholds an answer whose guard returns ${about}`, () =>
      Effect.gen(function*() {
        const { exit } = yield* run({}, { guardOutput }, [ScriptedModel.text("Secret.")])
        assert.include(defectOf(exit), problem)
      }))
  }

  it.live("accepts values and their Effects", () =>
    Effect.gen(function*() {
      const { exit, paid } = yield* run(
        { needsApproval: () => Effect.succeed(false), idempotency: { key: () => "7" } },
        {
          policies: [Policy.make("p", () => Effect.succeed(Policy.allow)), Policy.make("q", () => Policy.allow)],
          instructions: () => Effect.succeed("Be kind."),
          prompt: () => "Pay order 7",
          prepareTurn: () => Effect.succeed({ toolChoice: "auto", tools: ["pay"] }),
          guardInput: () => Effect.void,
          guardOutput: () => Effect.succeed(Guardrail.change("Paid.")),
          compact: { maxTokens: 1, by: (prompt: unknown) => Effect.succeed(prompt) }
        },
        [ScriptedModel.call("pay", { order: "7" }), ScriptedModel.text("Done.")]
      )
      assert.deepStrictEqual([exit, paid], [Exit.succeed("Paid."), ["7"]])
    }))

  it.live("handles the rejection of a promise that a listener returns", () =>
    Effect.gen(function*() {
      let unhandled = 0
      const count = () => void unhandled++
      process.on("unhandledRejection", count)
      const { exit, paid } = yield* run({}, {}, [
        ScriptedModel.call("pay", { order: "7" }),
        ScriptedModel.text("Done.")
      ])
        .pipe(Effect.provide(AgentEvent.listen(rejected as never)), Effect.provide(Logger.layer([])))
      yield* Effect.sleep(5)
      process.off("unhandledRejection", count)
      assert.deepStrictEqual([exit, paid, unhandled], [Exit.succeed("Done."), ["7"], 0])
    }))

  it("names a recovery that returns no Effect at its declaration", () => {
    const Find = Tool.make("find", { execute: () => Effect.void })
    for (const made of [undefined, Promise.resolve(1), 5]) {
      assert.throws(() => Find.pipe(Tool.onError((() => made) as never)), /Tool "find": its recovery returned/)
      assert.throws(
        () => Agent.make("a", { tools: [Find], onToolError: { find: (() => made) as never } }),
        /Tool "find": its recovery returned/
      )
    }
    assert.throws(
      () => Find.pipe(Tool.onError("retry" as never)),
      /Tool "find": its recovery is "retry" and has to be a function/
    )
  })

  it.live("ends a combinator whose decision is a promise", () =>
    Effect.gen(function*() {
      const exit = yield* Agent.make("a", {}).pipe(Agent.loopUntil((async () => true) as never, { times: 2 })).run("x")
        .pipe(
          Effect.exit,
          Effect.provide(Layer.mergeAll(ScriptedModel.layer([ScriptedModel.text("a"), ScriptedModel.text("b")])))
        )
      assert.include(defectOf(exit), "returned a promise")
    }))
})
