/** Paths of calls: each call has a unique one, the same in each of its attempts, also if its id is another call's. */
import { assert, it } from "@effect/vitest"
import { Agent, AiToolkit, IdempotencyLedger, Recovery, Tool, ToolCall } from "@recourse/core"
import { ScriptedModel } from "@recourse/testing"
import { Effect, Schedule, Schema } from "effect"
import { LanguageModel } from "effect/ai"

const nothing = { parameters: Schema.Struct({}), success: Schema.String } as const

/** A tool that fails so many times, and records the paths of its calls. */
const look = (noted: Array<string>, failures = 0) => {
  let left = failures
  return Tool.make("look", {
    ...nothing,
    effects: "read",
    execute: () =>
      Effect.flatMap(ToolCall.place, (place) => {
        noted.push(place)
        return left-- > 0 ? Effect.fail("no" as const) : Effect.succeed("seen")
      })
  }).pipe(Tool.onError(Recovery.retry({ times: failures, schedule: Schedule.forever })))
}

const standard = { defaults: { onError: Recovery.standard } } as const

it.effect("an agent's call has one path in all attempts, below its run", () =>
  Effect.gen(function*() {
    const noted: Array<string> = []
    const script = [ScriptedModel.call("look", {}, { id: "c" }), ScriptedModel.text("done")]
    const agent = Agent.make("clerk", { ...standard, tools: [look(noted, 2)] })
    yield* agent.run("go", { runId: "run_1" }).pipe(Effect.provide(ScriptedModel.layer(script)))
    assert.deepStrictEqual(noted, ["run_1/c", "run_1/c", "run_1/c"])
  }))

it.effect("calls of one id within agents have places of their own", () =>
  Effect.gen(function*() {
    const noted: Array<string> = []
    const named = (name: string) => {
      const clerk = Agent.make(name, {
        ...standard,
        instructions: name,
        input: Schema.Struct({}),
        tools: [look(noted)]
      })
      return clerk.pipe(Agent.asTool(name, { description: "Looks", ...nothing }))
    }
    const boss = Agent.make("boss", { ...standard, tools: [look(noted), named("one"), named("other")] })
    const models = ScriptedModel.layer(({ prompt: { content } }) => {
      if (content.at(-1)?.role === "tool") return ScriptedModel.text("done")
      return content[0]?.role === "system"
        ? ScriptedModel.call("look", {}, { id: "look" })
        : ScriptedModel.calls(["look", "one", "other"].map((name) => ({ name, params: {}, id: name })))
    })
    yield* boss.run("go", { runId: "run_1" }).pipe(Effect.provide(models))
    assert.strictEqual(noted.length, 3)
    assert.strictEqual(new Set(noted).size, 3)
    for (const place of noted) assert.match(place, /^run_1\/.*look$/)
  }))

