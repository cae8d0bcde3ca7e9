import { assert, describe, it } from "@effect/vitest"
import { ScriptedModel, World } from "@recourse/testing"
import { Clock, Effect, Schedule, Schema } from "effect"
import { Prompt } from "effect/ai"
import { Agent, Recovery, Tool, ToolCall } from "@recourse/core"

/** Sequences of each world that stays true: `RECOURSE_PLANS=1000` for more. */
const runs = Number(process.env["RECOURSE_PLANS"] ?? 50)

const seed = Number(process.env["RECOURSE_SEED"] ?? 1)

interface Shop {
  readonly charges: ReadonlyArray<string>
  readonly balance: number
}

const shop = World.make({
  initial: { charges: [], balance: 20 } as Shop,
  operations: {
    charge: ({ balance, charges }: Shop, { order }: { readonly order: string }) => [
      { charges: [...charges, order], balance: balance - 10 },
      `charged ${order}`
    ]
  },
  invariants: {
    "an order is charged at most once": ({ charges }) => new Set(charges).size === charges.length,
    "the balance is never negative": ({ balance }) => balance >= 0
  }
})

/** A clerk that charges orders; `keyOf` is the key that the bank is given. */
const clerk = (options: {
  readonly key?: (params: { readonly order: string }) => string
  readonly passesOn?: boolean
  readonly approval?: boolean
  readonly retry?: boolean
}) => {
  const Charge = Tool.make("charge", {
    parameters: Schema.Struct({ order: Schema.String }),
    success: Schema.String,
    effects: "write",
    timeout: "5 seconds",
    needsApproval: options.approval ?? false,
    idempotency: options.key === undefined ? true : { key: options.key },
    execute: ({ order }) =>
      Effect.gen(function*() {
        const { idempotencyKey } = yield* ToolCall.ToolCall
        yield* Effect.sleep("100 millis")
        return yield* shop.perform(
          "charge",
          { order },
          options.passesOn === false ? undefined : { key: idempotencyKey }
        )
      })
  })
  const tool = options.retry === true
    ? Charge.pipe(Tool.onError(Recovery.retry({ times: 2, schedule: Schedule.forever })))
    : Charge
  return {
    agent: Agent.make("clerk", {
      tools: [tool],
      defaults: { onError: Recovery.standard },
      approval: { timeToLive: "24 hours" },
      budget: { turns: 6, toolCalls: 8, duration: "60 seconds" }
    }),
    tools: ["charge"],
    scenarios: {
      "charge A": {
        input: "Charge A",
        model: ScriptedModel.steps([ScriptedModel.call("charge", { order: "A" }), ScriptedModel.text("Charged.")])
      },
      "charge B": {
        input: "Charge B",
        model: ScriptedModel.steps([ScriptedModel.call("charge", { order: "B" }), ScriptedModel.text("Charged.")])
      }
    }
  }
}

const ofOrder = ({ order }: { readonly order: string }) => order

const log = World.make({
  initial: [] as ReadonlyArray<string>,
  operations: { note: (done: ReadonlyArray<string>, what: string) => [[...done, what], "noted"] },
  invariants: {
    "nothing is used before it is open": (done) => done[0] !== "use",
    "nothing is shipped": (done) => !done.includes("ship")
  }
})

/** An agent whose tools record their executions, in the given conversations. */
const noting = (
  scenarios: Readonly<Record<string, ReadonlyArray<ReadonlyArray<string>>>>,
  approved: ReadonlyArray<string> = []
) => ({
  agent: Agent.make("clerk", {
    tools: ["open", "use", "ship"].map((name) =>
      Tool.make(name, {
        success: Schema.String,
        effects: "write",
        timeout: "5 seconds",
        needsApproval: approved.includes(name),
        execute: () => log.perform("note", name)
      })
    ),
    defaults: { onError: Recovery.standard },
    budget: { turns: 6, duration: "60 seconds" }
  }),
  tools: [],
  scenarios: Object.fromEntries(
    Object.entries(scenarios).map(([name, turns]) => [name, {
      input: name,
      model: (request: ScriptedModel.Request, index: number) => {
        const [first = ScriptedModel.text("Done."), ...others] = turns.map((tools) =>
          ScriptedModel.calls(tools.map((name) => ({ name, params: {} })))
        )
        return ScriptedModel.steps([first, ...others, ScriptedModel.text("Done.")])(request, index)
      }
    }])
  )
})

const still = { ending: { how: "by itself", at: 1 }, faults: [], store: [], skew: 0 } as const
const ask = (scenario: number): World.Command => ({ _tag: "Ask", scenario, twice: false, ...still })
const approve: World.Command = { _tag: "Decide", run: 0, decision: "approve", ...still }

/** Holds for the drawn sequences. The report is of the same sequences in each test run: it says what they come to. */
const holding = <In, Out, E>(program: World.Program<In, Out, E>) =>
  Effect.andThen(World.check(shop, program, { runs, seed }), World.check(shop, program, { runs: 50, seed: 1 }))

