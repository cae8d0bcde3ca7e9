/** `node:http` alone: the cost of bare streaming. */
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { asked, deltaText, reports, shape } from "./shape.ts"

const { rate } = shape()

const server = createServer((request, response) => {
  request.resume()
  const count = asked(request.url)
  response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" })
  response.write(": open\n\n")
  let sent = 0
  const timer = setInterval(() => {
    response.write(`data: ${JSON.stringify({ type: "text-delta", id: "0", delta: deltaText() })}\n\n`)
    if (++sent < count) return
    clearInterval(timer)
    response.end("data: [DONE]\n\n")
  }, 1000 / rate)
})

server.listen(0, "127.0.0.1", () => reports((server.address() as AddressInfo).port))
