/**
 * An external bank, in a process of its own that no disturbance reaches: `node bank.ts <book>`. Each order adds a line to its book before the answer. An order with
 * a key is booked once for each key. One order in thirty is refused before it is booked.
 */
import { appendFileSync } from "node:fs"
import { createServer } from "node:http"
import { setTimeout } from "node:timers/promises"

/** An order, or a report for people. */
export interface Order {
  readonly kind: "pay" | "undo" | "report"
  readonly run: string
  /** The name of the write, unique in its run. */
  readonly op: string
  readonly key?: string | undefined
  /** Of a report: the reason. */
  readonly because?: string | undefined
}

/** A line of the book. `isRepeated`: its key is booked already. */
export interface Booking extends Order {
  readonly isRepeated: boolean
}

if (import.meta.main) {
  const [book] = process.argv.slice(2) as [string]
  const keys = new Set<string>()
  let orders = 0
  const server = createServer((request, response) => {
    let body = ""
    request.on("data", (chunk: Buffer) => body += chunk.toString())
    request.on("end", () => {
      const order = JSON.parse(body) as Order
      if (order.kind === "pay" && ++orders % 30 === 0) {
        response.writeHead(503).end()
        return
      }
      const key = order.key === undefined ? undefined : `${order.kind} ${order.key}`
      const isRepeated = key !== undefined && keys.has(key)
      if (key !== undefined) keys.add(key)
      appendFileSync(book, `${JSON.stringify({ ...order, isRepeated } satisfies Booking)}\n`)
      // Long enough that processes are killed in it: it is booked, and its caller does not know.
      void setTimeout(10 + (orders * 37) % 60).then(() => response.writeHead(200).end())
    })
  })
  // A connection that is closed while it is used again would be a defect of the tool, and not of the run.
  server.keepAliveTimeout = 0
  server.listen(0, "127.0.0.1", () => {
    const address = server.address()
    process.send?.(typeof address === "object" && address !== null ? address.port : 0)
  })
  process.on("disconnect", () => process.exit(0))
}
