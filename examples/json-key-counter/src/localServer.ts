/**
 * A chat completions server on loopback that plays the script of the main job over real HTTP, streamed or not: the first
 * request is answered with 503, a later one with 429 and Retry-After.
 */
import { Effect, type Scope } from "effect"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"

type Message = { readonly content: string } | { readonly tool: string; readonly arguments: string }

type Turn =
  | { readonly status: number; readonly headers?: Record<string, string>; readonly code: string }
  | Message

const corrected = "{\"name\": \"world\", \"age\": 30, \"active\": true}"

/** The server's answers, request by request. */
export const script: ReadonlyArray<Turn> = [
  { status: 503, code: "overloaded" },
  { tool: "calculateNumberOfKeys", arguments: JSON.stringify({ json: "{name: world, age: 30, active: true}" }) },
  {
    tool: "escalate",
    arguments: JSON.stringify({
      reason: `The text is not JSON: keys and strings need quotes. The corrected JSON is ${corrected}`,
      severity: "low"
    })
  },
  { status: 429, headers: { "retry-after-ms": "40" }, code: "rate_limit_exceeded" },
  { tool: "calculateNumberOfKeys", arguments: JSON.stringify({ json: corrected }) },
  { content: "3" }
]

const usage = { prompt_tokens: 40, completion_tokens: 12, total_tokens: 52 }

const toMessage = (turn: Message, id: string) =>
  "content" in turn
    ? { message: { role: "assistant", content: turn.content }, finish_reason: "stop" }
    : {
      message: {
        role: "assistant",
        content: null,
        tool_calls: [{ index: 0, id, type: "function", function: { name: turn.tool, arguments: turn.arguments } }]
      },
      finish_reason: "tool_calls"
    }

const reply = (response: ServerResponse, turn: Turn, model: string, streamed: boolean, number: number): void => {
  if ("status" in turn) {
    response.writeHead(turn.status, { "content-type": "application/json", ...turn.headers })
    response.end(JSON.stringify({ error: { message: "Please try again", code: turn.code } }))
    return
  }
  const { finish_reason, message } = toMessage(turn, `call_${number}`)
  const common = { id: `chatcmpl-${number}`, created: 0, model }
  if (!streamed) {
    response.writeHead(200, { "content-type": "application/json" })
    response.end(
      JSON.stringify({ ...common, object: "chat.completion", choices: [{ index: 0, message, finish_reason }], usage })
    )
    return
  }
  response.writeHead(200, { "content-type": "text/event-stream" })
  const send = (choices: unknown, more: object = {}) =>
    response.write(`data: ${JSON.stringify({ ...common, object: "chat.completion.chunk", choices, ...more })}\n\n`)
  send([{ index: 0, delta: message, finish_reason: null }])
  send([{ index: 0, delta: {}, finish_reason }])
  send([], { usage })
  response.end("data: [DONE]\n\n")
}

const read = async (request: IncomingMessage): Promise<{ readonly model?: string; readonly stream?: boolean }> => {
  let text = ""
  for await (const chunk of request.setEncoding("utf8")) text += chunk as string
  return JSON.parse(text) as { readonly model?: string; readonly stream?: boolean }
}

/** Starts the server on a free port, until the scope closes. Answers its base URL. */
export const start = (turns: ReadonlyArray<Turn> = script): Effect.Effect<string, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.callback<{ readonly url: string; readonly close: () => void }>((resume) => {
      let number = 0
      const server = createServer((request, response) => {
        void read(request).then(({ model = "scripted", stream = false }) => {
          const turn = turns[number++]
          reply(response, turn ?? { status: 400, code: "script_ended" }, model, stream, number)
        })
      })
      server.listen(0, "127.0.0.1", () => {
        const { port } = server.address() as AddressInfo
        resume(Effect.succeed({
          url: `http://127.0.0.1:${port}/v1`,
          close: () => {
            server.close()
            server.closeAllConnections()
          }
        }))
      })
    }),
    ({ close }) => Effect.sync(close)
  ).pipe(Effect.map(({ url }) => url))
