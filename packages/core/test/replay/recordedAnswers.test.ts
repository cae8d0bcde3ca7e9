/**
 * Answers of models in a journal: those that may become durable later, the stored state of the called tools, and their
 * replay.
 */
import { assert, describe, it } from "@effect/vitest"
import { Agent, Journal, ModelError, Recovery, Tool } from "@recourse/core"
import { ScriptedModel } from "@recourse/testing"
import { Effect, Exit, Schema } from "effect"
import { entriesIn } from "../support/interruptedRuns.ts"

/** A journal that exposes the recording of each answer of a model, and its entry for the next execution. */
const journal = () => {
  const how: Array<string> = []
  const kept = new Map<string, Schema.Json>()
  const by = (way: string): Journal.Journal["record"] => (kind, key, value) =>
    Effect.sync(() => {
      if (kind === "model") how.push(`${way} ${key}`)
      kept.set(`${kind} ${key}`, JSON.parse(JSON.stringify(value)) as Schema.Json)
    })
  const life = (isResumed: boolean): Journal.Journal => {
    const earlier = new Map(isResumed ? kept : [])
    return {
      runId: "r",
      isResumed,
      elapsedBefore: 0,
      find: (kind, key) => earlier.get(`${kind} ${key}`),
      entries: entriesIn(earlier),
      record: by("recorded"),
      note: by("noted"),
      claim: (entry) => entry.slice(0, 32)
    }
  }
  return { how, kept, life }
}

const tool = (name: string, effects: "read" | "write", more: object = {}) =>
  Tool.make(name, { effects, success: Schema.String, execute: () => Effect.succeed("ok"), ...more } as never)
const Look = tool("look", "read")
const Find = tool("find", "read")
const Save = tool("save", "write")
const Pay = tool("pay", "write", { idempotency: { key: () => "k" } })
const clerk = Agent.make("clerk", { instructions: "clerk" }).pipe(
  Agent.asTool("clerk", { description: "Answers", effects: "read" })
)
const notes = Agent.skill("notes", { description: "Notes", tools: [Save, Pay] })

type AnyAgent = Agent.Agent<string, unknown, unknown, never>
const agentWith = (more: object = {}) =>
  Agent.make(
    "lead",
    { tools: [Look, Find, Save, clerk], defaults: { onError: Recovery.keepGoing }, ...more } as never
  ) as unknown as AnyAgent

const calls = (...names: ReadonlyArray<string>) =>
  ScriptedModel.calls(
    names.map((name, n) => ({ name, params: name === "clerk" ? { input: "x" } : {}, id: `${name}${n}` })),
    { text: "Well." }
  )

const played = (agent: AnyAgent, first: ScriptedModel.Turn) =>
  Effect.gen(function*() {
    const { how, life } = journal()
    yield* Effect.exit(agent.run("go", { runId: "r" })).pipe(
      Effect.provideService(Journal.CurrentJournal, life(false)),
      Effect.provide(ScriptedModel.layer(({ prompt }) =>
        prompt.content.some(({ content }) => content === "clerk")
          ? ScriptedModel.text("Hello.")
          : prompt.content.some(({ role }) => role === "assistant")
          ? ScriptedModel.text("Done.")
          : first
      ))
    )
    return { how: how.map((line) => line.split(" ")[0]), keys: how }
  })

describe("an answer may be durable later", () => {
  const cases: Readonly<
    Record<string, readonly [agent: AnyAgent, first: ScriptedModel.Turn, how: ReadonlyArray<string>]>
  > = {
    "that asks for reads only": [agentWith(), calls("look", "find"), ["noted", "noted"]],
    "that asks for a tool that there is not": [agentWith(), calls("nothing"), ["noted", "noted"]],
    "but not one that asks for a write": [agentWith(), calls("save"), ["recorded", "noted"]],
    "but not one that asks for a write beside a read": [agentWith(), calls("look", "save"), ["recorded", "noted"]],
    "but not one that asks an agent, and not what that answers": [
      agentWith(),
      calls("clerk"),
      ["recorded", "recorded", "noted"]
    ],
    "but not one that asks for a write that a skill has": [
      agentWith({ tools: [Look], skills: [notes] }),
      calls("save"),
      ["recorded", "noted"]
    ],
    "that is the last one": [agentWith(), ScriptedModel.text("Done."), ["noted"]],
    "but not the last one that a guard looks at": [
      agentWith({ guardOutput: () => Effect.void }),
      ScriptedModel.text("Done."),
      ["recorded"]
    ]
  }
  it.effect.each(Object.keys(cases))("%s", (name) =>
    Effect.gen(function*() {
      const [agent, first, how] = cases[name]!
      assert.deepStrictEqual((yield* played(agent, first)).how, how)
    }))
})

