/**
 * Lost keys: a call that an earlier execution of its run has started under a key, and whose tool has another key today,
 * or none. Its entry in the ledger counts: a completed one is answered, a possible one is unknown, and a missing one
 * runs.
 */
import { assert, describe, it } from "@effect/vitest"
import { Drive, ScriptedModel } from "@recourse/testing"
import { Effect, type Exit, Layer, Schedule, Schema } from "effect"
import {
  Agent,
  ErrorProjection,
  IdempotencyLedger,
  Journal,
  Recovery,
  Tool,
  ToolCall,
  type ToolError
} from "@recourse/core"
import { Cut, type CutAt, journalOf } from "../support/interruptedRuns.ts"
import { lastResults } from "../support/kit.ts"

class Full extends Schema.TaggedError<Full>()(
  "Full",
  {},
  ErrorProjection.declare({ code: "not_found", model: "Full.", outcome: "not_done" })
) {}

/** State of the call at the end of the first execution. */
const states = ["not begun", "begun", "done", "failed"] as const
/** Parts of its key. */
const keys = ["of the call", "of its arguments", "of its arguments in another way", "none"] as const
const effects = ["write", "idempotent", "read"] as const
const ledgers = ["answers", "is down", "is gone"] as const

type Key = (typeof keys)[number]

interface Case {
  readonly state: (typeof states)[number]
  readonly before: Exclude<Key, "none">
  readonly today: Key
  readonly effects: (typeof effects)[number]
  readonly ledger: (typeof ledgers)[number]
  readonly level: "a tool" | "a tool within a tool"
  /** Outcome of an earlier attempt in the first execution: it failed, or its arguments did not fit. They do today. */
  readonly first?: "failed" | "unfit"
}

const down = new IdempotencyLedger.LedgerError({ operation: "begin", reason: "down" })

/** The result that the model reads in the second execution. A start is recorded, so only the ledger can say that the write is not to be feared. */
const expected = ({ effects, ledger, state, today }: Case): string => {
  if (state === "not begun") return ledger === "is down" && today !== "none" ? "execution_error" : "paid"
  if (ledger === "answers" && state === "done") return "paid 1"
  if (ledger === "answers" && state === "begun") return "outcome_unknown"
  return effects !== "idempotent" || (ledger === "is down" && today !== "none") ? "outcome_unknown" : "paid"
}

const retried = Recovery.retry({ times: 2, schedule: Schedule.spaced("1 minute"), while: () => true } as never)
const fixed = Recovery.fix(
  "InvalidArgs",
  Agent.fromFunction("fixer", (_: Recovery.FixRequest) => Effect.succeed(`{"n":1}`))
)

