import { Effect } from "effect"
import type { Scope } from "effect"
import { createServer } from "node:http"
import type { IncomingHttpHeaders, ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"

export interface Reply {
  readonly status?: number
  readonly headers?: Record<string, string>
  /** Written one after the other, each in a packet of its own as far as the kernel allows. */
  readonly chunks?: ReadonlyArray<string | Uint8Array>
  /** End after the chunks: the end of the body, a reset of the connection, or silence; or a reset instead of it all. */
  readonly close?: "end" | "reset" | "hang" | "reset before the answer"
}

export interface SeenRequest {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  // oxlint-disable-next-line typescript/no-explicit-any -- bodies are asserted on by their fields
  readonly body: any
  /** True if the client broke the connection off before the reply ended. */
  readonly aborted: () => boolean
}

const play = async (reply: Reply, response: ServerResponse) => {
  if (reply.close === "reset before the answer") {
    response.socket?.resetAndDestroy()
    return
  }
  response.writeHead(reply.status ?? 200, reply.headers ?? { "content-type": "text/event-stream" })
  response.socket?.setNoDelay(true)
  for (const chunk of reply.chunks ?? []) {
    if (response.destroyed) return
    response.write(chunk)
    await new Promise((resolve) => setImmediate(resolve))
  }
  if (reply.close === "reset") {
    response.flushHeaders()
    setTimeout(() => response.socket?.resetAndDestroy(), 20)
  } else if (reply.close !== "hang") response.end()
  else response.flushHeaders()
}

/** A chat completions server on loopback that plays the replies in order, the last one again and again. */
export const make = (
  ...replies: ReadonlyArray<Reply>
): Effect.Effect<{ readonly url: string; readonly requests: Array<SeenRequest> }, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.promise(() =>
      new Promise<{ close: () => void; url: string; requests: Array<SeenRequest> }>((resolve) => {
        const requests: Array<SeenRequest> = []
        const server = createServer((request, response) => {
          let text = ""
          let aborted = false
          response.on("close", () => {
            aborted = !response.writableFinished
          })
          request.setEncoding("utf8")
          request.on("data", (data: string) => {
            text += data
          })
          request.on("end", () => {
            requests.push({
              path: request.url ?? "",
              headers: request.headers,
              body: text === "" ? undefined : JSON.parse(text),
              aborted: () => aborted
            })
            void play(replies[Math.min(requests.length, replies.length) - 1] ?? {}, response)
          })
        })
        server.listen(0, "127.0.0.1", () => {
          const { port } = server.address() as AddressInfo
          resolve({
            url: `http://127.0.0.1:${port}/v1`,
            requests,
            close: () => {
              server.close()
              server.closeAllConnections()
            }
          })
        })
      })
    ),
    (server) => Effect.sync(() => server.close())
  )

/** A JSON reply. */
export const json = (body: unknown, status = 200, headers: Record<string, string> = {}): Reply => ({
  status,
  headers: { "content-type": "application/json", ...headers },
  chunks: [JSON.stringify(body)]
})

/** Prose of a server, with the key in it as some servers do. None of it may get into a message. */
export const prose = "PROSE-OF-THE-SERVER about sk-test-0123456789"

/** An error reply in OpenAI's shape. */
export const error = (
  status: number,
  fields: Record<string, unknown> = {},
  headers: Record<string, string> = {}
): Reply => json({ error: { message: prose, ...fields } }, status, headers)

/** A completion with this message. */
export const completion = (
  message: Record<string, unknown>,
  rest: Record<string, unknown> = {},
  finish: string | null = "stop"
): Reply =>
  json({
    id: "chatcmpl-1",
    object: "chat.completion",
    created: 1_700_000_000,
    model: "test-model",
    choices: [{ index: 0, message: { role: "assistant", ...message }, finish_reason: finish }],
    usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
    ...rest
  })

/** One server-sent event. */
export const event = (data: unknown): string => `data: ${typeof data === "string" ? data : JSON.stringify(data)}\n\n`

export const done = event("[DONE]")

/** A chunk of a stream with this delta. */
export const chunk = (delta: Record<string, unknown>, finish: string | null = null): string =>
  event({
    id: "chatcmpl-1",
    object: "chat.completion.chunk",
    created: 1_700_000_000,
    model: "test-model",
    choices: [{ index: 0, delta, finish_reason: finish }]
  })

export const usageChunk = event({
  id: "chatcmpl-1",
  model: "test-model",
  choices: [],
  usage: {
    prompt_tokens: 20,
    completion_tokens: 9,
    prompt_tokens_details: { cached_tokens: 4 },
    completion_tokens_details: { reasoning_tokens: 3 }
  }
})
