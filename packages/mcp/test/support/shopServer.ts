/** A shop as a server of MCP, with a client over HTTP or stdio. */

import { NodeHttpServer } from "@effect/platform-node"
import { assert } from "@effect/vitest"
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js"
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js"
import { Effect, Layer } from "effect"
import { LanguageModel, McpServer } from "effect/ai"
import { HttpRouter, HttpServer } from "effect/http"
import { createServer } from "node:http"
import { Recovery } from "@recourse/core"
import { Mcp } from "@recourse/mcp"
import { shopTools } from "../servers/shopTools.ts"

export interface Shop {
  readonly transport: () => Transport
  readonly done: () => ReadonlyArray<string>
  readonly forget: () => void
  readonly url?: URL
}

export const http = Effect.gen(function*() {
  const done: Array<string> = []
  let requests = 0
  const { model, tools } = shopTools((what) => done.push(what))
  const server = McpServer.layerHttp({
    name: "shop",
    version: "1.0.0",
    path: "/mcp",
    protocols: Mcp.protocols,
    allowSessionTermination: true,
    registrations: Mcp.layerServer({ tools, defaults: { onError: Recovery.standard } })
  }).pipe(Layer.provide(Layer.effect(LanguageModel.LanguageModel, model)))
  const context = yield* Layer.build(
    HttpRouter.serve(server, { disableLogger: true, disableListenLog: true }).pipe(
      Layer.provideMerge(NodeHttpServer.layer(() => createServer().on("request", () => requests++), {
        port: 0,
        host: "127.0.0.1"
      }))
    )
  )
  const { address } = yield* Effect.provide(HttpServer.HttpServer, context)
  const url = new URL(`http://127.0.0.1:${"port" in address ? address.port : 0}/mcp`)
  return {
    url,
    transport: () => new StreamableHTTPClientTransport(url) as Transport,
    done: () => done,
    requests: () => requests,
    forget: () => void done.splice(0)
  } satisfies Shop & { readonly requests: () => number }
})

export interface Answer {
  readonly isError?: boolean
  readonly content: ReadonlyArray<{ readonly type: string; readonly text: string }>
  readonly structuredContent?: unknown
  readonly _meta?: Readonly<Record<string, unknown>>
}

export const failure = ({ content, isError }: Answer) => {
  assert.isTrue(isError)
  return JSON.parse(content[0]!.text) as { readonly code: string; readonly message_for_model: string }
}

/** Waits for a real server, which has no virtual time. */
export const until = (holds: () => boolean): Effect.Effect<void> =>
  Effect.suspend(() => holds() ? Effect.void : Effect.andThen(Effect.sleep(10), until(holds))).pipe(
    Effect.timeoutOrElse({ duration: "10 seconds", orElse: () => Effect.die("it does not come true") })
  )

/** A request in raw bytes, for behaviour outside of the SDK's clients. */
export const post = (url: URL, body: unknown, headers: Record<string, string> = {}, signal?: AbortSignal) =>
  Effect.promise(async () => {
    const response = await fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json", accept: "application/json, text/event-stream", ...headers },
      body: JSON.stringify(body),
      ...(signal === undefined ? undefined : { signal })
    })
    const text = await response.text()
    const json = text.startsWith("data:") ? text.trim().split("\n\n").at(-1)!.slice("data:".length) : text
    return { session: response.headers.get("mcp-session-id") ?? "", body: json === "" ? undefined : JSON.parse(json) }
  })

export const codeOf = ({ body }: { readonly body: { readonly result: Answer } }) => failure(body.result).code
