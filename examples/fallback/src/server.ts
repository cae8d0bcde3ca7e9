/** A chat completions server on loopback that always gives the same answer, or is always overloaded. */
import { Effect, type Scope } from "effect"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"

const answer = (content: string) => ({
  id: "chatcmpl-1",
  object: "chat.completion",
  created: 0,
  model: "local",
  choices: [{ index: 0, message: { role: "assistant", content }, finish_reason: "stop" }],
  usage: { prompt_tokens: 9, completion_tokens: 3, total_tokens: 12 }
})

/** Starts a server until the scope closes; `requests` counts. */
export const start = (
  content: string | undefined
): Effect.Effect<{ readonly baseUrl: string; readonly requests: () => number }, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.callback<{ readonly baseUrl: string; readonly requests: () => number; readonly close: () => void }>(
      (resume) => {
        let requests = 0
        const server = createServer((request, response) => {
          requests++
          request.resume()
          response.writeHead(content === undefined ? 503 : 200, { "content-type": "application/json" })
          response.end(JSON.stringify(content === undefined ? { error: { code: "overloaded" } } : answer(content)))
        })
        server.listen(0, "127.0.0.1", () =>
          resume(Effect.succeed({
            baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
            requests: () => requests,
            close: () => {
              server.close()
              server.closeAllConnections()
            }
          })))
      }
    ),
    ({ close }) => Effect.sync(close)
  )
