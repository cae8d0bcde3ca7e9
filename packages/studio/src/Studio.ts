/**
 * Studio: pages for the agents that `Server.layer` of `@recourse/server` serves. `/chat` is a public chat, `/studio`
 * shows the runs.
 *
 * The pages are files of this package. They load no files from other hosts and run only their own scripts.
 */
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import type * as Layer from "effect/Layer"
import type * as Path from "effect/Path"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as Response from "effect/http/HttpServerResponse"
import type { ConfigurationError } from "@recourse/core/ConfigurationError"
import { type PageFile, pageFiles } from "./internal/pageFiles.ts"

/**
 * Served pages.
 *
 * @category options
 * @since 0.2.0
 */
export interface Options {
  /** The chat, at `/chat`. Default: yes. */
  readonly chat?: boolean | undefined
  /** The operator's page, at `/studio`. Default: yes. */
  readonly studio?: boolean | undefined
  /** The sign-in address, such as `/sign-in`: pages link to it if the user is not signed in. Default: none. */
  readonly signIn?: string | undefined
}

/**
 * A page's allowed sources: its own scripts, styles and routes. Text of a model cannot make the browser send data to
 * another host, also if it becomes an image or a style.
 */
const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data: blob:",
  "font-src 'self'",
  "connect-src 'self'",
  "manifest-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'"
].join("; ")

const common = { "x-content-type-options": "nosniff", "referrer-policy": "no-referrer", vary: "accept-encoding" }

const pageHeaders = {
  ...common,
  "content-security-policy": contentSecurityPolicy,
  "cross-origin-opener-policy": "same-origin",
  "permissions-policy": "camera=(), geolocation=(), microphone=()",
  "x-frame-options": "DENY",
  "cache-control": "no-cache"
}

/** Names of most assets contain a digest: their content does not change. */
const assetHeaders = (path: string) => ({
  ...common,
  "cache-control": /-[\w-]{8}\.\w+$/.test(path) ? "public, max-age=31536000, immutable" : "no-cache"
})

const send = (file: PageFile, headers: Readonly<Record<string, string>>) =>
  Effect.map(HttpServerRequest.HttpServerRequest, ({ headers: asked }) => {
    const takesBrotli = /\bbr\b/.test(asked["accept-encoding"] ?? "")
    const { brotli, contentType, plain } = file
    return takesBrotli && brotli !== undefined
      ? Response.uint8Array(brotli, { contentType, headers: { ...headers, "content-encoding": "br" } })
      : Response.uint8Array(plain, { contentType, headers })
  })

const escapes: Readonly<Record<string, string>> = { "&": "&amp;", "\"": "&quot;", "<": "&lt;", ">": "&gt;" }

/** A page with its sign-in address. */
const withSignIn = (file: PageFile, address: string | undefined): PageFile => {
  if (address === undefined) return file
  const content = address.replaceAll(/[&"<>]/g, (character) => escapes[character]!)
  const html = new TextDecoder().decode(file.plain)
  const meta = `<meta name="recourse-sign-in" content="${content}">`
  return {
    ...file,
    plain: new TextEncoder().encode(html.replace("</head>", () => `${meta}</head>`)),
    brotli: undefined
  }
}

/**
 * Routes of the pages for an `HttpRouter`, next to those of `Server.layer`. They read their files once, when the layer
 * is built: `NodeHttpServer.layer` provides the `FileSystem` and the `Path`.
 *
 * @category layers
 * @since 0.2.0
 */
export const layer = (
  options?: Options
): Layer.Layer<never, ConfigurationError, HttpRouter.HttpRouter | FileSystem.FileSystem | Path.Path> =>
  HttpRouter.use((router) =>
    Effect.gen(function*() {
      const files = yield* pageFiles
      for (const [path, file] of files) {
        const page = /^(\w+)\.html$/.exec(path)?.[1]
        if (page === undefined) yield* router.add("GET", `/${path}`, send(file, assetHeaders(path)))
        else if (options?.[page as "chat" | "studio"] !== false) {
          yield* router.add("GET", `/${page}`, send(withSignIn(file, options?.signIn), pageHeaders))
        }
      }
    })
  )
