import { Effect, Schema, Stream } from "effect"
import { LanguageModel } from "effect/ai"
import { Agent, ModelProvider, Recovery, Tool } from "recourse"
const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } }
const n = Number(process.argv[2] ?? 1)
const which = process.argv[3] ?? "w1"
const model = await Effect.runPromise(ModelProvider.make({
  generateText: (o) =>
    Effect.sync(() => {
      const last = o.prompt.content.at(-1)
      return last?.role === "tool"
        ? [{ type: "text", text: "done" }, { type: "finish", reason: "stop", usage }] as const
        : [
          ...Array.from(
            { length: n },
            (_, i) => ({ type: "tool-call", id: `c${i}`, name: "double", params: `{"n":${i}}` }) as const
          ),
          { type: "finish", reason: "tool-calls", usage }
        ] as const
    }) as never,
  streamText: () => Stream.empty
}))
const tool = Tool.make("double", {
  description: "x",
  parameters: Schema.Struct({ n: Schema.Number }),
  success: Schema.Number,
  effects: "read",
  execute: ({ n }) => Effect.succeed(n * 2)
})
const agent = Agent.make("a", {
  instructions: "x",
  tools: [
    which === "w9"
      ? tool.pipe(Tool.onError((c) =>
        c.pipe(
          Recovery.fix(
            "InvalidArgs",
            Agent.fromFunction("f", () => Effect.succeed("{}"))
          ),
          Recovery.retry({ times: 2 }),
          Recovery.escalate("ExecutionError", "InvalidArgs")
        )
      ))
      : tool
  ],
  concurrency: "unbounded",
  ...(which === "w9" ? { defaults: { onError: Recovery.standard } } : {})
})
const run = () => Effect.runPromise(Effect.provideService(agent.run("q"), LanguageModel.LanguageModel, model))
for (let i = 0; i < 3000 / n; i++) await run()
const times: number[] = []
for (let k = 0; k < Number(process.env["K"] ?? 15); k++) {
  const t = performance.now()
  const m = Math.ceil(1000 / n)
  for (let i = 0; i < m; i++) await run()
  times.push((performance.now() - t) * 1000 / m)
}
times.sort((a, b) => a - b)
console.log(which, n, "us per run", times[7]!.toFixed(1), "min", times[0]!.toFixed(1))
