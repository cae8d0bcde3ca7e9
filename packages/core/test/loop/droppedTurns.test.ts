/** Dropped turns: in a run interrupted while a guard checks the input or the answer, each emitted turn has its end. */
import { assert, describe, it } from "@effect/vitest"
import { ScriptedModel, VirtualTime } from "@recourse/testing"
import { Effect, Layer, Schema, Stream } from "effect"
import { Agent, AgentEvent, Guardrail, Skill } from "@recourse/core"
import { operationsBetween } from "../support/operations.ts"

const verdicts = {
  passes: Effect.void,
  replaces: Effect.succeed(Guardrail.change("another")),
  refuses: Effect.fail("refused" as const)
} as const

const skill = (name: string) => Skill.make(name, { description: name, instructions: name, tools: [] })

const agents: Readonly<Record<string, (verdict: Effect.Effect<unknown, unknown>) => object>> = {
  "of the input": (verdict) => ({ guardInput: () => Effect.delay(verdict, "1 second") }),
  "of the input, as a skill is chosen": (verdict) => ({
    skills: [skill("a"), skill("b")],
    guardInput: () => Effect.delay(verdict, "1 second")
  }),
  "of the answer": (verdict) => ({ guardOutput: () => Effect.delay(verdict, "1 second") }),
  "of both": (verdict) => ({
    guardInput: () => Effect.delay(Effect.void, "1 second"),
    guardOutput: () => Effect.delay(verdict, "1 second")
  })
}

const play = (options: object, streaming: boolean, interruptAt?: number) =>
  Effect.gen(function*() {
    const events: Array<AgentEvent.AgentEvent> = []
    const agent = Agent.make("clerk", { input: Schema.String, ...options } as never) as never as Agent.Agent<
      string,
      string,
      unknown,
      never
    >
    const layer = Layer.merge(
      AgentEvent.listen((event) => Effect.andThen(Effect.yieldNow, Effect.sync(() => void events.push(event)))),
      ScriptedModel.layer((_, index) =>
        "skills" in options && index === 0 ? ScriptedModel.object({ skills: ["a"] }) : ScriptedModel.text("done")
      )
    )
    const run = streaming ? Stream.runDrain(agent.stream("go")) : agent.run("go")
    const ended = yield* VirtualTime.run(
      Effect.provide(run, layer) as Effect.Effect<unknown, unknown>,
      interruptAt === undefined ? {} : { interruptAt }
    )
    return { ended, events }
  })

const turns = (events: ReadonlyArray<AgentEvent.AgentEvent>, tags: ReadonlyArray<AgentEvent.AgentEvent["_tag"]>) =>
  events.filter(({ _tag }) => tags.includes(_tag)).length

describe("a guard", () => {
  for (const [name, options] of Object.entries(agents)) {
    it.effect(name, () =>
      Effect.gen(function*() {
        for (const [verdict, says] of Object.entries(verdicts)) {
          for (const streaming of [false, true]) {
            const { ended: { operations }, events } = yield* play(options(says), streaming)
            assert.isAbove(turns(events, ["ModelTurnStarted"]), 0)
            for (const at of operationsBetween(1, operations + 2, 3)) {
              const { events } = yield* play(options(says), streaming, at)
              assert.strictEqual(
                turns(events, ["ModelTurnStarted"]),
                turns(events, ["ModelTurnFinished", "ModelTurnFailed"]),
                `${verdict}, interrupted at ${at}: ${events.map(({ _tag }) => _tag).join(" ")}`
              )
            }
          }
        }
      }), 60_000)
  }
})
