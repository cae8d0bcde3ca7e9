/** Cached messages: a conversation of messages that were sent before is written like a new one. */
import { assert, it } from "@effect/vitest"
import type { OpenAiCompatible } from "@recourse/openai-compatible"
import { Context, Effect, Layer } from "effect"
import { LanguageModel, Prompt } from "effect/ai"
import type { HttpClientRequest } from "effect/http"
import { seeded } from "../../../core/test/support/seeded.ts"
import { answering, generate } from "../support/harness.ts"
import { ok } from "../support/requestBodies.ts"

const ids = ["a", "call 1", "functions.now:0", "a".repeat(41)]
const server = "https://a.example"

/** A call, and what server A has said of it: its own id, or a signature. */
const call = (id: string, own: object = {}) => ({
  type: "tool-call",
  id,
  name: "now",
  params: { text: "half \ud800" },
  options: { chatCompletions: { server, ...own } }
})
const result = (id: string, value: unknown = "noon") => ({
  type: "tool-result",
  id,
  name: "now",
  isFailure: false,
  result: value
})
const assistant = (...content: ReadonlyArray<unknown>) => ({ role: "assistant", content })
const tool = (...content: ReadonlyArray<unknown>) => ({ role: "tool", content })
const picture = { type: "file", mediaType: "image/png", data: "A".repeat(70_000) }

/** Messages of which conversations are drawn, as they are stored. */
const stored: ReadonlyArray<unknown> = [
  { role: "system", content: "Be brief." },
  { role: "user", content: "When?" },
  { role: "user", content: [{ type: "text", text: "Look" }, picture] },
  assistant({ type: "reasoning", text: "So." }, { type: "text", text: "Noon." }),
  ...ids.map((id) => assistant(call(id))),
  ...ids.map((id) => assistant(call(id, { id: "functions.own:1" }))),
  assistant(call("a", { call: { signature: "s" } }), call("call 1")),
  ...ids.map((id) => tool(result(id))),
  tool(result("a", {}), result("call 1", "")),
  tool({ ...result("a"), modelOutput: [{ type: "text", text: "See" }, picture] })
]

const client = (options: Partial<OpenAiCompatible.Options>) =>
  Effect.gen(function*() {
    const seen: Array<HttpClientRequest.HttpClientRequest> = []
    const context = yield* Layer.build(answering({ body: ok.chunks![0] as string }, options, seen))
    return (prompt: Prompt.Prompt) =>
      Effect.gen(function*() {
        yield* generate(prompt).pipe(
          Effect.provideService(LanguageModel.LanguageModel, Context.get(context, LanguageModel.LanguageModel))
        )
        const { body } = seen.pop()!
        return body._tag === "Uint8Array" ? new TextDecoder().decode(body.body) : assert.fail(body._tag)
      })
  })

it.effect("a conversation of cached messages is sent like one of new messages", () =>
  Effect.gen(function*() {
    const clients = [
      yield* client({ baseUrl: `${server}/v1` }),
      yield* client({ baseUrl: "https://b.example/v1" }),
      yield* client({ baseUrl: `${server}/v1`, quirks: { toolCallId: "nine-alphanumerics", toolFiles: "omit" } }),
      yield* client({ baseUrl: `${server}/v1`, quirks: { tools: "inline" } })
    ]
    const sent = stored.map((message) => Prompt.make([message] as never).content[0]!)
    const next = seeded(Number(process.env["RECOURSE_SEED"] ?? 1))
    const anyOf = <A>(all: ReadonlyArray<A>): A => all[next() % all.length]!
    for (let round = 0; round < 150; round++) {
      const places = Array.from({ length: 1 + next() % 30 }, () => next() % stored.length)
      const send = anyOf(clients)
      const before = yield* send(Prompt.fromMessages(places.map((at) => sent[at]!)))
      const fresh = yield* send(Prompt.make(places.map((at) => stored[at]) as never))
      assert.deepStrictEqual(before, fresh, JSON.stringify(places))
    }
  }))
