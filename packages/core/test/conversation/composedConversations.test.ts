/**
 * The conversation of an agent made of agents: the messages of the agent with the final answer, and the answer, if it
 * is another one.
 */
import { assert, describe, it } from "@effect/vitest"
import { ScriptedModel } from "@recourse/testing"
import { Effect, Exit, Schema } from "effect"
import { Prompt } from "effect/ai"
import { Agent, Tool } from "@recourse/core"

type Talks = Agent.Agent<Prompt.Prompt, unknown, unknown>

const Look = Tool.make("look", { effects: "read", success: Schema.String, execute: () => Effect.succeed("seen") })
const Fail = Tool.make("fail", { effects: "read", execute: () => Effect.fail("no") })

/** An agent that is given the conversation, and calls the tool of its name, if there is one. */
const talks = (name: string): Talks =>
  Agent.make(name, {
    instructions: name,
    input: Prompt.Prompt,
    prompt: (said: Prompt.Prompt) => said,
    tools: [Look, Fail]
  } as never) as never

/** An agent that fails before it begins: its instructions take a while, and cannot be made. */
const unready: Talks = Agent.make("unready", {
  input: Prompt.Prompt,
  prompt: (said: Prompt.Prompt) => said,
  instructions: () =>
    Effect.andThen(
      Effect.forEach(Array.from({ length: 200 }), () => Effect.yieldNow, { discard: true }),
      Effect.fail("down" as const)
    )
}) as never

/** An agent that is given something else. */
const aside = Agent.make("aside", {
  instructions: "aside",
  input: Schema.Unknown,
  prompt: () => "An aside"
}) as never as Agent.Agent<unknown, unknown>

const answers = (answer: unknown) => Agent.fromFunction("answers", (_: unknown) => Effect.succeed(answer))
const fails = Agent.fromFunction("fails", (_: unknown) => Effect.fail("no" as const))
const later = (agent: Talks): Talks =>
  Agent.fromFunction("later", (said: Prompt.Prompt) =>
    Effect.andThen(
      Effect.forEach(Array.from({ length: 200 }), () => Effect.yieldNow, { discard: true }),
      agent.run(said)
    ))

/** Each answers with its name and how often it has answered; the agents that are named by a tool call that first. */
const model = () => {
  const times = new Map<string, number>()
  return ScriptedModel.layer(({ prompt }) => {
    const name = prompt.content[0]!.content as string
    if (name === "look" && prompt.content.at(-1)?.role !== "tool") return ScriptedModel.call("look", {}, { id: "c" })
    if (name === "fail") return ScriptedModel.call("fail", {}, { id: "c" })
    const time = (times.get(name) ?? 0) + 1
    times.set(name, time)
    return ScriptedModel.text(`${name} ${time}`)
  })
}

const textsOf = ({ content }: Prompt.Prompt) =>
  content.flatMap(({ content, role }) =>
    typeof content === "string" ?
      [] :
      content.map((part) => part.type === "text" ? `${role}: ${part.text}` : `${role}: ${part.type}`)
  )

interface Case {
  readonly agent: unknown
  readonly said: ReadonlyArray<string>
  readonly fails?: boolean
}

const judge = (index: number) => Agent.fromFunction("judge", (_: unknown) => Effect.succeed(index))
const looked = ["assistant: tool-call", "tool: tool-result", "assistant: look 1"]

const cases: Readonly<Record<string, Case>> = {
  "one has answered": {
    agent: Agent.branch("one", (_: Prompt.Prompt) => true, { onTrue: talks("look"), onFalse: fails } as never),
    said: looked
  },
  "its answer is made something else": {
    agent: talks("look").pipe(Agent.andThen(answers("seen it"))),
    said: [...looked, "assistant: seen it"]
  },
  "its answer is read by one that is given something else": {
    agent: talks("look").pipe(Agent.andThen(aside as never)),
    said: [...looked, "assistant: aside 1"]
  },
  "nobody was given it": {
    agent: Agent.all("none", []).pipe(Agent.andThen(answers("alone"))),
    said: ["assistant: alone"]
  },
  "the first of two is the best": {
    agent: Agent.bestOf(talks("a"), { n: 2, judge: judge(0) as never }),
    said: ["assistant: a 1"]
  },
  "the second of two is the best": {
    agent: Agent.bestOf(talks("a"), { n: 2, judge: judge(1) as never }),
    said: ["assistant: a 2"]
  },
  "two have answered, and it is neither's": {
    agent: Agent.all("both", [talks("look"), talks("b")]).pipe(Agent.andThen(answers("both"))),
    said: ["assistant: b 1", "assistant: both"]
  },
  "three have answered, and it is nobody's": {
    agent: Agent.all("all", [talks("look"), talks("b"), talks("c")]),
    said: ["assistant: c 1"]
  },
  "one is cut off as another one answers": {
    agent: Agent.firstOf("first", [talks("b"), later(talks("look"))]),
    said: ["assistant: b 1"]
  },
  "one fails beside one that has answered": {
    agent: Agent.all("both", [talks("fail"), talks("b")]),
    said: ["assistant: tool-call", "tool: tool-result"],
    fails: true
  },
  "one fails behind one that has failed, before it begins": {
    agent: Agent.firstOf("first", [talks("fail"), unready]),
    said: ["assistant: tool-call", "tool: tool-result"],
    fails: true
  },
  "one that was given something else fails behind it": {
    agent: talks("look").pipe(Agent.andThen(fails)),
    said: looked,
    fails: true
  }
}

describe("the conversation of an agent that is made of agents", () => {
  for (const [what, one] of Object.entries(cases)) {
    it.effect(what, () =>
      Effect.gen(function*() {
        const { exit, transcript } = yield* (one.agent as Talks).report(Prompt.make("Hi"))
        assert.strictEqual(Exit.isFailure(exit), one.fails === true)
        assert.deepStrictEqual(textsOf(transcript), ["user: Hi", ...one.said])
      }).pipe(Effect.provide(model())))
  }

  it.effect("is empty if no agent has started", () =>
    Effect.gen(function*() {
      const { exit, transcript } = yield* (Agent.all("all", [unready]) as Talks).report(Prompt.make("Hi"))
      assert.isTrue(Exit.isFailure(exit))
      assert.deepStrictEqual(transcript.content, [])
    }).pipe(Effect.provide(model())))

  it.effect("it is given a text is empty", () =>
    Effect.gen(function*() {
      const { transcript } = yield* Agent.all("all", [answers(1)]).report("Hi")
      assert.deepStrictEqual(transcript.content, [])
    }))
})
