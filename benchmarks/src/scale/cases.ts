/** Runs that grow: agents side by side, agents in agents, and answers of one run. The model takes no time. */
import { Agent, AgentEvent, Budget, ModelProvider, Tool } from "@recourse/core"
import { Effect, Schema } from "effect"
import { LanguageModel, type Prompt, type Response } from "effect/ai"

const finish = (reason: "stop" | "tool-calls"): Response.FinishPartEncoded => ({
  type: "finish",
  reason,
  usage: { inputTokens: { total: 10 }, outputTokens: { total: 5 } }
})

const said = (text: string): Array<Response.PartEncoded> => [{ type: "text", text }, finish("stop")]

const called = (name: string, id: string): Array<Response.PartEncoded> => [
  { type: "tool-call", id, name, params: name.startsWith("ask") ? { input: "go" } : {} },
  finish("tool-calls")
]

const model = (answer: (prompt: Prompt.Prompt) => Array<Response.PartEncoded>) =>
  Effect.runSync(ModelProvider.make({
    generateText: ({ prompt }) => Effect.sync(() => answer(prompt)),
    streamText: () => {
      throw new Error("No run is streamed")
    }
  }))

const options = { budget: Budget.unlimited } as const

export type Program = Effect.Effect<unknown, unknown, LanguageModel.LanguageModel>

/** One kind of run, of a size. */
export interface Case {
  /** The sizes that are timed. */
  readonly sizes: ReadonlyArray<number>
  readonly make: (size: number) => readonly [Program, LanguageModel.LanguageModel]
}

const isDone = ({ content }: Prompt.Prompt) => content.at(-1)?.role === "tool"

const look = Tool.make("look", { success: Schema.String, effects: "read", execute: () => Effect.succeed("seen") })

const looking = Agent.make("looking", { ...options, tools: [look] })

const looks = model((prompt) => isDone(prompt) ? said("done") : called("look", "c1"))

/** With a listener that counts events. */
const heard = (program: Program): Program => {
  let events = 0
  return Effect.provide(program, AgentEvent.listen(() => Effect.sync(() => void events++)))
}

/**
 * `sides`: agents that one agent runs at the same time, by hand, by `Agent.all`, and as tools of one answer. `heard`: with a listener. `calls`: calls that one
 * tool makes. `depth`: agents that are tools of each other. `turns`: answers of one run.
 */
export const cases: Readonly<Record<string, Case>> = {
  "sides, by hand": {
    sizes: [10, 100, 1_000, 4_000],
    make: (size) => {
      const all = Agent.fromFunction(
        "all",
        (_: string) =>
          Effect.all(Array.from({ length: size }, (_, n) => looking.run(`look at ${n}`)), {
            concurrency: "unbounded",
            discard: true
          })
      )
      return [all.run("go"), looks]
    }
  },
  "sides, Agent.all": {
    sizes: [10, 100, 1_000],
    make: (size) => {
      const agents = Array.from({ length: size }, (_, n) => Agent.make(`looking${n}`, { ...options, tools: [look] }))
      return [Agent.all("all", agents as never).run("go" as never) as Program, looks]
    }
  },
  "sides, as tools": {
    sizes: [10, 100, 1_000],
    make: (size) => {
      const ask = looking.pipe(Agent.asTool("ask", { description: "asks" }))
      const agent = Agent.make("asking", { ...options, instructions: "asks", tools: [ask], concurrency: "unbounded" })
      const answers = model((prompt) => {
        if (isDone(prompt)) return said("done")
        if (prompt.content[0]?.role !== "system") return called("look", "c1")
        return [
          ...Array.from({ length: size }, (_, n): Response.PartEncoded => ({
            type: "tool-call",
            id: `c${n}`,
            name: "ask",
            params: { input: `look at ${n}` }
          })),
          finish("tool-calls")
        ]
      })
      return [agent.run("go") as Program, answers]
    }
  },
  "sides, heard": {
    sizes: [10, 100, 1_000],
    make: (size) => {
      const [program, answers] = cases["sides, by hand"]!.make(size)
      return [heard(program), answers]
    }
  },
  "turns, heard": {
    sizes: [100, 1_000, 4_000],
    make: (size) => {
      const [program, answers] = cases["turns"]!.make(size)
      return [heard(program), answers]
    }
  },
  "calls of a tool": {
    sizes: [10, 100, 1_000],
    make: (size) => {
      const each = Tool.make("each", {
        success: Schema.String,
        execute: () =>
          Effect.as(Effect.forEach(Array.from({ length: size }), () => look.call, { discard: true }), "all")
      })
      const agent = Agent.make("reading", { ...options, tools: [each] })
      return [agent.run("go"), model((prompt) => isDone(prompt) ? said("done") : called("each", "c1"))]
    }
  },
  depth: {
    sizes: [5, 25, 100, 400],
    make: (size) => {
      let agent = Agent.make("level0", { ...options, tools: [look] })
      for (let level = 1; level < size; level++) {
        const tool = agent.pipe(Agent.asTool(`ask${level}`, { description: "asks" }))
        agent = Agent.make(
          `level${level}`,
          { ...options, instructions: String(level), tools: [tool] } as never
        ) as never
      }
      const answers = model((prompt) => {
        if (isDone(prompt)) return said("done")
        const [first] = prompt.content
        return first?.role === "system" ? called(`ask${first.content}`, "c1") : called("look", "c1")
      })
      return [agent.run("go") as Program, answers]
    }
  },
  turns: {
    sizes: [100, 400, 1_000, 4_000],
    make: (size) => {
      let turn = 0
      const answers = model(() => turn++ % (size + 1) === size ? said("done") : called("look", `c${turn}`))
      return [looking.run("go"), answers]
    }
  }
}

/** Runs a program once. */
export const runOnce = (program: Program, model: LanguageModel.LanguageModel): Promise<unknown> =>
  Effect.runPromise(Effect.provideService(program, LanguageModel.LanguageModel, model))
