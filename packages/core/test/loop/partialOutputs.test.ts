/** Partial outputs: a form's view of an answer while the model writes it. */
import { assert, describe, it } from "@effect/vitest"
import { ScriptedModel } from "@recourse/testing"
import { Effect, Schema, Stream } from "effect"
import { Agent, type AgentEvent } from "@recourse/core"

type Event = Pick<AgentEvent.AgentEvent, "_tag"> & { readonly delta?: string; readonly parent?: object }

const written = (delta: string): Event => ({ _tag: "TextDelta", delta })

const shown = (output: Schema.Top, events: ReadonlyArray<Event>) =>
  Stream.fromIterable(events as ReadonlyArray<unknown> as ReadonlyArray<AgentEvent.AgentEvent>).pipe(
    Agent.partialOutput(output),
    Stream.runCollect
  )

const Ticket = Schema.Struct({ title: Schema.String, n: Schema.Number })
const List = Schema.Array(Schema.Number)

interface Case {
  readonly output: Schema.Top
  readonly texts: ReadonlyArray<string>
  readonly values: ReadonlyArray<unknown>
}

const cases: Readonly<Record<string, Case>> = {
  "an object, whatever is said before it, and each value once": {
    output: Ticket,
    texts: ["Sure: ", "{", " ", "\"title\": \"a", " b\"", ", \"n\": 1", "}"],
    values: [{}, { title: "a" }, { title: "a b" }, { title: "a b", n: 1 }]
  },
  "an object that has a field named as the form's": {
    output: Schema.Struct({ answer: Schema.String }),
    texts: ["{\"answer\": \"a\"}"],
    values: [{ answer: "a" }]
  },
  "no more of an object once it is no JSON": {
    output: Ticket,
    texts: ["{\"title\": \"a\"", ", \"n\": tru", "x", "}"],
    values: [{ title: "a" }]
  },
  "nothing of an answer without an object": { output: Ticket, texts: ["I do", " not know"], values: [] },
  "a list in the provider's form": {
    output: List,
    texts: ["{\"answer\"", ": [", "1, ", "2]", "}"],
    values: [[], [1], [1, 2]]
  },
  "a text in the provider's form": {
    output: Schema.String,
    texts: ["{\"answer\": \"a", "b\"}"],
    values: ["a", "ab"]
  },
  "no more of a list once it is no JSON": { output: List, texts: ["{\"answer\": [1, ", "tru", "x]"], values: [[1]] },
  "nothing of a list in another form": { output: List, texts: ["[1, 2]"], values: [] },
  "nothing of a list in another object": { output: List, texts: ["{\"other\": [1, 2]}"], values: [] }
}

describe("of an answer that is being written is shown", () => {
  for (const [what, { output, texts, values }] of Object.entries(cases)) {
    it.effect(what, () =>
      Effect.gen(function*() {
        assert.deepStrictEqual(yield* shown(output, texts.map(written)), values)
      }))
  }

  for (const again of ["ModelTurnStarted", "AnswerRestarted"] as const) {
    it.effect(`shows all of it again after a restart: ${again}`, () =>
      Effect.gen(function*() {
        const whole = written("{\"n\": 1}")
        const turn = { _tag: "ModelTurnStarted" } as const
        assert.deepStrictEqual(yield* shown(Ticket, [turn, whole, { _tag: again }, whole]), [{ n: 1 }, { n: 1 }])
        const cut = written("{\"title\": \"a")
        assert.deepStrictEqual(yield* shown(Ticket, [turn, cut, { _tag: again }, whole]), [{ title: "a" }, { n: 1 }])
      }))
  }

  it.effect("shows no text, start or reasoning of an inner agent", () =>
    Effect.gen(function*() {
      const parent = { agentRunId: "r", callId: "c" }
      const values = yield* shown(Ticket, [
        written("{\"title\": \"a"),
        { _tag: "TextDelta", delta: "b", parent },
        { _tag: "ModelTurnStarted", parent },
        { _tag: "ReasoningDelta", delta: "c" },
        written("d\"}")
      ])
      assert.deepStrictEqual(values, [{ title: "a" }, { title: "ad" }])
    }))

  it.effect("the same to each consumer of a stream", () =>
    Effect.gen(function*() {
      const values = Agent.make("a", { output: Ticket }).stream("x").pipe(
        Agent.partialOutput(Ticket),
        Stream.runCollect,
        Effect.provide(ScriptedModel.layer([ScriptedModel.text("{ \"title\": \"b\", \"n\": 1 }")]))
      )
      const first = yield* values
      assert.deepStrictEqual(first.at(-1), { title: "b", n: 1 })
      assert.deepStrictEqual(yield* values, first)
    }))
})
