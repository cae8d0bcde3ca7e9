import { assert, describe, it } from "@effect/vitest"
import { Evaluation, FaultPlan, ScriptedModel, SideEffects, Subject } from "@recourse/testing"
import { Effect, Schedule, Schema } from "effect"
import { Agent, Recovery, Tool } from "@recourse/core"

const fixer = Agent.fromFunction("fixer", () => Effect.succeed("{\"text\":\"hello\"}"))

const sender = (recover: "tell the model" | "ask the fixer") => {
  const Send = Tool.make("send", {
    parameters: Schema.Struct({ text: Schema.String }),
    success: Schema.String,
    effects: "idempotent",
    timeout: "2 seconds",
    execute: ({ text }) =>
      Effect.gen(function*() {
        const world = yield* SideEffects.SideEffects
        yield* world.perform({ tool: "send", details: text })
        return text
      })
  }).pipe(
    Tool.onError((call) =>
      call.pipe(
        recover === "ask the fixer" ? Recovery.fix("InvalidArgs", fixer) : (same: typeof call) => same,
        Recovery.retry({ times: 2, schedule: Schedule.forever }),
        Recovery.escalate("InvalidArgs", "Timeout")
      )
    )
  )
  const model: ScriptedModel.Behaviour = ({ prompt }) => {
    const last = prompt.content.at(-1)
    const sent = last?.role === "tool" && last.content.some((part) => part.type === "tool-result" && !part.isFailure)
    return ScriptedModel.delay(
      "1 second",
      sent ? ScriptedModel.text("sent") : ScriptedModel.call("send", { text: "hello" })
    )
  }
  return Subject.make({
    agent: Agent.make("sender", { tools: [Send], budget: { turns: 10 } }),
    tools: [Send],
    budget: { turns: 10 },
    scenarios: { default: { input: "Say hello", model } }
  })
}

const options: Evaluation.Options<string> = {
  title: "What does the <fixer> buy?",
  plan: (seed) =>
    FaultPlan.make([
      FaultPlan.onTool("send", { type: "malformed_arguments" }, { times: 20, probability: 0.4 }),
      FaultPlan.onTool("send", { type: "timeout_after_commit" }, { times: 20, probability: 0.1 })
    ], { seed }),
  seeds: 60,
  subjects: { "tell the model": sender("tell the model"), "ask the fixer": sender("ask the fixer") }
}

describe("an evaluation", () => {
  it.effect("measures two declarations under the same faults", () =>
    Effect.gen(function*() {
      const comparison = yield* Evaluation.run(options)
      const [told, fixed] = comparison.measures
      assert.deepStrictEqual([told?.runs, fixed?.runs], [60, 60])
      assert.isAbove(fixed!.calls.low, told!.calls.high)
      assert.isBelow(fixed!.turns, told!.turns)
      assert.isBelow(fixed!.latency.p90, told!.latency.p90)
      // The tool has no key, so a call that timed out after its execution is repeated.
      assert.isAbove(told!.duplicates, 0)
      assert.strictEqual(told!.leaks, 0)
      assert.deepStrictEqual(comparison, yield* Evaluation.run(options))
    }), 120_000)

  it.effect("counts leaks", () =>
    Effect.gen(function*() {
      const { measures } = yield* Evaluation.run({
        ...options,
        seeds: 10,
        plan: (seed) => FaultPlan.make([FaultPlan.onTool("send", { type: "prompt_injection" })], { seed })
      })
      assert.deepStrictEqual(measures.map(({ leaks }) => leaks), [10, 10])
    }))

  const measures: Evaluation.Measures = {
    name: "a & b",
    runs: 3,
    success: { rate: 1, low: 0.4, high: 1 },
    calls: { rate: 0.5, low: 0.1, high: 0.9 },
    attempts: 2,
    turns: 3,
    tokens: 45,
    duplicates: 0,
    leaks: 0,
    latency: { p50: 1000, p90: 2000, p99: 3000 }
  }

  it("prints an evaluation as a table and as a picture", () => {
    const comparison = { title: "<T>", measures: [measures, { ...measures, name: "other", turns: 6 }] }
    const table = Evaluation.table(comparison).split("\n")
    assert.match(table[0]!, /^<T> \(3 seeds\)$/)
    assert.match(table.find((line) => line.startsWith("model calls"))!, /^model calls per run +3\.00 +6\.00$/)
    const svg = Evaluation.svg(comparison)
    assert.include(svg, "<title>&lt;T&gt; (3 seeds)</title>")
    assert.include(svg, ">a &amp; b</text>")
    // The bar of 3 is half as long as that of 6; that of a rate of 50% is half of all.
    assert.strictEqual(svg.split("width=\"190\"").length - 1, 3)
    assert.notInclude(svg, "NaN")
  })

  it("shows long names and large numbers with units within the edge", () => {
    const names = [
      "tell the model about everything that is wrong with its call, and let it call again until the budget of the run is used up",
      "W".repeat(120),
      "ask"
    ]
    const svg = Evaluation.svg({
      title: "What does it buy when the customer look-up is often called without its arguments and the CRM is slow?",
      measures: names.map((name) => ({
        ...measures,
        name,
        tokens: 123_456_789,
        latency: { p50: 99_999, p90: 150_000, p99: 86_400_000 }
      }))
    })
    const width = Number(/viewBox="0 0 (\d+)/.exec(svg)?.[1])
    const texts = [...svg.matchAll(/<text x="([\d.]+)" y="([\d.]+)"([^>]*)>([^<]*)<\/text>/g)].map(
      ([, x, y, attributes, text]) => ({ x: Number(x), y: Number(y), isEnd: attributes!.includes("end"), text: text! })
    )
    const shown = texts.map(({ text }) => text)
    for (const text of ["123,456,789", "99999 ms", "2.5 min", "24.0 h"]) assert.include(shown, text)
    for (const name of names) assert.include(shown.join(" ").replaceAll(/W W/g, "WW"), name)
    for (const { isEnd, text, x, y } of texts) {
      // Latin letters are about 7 wide at this size, capital Ws 12.
      const length = text.length * (text.includes("WW") ? 12 : 7)
      assert.isTrue(isEnd ? x - length >= 0 : x + length <= width, text)
      const beside = texts.filter((other) => other.y !== y && Math.abs(other.y - y) < 12 && other.x === x)
      assert.deepStrictEqual(beside, [], text)
    }
    const squares = [...svg.matchAll(/<rect x="16" y="([\d.]+)" width="11" height="11" fill="([^"]+)"/g)]
    assert.strictEqual(new Set(squares.map(([, y]) => y)).size, 3)
    assert.strictEqual(new Set(squares.map(([, , fill]) => fill)).size, 3)
  })
})
