import { Drive, ScriptedModel } from "@recourse/testing"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Clock, Effect, Exit, Redacted, Schema, Stream } from "effect"
import type { LanguageModel } from "effect/ai"
import { Agent, Approval, Guardrail, ModelError, OutputGuard, RunRecord, Skill, Tool } from "@recourse/core"
import { collect } from "../support/kit.ts"

const key = Approval.layerKey(Redacted.make("k".repeat(32)))
const unsafe = new Guardrail.UnsafeInput({ category: "test" })

const pay = () => {
  const state = { paid: 0 }
  return {
    state,
    Pay: Tool.make("pay", { effects: "idempotent", execute: () => Effect.sync(() => void state.paid++) })
  }
}

const after = <A, E>(millis: number, effect: Effect.Effect<A, E>) => Effect.andThen(Effect.sleep(millis), effect)

const content = (events: ReadonlyArray<{ readonly _tag: string }>) =>
  events.filter(({ _tag }) => /^(Text|Reasoning|ToolCall|ModelTurnFinished)/.test(_tag))

for (const streaming of [false, true]) {
  const running = <Out, E, R>(agent: Agent.Agent<string, Out, E, R>, input = "x"): Effect.Effect<unknown, E, R> =>
    streaming
      ? Effect.map(
        Stream.runLast(agent.stream(input)),
        (last) => last._tag === "Some" && last.value._tag === "RunFinished" ? last.value.output : undefined
      )
      : agent.run(input)

  describe(`the guard of the input, ${streaming ? "streamed" : "not streamed"}`, () => {
    it.effect("runs in parallel to the first model request at no cost", () =>
      Effect.gen(function*() {
        const agent = Agent.make("m", { guardInput: () => after(5000, Effect.void) })
        const took = yield* Drive.drive(
          Effect.gen(function*() {
            const start = yield* Clock.currentTimeMillis
            assert.strictEqual(yield* running(agent), "done")
            return (yield* Clock.currentTimeMillis) - start
          }).pipe(Effect.provide(ScriptedModel.layer([ScriptedModel.delay("5 seconds", ScriptedModel.text("done"))])))
        )
        assert.strictEqual(took, 5000)
      }))

    it.effect("delays events and calls until it passes; its error is the run's", () =>
      Effect.gen(function*() {
        for (const wait of [0, 3000]) {
          for (const slow of [0, 1000, 9000]) {
            const { Pay, state } = pay()
            const { events, layer } = collect()
            const turn = ScriptedModel.calls([{ name: "pay", params: {} }], { text: "Paying." })
            const agent = Agent.make("m", { tools: [Pay], guardInput: () => after(wait, Effect.fail(unsafe)) })
            const exit = yield* Drive.drive(
              Effect.exit(running(agent)).pipe(
                Effect.provide([
                  ScriptedModel.layer([ScriptedModel.delay(slow, turn), ScriptedModel.text("done")]),
                  layer
                ])
              )
            )
            assert.isTrue(Exit.isFailure(exit))
            if (!Exit.isFailure(exit)) return
            assert.strictEqual(exit.cause.reasons.find(Cause.isFailReason)?.error, unsafe)
            assert.deepStrictEqual([state.paid, content(events).length], [0, 0])
            const turns = events.filter(({ _tag }) => _tag === "ModelTurnStarted" || _tag === "ModelTurnFailed")
            assert.strictEqual(turns.length % 2, 0)
            const record = RunRecord.fromCause(exit.cause)
            assert.isTrue(record._tag === "Some" && record.value.resumable === undefined)
          }
        }
      }))

    it.effect("replaces the model's input, and drops the first request's answer", () =>
      Effect.gen(function*() {
        const { Pay, state } = pay()
        const { events, layer } = collect()
        const requests: Array<string> = []
        const agent = Agent.make("m", {
          tools: [Pay],
          guardInput: (text) => after(2000, Effect.succeed(Guardrail.change(text.replace("4111", "[card]"))))
        })
        const answer = yield* Drive.drive(
          running(agent, "card 4111").pipe(Effect.provide([
            ScriptedModel.layer(({ prompt }) => {
              const asked = JSON.stringify(prompt.content)
              requests.push(asked)
              return asked.includes("4111") ? ScriptedModel.call("pay", {}) : ScriptedModel.text("safe")
            }),
            layer
          ]))
        )
        assert.deepStrictEqual([answer, state.paid, requests.length], ["safe", 0, 2])
        assert.notInclude(requests[1], "4111")
        assert.strictEqual(events.filter(({ _tag }) => _tag === "ModelTurnFinished").length, 1)
        const last = events.at(-1)
        assert.isTrue(last?._tag === "RunFinished" && !JSON.stringify(last.transcript).includes("4111"))
      }))

    it.effect("an answer in the model's place waits for it too", () =>
      Effect.gen(function*() {
        const agent = Agent.make("m", {
          guardInput: () => after(1000, Effect.fail(unsafe)),
          onModelError: () => Effect.succeed(ModelError.respondWith("sorry"))
        })
        const exit = yield* Drive.drive(
          Effect.exit(running(agent)).pipe(
            Effect.provide(ScriptedModel.layer([ScriptedModel.failure("InvalidRequestError")]))
          )
        )
        assert.isTrue(
          Exit.isFailure(exit) && exit.cause.reasons.some((r) => Cause.isFailReason(r) && r.error === unsafe)
        )
      }))

    it.effect("runs in parallel to the model's choice of a skill", () =>
      Effect.gen(function*() {
        const skills = ["a", "b"].map((name) => Skill.make(name, { description: name, instructions: name, tools: [] }))
        const requests: Array<unknown> = []
        const agent = Agent.make("m", { skills, guardInput: () => after(1000, Effect.fail(unsafe)) })
        const exit = yield* Drive.drive(
          Effect.exit(running(agent as Agent.Agent<string, string, unknown, LanguageModel.LanguageModel>)).pipe(
            Effect.provide(ScriptedModel.layer((request) => {
              requests.push(request)
              return ScriptedModel.object({ skills: ["a"] })
            }))
          )
        )
        assert.isTrue(Exit.isFailure(exit))
        assert.strictEqual(requests.length, 1)
      }))
  })

  describe(`the guard of the answer, ${streaming ? "streamed" : "not streamed"}`, () => {
    it.effect("stops the answer before emission and outside the conversation", () =>
      Effect.gen(function*() {
        const { Pay } = pay()
        const { events, layer } = collect()
        const agent = Agent.make("m", {
          tools: [Pay],
          guardOutput: (text) =>
            text.includes("secret") ? Effect.fail(new OutputGuard.UnsafeOutput({ category: "leak" })) : Effect.void
        })
        const turns = [
          ScriptedModel.calls([{ name: "pay", params: {} }], { text: "Paying." }),
          ScriptedModel.text("The secret is 42")
        ]
        const exit = yield* Effect.exit(running(agent)).pipe(Effect.provide([ScriptedModel.layer(turns), layer]))
        assert.isTrue(Exit.isFailure(exit))
        assert.notInclude(JSON.stringify(events), "secret")
        assert.include(JSON.stringify(events), "Paying.")
        const turnsOf = (tag: string) => events.filter(({ _tag }) => _tag === tag).length
        assert.deepStrictEqual(
          [turnsOf("ModelTurnStarted"), turnsOf("ModelTurnFinished"), turnsOf("ModelTurnFailed")],
          [2, 1, 1]
        )
        assert.isTrue(Exit.isFailure(exit) && !JSON.stringify(RunRecord.fromCause(exit.cause)).includes("secret"))
      }))

    it.effect("changes and passes", () =>
      Effect.gen(function*() {
        const { events, layer } = collect()
        const agent = Agent.make("m", {
          guardOutput: (text) => Effect.succeed(text.includes("Ada") ? Guardrail.change("[name]") : undefined)
        })
        const play = (text: string) =>
          running(agent).pipe(Effect.provide([ScriptedModel.layer([ScriptedModel.text(text)]), layer]))
        assert.strictEqual(yield* play("Ada"), "[name]")
        assert.notInclude(JSON.stringify(events), "Ada")
        assert.strictEqual(yield* play("Bob"), "Bob")
        assert.strictEqual(content(events).some((event) => JSON.stringify(event).includes("Bob")), true)
      }))

    it.effect("checks the decoded answer, also after a correction", () =>
      Effect.gen(function*() {
        const seen: Array<unknown> = []
        const { events, layer } = collect()
        const agent = Agent.make("m", {
          output: Schema.Number,
          guardOutput: (n) => Effect.sync(() => void seen.push(n))
        })
        const script = ScriptedModel.layer([ScriptedModel.text("many"), ScriptedModel.object({ answer: 3 })])
        assert.strictEqual(yield* running(agent).pipe(Effect.provide([script, layer])), 3)
        assert.deepStrictEqual(seen, [3])
        assert.notInclude(JSON.stringify(content(events)), "many")
      }))
  })
}