describe("a world", { timeout: 60_000 }, () => {
  it.effect("is broken by a raw retry after a lost answer", () =>
    Effect.gen(function*() {
      const charging = (keyOf: (order: string) => string | undefined) => {
        const Charge = Tool.make("charge", {
          parameters: Schema.Struct({ order: Schema.String }),
          success: Schema.String,
          effects: "write",
          execute: (order) => Effect.retry(shop.request("charge", order, { key: keyOf(order.order) }), { times: 2 })
        })
        return {
          agent: Agent.make("clerk", {
            tools: [Charge],
            defaults: { onError: Recovery.standard },
            budget: { turns: 5 }
          }),
          tools: [],
          scenarios: {
            "charge A": {
              input: "Charge A",
              model: ScriptedModel.steps([ScriptedModel.call("charge", { order: "A" }), ScriptedModel.text("Charged.")])
            }
          }
        }
      }
      const broken = yield* Effect.flip(World.check(shop, charging(() => undefined), { runs: 50, commands: 2 }))
      assert.strictEqual(broken.printed, "1. ask \"charge A\"; request of charge 1: service_answer_lost")
      yield* World.check(shop, charging((order) => order), { runs: 50, commands: 2 })
    }))

  it.effect("resumes a waiting run by its own model, despite other requests", () =>
    Effect.gen(function*() {
      const program = noting({ ship: [["open"], ["ship"]], open: [["open"]] }, ["open"])
      const replay = JSON.stringify([ask(0), ask(1), approve])
      const error = yield* Effect.flip(World.check(log, program, { replay }))
      assert.strictEqual(error.invariant, "nothing is shipped")
    }))

  it.effect("accepts two people's decisions at once, and executes once", () =>
    Effect.gen(function*() {
      const replay = JSON.stringify([ask(0), { ...approve, twice: true }])
      const report = yield* World.check(log, noting({ open: [["open"]] }, ["open"]), { replay })
      assert.deepStrictEqual(report, { sequences: 1, sideEffects: 1, paused: 1, cancelled: 0, killed: 0 })
    }))

  it.effect("is broken by calls that arrive in another order", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(World.check(log, noting({ both: [["open", "use"]] })))
      assert.strictEqual(error.invariant, "nothing is used before it is open")
      assert.match(error.printed, /^1\. ask "both"(?:, by two processes at once)?; in the order that \d+ draws$/)
    }))

  it.effect("has chats if the agent takes a conversation: messages, pauses, decisions", () =>
    Effect.gen(function*() {
      const { agent } = clerk({ key: ofOrder, approval: true })
      const chat = Agent.make("clerk", {
        input: Prompt.Prompt,
        prompt: (conversation: Prompt.Prompt) => conversation,
        tools: agent.declared!.tools as ReadonlyArray<Tool.Any>,
        defaults: { onError: Recovery.standard },
        approval: { timeToLive: "24 hours" },
        budget: { turns: 6, toolCalls: 8, duration: "60 seconds" }
      } as never) as unknown as Agent.Agent<Prompt.Prompt, string, unknown, World.Provided>
      const scenarios = Object.fromEntries(["A", "B"].map((order) => [`charge ${order}`, {
        input: Prompt.make(`Charge ${order}`),
        model: ScriptedModel.steps([ScriptedModel.call("charge", { order }), ScriptedModel.text("Charged.")])
      }]))
      const report = yield* holding({ agent: chat, tools: ["charge"], chats: 2, scenarios })
      assert.isAbove(report.paused, 10)
      assert.isAbove(report.sideEffects, 1)
    }))

  it.effect("is broken by earlier messages in the same chat", () =>
    Effect.gen(function*() {
      const bank = World.make({
        initial: true,
        operations: {
          charge: (isRight: boolean, { about, order }: { readonly about: string; readonly order: string }) => [
            isRight && about === order,
            "charged"
          ]
        },
        invariants: { "what is charged is what was asked for": (isRight) => isRight }
      })
      const Charge = Tool.make("charge", {
        parameters: Schema.Struct({ about: Schema.String, order: Schema.String }),
        success: Schema.String,
        effects: "write",
        timeout: "5 seconds",
        execute: (params) => bank.perform("charge", params)
      })
      const said = ({ prompt }: ScriptedModel.Request) =>
        prompt.content.findLast(({ role }) => role === "user")?.content as ReadonlyArray<{ readonly text: string }>
      const scenarios = Object.fromEntries(["A", "B"].map((about) => [about, {
        input: Prompt.make(about),
        model: (request: ScriptedModel.Request, index: number) =>
          ScriptedModel.steps([
            ScriptedModel.call("charge", { about, order: said(request)[0]!.text }),
            ScriptedModel.text("Charged.")
          ])(request, index)
      }]))
      const error = yield* Effect.flip(World.check(bank, {
        agent: Agent.make("clerk", {
          input: Prompt.Prompt,
          // The bug: a model that receives only the first message.
          prompt: (conversation) => Prompt.fromMessages(conversation.content.slice(0, 1)),
          tools: [Charge],
          defaults: { onError: Recovery.standard },
          budget: { turns: 4, duration: "60 seconds" }
        }),
        tools: [],
        chats: 3,
        scenarios
      }))
      assert.match(error.printed, /^1\. ask "[AB]" in chat (\d)\n2\. ask "[AB]" in chat \1$/)
    }))

  it.effect("is broken by a clock set back during a call", () =>
    Effect.gen(function*() {
      const timed = World.make({
        initial: 0,
        operations: { pass: (_: number, millis: number) => [millis, "passed"] },
        invariants: { "no time passes backwards": (passed) => passed >= 0 }
      })
      const Wait = Tool.make("wait", {
        success: Schema.String,
        effects: "write",
        timeout: "5 seconds",
        execute: () =>
          Effect.gen(function*() {
            const begun = yield* Clock.currentTimeMillis
            yield* Effect.sleep("100 millis")
            return yield* timed.perform("pass", (yield* Clock.currentTimeMillis) - begun)
          })
      })
      const error = yield* Effect.flip(World.check(timed, {
        agent: Agent.make("clerk", {
          tools: [Wait],
          defaults: { onError: Recovery.standard },
          budget: { turns: 3, duration: "60 seconds" }
        }),
        tools: [],
        scenarios: { wait: { input: "Wait", model: [ScriptedModel.call("wait", {}), ScriptedModel.text("Done.")] } }
      }))
      assert.strictEqual(error.printed, "1. ask \"wait\"; its clock is put on by -60 minutes after 50 ms")
    }))

  it.effect("has a broken sequence without removable parts", () =>
    Effect.gen(function*() {
      const program = noting({ ship: [["open"], ["ship"]], open: [["open"]] }, ["open"])
      const error = yield* Effect.flip(World.check(log, program))
      assert.deepStrictEqual(error.printed.replace("reject", "approve").split("\n"), [
        "1. ask \"ship\"",
        "2. approve what run 1 of those that wait asks"
      ])
    }))

  it.effect(
    "stays true with the order's key: retries, kills, bad stores",
    () =>
      Effect.gen(function*() {
        const report = yield* holding(clerk({ key: ofOrder, retry: true }))
        assert.strictEqual(report.sequences, 50)
        assert.isAbove(report.sideEffects, 10)
        assert.isAbove(report.killed, 2)
        assert.isAbove(report.cancelled, 2)
      }),
    60_000
  )

  it.effect("stays true over approvals that come late, twice and to other processes", () =>
    Effect.gen(function*() {
      const report = yield* holding(clerk({ key: ofOrder, approval: true }))
      assert.isAbove(report.paused, 10)
      assert.isAbove(report.sideEffects, 1)
    }), 60_000)

  it.effect(
    "is broken by a repeated request with the call's key",
    () =>
      Effect.gen(function*() {
        const error = yield* Effect.flip(World.check(shop, clerk({})))
        assert.strictEqual(error.invariant, "an order is charged at most once")
        assert.match(error.message, /^1\. ask "charge [AB]"(, by two processes at once|\n2\. ask "charge [AB]")$/m)
        assert.match(error.message, /BREAKS: an order is charged at most once/)
        const again = yield* Effect.flip(World.check(shop, clerk({}), { replay: error.replay }))
        assert.deepStrictEqual(again.commands, error.commands)
      }),
    60_000
  )

  it.effect("is broken by a key hidden from the service, answer lost", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(
        World.check(shop, clerk({ key: ofOrder, passesOn: false, retry: true }), { runs: 1000 })
      )
      assert.strictEqual(error.invariant, "an order is charged at most once")
      assert.match(error.printed, /after_commit|killed|cancelled|store|ledger/)
    }), 60_000)

  it.effect("stays true over deployments that keep the key of an order", () =>
    Effect.gen(function*() {
      const program = clerk({ key: ofOrder, approval: true })
      const versions = [clerk({ key: ofOrder, approval: true, retry: true }).agent, clerk({ key: ofOrder }).agent]
      const report = yield* holding({ ...program, versions })
      assert.isAbove(report.paused, 2)
      assert.isAbove(report.sideEffects, 1)
    }), 60_000)

  it.effect("is broken by a deployment that changes the key of an order", () =>
    Effect.gen(function*() {
      const versions = [clerk({ key: ({ order }) => `order ${order}` }).agent]
      const { agent, scenarios: { "charge A": asked } } = clerk({ key: ofOrder })
      const error = yield* Effect.flip(World.check(shop, { agent, versions, tools: [], scenarios: { asked } }))
      assert.strictEqual(error.invariant, "an order is charged at most once")
      assert.match(error.printed, /^2\. deploy version 2$/m)
      assert.lengthOf(error.commands, 3)
    }), 60_000)
})
