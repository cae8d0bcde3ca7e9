/** The same agent on `node:http`: `agent.stream`, written at once, without storage and joining readers. */
import { Effect, ManagedRuntime, Stream } from "effect"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { text } from "node:stream/consumers"
import { clerk, inputOf, model } from "./clerk.ts"
import { reports } from "./shape.ts"

const runtime = ManagedRuntime.make(model)

const server = createServer((request, response) => {
  const answered = Effect.gen(function*() {
    const input = inputOf(JSON.parse(yield* Effect.promise(() => text(request))))
    response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" })
    response.write(": open\n\n")
    yield* Stream.runForEach(clerk.stream(input), (event) =>
      Effect.sync(() => {
        if (event._tag !== "TextDelta") return
        response.write(`data: ${JSON.stringify({ type: "text-delta", id: event.partId, delta: event.delta })}\n\n`)
      }))
    response.end("data: [DONE]\n\n")
  })
  void runtime.runPromise(answered)
})

server.listen(0, "127.0.0.1", () => reports((server.address() as AddressInfo).port))
