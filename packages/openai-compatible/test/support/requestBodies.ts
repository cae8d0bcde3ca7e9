/** Bodies of requests to a server. */

import { assert } from "@effect/vitest"
import type { OpenAiCompatible } from "@recourse/openai-compatible"
import { Effect } from "effect"
import type { LanguageModel } from "effect/ai"
import { Prompt } from "effect/ai"
import { model } from "./harness.ts"
import * as Server from "./server.ts"

export const ok = Server.completion({ content: "ok" })

/** The body of the one request that the effect makes. */
export const bodyOf = <A, E>(
  effect: Effect.Effect<A, E, LanguageModel.LanguageModel>,
  options: Partial<OpenAiCompatible.Options> = {},
  reply = ok
) =>
  Effect.gen(function*() {
    const server = yield* Server.make(reply)
    yield* effect.pipe(Effect.provide(model(server.url, options)))
    assert.strictEqual(server.requests.length, 1)
    return server.requests[0]!.body
  })

export const history = Prompt.make([
  { role: "system", content: "Be brief." },
  { role: "user", content: "Count" },
  {
    role: "assistant",
    content: [
      { type: "reasoning", text: "Let me see." },
      { type: "text", text: "I count." },
      { type: "tool-call", id: "call_1", name: "parse", params: { json: "{}" } },
      { type: "tool-call", id: "call_2", name: "parse", params: "{json: 1" }
    ]
  },
  {
    role: "tool",
    content: [
      { type: "tool-result", id: "call_1", name: "parse", isFailure: false, result: 0 },
      { type: "tool-result", id: "call_2", name: "parse", isFailure: true, result: { code: "invalid_arguments" } }
    ]
  },
  { role: "assistant", content: [{ type: "reasoning", text: "So." }, { type: "text", text: "Zero." }] },
  { role: "user", content: "Again" }
])
