/** The same agent in a route of Hono: `agent.stream`, written at once, without storage and joining readers. */
import { serve } from "@hono/node-server"
import { Hono } from "hono"
import { streamSSE } from "hono/streaming"
import { Effect, ManagedRuntime, Stream } from "effect"
import { clerk, inputOf, model } from "./clerk.ts"
import { reports } from "./shape.ts"

const runtime = ManagedRuntime.make(model)

const app = new Hono()

app.post("/agents/clerk/chat", (context) =>
  streamSSE(context, async (stream) => {
    const input = inputOf(await context.req.json())
    const written = Stream.runForEach(clerk.stream(input), (event) =>
      event._tag !== "TextDelta" ?
        Effect.void :
        Effect.promise(() =>
          stream.writeSSE({ data: JSON.stringify({ type: "text-delta", id: event.partId, delta: event.delta }) })
        ))
    await runtime.runPromise(written)
    await stream.writeSSE({ data: "[DONE]" })
  }))

serve({ fetch: app.fetch, port: 0, hostname: "127.0.0.1" }, ({ port }) => reports(port))
