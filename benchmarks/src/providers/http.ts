/**
 * Chat completions server in memory: a `fetch` that answers each request with the next turn of a script. All contestants are given the same
 * one, and each writes and reads its own bodies.
 */
import { deepStrictEqual, strictEqual } from "node:assert/strict"
import type { Turn } from "../Task.ts"
import { toolName } from "./tools.ts"

export const baseUrl = "http://model.test/v1"
export const model = "scripted"

const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 }
const head = { id: "chatcmpl-1", created: 1_700_000_000, model }

const finishOf = ({ calls }: Turn): string => calls.length > 0 ? "tool_calls" : "stop"

const wholeAnswer = (turn: Turn): string => {
  const calls = turn.calls.map(({ arguments: args, id, name }) => ({
    id,
    type: "function",
    function: { name, arguments: args }
  }))
  const message = calls.length > 0 ? { content: null, tool_calls: calls } : { content: turn.text.join("") }
  return JSON.stringify({
    ...head,
    object: "chat.completion",
    choices: [{ index: 0, message: { role: "assistant", ...message }, finish_reason: finishOf(turn) }],
    usage
  })
}

const deltasOf = ({ calls, text }: Turn): ReadonlyArray<Record<string, unknown>> =>
  calls.length === 0
    ? [{ role: "assistant", content: "" }, ...text.map((content) => ({ content }))]
    : calls.flatMap(({ arguments: args, id, name }, index) => [
      {
        role: "assistant",
        content: null,
        tool_calls: [{ index, id, type: "function", function: { name, arguments: "" } }]
      },
      ...[args.slice(0, 3), args.slice(3)].map((piece) => ({
        tool_calls: [{ index, function: { arguments: piece } }]
      }))
    ])

const streamedAnswer = (turn: Turn): ReadonlyArray<string> => {
  const chunk = (choices: ReadonlyArray<unknown>, rest = {}) =>
    `data: ${JSON.stringify({ ...head, object: "chat.completion.chunk", choices, ...rest })}\n\n`
  return [
    ...deltasOf(turn).map((delta) => chunk([{ index: 0, delta, finish_reason: null }])),
    chunk([{ index: 0, delta: {}, finish_reason: finishOf(turn) }]),
    chunk([], { usage }),
    "data: [DONE]\n\n"
  ]
}

/** One piece at each read, like from a network. */
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
  readonly tools?: ReadonlyArray<{ readonly function: { readonly name: string; readonly parameters: Shape } }>
}

interface Shape {
  readonly properties: Readonly<Record<string, unknown>>
}

/** Fails unless a request holds the conversation and the tools that the contestants are to send. */
const check = (body: BodyInit | null | undefined, before: ReadonlyArray<Turn>, tools: number): void => {
  const text = typeof body === "string" ? body : new TextDecoder().decode(body as Uint8Array)
  const { messages, tools: sent = [] } = JSON.parse(text) as Body
  const roles = ["system", "user"]
  for (const { calls } of before) roles.push("assistant", ...calls.length === 0 ? ["user"] : calls.map(() => "tool"))
  deepStrictEqual(messages.map(({ role }) => role), roles)
  deepStrictEqual(sent.map((tool) => tool.function.name), Array.from({ length: tools }, (_, index) => toolName(index)))
  for (const { function: { parameters } } of sent.slice(1)) strictEqual(Object.keys(parameters.properties).length, 5)
}

/** The `fetch` of one contestant, which answers with the turns, again and again. The requests of the first round are checked. */
export const scriptedFetch = (options: {
  readonly turns: ReadonlyArray<Turn>
  readonly streamed: boolean
  readonly tools: number
}): typeof globalThis.fetch => {
  const { streamed, tools, turns } = options
  const whole = turns.map(wholeAnswer)
  const encoder = new TextEncoder()
  const pieces = turns.map((turn) => streamedAnswer(turn).map((piece) => encoder.encode(piece)))
  let requests = 0
  return async (_, init) => {
    const at = requests % turns.length
    if (requests < turns.length) check(init?.body, turns.slice(0, at), tools)
    requests++
    return streamed
      ? new Response(streamOf(pieces[at]!), { headers: { "content-type": "text/event-stream" } })
      : new Response(whole[at]!, { headers: { "content-type": "application/json" } })
  }
}
