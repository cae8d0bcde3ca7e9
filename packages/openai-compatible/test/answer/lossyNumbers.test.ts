/** Numbers in arguments whose digits do not survive parsing: the model is asked for a string, and no tool runs with another number. */
import { assert, describe, it } from "@effect/vitest"
import { Agent, Recovery, Tool } from "@recourse/core"
import type { OpenAiCompatible } from "@recourse/openai-compatible"
import { Effect, Schema, Stream } from "effect"
import type { HttpClientRequest } from "effect/http"
import { answering, type Reply } from "../support/harness.ts"
import * as Server from "../support/server.ts"

const whole = "2512292042121000001"
const decimal = "0.12345678901234567891"

/** The body of an answer with this call; `args` is JSON as it is written. */
const answer = (args: string): Reply => ({
  body: `{"choices":[{"message":{"content":null,"tool_calls":[{"id":"a","type":"function","function":` +
    `{"name":"pay","arguments":${args}}}]},"finish_reason":"tool_calls"}]}`
})

const streamOf = (...events: ReadonlyArray<string>): Reply => ({
  type: "text/event-stream",
  body: [...events.map((event) => `data: ${event}\n\n`), Server.chunk({}, "tool_calls"), Server.done].join("")
})

const delta = (args: string, start = "") =>
  `{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,${start}"function":{${start && `"name":"pay",`}` +
  `"arguments":${args}}}]},"finish_reason":null}]}`

const first = `"id":"a","type":"function",`

const text = (number: string) => JSON.stringify(`{"order":${number}}`)

const answers: Readonly<Record<string, Reply>> = {
  "a whole number": answer(text(whole)),
  "a decimal number": answer(text(decimal)),
  "arguments as an object": answer(`{"order":${whole}}`),
  "a tool call in the text of a model without tools": {
    body: JSON.stringify({
      choices: [{
        message: { content: `<tool_call name="pay">{"order":${decimal}}</tool_call>` },
        finish_reason: "stop"
      }]
    })
  },
  "a stream in pieces that split the number": streamOf(
    delta(`"{\\"order\\":25122"`, first),
    delta(`"92042121000"`),
    delta(`"001}"`)
  ),
  "a stream with one piece": streamOf(delta(text(decimal), first)),
  "a stream with arguments as an object": streamOf(delta(`{"order":${whole}}`, first))
}

const done: Reply = { body: JSON.stringify({ choices: [{ message: { content: "done" }, finish_reason: "stop" }] }) }

describe("a call with a number that parsing changes", () => {
  for (const [title, reply] of Object.entries(answers)) {
    it.effect(`is refused with its field: ${title}`, () =>
      Effect.gen(function*() {
        const ran: Array<unknown> = []
        const Pay = Tool.make("pay", {
          parameters: Schema.Struct({ order: Schema.Number }),
          effects: "write",
          execute: ({ order }) => Effect.sync(() => void ran.push(order))
        })
        const seen: Array<HttpClientRequest.HttpClientRequest> = []
        const options: Partial<OpenAiCompatible.Options> = title.includes("text") ? { quirks: { tools: "inline" } } : {}
        const agent = Agent.make("payer", { tools: [Pay], defaults: { onError: Recovery.standard } })
        const model = answering([reply, done], options, seen)
        if (title.includes("stream")) yield* Stream.runDrain(agent.stream("Pay")).pipe(Effect.provide(model))
        else yield* agent.run("Pay").pipe(Effect.provide(model))
        const { body } = seen[1]!
        const sent = body._tag === "Uint8Array" ? new TextDecoder().decode(body.body) : ""
        assert.deepStrictEqual(ran, [])
        assert.include(sent, "invalid_arguments")
        assert.include(sent, "order: expected a number that keeps all its digits")
        assert.include(sent, "Send it as a string")
      }))
  }
})
