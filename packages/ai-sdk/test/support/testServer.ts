import { Effect, type Scope } from "effect"
import * as Http from "node:http"

/** One request as it came over the wire. */
export interface Received {
  readonly method: string
  readonly url: string
  readonly headers: Http.IncomingHttpHeaders
  readonly body: any
  /** Settles when the client's connection is gone. */
  readonly closed: Promise<void>
}

export interface TestServer {
  readonly url: string
  readonly received: ReadonlyArray<Received>
}

/** Writes the whole answer, or less than that, or breaks the connection. */
export type Answer = (response: Http.ServerResponse, request: Received) => void

/** A server on loopback that gives the answers in order, and the last one again and again. */
export const make = (...answers: ReadonlyArray<Answer>): Effect.Effect<TestServer, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.callback<TestServer & { readonly server: Http.Server }>((resume) => {
      const received: Array<Received> = []
      const server = Http.createServer((request, response) => {
        const chunks: Array<Buffer> = []
        request.on("data", (chunk: Buffer) => chunks.push(chunk))
        request.on("end", () => {
          const text = Buffer.concat(chunks).toString("utf8")
          const entry: Received = {
            method: request.method ?? "",
            url: request.url ?? "",
            headers: request.headers,
            body: text === "" ? undefined : JSON.parse(text),
            closed: new Promise((resolve) => response.on("close", () => resolve()))
          }
          received.push(entry)
          answers[Math.min(received.length, answers.length) - 1]?.(response, entry)
        })
      })
      server.listen(0, "127.0.0.1", () => {
        const address = server.address()
        const port = typeof address === "object" && address !== null ? address.port : 0
        resume(Effect.succeed({ url: `http://127.0.0.1:${port}`, received, server }))
      })
    }),
    ({ server }) =>
      Effect.callback<void>((resume) => {
        server.close(() => resume(Effect.void))
        server.closeAllConnections()
      })
  )

export const json = (body: unknown, options: {
  readonly status?: number
  readonly headers?: Http.OutgoingHttpHeaders
} = {}): Answer =>
(response) => {
  response.writeHead(options.status ?? 200, { "content-type": "application/json", ...options.headers })
  response.end(typeof body === "string" ? body : JSON.stringify(body))
}

/** Server-sent events, then a clean end, a reset, or silence. */
export const events = (
  frames: ReadonlyArray<string>,
  end: "end" | "reset" | "hang" = "end"
): Answer =>
(response) => {
  response.writeHead(200, { "content-type": "text/event-stream" })
  response.write(frames.join(""))
  if (end === "end") response.end()
  // let the frames arrive before the connection breaks
  if (end === "reset") setTimeout(() => response.destroy(), 20)
}

/** Takes the request and never answers. */
export const silence: Answer = () => {}

/** Breaks the connection instead of answering. */
export const reset: Answer = (response) => {
  response.destroy()
}
