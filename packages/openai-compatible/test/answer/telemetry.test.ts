/** Attributes of a request's span: its target and subject, and its result. */
import { assert, it } from "@effect/vitest"
import { Effect, Stream, Tracer } from "effect"
import { LanguageModel } from "effect/ai"
import { answering } from "../support/harness.ts"
import * as Server from "../support/server.ts"

const head = { id: "1", model: "m-2026", usage: { prompt_tokens: 3, completion_tokens: 2 } }
const whole = { ...head, choices: [{ message: { content: "Hi" }, finish_reason: "stop" }] }
const events = [Server.event({ ...head, choices: [{ delta: { content: "Hi" }, finish_reason: "stop" }] }), Server.done]

it.effect("a request's span has target, subject and result, streamed or not", () =>
  Effect.gen(function*() {
    const spans: Array<Tracer.NativeSpan> = []
    const tracer = Tracer.make({
      span: (options) => {
        const span = new Tracer.NativeSpan(options)
        if (options.name.startsWith("LanguageModel")) spans.push(span)
        return span
      }
    })
    const settings = { temperature: 0.5, topP: 0.9, maxTokens: 7, stop: ["x"] }
    const ask = LanguageModel.generateText({ prompt: "Hi" })
    yield* ask.pipe(Effect.provide(answering({ body: JSON.stringify(whole) }, settings)), Effect.withTracer(tracer))
    yield* Stream.runDrain(LanguageModel.streamText({ prompt: "Hi" })).pipe(
      Effect.provide(answering({ type: "text/event-stream", body: events.join("") }, { ...settings, preset: "vllm" })),
      Effect.withTracer(tracer)
    )
    assert.lengthOf(spans, 2)
    for (const [index, name] of ["host", "vllm"].entries()) {
      assert.deepInclude(Object.fromEntries(spans[index]!.attributes), {
        "gen_ai.provider.name": name,
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "m",
        "gen_ai.request.temperature": 0.5,
        "gen_ai.request.top_p": 0.9,
        "gen_ai.request.max_tokens": 7,
        "gen_ai.request.stop_sequences": ["x"],
        "gen_ai.response.id": "1",
        "gen_ai.response.model": "m-2026",
        "gen_ai.response.finish_reasons": ["stop"],
        "gen_ai.usage.input_tokens": 3,
        "gen_ai.usage.output_tokens": 2
      })
    }
  }))
