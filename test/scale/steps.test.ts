/**
 * Steps of a run in effect's interpreter: a call that uses no feature pays for none (decision 051). The counts are the same on every machine, and an
 * increase is a decision.
 */
import { Effect, Schedule, Schema, Stream, Tracer } from "effect"
import { LanguageModel, type Response } from "effect/ai"
import { Agent, Budget, ModelError, ModelProvider, Recovery, Tool } from "@recourse/core"
import { expect, test } from "vitest"

const usage = { inputTokens: { total: 10 }, outputTokens: { total: 5 } }

/** A model that makes so many calls in one answer, and then ends. */
const modelOf = (calls: number) => {
  const answers: ReadonlyArray<Array<Response.PartEncoded>> = [
    [
      ...Array.from(
        { length: calls },
        (_, n) => ({ type: "tool-call", id: `c${n}`, name: "double", params: { n } }) as const
      ),
      { type: "finish", reason: "tool-calls", usage }
    ],
    [{ type: "text", text: "done" }, { type: "finish", reason: "stop", usage }]
  ]
  return ModelProvider.make({
    generateText: ({ prompt }) => Effect.succeed(answers[prompt.content.at(-1)?.role === "tool" ? 1 : 0]!),
    streamText: () => Stream.die("not in this test")
  })
}

const double = Tool.make("double", {
  parameters: Schema.Struct({ n: Schema.Number }),
  success: Schema.Number,
  effects: "read",
  execute: ({ n }) => Effect.succeed(n * 2)
})
const options = { concurrency: "unbounded", budget: Budget.unlimited } as const
const plain = Agent.make("doubler", { ...options, tools: [double] })

const schedule = Schedule.exponential("100 millis")
const fixer = Agent.fromFunction("fixer", () => Effect.succeed(Recovery.declined))
const recovering = Agent.make("doubler", {
  ...options,
  tools: [
    double.pipe(Tool.onError((call) =>
      call.pipe(
        Recovery.retry({ times: 3, schedule }),
        Recovery.fix("InvalidArgs", fixer),
        Recovery.escalate("InvalidArgs")
      )
    ))
  ],
  onToolError: { double: (call) => call.pipe(Recovery.retry({ times: 2, schedule })) },
  defaults: { onError: Recovery.standard },
  onModelError: (error) => error.isRetryable ? ModelError.retry({ times: 3, schedule }) : ModelError.rethrow
})

/** Counts the steps of a run that makes so many calls at once. */
const stepsOf = async (
  agent: { readonly run: (input: string) => Effect.Effect<string, unknown, LanguageModel.LanguageModel> },
  calls: number
): Promise<number> => {
  let steps = 0
  const tracer = Tracer.make({
    span: (options) => new Tracer.NativeSpan(options),
    context: (primitive, fiber) => {
      steps++
      return primitive["~effect/Effect/evaluate"](fiber)
    }
  })
  const model = await Effect.runPromise(modelOf(calls))
  const run = Effect.provideService(agent.run("go"), LanguageModel.LanguageModel, model)
  expect(await Effect.runPromise(Effect.withTracer(run, tracer))).toBe("done")
  return steps
}

test("a run with one call takes no more steps than recorded", async () => {
  expect(await stepsOf(plain, 1)).toBeLessThanOrEqual(62)
})

test("recoveries that no call needs take no more steps than recorded", async () => {
  expect(await stepsOf(recovering, 1) - await stepsOf(plain, 1)).toBeLessThanOrEqual(25)
})

test("one more call at once takes no more steps than recorded", async () => {
  const [few, many] = [await stepsOf(plain, 10), await stepsOf(plain, 30)]
  expect((many - few) / 20).toBeLessThanOrEqual(14)
})
