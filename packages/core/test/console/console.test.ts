/** Output of `AgentEvent.layerConsole`: the events, within the terminal's width, and no control characters. */
import { Drive, ScriptedModel } from "@recourse/testing"
import { assert, describe, it } from "@effect/vitest"
import { Data, Effect, Layer, References, Schedule, Schema } from "effect"
import { TerminalCapabilities } from "effect/cli"
import { TestConsole } from "effect/testing"
import { Agent, AgentEvent, Recovery, Tool } from "@recourse/core"
import { seeded } from "../support/seeded.ts"

class Busy extends Data.TaggedError("Busy") {}

const printed = <A, E, R>(effect: Effect.Effect<A, E, R>, options?: AgentEvent.ConsoleOptions) =>
  effect.pipe(
    Effect.provide(AgentEvent.layerConsole({ colors: false, ...options })),
    Effect.exit,
    Effect.andThen(TestConsole.logLines),
    Effect.map((lines) => lines.join("\n").split("\n")),
    Effect.provide(Layer.fresh(TestConsole.layer))
  )

const answering = (text: string) => Agent.fromFunction("a", (_: string) => Effect.succeed(text))

let attempts = 0
const Stock = Tool.make("stock", {
  parameters: Schema.Struct({ item: Schema.String }),
  success: Schema.Int,
  effects: "read",
  execute: () => Effect.suspend(() => ++attempts % 2 === 1 ? Effect.fail(new Busy()) : Effect.succeed(3))
}).pipe(
  Tool.onError((call) =>
    call.pipe(
      Recovery.retry({ times: 1, schedule: Schedule.spaced("250 millis") }),
      Recovery.escalate("ExecutionError", "InvalidArgs")
    )
  )
)

