/** Hono on node, with its own helper for event streams. */
import { serve } from "@hono/node-server"
import { Hono } from "hono"
import { streamSSE } from "hono/streaming"
import { asked, deltaText, reports, shape } from "./shape.ts"

const { rate } = shape()

const app = new Hono()

app.post("/agents/clerk/chat", (context) =>
  streamSSE(context, async (stream) => {
    const count = asked(context.req.url)
    for (let sent = 0; sent < count; sent++) {
      await stream.sleep(1000 / rate)
      await stream.writeSSE({ data: JSON.stringify({ type: "text-delta", id: "0", delta: deltaText() }) })
    }
    await stream.writeSSE({ data: "[DONE]" })
  }))

serve({ fetch: app.fetch, port: 0, hostname: "127.0.0.1" }, ({ port }) => reports(port))
