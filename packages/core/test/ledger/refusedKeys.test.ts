/**
 * Refused again: a keyed write that the next execution of its run refuses. Its entry in the ledger counts, for any
 * refusal: a completed one is answered, a possible one is unknown, and an unstarted one is refused normally. It never
 * runs.
 */
import { assert, describe, it } from "@effect/vitest"
import { Drive, ScriptedModel } from "@recourse/testing"
import { Cause, Effect, Exit, Layer, Schema } from "effect"
import { Agent, ErrorProjection, IdempotencyLedger, Journal, Policy, Recovery, Tool, ToolCall } from "@recourse/core"
import { Cut, type CutAt, journalOf } from "../support/interruptedRuns.ts"
import { lastResults } from "../support/kit.ts"

class Full extends Schema.TaggedError<Full>()(
  "Full",
  {},
  ErrorProjection.declare({ code: "not_found", model: "Full.", outcome: "not_done" })
) {}

/** State of the call at the end of the first execution. */
const states = ["not begun", "begun", "done", "failed"] as const

/** The second execution's refusals. */
const refusals = ["denied", "unfit", "broken", "with others"] as const

/** Parts of its key, and the way to reconcile it. */
const keys = ["of the call", "of its arguments", "that is asked about", "that is known not to be done"] as const

const levels = ["a model", "a tool"] as const

type Case = readonly [
  state: (typeof states)[number],
  refusal: (typeof refusals)[number],
  key: (typeof keys)[number],
  level: (typeof levels)[number]
]

/** The model's result. */
const expected = ([state, refusal, key, level]: Case): string => {
  // The end of the run is not a report that it was not done.
  if (refusal === "broken") return "broken"
  // With other arguments it is another call of its tool: the call that started is not met.
  if (refusal === "with others" && level === "a tool") {
    return state === "not begun" ? "permission_denied" : "outcome_unknown"
  }
  if (state === "done") return "paid"
  // The ledger has released the key, and the journal has the start.
  if (state === "failed") return "outcome_unknown"
  // Without its arguments it cannot be reconciled.
  if (state === "begun" && (refusal === "unfit" || !key.startsWith("that is"))) return "outcome_unknown"
  if (state === "begun" && key === "that is asked about") return "found"
  if (refusal !== "unfit") return "permission_denied"
  return level === "a model" ? "invalid_arguments" : "execution_error"
}

const program = ([state, refusal, key, level]: Case) => {
  const { kept, life } = journalOf()
  const world = { runs: 0, told: "" }
  const live = (number: 0 | 1, cut?: CutAt) => {
    const pay = Tool.make("pay", {
      parameters: number === 1 && refusal === "unfit"
        ? Schema.Struct({ place: Schema.Int })
        : Schema.Struct({ n: Schema.Int }),
      success: Schema.String,
      failure: Full,
      effects: "write",
      idempotency: key === "of the call"
        ? true
        : key === "of its arguments"
        ? { key: () => "order-1" }
        : {
          reconcile: () =>
            Effect.succeed(
              key === "that is asked about" ? { _tag: "Completed", result: "found" } : { _tag: "NotStarted" }
            )
        },
      execute: () =>
        Effect.suspend(() => {
          world.runs++
          return state === "begun"
            ? Effect.die(new Cut())
            : state === "failed"
            ? Effect.fail(new Full())
            : Effect.succeed("paid")
        })
    } as never) as never as Tool.Any
    const args = { n: number === 1 && refusal === "with others" ? 2 : 1 }
    const bundle = Tool.make("bundle", {
      success: Schema.String,
      effects: "idempotent",
      execute: () =>
        (pay as never as { readonly call: Effect.Effect<string, unknown, ToolCall.ToolCall> }).call.pipe(
          Effect.provideService(ToolCall.ToolCall, ToolCall.make({ id: "x", arguments: args }))
        )
    }) as never as Tool.Any
    const refuse = Policy.make("closed", ({ tool }) =>
      tool !== "pay"
        ? Effect.succeed(Policy.allow)
        : refusal === "broken"
        ? Effect.die("broken")
        : Effect.succeed(Policy.deny("closed")))
    const agent = Agent.make("clerk", {
      tools: level === "a model" ? [pay] : [bundle],
      defaults: { onError: Recovery.keepGoing },
      ...(number === 1 && refusal !== "unfit" ? { policies: [refuse] } : undefined)
    } as never) as never as Agent.Agent<string, string, unknown, never>
    const model = ScriptedModel.layer((request, index) => {
      for (const { result } of lastResults(request.prompt)) {
        world.told = typeof result === "object" && result !== null && "code" in result
          ? String(result.code)
          : String(result)
      }
      return ScriptedModel.steps([
        ScriptedModel.call(level === "a model" ? "pay" : "bundle", level === "a model" ? { n: 1 } : {}, { id: "c" }),
        ScriptedModel.text("done")
      ])(request, index)
    })
    return Drive.drive(
      agent.report("go", { runId: "run_1" }).pipe(
        Effect.provideService(Journal.CurrentJournal, life(cut).journal),
        Effect.provide(model)
      )
    )
  }
  return { kept, live, world }
}

describe("a keyed write that the next execution refuses", () => {
  for (const level of levels) {
    for (const refusal of refusals) {
      it.effect(`of ${level}, ${refusal}: has the outcome of its ledger entry`, () =>
        Effect.forEach(
          states.flatMap((state) => keys.map((key): Case => [state, refusal, key, level])),
          (one) =>
            Effect.gen(function*() {
              const about = one.join(", ")
              const [state] = one
              const { kept, live, world } = program(one)
              // Behind the model's answer, or before the outcome is recorded: the journal has no other entry of it.
              yield* live(0, state === "not begun" ? { at: 1, behind: true } : undefined)
              for (const key of kept.keys()) {
                if (key.startsWith("call ") || key.startsWith("child ") || key === "model /2") kept.delete(key)
              }
              const runs = world.runs
              assert.strictEqual(runs, state === "not begun" ? 0 : 1, about)
              world.told = ""
              const { exit } = yield* live(1)
              assert.strictEqual(world.runs, runs, about)
              const told = Exit.isSuccess(exit)
                ? world.told
                : String((Cause.squash(exit.cause) as { readonly reason?: unknown }).reason ?? Cause.squash(exit.cause))
              assert.strictEqual(told, expected(one), about)
            }).pipe(Effect.provide(Layer.fresh(IdempotencyLedger.layerMemory))),
          { discard: true }
        ))
    }
  }
})