it.effect("the program's replacement answer is replayed without a model request", () =>
  Effect.gen(function*() {
    const { life } = journal()
    let asked = 0
    const agent = Agent.make("lead", {
      output: Schema.Struct({ at: Schema.Date }),
      onModelError: () => ModelError.respondWith({ at: new Date(5) })
    } as never) as unknown as AnyAgent
    const run = (isResumed: boolean) =>
      Effect.exit(agent.run("go", { runId: "r" })).pipe(
        Effect.provideService(Journal.CurrentJournal, life(isResumed)),
        Effect.provide(ScriptedModel.layer(() => {
          asked++
          return ScriptedModel.failure("RateLimitError")
        }))
      )
    const first = yield* run(false)
    assert.deepStrictEqual(first, Exit.succeed({ at: new Date(5) }))
    assert.deepStrictEqual(yield* run(true), first)
    assert.strictEqual(asked, 1)
  }))

describe("an answer of an earlier execution is replayed", () => {
  /** A run and its next execution, which has the model's answers without the outcomes of calls. */
  const twice = (
    first: { readonly instructions: string; readonly input: string; readonly result: string },
    second: typeof first
  ) =>
    Effect.gen(function*() {
      const { kept, life } = journal()
      let asked = 0
      const run = (isResumed: boolean, { input, instructions, result }: typeof first) =>
        Effect.exit(
          agentWith({ instructions, tools: [tool("look", "read", { execute: () => Effect.succeed(result) })] })
            .run(input, { runId: "r" })
        ).pipe(
          Effect.provideService(Journal.CurrentJournal, life(isResumed)),
          Effect.provide(ScriptedModel.layer((request, index) => {
            asked++
            return ScriptedModel.steps([calls("look"), ScriptedModel.text("Done.")])(request, index)
          }))
        )
      yield* run(false, first)
      for (const key of kept.keys()) if (!key.startsWith("model ")) kept.delete(key)
      const exit = yield* run(true, second)
      assert.strictEqual(asked, 2)
      return exit
    })
  const given = { instructions: "Be kind.", input: "go", result: "blue" }
  const step = (exit: Exit.Exit<unknown, unknown>) =>
    Exit.isFailure(exit)
      ? exit.cause.reasons.map((reason) =>
        reason._tag === "Die" && reason.defect instanceof Journal.NonDeterminismError
          ? [reason.defect.runId, reason.defect.step.split(" ")[0], reason.defect.step.split("/").at(-1)]
          : reason._tag
      )
      : exit.value

  it.effect("though the instructions are others now", () =>
    Effect.gen(function*() {
      assert.strictEqual(step(yield* twice(given, { ...given, instructions: "Be brief." })), "Done.")
    }))

  it.effect("but not if the run's request differs", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(step(yield* twice(given, { ...given, input: "stop" })), [["r", "model", "1"]])
    }))

  it.effect("but not if a call has another outcome", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(step(yield* twice(given, { ...given, result: "red" })), [["r", "model", "2"]])
    }))
})

it.effect("an answer that no guard held is not written down as held", () =>
  Effect.gen(function*() {
    const { kept, life } = journal()
    yield* agentWith().run("go", { runId: "r" }).pipe(
      Effect.provideService(Journal.CurrentJournal, life(false)),
      Effect.provide(ScriptedModel.layer([calls("look"), ScriptedModel.text("done")]))
    )
    const answers = [...kept].flatMap(([key, value]) => key.startsWith("model ") ? [value] : [])
    assert.strictEqual(answers.length, 2)
    for (const answer of answers) assert.notProperty(answer, "isHeld")
  }))

describe("a recorded answer", () => {
  const run = (isResumed: boolean, of: ReturnType<typeof journal>, turns: ReadonlyArray<ScriptedModel.Turn>) =>
    agentWith().report("go", { runId: "r", streaming: true }).pipe(
      Effect.provideService(Journal.CurrentJournal, of.life(isResumed)),
      Effect.provide(ScriptedModel.layer(turns))
    )

  it.effect("has each streamed text once, and is replayed with it", () =>
    Effect.gen(function*() {
      const made = journal()
      const first = yield* run(false, made, [ScriptedModel.text("It is written word by word.")])
      const recorded = JSON.stringify(made.kept.get("model /1"))
      assert.strictEqual(recorded.split("It is written word by word.").length, 2)
      assert.notInclude(recorded, "text-delta")
      const again = yield* run(true, made, [])
      assert.deepStrictEqual(again.exit, first.exit)
      assert.deepStrictEqual(again.transcript, first.transcript)
    }))

  it.effect("is replayed in earlier versions' form: in pieces, with its text", () =>
    Effect.gen(function*() {
      const made = journal()
      const first = yield* run(false, made, [ScriptedModel.text("Word by word.")])
      const value = made.kept.get("model /1") as { readonly answer: { readonly value: { readonly content: unknown } } }
      const metadata = {}
      const content = [
        { type: "text-start", id: "0", metadata },
        ...["Word ", "by ", "word."].map((delta) => ({ type: "text-delta", id: "0", delta, metadata })),
        { type: "text-end", id: "0", metadata },
        { type: "finish", reason: "stop", usage: { inputTokens: {}, outputTokens: {} }, metadata }
      ]
      const earlier = {
        ...value,
        answer: { _tag: "Answer", value: { content, text: "Word by word.", finishReason: "stop" } }
      }
      made.kept.set("model /1", earlier as unknown as Schema.Json)
      const again = yield* run(true, made, [])
      assert.deepStrictEqual(again.exit, first.exit)
      assert.deepStrictEqual(again.transcript, first.transcript)
    }))
})
