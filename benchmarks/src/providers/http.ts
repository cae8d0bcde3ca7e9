/**
 * Chat completions server in memory: a `fetch` that answers each run with one tool call, then with a text. Both contestants are given the
 * same one, and each writes and reads its own bodies.
 */
import { deepStrictEqual, strictEqual } from "node:assert/strict"
import { call, tool } from "../Task.ts"
import { toolName } from "./tools.ts"

export const baseUrl = "http://model.test/v1"
export const model = "scripted"

const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 }
const toolCall = call("c1", 21)
const head = { id: "chatcmpl-1", created: 1_700_000_000, model }

const completion = (message: Record<string, unknown>, finish: string): string =>
  JSON.stringify({
    ...head,
    object: "chat.completion",
    choices: [{ index: 0, message: { role: "assistant", ...message }, finish_reason: finish }],
    usage
  })

const functionOf = (args: string) => ({ name: toolCall.name, arguments: args })

const wholeAnswers = (text: ReadonlyArray<string>): ReadonlyArray<string> => [
  completion({
    content: null,
    tool_calls: [{ id: toolCall.id, type: "function", function: functionOf(toolCall.arguments) }]
  }, "tool_calls"),
  completion({ content: text.join("") }, "stop")
]

const events = (deltas: ReadonlyArray<Record<string, unknown>>, finish: string): ReadonlyArray<string> => {
  const chunk = (choices: ReadonlyArray<unknown>, rest = {}) =>
    `data: ${JSON.stringify({ ...head, object: "chat.completion.chunk", choices, ...rest })}\n\n`
  return [
    ...deltas.map((delta) => chunk([{ index: 0, delta, finish_reason: null }])),
    chunk([{ index: 0, delta: {}, finish_reason: finish }]),
    chunk([], { usage }),
    "data: [DONE]\n\n"
  ]
}

const streamedAnswers = (text: ReadonlyArray<string>): ReadonlyArray<ReadonlyArray<string>> => [
  events([
    {
      role: "assistant",
      content: null,
      tool_calls: [{ index: 0, id: toolCall.id, type: "function", function: functionOf("") }]
    },
    ...[toolCall.arguments.slice(0, 3), toolCall.arguments.slice(3)].map((args) => ({
      tool_calls: [{ index: 0, function: { arguments: args } }]
    }))
  ], "tool_calls"),
  events([{ role: "assistant", content: "" }, ...text.map((content) => ({ content }))], "stop")
]

/** One piece at each read, as they come from a network. */
const streamOf = (pieces: ReadonlyArray<Uint8Array>): ReadableStream<Uint8Array> => {
  let index = 0
  return new ReadableStream({
    pull: (controller) => {
      const piece = pieces[index++]
      if (piece === undefined) controller.close()
      else controller.enqueue(piece)
    }
  })
}

interface Body {
  readonly messages: ReadonlyArray<{ readonly role: string }>
  readonly tools: ReadonlyArray<{ readonly function: { readonly name: string; readonly parameters: Shape } }>
}

interface Shape {
  readonly properties: Readonly<Record<string, unknown>>
}

/** Fails unless a request holds the conversation and the tools that the contestants are to send. */
const check = (body: BodyInit | null | undefined, answered: number, tools: number): void => {
  const text = typeof body === "string" ? body : new TextDecoder().decode(body as Uint8Array)
  const { messages, tools: sent } = JSON.parse(text) as Body
  deepStrictEqual(
    messages.map(({ role }) => role),
    answered === 0 ? ["system", "user"] : ["system", "user", "assistant", "tool"]
  )
  deepStrictEqual(sent.map((tool) => tool.function.name), Array.from({ length: tools }, (_, index) => toolName(index)))
  strictEqual(sent[0]!.function.name, tool.name)
  for (const { function: { parameters } } of sent.slice(1)) strictEqual(Object.keys(parameters.properties).length, 5)
}

/** The `fetch` of one contestant. The first run's requests are checked; later ones are answered in turn. */
export const scriptedFetch = (options: {
  readonly text: ReadonlyArray<string>
  readonly streamed: boolean
  readonly tools: number
}): typeof globalThis.fetch => {
  const whole = wholeAnswers(options.text)
  const encoder = new TextEncoder()
  const streamed = streamedAnswers(options.text).map((pieces) => pieces.map((piece) => encoder.encode(piece)))
  let requests = 0
  return async (_, init) => {
    const answered = requests % 2
    if (requests < 2) check(init?.body, answered, options.tools)
    requests++
    return options.streamed
      ? new Response(streamOf(streamed[answered]!), { headers: { "content-type": "text/event-stream" } })
      : new Response(whole[answered]!, { headers: { "content-type": "application/json" } })
  }
}
