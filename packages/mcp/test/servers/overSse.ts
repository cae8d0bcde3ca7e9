/** Servers by hand over the HTTP with SSE of 2024-11-05, on loopback. */
import { Effect } from "effect"
import type { ServerResponse } from "node:http"
import { makeServer, type Message, type Options } from "./byHand.mjs"
import { event, type HttpBehaviour, listening, type Seen } from "./overHttp.ts"

/** The HTTP with SSE of 2024-11-05: a stream of answers, whose first event names the address of requests. */
export const overSse = Effect.fnUntraced(function*(options: Options, behaviour: HttpBehaviour = {}) {
  const server = makeServer(options)
  const seen: Array<Seen> = []
  const streams = new Map<string, ServerResponse>()
  const url = yield* listening((request, response, body) => {
    const { pathname, searchParams } = new URL(request.url!, "http://localhost")
    if (pathname === "/sse" && request.method === "GET") {
      const id = `s${streams.size + 1}`
      streams.set(id, response)
      response.writeHead(200, { "content-type": "text/event-stream" })
      server.push = event(response)
      return void response.write(`event: endpoint\ndata: /messages?session=${id}\n\n`)
    }
    const stream = streams.get(searchParams.get("session") ?? "")
    if (pathname !== "/messages" || stream === undefined) return void response.writeHead(404).end()
    const message = JSON.parse(body) as Message
    seen.push({ method: message.method, name: String(message.params?.name ?? ""), headers: request.headers })
    if (behaviour.before?.(message, request, response) === true) return
    response.writeHead(202).end("Accepted")
    void server.answer(message, event(stream)).then((answer) => {
      if (answer !== undefined) event(stream)(answer)
    })
  })
  return { url: `${url}/sse`, seen, server, streams }
})
