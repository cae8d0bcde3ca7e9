/** Messages of a server that cannot listen: `ServeError` has none of its own. */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { ServeError } from "effect/http/HttpServerError"

const field = (cause: unknown, name: "code" | "address" | "port"): string | undefined => {
  const value: unknown = typeof cause === "object" && cause !== null ? Reflect.get(cause, name) : undefined
  return typeof value === "string" || typeof value === "number" ? String(value) : undefined
}

const sentence = (cause: unknown): string => {
  const code = field(cause, "code") ?? "unknown"
  const port = field(cause, "port")
  const host = field(cause, "address")
  const where = port === undefined ? "The address" : `Port ${port}${host === undefined ? "" : ` of ${host}`}`
  switch (code) {
    case "EADDRINUSE":
      return `${where} is in use. End the process that listens there, or choose another port.`
    case "EACCES":
      return `${where} may not be opened by this user. Choose a port from 1024.`
    case "EADDRNOTAVAIL":
      return `${where} cannot be opened: this machine does not have the address.`
    default:
      return `${where} cannot be opened (${code}).`
  }
}

const explain = (error: unknown): void => {
  if (error instanceof ServeError && error.message === "") {
    Object.defineProperty(error, "message", { value: sentence(error.cause), configurable: true, writable: true })
    // The stack was written when the message was empty, and loggers print the stack.
    Object.defineProperty(error, "stack", { value: `ServeError: ${error.message}`, configurable: true, writable: true })
  }
}

/**
 * Gives the `ServeError` of a server that cannot listen a message: the port, the host, and the thing to do. Errors and types stay as
 * they are. The last step before `Layer.launch`.
 *
 * ```ts
 * import { Layer } from "effect"
 * import { HttpRouter } from "effect/http"
 * import { NodeHttpServer, NodeRuntime } from "@effect/platform-node"
 * import { Server } from "@recourse/server"
 * import { createServer } from "node:http"
 *
 * const program = HttpRouter.serve(Server.layer({ agents: [{ name: "support", tools: [] }] })).pipe(
 *   Layer.provide(NodeHttpServer.layer(() => createServer(), { port: 3000 })),
 *   Server.explained,
 *   Layer.launch
 * )
 * // ServeError: Port 3000 of :: is in use. End the process that listens there, or choose another port.
 * ```
 *
 * @category layers
 * @since 0.2.0
 */
export const explained = <A, E, R>(served: Layer.Layer<A, E, R>): Layer.Layer<A, E, R> =>
  Layer.catchCause(served, (cause) => {
    for (const reason of cause.reasons) explain(Cause.isFailReason(reason) ? reason.error : undefined)
    return Layer.effectContext(Effect.failCause(cause))
  })
