/** The choice of a skill: the model's request, its listeners, and the rules of the input guard and of failed calls. */
import { assert, describe, it } from "@effect/vitest"
import { Drive, ScriptedModel } from "@recourse/testing"
import { Cause, Clock, Effect, Exit } from "effect"
import type { LanguageModel, Prompt } from "effect/ai"
import { Agent, type AgentError, Guardrail, ModelError, type Skill } from "@recourse/core"
import { collect } from "../support/kit.ts"

const math = Agent.skill("math", { description: "Counts", instructions: "Be exact.", tools: [] })
const talk = Agent.skill("talk", { description: "Talks", tools: [] })
const skills: ReadonlyArray<Skill.Any> = [math, talk]

const agentWith = (options: object = {}) =>
  Agent.make("clerk", { skills, ...options } as never) as never as Agent.Agent<
    string,
    string,
    unknown,
    LanguageModel.LanguageModel
  >

const textsOf = ({ content }: Prompt.Prompt) =>
  content.map(({ content, role }) =>
    `${role}: ${typeof content === "string" ? content : content.map((part) => "text" in part ? part.text : part.type)}`
  )
const requests = Effect.flatMap(ScriptedModel.ScriptedModel, ({ requests }) => requests)
const given = (...turns: ReadonlyArray<ScriptedModel.Turn>) => Effect.provide(ScriptedModel.layer(turns))
const chooses = (...skills: ReadonlyArray<string>) => ScriptedModel.object({ skills })
const failureOf = (exit: Exit.Exit<unknown, unknown>) =>
  Exit.isFailure(exit) ? exit.cause.reasons.find(Cause.isFailReason)?.error : undefined

describe("the model that chooses", () => {
  it.effect("receives the skills and the input; listeners receive the choice", () => {
    const { events, layer } = collect()
    return Effect.gen(function*() {
      assert.strictEqual(yield* agentWith().run("How much?"), "four")
      const [choice, answer] = yield* requests
      assert.deepStrictEqual(textsOf(choice!.prompt), [
        "system: Choose the one skill that fits the request. The skills are:\n- math: Counts\n- talk: Talks",
        "user: How much?"
      ])
      assert.deepStrictEqual(textsOf(answer!.prompt), ["system: Be exact.", "user: How much?"])
      assert.deepStrictEqual(
        events.flatMap((event) => event._tag === "SkillChosen" ? [event.skill] : []),
        ["math"]
      )
    }).pipe(given(chooses("math"), ScriptedModel.text("four")), Effect.provide(layer))
  })

  const refused: Readonly<
    Record<string, readonly [ScriptedModel.Turn, Pick<AgentError.SkillNotChosen, "chosen" | "reason">]>
  > = {
    "says nothing that is a choice": [ScriptedModel.text("I cannot say."), { reason: "none", chosen: [] }],
    "answers in another form": [ScriptedModel.object({ skill: "math" }), { reason: "none", chosen: [] }],
    "chooses none": [chooses(), { reason: "none", chosen: [] }],
    "chooses two": [chooses("math", "talk"), { reason: "ambiguous", chosen: ["math", "talk"] }],
    "chooses two that there are not": [chooses("a", "b"), { reason: "ambiguous", chosen: ["a", "b"] }],
    "chooses one that there is not": [chooses("poetry"), { reason: "unknown", chosen: ["poetry"] }]
  }
  for (const [name, [turn, { chosen, reason }]] of Object.entries(refused)) {
    it.effect(`ends the run if it ${name}: the error names the reason`, () =>
      Effect.gen(function*() {
        const error = failureOf(yield* Effect.exit(agentWith().run("x"))) as AgentError.SkillNotChosen
        assert.strictEqual(error._tag, "SkillNotChosen")
        assert.deepInclude(error, { agent: "clerk", reason, chosen, available: ["math", "talk"] })
        assert.strictEqual((yield* requests).length, 1)
      }).pipe(given(turn)))
  }

  it.effect("has a replacement answer on failure, which ends the conversation", () =>
    Effect.gen(function*() {
      const agent = agentWith({ onModelError: () => ModelError.respondWith("Later.") })
      const { exit, transcript } = yield* agent.report("x")
      assert.deepStrictEqual(exit, Exit.succeed("Later."))
      assert.deepStrictEqual(textsOf(transcript), ["assistant: Later."])
      assert.strictEqual((yield* requests).length, 1)
    }).pipe(given(ScriptedModel.failure("RateLimitError"))))
})

describe("the input guard when a skill is chosen", () => {
  it.effect("delays events of the choice until it passes, else drops them", () =>
    Effect.gen(function*() {
      for (const passes of [true, false]) {
        const { events, layer } = collect()
        const turnsEnded: Array<number> = []
        const ended = () => events.filter(({ _tag }) => _tag === "ModelTurnFinished").length
        const agent = agentWith({
          guardInput: () =>
            Effect.sleep(2000).pipe(
              Effect.andThen(Effect.sync(() => turnsEnded.push(ended()))),
              Effect.andThen(passes ? Effect.void : Effect.fail("no" as const))
            )
        })
        const exit = yield* Drive.drive(
          Effect.exit(agent.run("x")).pipe(given(chooses("math"), ScriptedModel.text("four")), Effect.provide(layer))
        )
        assert.deepStrictEqual(turnsEnded, [0])
        if (passes) assert.deepStrictEqual(exit, Exit.succeed("four"))
        else assert.strictEqual(failureOf(exit), "no")
        assert.strictEqual(ended(), passes ? 2 : 0)
      }
    }))

  it.effect("changes the input, also for the choosing model", () =>
    Effect.gen(function*() {
      const agent = agentWith({
        guardInput: (text: string) => Effect.succeed(Guardrail.change(text.replace("4111", "[card]")))
      })
      const { exit, transcript } = yield* agent.report("card 4111")
      assert.deepStrictEqual(exit, Exit.succeed("done"))
      const asked = (yield* requests).map(({ prompt }) => textsOf(prompt).at(-1))
      assert.deepStrictEqual(asked.slice(-2), ["user: card [card]", "user: card [card]"])
      assert.deepStrictEqual(textsOf(transcript), ["user: card [card]", "assistant: done"])
    }).pipe(
      Effect.provide(
        ScriptedModel.layer(({ format }) => format === "json" ? chooses("talk") : ScriptedModel.text("done"))
      )
    ))

  it.effect("runs in parallel to the first request if no model chooses", () =>
    Effect.gen(function*() {
      const guardInput = () => Effect.sleep(5000)
      const ways: Readonly<Record<string, object>> = {
        "there is one": { skills: [math], guardInput },
        "the program chooses": { skill: () => "talk", guardInput },
        "the program has chosen": { skill: "talk", guardInput }
      }
      for (const [name, options] of Object.entries(ways)) {
        const took = yield* Drive.drive(
          Effect.gen(function*() {
            const start = yield* Clock.currentTimeMillis
            yield* agentWith(options).run("x")
            return (yield* Clock.currentTimeMillis) - start
          }).pipe(Effect.provide(
            ScriptedModel.layer([ScriptedModel.delay("5 seconds", ScriptedModel.text("done"))])
          ))
        )
        assert.strictEqual(took, 5000, name)
      }
    }))
})