describe("the console of a run", () => {
  it.effect("prints requests, attempts, decisions and answers", () =>
    Effect.gen(function*() {
      attempts = 0
      const inner = Agent.make("counter", { tools: [Stock] })
      const outer = Agent.fromFunction("shop", (text: string) => inner.run(text))
      const lines = yield* printed(Drive.drive(outer.run("How many?"))).pipe(
        Effect.provide(ScriptedModel.layer([
          ScriptedModel.call("stock", { item: "tea" }),
          ScriptedModel.call("stock", { wrong: 1 }),
          ScriptedModel.text("Three.")
        ]))
      )
      assert.deepStrictEqual(lines, [
        "     0 ms  shop  asked: How many?",
        "     0 ms    counter  asked: How many?",
        "     0 ms    counter turn 1  model called",
        "     0 ms    counter stock  {\"item\":\"tea\"}",
        "     0 ms    counter stock  attempt 1 failed: Busy (ExecutionError)",
        "     0 ms    counter stock  decision: retry 1, after 250 ms",
        "   250 ms    counter stock  attempt 2, after 250 ms",
        "   250 ms    counter stock  result for the model: 3",
        "   250 ms    counter turn 2  model called",
        "   250 ms    counter stock #2  {\"wrong\":1}",
        "   250 ms    counter stock #2  attempt 1 failed: InvalidArgs",
        "   250 ms    counter stock #2  decision: escalate to the model (medium): The arguments do not fit: item: required",
        "   250 ms    counter stock #2  result for the model: missing_required_field",
        "   250 ms    counter turn 3  model called",
        "   250 ms    counter turn 3  model said: Three.",
        "   250 ms    counter  answered: Three.",
        "   250 ms  shop  answered: Three."
      ])
    }))

  it.effect("breaks lines between words, with a hanging indent", () =>
    Effect.gen(function*() {
      const lines = yield* printed(answering("one two three\nfour").run("the first of many words, and more"), {
        width: 34
      })
      assert.deepStrictEqual(lines, [
        "     0 ms  a  asked: the first of",
        "             many words, and more",
        "     0 ms  a  answered: one two",
        "             three",
        "             four"
      ])
    }))

  it.effect("keeps every line within the width without losing text", () =>
    Effect.gen(function*() {
      const next = seeded(7)
      const draw = (below: number) => next() % below
      const pieces = ["a", "bc", " ", "漢", "字", "ü", "\n", "long-word-without-end", "!"]
      for (let run = 0; run < 200; run++) {
        const text = Array.from({ length: draw(120) }, () => pieces[draw(pieces.length)]).join("")
        const width = 24 + draw(70)
        const lines = yield* printed(answering(text).run(""), { width, maxLength: 5_000 })
        for (const line of lines) {
          // Of the characters drawn here, Han takes two columns, and all others one.
          const columns = [...line].reduce((sum, letter) => sum + (letter === "漢" || letter === "字" ? 2 : 1), 0)
          assert.isAtMost(columns, width, JSON.stringify(line))
        }
        const letters = (text: string) => text.replaceAll(/\s/g, "")
        const shown = letters(lines.join("").replaceAll(/ +0 ms/g, ""))
        assert.strictEqual(shown, letters(`aasked:aanswered:${text}`))
      }
    }))

  it.effect("prints no control characters and no secret, also in cut texts", () =>
    Effect.gen(function*() {
      const evil = "\u001B[2J\u0007\u202Egnp.exe \u009B31m tab\tend"
      const [, answer = ""] = yield* printed(answering(evil).run("x"))
      assert.strictEqual(answer, "     0 ms  a  answered: \\u001b[2J\\u0007\\u202egnp.exe \\u009b31m tab  end")
      const secret = `sk-proj-${"aB3dE5fG7h".repeat(5)}`
      const [, cut = ""] = yield* printed(answering(`key ${secret} behind`).run("x"), { maxLength: 30 })
      assert.notInclude(cut, secret.slice(0, 14))
      assert.include(cut, "[redacted")
    }))

  it.effect("cuts long texts, and accepts values that are no JSON", () =>
    Effect.gen(function*() {
      const [, long = ""] = yield* printed(answering("x".repeat(10_000)).run("y"), { maxLength: 20 })
      assert.strictEqual(long, `     0 ms  a  answered: ${"x".repeat(10)}…`)
      const loop: Record<string, unknown> = { big: 1n }
      loop["self"] = loop
      const odd = Agent.fromFunction("odd", (_: unknown) => Effect.succeed(undefined as unknown))
      const lines = yield* printed(odd.run(loop))
      assert.deepStrictEqual(lines.map((line) => line.slice(11)), [
        "odd  asked: {\"big\":\"1n\"}",
        "odd  answered: nothing"
      ])
    }))

  it.effect("uses the terminal's colours, unless configured otherwise", () =>
    Effect.gen(function*() {
      const run = answering("y").run("x")
      const within = (canColor: boolean, options: AgentEvent.ConsoleOptions) =>
        printed(run, options).pipe(
          Effect.provideService(TerminalCapabilities.TerminalCapabilities, {
            canColor,
            canAnimate: false,
            canPrompt: false
          })
        )
      const [first = ""] = yield* within(true, { colors: undefined })
      assert.strictEqual(first, "\u001B[2m     0 ms  \u001B[0m\u001B[34ma  asked: x\u001B[0m")
      assert.notInclude((yield* within(false, { colors: undefined })).join(""), "\u001B")
      assert.include((yield* within(false, { colors: true })).join(""), "\u001B")
      assert.notInclude((yield* within(true, { colors: false })).join(""), "\u001B")
    }))

  it.effect("numbers simultaneous runs, and times each from its start", () =>
    Effect.gen(function*() {
      const sleeper = Agent.fromFunction("s", (millis: number) => Effect.as(Effect.sleep(millis), "awake"))
      const both = Effect.all([sleeper.run(100), Effect.delay(sleeper.run(10), "50 millis")], { concurrency: 2 })
      const lines = yield* printed(Drive.drive(Effect.andThen(both, sleeper.run(1))))
      assert.deepStrictEqual(lines, [
        "     0 ms  s  asked: 100",
        "     0 ms  [2] s  asked: 10",
        "    10 ms  [2] s  answered: awake",
        "   100 ms  s  answered: awake",
        "     0 ms  s  asked: 1",
        "     1 ms  s  answered: awake"
      ])
    }))

  it.effect("leaves standard output alone if logs use standard error", () =>
    Effect.gen(function*() {
      yield* Effect.provide(answering("y").run("x"), AgentEvent.layerConsole({ colors: false }))
      assert.deepStrictEqual(yield* TestConsole.logLines, [])
      assert.strictEqual((yield* TestConsole.errorLines).length, 2)
    }).pipe(
      Effect.provideService(References.LogToStderr, true),
      Effect.provide(Layer.fresh(TestConsole.layer))
    ))

  it.effect("says how a run failed, was interrupted or waits", () =>
    Effect.gen(function*() {
      const failing = Agent.fromFunction("f", (_: string) => Effect.fail(new Busy()))
      assert.strictEqual((yield* printed(failing.run("x")))[1], "     0 ms  f  failed: Busy (execution_error)")
      const never = Agent.fromFunction("n", (_: string) => Effect.never)
      const stopped = printed(Drive.drive(Effect.timeout(never.run("x"), "20 millis")))
      assert.strictEqual((yield* stopped)[1], "    20 ms  n  interrupted")
    }))
})