const play = (one: Case) => {
  const { kept, life } = journalOf()
  const world = { runs: 0, told: "" }
  const live = (
    number: 0 | 1,
    ledger: Layer.Layer<IdempotencyLedger.IdempotencyLedger> | Layer.Layer<never>,
    cut?: CutAt
  ) => {
    const key = number === 0 ? one.before : one.today
    const pay = Tool.make("pay", {
      parameters: Schema.Struct({ n: number === 0 ? Schema.Int : Schema.Union([Schema.Int, Schema.String]) }),
      success: Schema.String,
      failure: Full,
      effects: number === 0 ? "write" : one.effects,
      ...(key === "none"
        ? undefined
        : {
          idempotency: key === "of the call"
            ? true
            : { key: ({ n }: { readonly n: unknown }) => `${key === "of its arguments" ? "order" : "other"}-${n}` }
        }),
      execute: () =>
        Effect.suspend(() => {
          world.runs++
          if (number === 0 && one.first === "failed" && world.runs === 1) return Effect.fail(new Full())
          if (number === 1) return Effect.succeed("paid")
          return one.state === "begun"
            ? Effect.die(new Cut())
            : one.state === "failed"
            ? Effect.fail(new Full())
            : Effect.succeed("paid 1")
        })
    } as never) as never as { readonly call: Effect.Effect<string, unknown, ToolCall.ToolCall> }
    const recovered = (pay as never as Tool.Tool<string, never, never, ToolError.ToolError, never>).pipe(
      Tool.onError(((call: never) => fixed(retried(call) as never)) as never) as never
    ) as never as typeof pay
    const around = (name: string, within: typeof pay, args: object) =>
      Tool.make(name, {
        success: Schema.String,
        effects: "idempotent",
        execute: () =>
          Effect.provideService(within.call, ToolCall.ToolCall, ToolCall.make({ id: "x", arguments: args }))
      } as never) as never as typeof pay
    const bundle = around("bundle", one.first === undefined ? pay : recovered, {
      n: one.first === "unfit" ? "1" : 1
    })
    const tool = one.level === "a tool" ? bundle : around("outer", bundle, {})
    const agent = Agent.make(
      "clerk",
      { tools: [tool], defaults: { onError: Recovery.keepGoing } } as never
    ) as never as Agent.Agent<
      string,
      string,
      unknown,
      never
    >
    const model = ScriptedModel.layer((request, index) => {
      for (const { result } of lastResults(request.prompt)) {
        world.told = typeof result === "object" && result !== null && "code" in result
          ? String(result.code)
          : String(result)
      }
      const name = one.level === "a tool" ? "bundle" : "outer"
      return ScriptedModel.steps([ScriptedModel.call(name, {}, { id: "c" }), ScriptedModel.text("done")])(
        request,
        index
      )
    })
    const { journal } = life(cut)
    return Drive.drive(
      agent.report("go", { runId: "run_1" }).pipe(
        Effect.provideService(Journal.CurrentJournal, journal),
        Effect.provide(model),
        Effect.provide(ledger as Layer.Layer<never>)
      ) as Effect.Effect<{ readonly exit: Exit.Exit<unknown, unknown> }>
    )
  }
  return Effect.gen(function*() {
    const ledger = yield* Effect.provide(
      IdempotencyLedger.IdempotencyLedger,
      Layer.fresh(IdempotencyLedger.layerMemory)
    )
    const there = Layer.succeed(IdempotencyLedger.IdempotencyLedger, ledger)
    const isDown = Layer.succeed(IdempotencyLedger.IdempotencyLedger, { ...ledger, claim: () => Effect.fail(down) })
    // Behind the model's answer, or before the outcome is recorded: the journal has no other entry of it.
    yield* live(0, there, one.state === "not begun" ? { at: 1, behind: true } : undefined)
    for (const key of kept.keys()) {
      if (key.startsWith("call ") || key.startsWith("child ") || key === "model /2") kept.delete(key)
    }
    assert.strictEqual(world.runs, (one.first === "failed" ? 1 : 0) + (one.state === "not begun" ? 0 : 1))
    world.runs = 0
    world.told = ""
    yield* live(1, { answers: there, "is down": isDown, "is gone": Layer.empty }[one.ledger])
    return world
  })
}

describe("a call whose tool has another key today, or none", () => {
  for (const ledger of ledgers) {
    for (const level of ["a tool", "a tool within a tool"] as const) {
      for (const state of states) {
        it.effect(`made by ${level}, ${state}, when the ledger ${ledger}`, () =>
          Effect.forEach(
            effects.flatMap((effects): ReadonlyArray<Case> => [
              { state, effects, ledger, level, before: "of the call", today: "none" },
              { state, effects, ledger, level, before: "of its arguments", today: "none" },
              ...(ledger === "is gone" ? [] : [
                { state, effects, ledger, level, before: "of the call", today: "of its arguments" } as const,
                { state, effects, ledger, level, before: "of its arguments", today: "of the call" } as const
              ])
            ]),
            (one) =>
              Effect.map(play(one), ({ runs, told }) => {
                const about = JSON.stringify(one)
                assert.strictEqual(told, expected(one), about)
                assert.strictEqual(runs, told === "paid" ? 1 : 0, about)
              }),
            { discard: true }
          ))
      }
    }
  }
})

describe("a call started after a failed attempt, with a changed key", () => {
  const of = { effects: "write", ledger: "answers", level: "a tool" } as const
  for (const first of ["failed", "unfit"] as const) {
    for (const before of ["of its arguments", "of the call"] as const) {
      for (const today of keys) {
        if (before === today) continue
        it.effect(`${first} first, ${before} before, ${today} today`, () =>
          Effect.gen(function*() {
            for (const state of ["begun", "done"] as const) {
              const { runs, told } = yield* play({ ...of, state, before, today, first })
              // Other arguments say that today's call is another one.
              // Without a key the attempt that failed is not repeated, so the next one is not met.
              const isOther = first === "unfit" || today === "none"
              assert.deepStrictEqual(
                [told, runs],
                [state === "done" && !isOther ? "paid 1" : "outcome_unknown", 0],
                state
              )
            }
          }))
      }
    }
  }
})
