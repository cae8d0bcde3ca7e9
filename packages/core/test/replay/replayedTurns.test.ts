/** Answers that a run takes from its journal: guards look at them, plans hold for them, and failures before them count as they were met. */
import { assert, describe, it } from "@effect/vitest"
import { Agent, type AgentEvent, Guardrail, Journal, ModelError, Recovery, Tool } from "@recourse/core"
import { Drive, ScriptedModel } from "@recourse/testing"
import { Cause, Effect, Exit, Schedule, Schema, Stream } from "effect"
import { AiError, type LanguageModel } from "effect/ai"
import { type CutAt, journalOf } from "../support/interruptedRuns.ts"
import { collect } from "../support/kit.ts"

type AnyAgent = Agent.Agent<string, string, unknown, LanguageModel.LanguageModel>
const agentOf = (options: object): AnyAgent => Agent.make("clerk", options as never) as never

const failureOf = (exit: Exit.Exit<unknown, unknown>) =>
  Exit.isFailure(exit)
    ? exit.cause.reasons.map((reason) => Cause.isFailReason(reason) ? reason.error : reason._tag)
    : []

/** The executions of a run, streamed or not, with its model. */
const livesOf = (model: Parameters<typeof ScriptedModel.layer>[0], streaming = false) => {
  const { kept, life } = journalOf()
  const live = (agent: AnyAgent, cut?: CutAt) => {
    const { events, layer } = collect()
    const run: Effect.Effect<unknown, unknown, LanguageModel.LanguageModel> = streaming
      ? Stream.runDrain(agent.stream("go", { runId: "run_1" }))
      : agent.run("go", { runId: "run_1" })
    return Drive.drive(
      Effect.gen(function*() {
        const exit = yield* Effect.exit(run)
        const { requests } = yield* ScriptedModel.ScriptedModel
        return { events, exit, requests: yield* requests }
      }).pipe(
        Effect.provide([ScriptedModel.layer(model), layer]),
        Effect.provideService(Journal.CurrentJournal, life(cut).journal)
      )
    )
  }
  return { kept, live }
}

describe("a guard checks an earlier execution's answer like any other", () => {
  const Look = Tool.make("look", { effects: "read", success: Schema.String, execute: () => Effect.succeed("seen") })
  const verdicts = {
    passes: Effect.void,
    replaces: Effect.succeed(Guardrail.change("another")),
    refuses: Effect.fail("refused" as const)
  } as const
  for (const side of ["guardInput", "guardOutput"] as const) {
    for (const [verdict, says] of Object.entries(verdicts)) {
      it.effect(`${side} ${verdict}`, () =>
        Effect.gen(function*() {
          let looks = 0
          const agent = agentOf({
            tools: [Look],
            [side]: () => Effect.andThen(Effect.sync(() => looks++), says)
          })
          const model = ScriptedModel.steps([ScriptedModel.call("look", {}), ScriptedModel.text("Done.")])
          const outcome = ({ exit }: { readonly exit: Exit.Exit<unknown, unknown> }) =>
            Exit.isSuccess(exit) ? exit.value : failureOf(exit)
          const whole = yield* livesOf(model).live(agent)
          const expected = verdict === "refuses"
            ? ["refused"]
            : verdict === "replaces" && side === "guardOutput"
            ? "another"
            : "Done."
          assert.deepStrictEqual(outcome(whole), expected)
          const { kept, live } = livesOf(model)
          yield* live(agent)
          // Each execution has all earlier entries.
          const records = kept.size
          looks = 0
          const again = yield* live(agent)
          assert.deepStrictEqual(outcome(again), expected)
          assert.strictEqual(looks, 1)
          assert.isAtLeast(kept.size, records)
        }))
    }
  }
})

it.effect("a plan applies to a replayed answer: removed tools are not called", () =>
  Effect.gen(function*() {
    let wiped = 0
    const Look = Tool.make("look", { effects: "read", success: Schema.String, execute: () => Effect.succeed("seen") })
    const Wipe = Tool.make("wipe", { effects: "write", execute: () => Effect.sync(() => void wiped++) })
    const agent = agentOf({
      tools: [Look, Wipe],
      prepareTurn: () => ({ tools: ["look"] }),
      defaults: { onError: Recovery.standard }
    })
    const { live } = livesOf(ScriptedModel.steps([ScriptedModel.call("wipe", {}), ScriptedModel.text("Done.")]))
    assert.isTrue(Exit.isFailure((yield* live(agent, { at: 1, behind: true })).exit))
    const { exit, requests } = yield* live(agent)
    assert.deepStrictEqual(exit, Exit.succeed("Done."))
    assert.strictEqual(requests.length, 1)
    assert.include(JSON.stringify(requests[0]!.prompt), "tool_not_found")
    assert.strictEqual(wiped, 0)
  }))

