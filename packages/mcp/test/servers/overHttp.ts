/** Servers by hand over streamable HTTP and over the older HTTP with SSE, on loopback. */
import { Effect } from "effect"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { makeServer, type Message, type Options, stateless, textOf } from "./byHand.mjs"

/** Use of HTTP by the server. */
export interface HttpBehaviour {
  /** Answers calls as event streams. */
  readonly streams?: boolean
  /** The status for another version's request. Default: 200 with a JSON-RPC error. */
  readonly refusedStatus?: number
  /** Decides about a request before the server sees it: an answer of its own is written, and `true` returned. */
  readonly before?: (message: Message, request: IncomingMessage, response: ServerResponse) => boolean
}

/** A request as the server has seen it. */
export interface Seen {
  readonly method: string
  readonly name: string
  readonly headers: IncomingMessage["headers"]
}

/** A listener on loopback, on a free port. */
export const listening = (handle: (request: IncomingMessage, response: ServerResponse, body: string) => void) =>
  Effect.acquireRelease(
    Effect.callback<ReturnType<typeof createServer>>((resume) => {
      const server = createServer((request, response) => {
        let body = ""
        request.on("data", (chunk: unknown) => body += String(chunk))
        request.on("end", () => handle(request, response, body))
      }).listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
    }),
    (server) =>
      Effect.sync(() => {
        server.closeAllConnections()
        server.close()
      })
  ).pipe(Effect.map((server) => `http://127.0.0.1:${(server.address() as AddressInfo).port}`))

/** Writes events. */
export const event = (response: ServerResponse) => (message: unknown) =>
  void response.write(`event: message\ndata: ${textOf(message)}\n\n`)

const json = (response: ServerResponse, body: unknown, headers: Record<string, string> = {}, status = 200) =>
  void response.writeHead(status, { "content-type": "application/json", ...headers }).end(textOf(body))

/** Streamable HTTP. A server of a version with sessions refuses the header of another version. */
export const overHttp = Effect.fnUntraced(function*(options: Options, behaviour: HttpBehaviour = {}) {
  const server = makeServer(options)
  const seen: Array<Seen> = []
  let sessions = 0
  const url = yield* listening((request, response, body) => {
    if (request.method === "GET") {
      if (server.version === stateless) return void response.writeHead(405).end()
      response.writeHead(200, { "content-type": "text/event-stream" })
      server.push = event(response)
      return
    }
    if (request.method !== "POST") return void response.writeHead(200).end()
    const message = JSON.parse(body) as Message
    seen.push({ method: message.method, name: String(message.params?.name ?? ""), headers: request.headers })
    const spoken = request.headers["mcp-protocol-version"]
    if (spoken !== undefined && spoken !== server.version) {
      const error = { code: -32600, message: "another version" }
      return json(response, { jsonrpc: "2.0", id: message.id, error }, {}, behaviour.refusedStatus ?? 400)
    }
    if (behaviour.before?.(message, request, response) === true) return
    const isStream = behaviour.streams === true && message.method === "tools/call"
    const isListening = message.method === "subscriptions/listen"
    if (isStream || isListening) {
      response.writeHead(200, { "content-type": "text/event-stream" })
      response.write("data: not json\n\n: a comment\n\n")
    }
    void server.answer(message, isStream || isListening ? event(response) : () => {}).then((answer) => {
      if (answer === undefined) return void response.writeHead(202).end()
      if (isStream) {
        event(response)(answer)
        return void response.end()
      }
      const status = answer.error !== undefined && behaviour.refusedStatus !== undefined ? behaviour.refusedStatus : 200
      const isFirst = message.method === "initialize" && status === 200
      json(response, answer, isFirst ? { "mcp-session-id": `session-${++sessions}` } : {}, status)
    })
  })
  return { url: `${url}/mcp`, seen, server }
})