it.effect("streamed text is emitted as soon as the input has passed", () =>
  Effect.gen(function*() {
    const told: Array<number> = []
    const agent = Agent.make("m", { guardInput: () => after(1000, Effect.void) })
    yield* Drive.drive(
      agent.stream("x").pipe(
        Stream.runForEach((event) =>
          event._tag === "TextDelta" ? Effect.map(Clock.currentTimeMillis, (at) => void told.push(at)) : Effect.void
        ),
        Effect.provide(ScriptedModel.layer([ScriptedModel.delay("3 seconds", ScriptedModel.text("done"))]))
      )
    )
    assert.isTrue(told.length > 0 && told.every((at) => at >= 1000))
  }))

it.effect("a pause follows the input guard; the answer guard checks the resumption", () =>
  Effect.gen(function*() {
    const looked = { input: 0, output: 0 }
    const Ask = Tool.make("ask", { needsApproval: true, execute: () => Effect.void })
    const agent = Agent.make("m", {
      tools: [Ask],
      guardInput: () => after(100, Effect.sync(() => void looked.input++)),
      guardOutput: () => Effect.sync(() => void looked.output++)
    })
    const paused = yield* Drive.drive(
      agent.start("x").pipe(Effect.provide([ScriptedModel.layer([ScriptedModel.call("ask", {})]), key]))
    )
    assert.deepStrictEqual([paused._tag, looked.input, looked.output], ["Paused", 1, 0])
    if (paused._tag !== "Paused") return
    yield* agent.resume(paused.snapshot, paused.pending.map((call) => Approval.approve(call))).pipe(
      Effect.provide([ScriptedModel.layer([ScriptedModel.text("done")]), key])
    )
    assert.deepStrictEqual([looked.input, looked.output], [1, 1])
  }))

it.effect("the guard's fiber ends with the run", () =>
  Effect.gen(function*() {
    let ended = 0
    const agent = Agent.make("m", {
      guardInput: () => Effect.onInterrupt(Effect.never, () => Effect.sync(() => ended++))
    })
    const exit = yield* Effect.exit(agent.run("x")).pipe(
      Effect.provide(ScriptedModel.layer([ScriptedModel.failure("InvalidRequestError")]))
    )
    assert.isTrue(Exit.isFailure(exit))
    assert.strictEqual(ended, 1)
  }))
