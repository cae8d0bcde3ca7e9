/** Typical bugs of programs with agents: the default plans of `Laws.check` find each, and the correct twin passes. */
import { assert, describe, it } from "@effect/vitest"
import { Laws, ScriptedModel, SideEffects, Subject } from "@recourse/testing"
import { Data, Effect, Schedule, Schema } from "effect"
import { Agent, Budget, ErrorProjection, ModelError, Recovery, Tool, ToolCall } from "@recourse/core"

const budget = { turns: 6, toolCalls: 12, retriesPerTool: 4, duration: "60 seconds" } as const

const order = Schema.Struct({ order: Schema.String })

class Refused extends Data.TaggedError("Refused")<{ readonly message: string; readonly cause?: unknown }> {}

/** Does something to the world for a tool. */
const perform = (tool: string, details: unknown, key?: string) =>
  Effect.flatMap(SideEffects.SideEffects, (world) => world.perform({ tool, details, key }))

type Any = Tool.Any

const chargeWith = (
  options: object,
  execute: (params: { readonly order: string }) => Effect.Effect<string, unknown, any> = (params) =>
    Effect.as(perform("charge", params), `charged ${params.order}`)
): Any =>
  Tool.make("charge", {
    parameters: order,
    success: Schema.String,
    effects: "write",
    timeout: "3 seconds",
    ...options,
    execute
  } as never) as unknown as Any

const recovered = (tool: Any, recover: (call: Effect.Effect<any, any, any>) => Effect.Effect<any, any, any>): Any =>
  Tool.onError(tool as never, recover as never) as unknown as Any

const make = (
  tools: ReadonlyArray<Any>,
  options?: {
    readonly agent?: object
    readonly around?: (agent: Agent.Agent<string, string, any, any>) => Agent.Agent<string, string, any, any>
    readonly model?: ScriptedModel.Behaviour
    readonly subject?: object
  }
) => {
  const agent = Agent.make("clerk", {
    tools,
    defaults: { onError: Recovery.standard },
    onModelError: (error: { readonly isRetryable: boolean }) =>
      error.isRetryable ? ModelError.retry({ times: 1, schedule: Schedule.forever }) : ModelError.rethrow,
    budget,
    ...options?.agent
  } as never) as unknown as Agent.Agent<string, string, any, any>
  return Subject.make({
    agent: options?.around?.(agent) ?? agent,
    tools,
    budget: {},
    ...options?.subject,
    scenarios: {
      default: {
        input: "Charge A",
        model: options?.model ?? [
          ScriptedModel.calls(tools.slice(0, 1).map(({ name }) => ({ name, params: { order: "A" } }))),
          ScriptedModel.text("Done.")
        ]
      }
    }
  } as never) as Subject.Subject<string, string, unknown>
}

const read = (
  execute: (params: { readonly order: string }) => Effect.Effect<string, unknown, any>,
  options?: object
): Any =>
  Tool.make("look", {
    parameters: order,
    success: Schema.String,
    effects: "read",
    timeout: "3 seconds",
    ...options,
    execute
  } as never) as unknown as Any

const found = () => Effect.succeed("A: open")

/** Passes its key on unchanged. */
const keyed = (params: { readonly order: string }) =>
  Effect.gen(function*() {
    const { idempotencyKey } = yield* ToolCall.ToolCall
    yield* perform("charge", params, idempotencyKey)
    return "charged"
  })

const detached = (effect: Effect.Effect<unknown>) => Effect.forkDetach(effect)

let asked = 0

interface Bug {
  readonly law: Laws.LawName
  readonly bug: () => Subject.Subject<string, string, unknown>
  readonly twin: () => Subject.Subject<string, string, unknown>
}