describe("a failure of an earlier execution", () => {
  const retrying = (options: { readonly restart?: boolean } = {}) =>
    agentOf({ onModelError: () => ModelError.retry({ times: 3, schedule: Schedule.spaced("4 seconds"), ...options }) })
  const half = ScriptedModel.cut(ScriptedModel.text("half an answer"), { after: 2 })

  /** An execution that ends in a wait behind a failure, and the exit of the next one, with another program. */
  const behind = (failure: ScriptedModel.Turn, first: AnyAgent, second: AnyAgent) =>
    Effect.gen(function*() {
      const asked = { times: 0 }
      const { live } = livesOf(() => asked.times++ === 0 ? failure : ScriptedModel.text("whole"), true)
      const cut = yield* live(first, { at: 1, behind: true })
      assert.isTrue(Exit.isFailure(cut.exit))
      const { events, exit } = yield* live(second)
      return {
        asked: asked.times,
        exit,
        told: events.flatMap((event: AgentEvent.AgentEvent) => event._tag === "RunFinished" ? [event.output] : [])
      }
    })

  it.effect("without emitted parts is resumed behind", () =>
    Effect.gen(function*() {
      const { asked, exit, told } = yield* behind(ScriptedModel.failure("RateLimitError"), retrying(), retrying())
      assert.deepStrictEqual([asked, Exit.isSuccess(exit), told], [2, true, ["whole"]])
    }))

  it.effect("with emitted parts is resumed behind if the program restarts answers", () =>
    Effect.gen(function*() {
      const again = retrying({ restart: true })
      const { asked, exit, told } = yield* behind(half, again, again)
      assert.deepStrictEqual([asked, Exit.isSuccess(exit), told], [2, true, ["whole"]])
    }))

  it.effect("with emitted parts ends the run without such a restart", () =>
    Effect.gen(function*() {
      const { asked, exit, told } = yield* behind(half, retrying({ restart: true }), retrying())
      assert.deepStrictEqual([asked, told], [1, [undefined]])
      assert.strictEqual((failureOf(exit)[0] as { readonly _tag: string })._tag, "AiError")
    }))

  it.effect("of another version recurs, and keeps its position in the journal", () =>
    Effect.gen(function*() {
      const asked = { times: 0 }
      const { kept, live } = livesOf(() =>
        asked.times++ < 2 ? ScriptedModel.failure("RateLimitError") : ScriptedModel.text("whole")
      )
      yield* live(retrying(), { at: 1, behind: true })
      const [first] = [...kept.keys()]
      kept.set(first!, { by: "another version" })
      const cut = yield* live(retrying(), { at: 1, behind: true })
      assert.isTrue(Exit.isFailure(cut.exit))
      assert.strictEqual(kept.size, 2)
      assert.deepStrictEqual(kept.get(first!), { by: "another version" })
      // Failures recorded by this version do not recur.
      assert.deepStrictEqual((yield* live(retrying())).exit, Exit.succeed("whole"))
      assert.strictEqual(asked.times, 3)
    }))

  it.effect("that cannot be recorded recurs, without a position in the journal", () =>
    Effect.gen(function*() {
      const reason = new AiError.RateLimitError({})
      // A provider's metadata may have no JSON form.
      Object.assign(reason.metadata, { test: { count: 1n } })
      const error = AiError.make({ module: "Test", method: "call", reason })
      const asked = { times: 0 }
      const { kept, live } = livesOf(() =>
        [ScriptedModel.failWith(error), ScriptedModel.failure("RateLimitError")][asked.times++] ??
          ScriptedModel.text("whole")
      )
      const cut = yield* live(retrying(), { at: 1, behind: true })
      assert.isTrue(Exit.isFailure(cut.exit))
      assert.deepStrictEqual([asked.times, kept.size], [2, 1])
      const { events, exit } = yield* live(retrying())
      assert.deepStrictEqual(exit, Exit.succeed("whole"))
      assert.strictEqual(asked.times, 3)
      // Usage before the recorded failure counts.
      assert.deepStrictEqual(events.flatMap((event) => event._tag === "RunFinished" ? [event.usage.turns] : []), [3])
    }))
})
