/** Hono, which writes deltas without a run. */
import { Hono } from "hono"
import { streamSSE } from "hono/streaming"
import { type Handler, words } from "./Handler.ts"

export const handler = async (): Promise<Handler> => {
  const app = new Hono()
  app.post("/agents/clerk/chat", async (context) => {
    await context.req.json()
    return streamSSE(context, async (stream) => {
      for (const delta of words) {
        await stream.writeSSE({ data: JSON.stringify({ type: "text-delta", id: "0", delta }) })
      }
      await stream.writeSSE({ data: "[DONE]" })
    })
  })
  return (request) => app.fetch(request)
}