it.effect("a tool's inner call has its own path, equal in all attempts", () =>
  Effect.gen(function*() {
    const noted: Array<string> = []
    const Look = look(noted)
    let times = 0
    const Around = Tool.make("around", {
      ...nothing,
      effects: "read",
      execute: () =>
        Effect.andThen(
          Effect.forEach(
            ["a", "b"],
            (id) => Effect.provideService(Look.call, ToolCall.ToolCall, ToolCall.make({ id, arguments: {} }))
          ),
          Effect.suspend(() => times++ === 0 ? Effect.fail("no" as const) : Effect.succeed("done"))
        )
    }).pipe(Tool.onError(Recovery.retry({ times: 1, schedule: Schedule.forever })))
    const script = [ScriptedModel.call("around", {}, { id: "c" }), ScriptedModel.text("done")]
    const agent = Agent.make("clerk", { ...standard, tools: [Around] })
    yield* agent.run("go", { runId: "run_1" }).pipe(Effect.provide(ScriptedModel.layer(script)))
    assert.strictEqual(noted.length, 4)
    assert.strictEqual(new Set(noted).size, 2)
    assert.deepStrictEqual(noted.slice(2), noted.slice(0, 2))
    for (const place of noted) assert.match(place, /^run_1\/c\//)
  }))

it.effect("calls of a toolkit without a run have unique paths despite ids", () =>
  Effect.gen(function*() {
    const noted: Array<string> = []
    const toolkit = AiToolkit.toToolkit([look(noted)])
    for (let times = 0; times < 2; times++) yield* LanguageModel.generateText({ prompt: "Look", toolkit })
    assert.strictEqual(new Set(noted).size, 2)
    for (const place of noted) assert.match(place, /[^/]+\/c$/)
  }).pipe(Effect.provide(ScriptedModel.layer(() => ScriptedModel.call("look", {}, { id: "c" })))))

it.effect("a call by hand without a run has its id as path", () =>
  Effect.gen(function*() {
    const noted: Array<string> = []
    yield* look(noted).call.pipe(
      Effect.provideService(ToolCall.ToolCall, ToolCall.make({ id: "c", arguments: {} }))
    )
    assert.deepStrictEqual(noted, ["run/c"])
  }))

it.effect("compensation reads the path of its write, also in same-named agents", () =>
  Effect.gen(function*() {
    const paid: Array<string> = []
    const undone: Array<string> = []
    const Pay = Tool.make("pay", {
      ...nothing,
      effects: "write",
      compensate: () => Effect.map(ToolCall.place, (place) => undone.push(place)),
      execute: () => Effect.map(ToolCall.place, (place) => `receipt ${paid.push(place)}`)
    })
    const clerk = Agent.make("clerk", { ...standard, instructions: "clerk", tools: [Pay] })
    const Both = Tool.make("both", {
      ...nothing,
      effects: "read",
      execute: () => Effect.as(Effect.all([clerk.run("a"), clerk.run("b")], { concurrency: 2 }), "done")
    })
    const boss = Agent.make("boss", { ...standard, tools: [Both], compensation: {} })
    const models = ScriptedModel.layer(({ prompt: { content } }) => {
      const isClerk = content[0]?.role === "system"
      if (content.at(-1)?.role === "tool") {
        return isClerk ? ScriptedModel.text("done") : ScriptedModel.failure("InvalidRequestError")
      }
      return isClerk ? ScriptedModel.call("pay", {}, { id: "p" }) : ScriptedModel.call("both", {}, { id: "c" })
    })
    yield* Effect.exit(boss.run("go", { runId: "run_1" }).pipe(Effect.provide(models)))
    assert.strictEqual(new Set(paid).size, 2)
    assert.deepStrictEqual(undone, paid.toReversed())
  }))

it.effect("a run id like a nested agent's path shares no key", () =>
  Effect.gen(function*() {
    const paid: Array<string> = []
    const Pay = Tool.make("pay", {
      ...nothing,
      effects: "write",
      idempotency: true,
      execute: () => Effect.map(ToolCall.place, (place) => `receipt ${paid.push(place)}`)
    })
    const clerk = Agent.make("clerk", { ...standard, instructions: "clerk", tools: [Pay] })
    const Ask = Tool.make("ask", { ...nothing, effects: "read", execute: () => clerk.run("a") })
    const boss = Agent.make("boss", { ...standard, tools: [Ask] })
    const models = ScriptedModel.layer(({ prompt: { content } }) => {
      if (content.at(-1)?.role === "tool") return ScriptedModel.text("done")
      return content[0]?.role === "system"
        ? ScriptedModel.call("pay", {}, { id: "p" })
        : ScriptedModel.call("ask", {}, { id: "c" })
    })
    yield* Effect.gen(function*() {
      yield* boss.run("go", { runId: "run_1" })
      const nested = paid[0]!.replace(/\/p$/, "")
      // Each marked id is the next attack.
      for (const runId of [nested, `run:${nested}`, nested]) yield* clerk.run("go", { runId })
    }).pipe(Effect.provide([models, IdempotencyLedger.layerMemory]))
    assert.deepStrictEqual(paid.length, 3)
    assert.strictEqual(new Set(paid).size, 3)
  }))
