/** The served pages: a browser's instructions, and its allowed sources. */
import { assert, describe, it } from "@effect/vitest"
import { NodeHttpServer } from "@effect/platform-node"
import { Studio } from "@recourse/studio"
import { Effect, Layer } from "effect"
import { HttpRouter } from "effect/http"

const served = (layer: ReturnType<typeof Studio.layer>) =>
  Effect.map(
    Effect.acquireRelease(
      Effect.sync(() =>
        HttpRouter.toWebHandler(layer.pipe(Layer.provideMerge(NodeHttpServer.layerHttpServices)), {
          disableLogger: true
        })
      ),
      ({ dispose }) => Effect.promise(dispose)
    ),
    ({ handler }) => (path: string, headers: Record<string, string> = {}) =>
      Effect.promise(() => handler(new Request(`http://localhost${path}`, { headers })))
  )

const text = (response: Response) => Effect.promise(() => response.text())

/** References of a page: scripts, styles, icons. */
const named = (html: string) => [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, url]) => url!)

describe("Studio.layer", () => {
  for (const page of ["chat", "studio"]) {
    it.effect(`serves /${page}, which loads its own files only`, () =>
      Effect.gen(function*() {
        const get = yield* served(Studio.layer())
        const response = yield* get(`/${page}`)
        assert.strictEqual(response.status, 200)
        assert.strictEqual(response.headers.get("content-type"), "text/html; charset=utf-8")
        const html = yield* text(response)
        assert.notMatch(html, /<script(?![^>]*src=)|<style|\son\w+=/)
        assert.isAbove(named(html).length, 3)
        for (const url of named(html)) {
          assert.match(url, /^\.\/_studio\//)
          const asset = yield* get(`/${url.slice(2)}`)
          assert.strictEqual(asset.status, 200, url)
          const isNamedByDigest = !url.endsWith("/theme.js")
          assert.strictEqual(asset.headers.get("cache-control")?.includes("immutable"), isNamedByDigest, url)
        }
      }))
  }

  it.effect("forbids the browser other scripts, and sending data elsewhere", () =>
    Effect.gen(function*() {
      const get = yield* served(Studio.layer())
      const { headers } = yield* get("/chat")
      const policy = new Map(
        headers.get("content-security-policy")!.split("; ").map((rule) => {
          const [name, ...sources] = rule.split(" ")
          return [name!, sources.join(" ")]
        })
      )
      assert.strictEqual(policy.get("default-src"), "'none'")
      for (const name of ["script-src", "style-src", "connect-src"]) assert.strictEqual(policy.get(name), "'self'")
      assert.strictEqual(policy.get("img-src"), "'self' data: blob:")
      assert.strictEqual(policy.get("frame-ancestors"), "'none'")
      assert.strictEqual(policy.get("base-uri"), "'none'")
      assert.strictEqual(headers.get("x-content-type-options"), "nosniff")
      assert.strictEqual(headers.get("referrer-policy"), "no-referrer")
    }))

  it.effect("sends compressed files to clients that accept them", () =>
    Effect.gen(function*() {
      const get = yield* served(Studio.layer())
      const script = named(yield* text(yield* get("/chat"))).find((url) => /chat-.*\.js$/.test(url))!
      const plain = yield* get(script.slice(1))
      const small = yield* get(script.slice(1), { "accept-encoding": "gzip, br" })
      assert.strictEqual(plain.headers.get("content-encoding"), null)
      assert.strictEqual(small.headers.get("content-encoding"), "br")
      assert.strictEqual(small.headers.get("vary"), "accept-encoding")
      const bytes = yield* Effect.promise(() => small.arrayBuffer())
      assert.isBelow(bytes.byteLength, (yield* text(plain)).length / 2)
    }))

  it.effect("serves the pages that are asked for, and no other file", () =>
    Effect.gen(function*() {
      const get = yield* served(Studio.layer({ studio: false }))
      assert.strictEqual((yield* get("/studio")).status, 404)
      assert.strictEqual((yield* get("/chat")).status, 200)
      for (const path of ["/_studio/../../package.json", "/_studio/%2e%2e/.sources", "/.sources", "/chat.html"]) {
        assert.strictEqual((yield* get(path)).status, 404, path)
      }
    }))
})