const bugs: Readonly<Record<string, Bug>> = {
  "a write that is declared idempotent, and retried": {
    law: "no_duplicate_side_effects",
    bug: () =>
      make([
        recovered(chargeWith({ effects: "idempotent" }), Recovery.retry({ times: 2, schedule: Schedule.forever }))
      ]),
    twin: () =>
      make([
        recovered(
          chargeWith({ effects: "idempotent" }, (params) =>
            Effect.as(perform("charge", params, params.order), "charged")),
          Recovery.retry({ times: 2, schedule: Schedule.forever })
        )
      ])
  },
  "a key that changes with each attempt": {
    law: "writes_at_most_once",
    bug: () =>
      make([
        recovered(
          chargeWith({ idempotency: true }, (params) =>
            Effect.gen(function*() {
              const { attempt, idempotencyKey } = yield* ToolCall.ToolCall
              yield* perform("charge", params, `${idempotencyKey} ${attempt}`)
              return "charged"
            })),
          Recovery.retry({ times: 2, schedule: Schedule.forever })
        )
      ]),
    twin: () =>
      make([
        recovered(
          chargeWith({ idempotency: true }, keyed),
          Recovery.retry({ times: 2, schedule: Schedule.forever })
        )
      ])
  },
  "a key that each attempt draws": {
    law: "writes_at_most_once",
    bug: () =>
      make([
        recovered(
          chargeWith({ idempotency: true }, (params) =>
            Effect.as(Effect.suspend(() => perform("charge", params, crypto.randomUUID())), "charged")),
          Recovery.retry({ times: 2, schedule: Schedule.forever })
        )
      ]),
    twin: () =>
      make([
        recovered(
          chargeWith({ idempotency: true }, keyed),
          Recovery.retry({ times: 2, schedule: Schedule.forever })
        )
      ])
  },
  "a key that is drawn, of a call that is not retried": {
    law: "same_seed_same_keys",
    bug: () =>
      make([
        chargeWith({}, (params) =>
          Effect.as(Effect.suspend(() => perform("charge", params, crypto.randomUUID())), "charged"))
      ]),
    twin: () => make([chargeWith({}, (params) => Effect.as(perform("charge", params, params.order), "charged"))])
  },
  "a write that is done without a key where the ledger does not say that it is the first": {
    law: "writes_at_most_once",
    bug: () =>
      make([
        recovered(chargeWith({ idempotency: true }, keyed), (call) =>
          Effect.catchTag(
            call as Effect.Effect<string, { readonly _tag: "LedgerUnavailable" }>,
            "LedgerUnavailable",
            () => Effect.as(perform("charge", { order: "A" }), "charged")
          ))
      ]),
    twin: () =>
      make([
        recovered(
          chargeWith({ idempotency: true }, keyed),
          (call) => Recovery.escalate("LedgerUnavailable")(call as never)
        )
      ])
  },
  "a raw retry around the run of an agent, with another input": {
    law: "no_duplicate_side_effects",
    bug: () =>
      make([chargeWith({})], {
        around: (agent) =>
          Agent.fromFunction("again", (input) => {
            let attempts = 0
            return Effect.retry(Effect.suspend(() => agent.run(`${input} ${++attempts}` as typeof input)), { times: 2 })
          })
      }),
    twin: () =>
      make([chargeWith({})], {
        around: (agent) => Agent.fromFunction("once", (input) => agent.run(input))
      })
  },
  "a raw error in declared text": {
    law: "errors_are_redacted",
    bug: () =>
      make([read(found, { failure: declared(({ message }) => `Refused: ${message}`) })], {
        subject: { failures: { Refused: (fields: never) => new Refused(fields) } }
      }),
    twin: () =>
      make([read(found, { failure: declared(() => "Refused") })], {
        subject: { failures: { Refused: (fields: never) => new Refused(fields) } }
      })
  },
  "a defect in the answer": {
    law: "errors_are_redacted",
    bug: () =>
      make([
        recovered(read(found), (call) =>
          Effect.catchDefect(call, (defect) =>
            Effect.succeed(String(Reflect.get(Object(defect), "reason") ?? defect))))
      ]),
    twin: () => make([recovered(read(found), (call) => Effect.catchDefect(call, () => Effect.succeed("not there")))])
  },
  "a recovery that loops": {
    law: "runs_end",
    bug: () =>
      make([recovered(read(found), (call) => Effect.retry(call, Schedule.forever))], {
        agent: { budget: {} },
        model: loopless
      }),
    twin: () =>
      make([recovered(read(found), (call) => Effect.retry(call, Schedule.max([Schedule.forever, Schedule.recurs(2)])))])
  },
  "a fixer that is asked for ever": {
    law: "runs_end",
    bug: () =>
      make([
        recovered(read(found), (call) => {
          const fixed: Effect.Effect<any, any, any> = Effect.catchTag(call, "InvalidArgs", () =>
            Effect.suspend(() =>
              Effect.andThen(Effect.sleep("1 second"), fixed)
            ))
          return fixed
        })
      ], { agent: { budget: {} } }),
    twin: () =>
      make([
        recovered(read(found), (call) =>
          Recovery.fix(
            "InvalidArgs",
            Agent.fromFunction("fixer", () => Effect.succeed("{\"order\":\"A\"}")) as never
          )(
            call as never
          ))
      ])
  },
  "an agent without an end": {
    law: "runs_end",
    bug: () =>
      make([read(found)], {
        agent: { budget: {} },
        model: (_, index) => ScriptedModel.call("look", { order: String(index) })
      }),
    twin: () => make([read(found)], { model: (_, index) => ScriptedModel.call("look", { order: String(index) }) })
  },
  "a budget that is always extended": {
    law: "runs_end",
    bug: () =>
      make([read(found)], {
        agent: {
          budget: { turns: 2, duration: "1 hour" },
          onBudgetExceeded: () => Effect.succeed(Budget.extend({ turns: 1 } as never))
        },
        model: (_, index) => ScriptedModel.call("look", { order: String(index) })
      }),
    twin: () =>
      make([read(found)], {
        agent: { budget: { turns: 2, duration: "1 hour" }, onBudgetExceeded: () => Effect.undefined },
        model: (_, index) => ScriptedModel.call("look", { order: String(index) })
      })
  },
  "an unknown outcome that is told as \"not charged\"": {
    law: "no_false_success",
    bug: () =>
      make([
        recovered(
          chargeWith({}),
          (call) => Effect.catchTag(call, "OutcomeUnknown", () => Effect.succeed("not charged"))
        )
      ]),
    twin: () => make([recovered(chargeWith({}), (call) => Recovery.escalate("OutcomeUnknown")(call as never) as never)])
  },
  "a success that recovery has made up": {
    law: "no_false_success",
    bug: () =>
      make([
        recovered(chargeWith({}), (call) =>
          Effect.catchTag(call, ["ExecutionError", "OutcomeUnknown"] as never, () => Effect.succeed("charged")))
      ]),
    twin: () => make([chargeWith({})])
  },
  "a second provider after a lost answer": {
    law: "no_duplicate_side_effects",
    bug: () =>
      make([
        recovered(chargeWith({}), (call) =>
          Effect.catchTag(call, ["ExecutionError", "OutcomeUnknown"] as never, () =>
            Effect.as(perform("other bank", { order: "A" }), "charged there")))
      ]),
    twin: () => make([chargeWith({})])
  },
  "trust in what an outsider writes": {
    law: "untrusted_content_labelled",
    bug: () => make([read(found, { trust: "trusted" })], { subject: { outsiders: ["look"] } }),
    twin: () => make([read(found, { trust: "untrusted" })], { subject: { outsiders: ["look"] } })
  },
  "a tool without a timeout that hangs": {
    law: "runs_end",
    bug: () => make([read(found, { timeout: undefined })], { agent: { budget: { turns: 4 } } }),
    twin: () => make([read(found)])
  },
  "a read that writes": {
    law: "reads_have_no_side_effects",
    bug: () => make([read((params) => Effect.as(perform("look", params), "charged"))]),
    twin: () => make([read(found)])
  },
  "an executor that cannot be interrupted": {
    law: "deadlines_are_respected",
    bug: () =>
      make([read(() => Effect.uninterruptible(Effect.as(Effect.sleep("2 minutes"), "late")))], { subject: { budget } }),
    twin: () => make([read(() => Effect.as(Effect.sleep("2 minutes"), "late"))], { subject: { budget } })
  },
  "a fiber that is left behind": {
    law: "no_fibers_leak",
    bug: () => make([read(() => Effect.as(detached(Effect.never), "A: open"))]),
    twin: () => make([read(() => Effect.as(Effect.forkChild(Effect.never), "A: open"))])
  },
  "a number that two calls draw": {
    law: "no_duplicate_side_effects",
    bug: () => make([chargeWith({}, () => numbered("the same"))], { model: twoCharges }),
    twin: () => make([chargeWith({}, ({ order }) => numbered(order))], { model: twoCharges })
  },
  "a state that runs share": {
    law: "same_seed_same_run",
    bug: () => make([read(() => Effect.sync(() => `request ${++asked}`))]),
    twin: () => make([read((params) => Effect.sync(() => `request ${params.order}`))])
  }
}

