/** Servers for pages under test: on a free port of this machine, and closed at once when the browser has gone. */
import { NodeHttpServer } from "@effect/platform-node"
import { Context, Effect, Exit, Layer, Scope } from "effect"
import { HttpServer } from "effect/http"
import { createServer } from "node:http"

/** A port of this machine. Browsers open connections ahead, on which no request ever comes: closing does not wait for them. */
export const listening = (port = 0) => {
  const server = createServer()
  const cut = Effect.addFinalizer(() => Effect.sync(() => server.closeAllConnections()))
  return Layer.effectDiscard(cut).pipe(
    Layer.provideMerge(NodeHttpServer.layer(() => server, { port, host: "127.0.0.1", gracefulShutdownTimeout: 200 }))
  )
}

/** A served value, until it is closed. */
export interface Serving<A> {
  readonly url: string
  readonly context: Context.Context<A>
  readonly close: () => Promise<void>
}

/** Serves a layer that {@link listening} is a part of. */
export const serving = async <A, E>(
  layer: Layer.Layer<A | HttpServer.HttpServer, E>
): Promise<Serving<A | HttpServer.HttpServer>> => {
  const scope = Scope.makeUnsafe()
  const context = await Effect.runPromise(Layer.buildWithScope(layer, scope))
  return {
    url: HttpServer.formatAddress(Context.get(context, HttpServer.HttpServer).address),
    context,
    close: () => Effect.runPromise(Scope.close(scope, Exit.void))
  }
}