function declared(model: (error: { readonly message: string }) => string) {
  return Schema.Struct({ _tag: Schema.Literal("Refused"), message: Schema.String }).annotate(
    ErrorProjection.declare({ code: "refused", model })
  )
}

const twoCharges = ScriptedModel.steps([
  ScriptedModel.calls([{ name: "charge", params: { order: "A" } }, { name: "charge", params: { order: "B" } }]),
  ScriptedModel.text("Done.")
])

/** Does something under the next number, which is unique only without an interleaving between the two steps. */
const numbered = (of: string) =>
  Effect.gen(function*() {
    const world = yield* SideEffects.SideEffects
    const done = yield* world.all
    const number = yield* Effect.succeed(done.filter(({ details }) => String(details).startsWith(of)).length)
    yield* world.perform({ tool: "charge", details: `${of} ${number}` })
    return "charged"
  })

const loopless: ScriptedModel.Behaviour = (_, index) =>
  index === 0 ? ScriptedModel.call("look", { order: "A" }) : ScriptedModel.text("Done.")

describe("typical bugs", () => {
  for (const [name, { bug, law, twin }] of Object.entries(bugs)) {
    it.effect(name, () =>
      Effect.gen(function*() {
        const error = yield* Effect.flip(Laws.check(bug(), { interruptions: 5 }))
        assert.strictEqual(error.law, law)
      }), 120_000)

    it.effect(`not: ${name}`, () => Effect.asVoid(Laws.check(twin(), { runs: 12, interruptions: 5 })), 120_000)
  }
})
