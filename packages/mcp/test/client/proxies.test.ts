/** The guide's HTTP client, run as it is written: through a proxy, to servers whose certificate authority the program brings. */
import { NodeHttpClient } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Agent } from "@recourse/core"
import { OpenAiCompatible } from "@recourse/openai-compatible"
import { Effect, type Layer, type Scope } from "effect"
import type { HttpClient } from "effect/http"
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { createServer as createProxy, type RequestListener } from "node:http"
import { createServer } from "node:https"
import { type AddressInfo, connect, type Server } from "node:net"
import { join } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"
import { inspect } from "node:util"
import { Mcp } from "@recourse/mcp"
import { makeCertificates } from "../../../../test/support/certificates.ts"
import { fencesOf } from "../../../../test/packed/support/page.ts"
import { call } from "../support/helpers.ts"
import { makeServer } from "../servers/byHand.mjs"

const root = fileURLToPath(new URL("../../../../", import.meta.url))
const page = readFileSync(join(root, "docs/mcp.md"), "utf8")

/** A listener on loopback, on a free port. Connections of proxies are no requests, and end with the test. */
const listening = (server: Server) =>
  Effect.acquireRelease(
    Effect.callback<Server>((resume) => {
      server.listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
    }),
    () => Effect.sync(() => void server.close())
  ).pipe(Effect.map(() => `127.0.0.1:${(server.address() as AddressInfo).port}`))

/** A server of MCP tools and of a model, with TLS, and a proxy that notes each tunnel. */
const servers = Effect.gen(function*() {
  const { ca, cert, key } = makeCertificates()
  const tools = makeServer({ version: "2025-11-25" })
  const completion = { choices: [{ message: { content: "Hello" }, finish_reason: "stop" }] }
  const handle: RequestListener = (request, response) => {
    let body = ""
    request.on("data", (chunk: unknown) => body += String(chunk))
    request.on("end", () => {
      if (request.method !== "POST") return void response.writeHead(405).end()
      const json = (value: unknown) =>
        void response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(value))
      if (request.url === "/v1/chat/completions") return json(completion)
      void tools.answer(JSON.parse(body), () => {}).then((answer) =>
        answer === undefined ? void response.writeHead(202).end() : json(answer)
      )
    })
  }
  const host = yield* listening(createServer({ cert, key }, handle))
  const tunnels: Array<string | undefined> = []
  const proxy = createProxy().on("connect", (request, client) => {
    tunnels.push(request.url)
    const [name, port] = request.url!.split(":")
    const target = connect(Number(port), name, () => {
      client.write("HTTP/1.1 200 Connection established\r\n\r\n")
      target.pipe(client).pipe(target)
    })
    for (const [one, other] of [[target, client], [client, target]] as const) {
      one.on("error", () => other.destroy()).on("close", () => other.destroy())
    }
  })
  return { ca, host, proxy: yield* listening(proxy), tunnels }
})

/** The layer that the guide makes: with its proxy, or with the agent that it names for programs without one. */
const clientOfGuide = (ca: string, proxy: string | undefined) =>
  Effect.gen(function*() {
    const block = fencesOf(page).find(({ lines }) => lines.some((line) => line.includes("ProxyAgent")))!.lines.join(
      "\n"
    )
    const direct = /`(new Agent\(.*?\))` of the same module/.exec(page)![1]!
    // The root's dependencies are found from there.
    const folder = join(root, "node_modules/.cache/recourse-guide", crypto.randomUUID())
    yield* Effect.acquireRelease(
      Effect.sync(() => mkdirSync(folder, { recursive: true })),
      () => Effect.sync(() => rmSync(folder, { recursive: true, force: true }))
    )
    const file = join(folder, "client.mjs")
    const pem = JSON.stringify(join(folder, "ca.pem"))
    writeFileSync(join(folder, "ca.pem"), ca)
    const agent = proxy === undefined
      ? block.replace(/new ProxyAgent\(.*\}\)/, direct.replace("{ ca }", "{ ca: readFileSync(\"ca.pem\") }"))
        .replaceAll("ProxyAgent", "Agent")
      : block.replace("proxy.example.com:3128", proxy)
    const text = agent.replace("\"ca.pem\"", pem)
    writeFileSync(file, `${text}\nexport { Client }\n`)
    const { Client } = yield* Effect.promise(() =>
      import(pathToFileURL(file).href) as Promise<{ readonly Client: Layer.Layer<HttpClient.HttpClient> }>
    )
    return Client
  })

/** Calls a tool and asks a model, both over TLS. */
const used = (host: string) =>
  Effect.gen(function*() {
    const tools = yield* Mcp.tools({ name: "s", connect: Mcp.http(`https://${host}/mcp`) })
    const model = OpenAiCompatible.layer({ baseUrl: `https://${host}/v1`, model: "m", retry: false })
    return [yield* call(tools, "read"), yield* Agent.make("a", {}).run("Hi").pipe(Effect.provide(model))]
  })

const live = (title: string, test: () => Effect.Effect<void, unknown, Scope.Scope>) =>
  it.live(title, () => Effect.scoped(test()), 30_000)

describe("the HTTP client of the guide", () => {
  live("reaches servers through the proxy, by its own certificate authority", () =>
    Effect.gen(function*() {
      const { ca, host, proxy, tunnels } = yield* servers
      const answers = yield* used(host).pipe(Effect.provide(yield* clientOfGuide(ca, proxy)))
      assert.deepStrictEqual(answers, ["did read for 2025-11-25", "Hello"])
      assert.isAbove(tunnels.length, 0)
      for (const tunnel of tunnels) assert.strictEqual(tunnel, host)
    }))

  live("reaches servers without a proxy, by its own certificate authority", () =>
    Effect.gen(function*() {
      const { ca, host, tunnels } = yield* servers
      const answers = yield* used(host).pipe(Effect.provide(yield* clientOfGuide(ca, undefined)))
      assert.deepStrictEqual(answers, ["did read for 2025-11-25", "Hello"])
      assert.deepStrictEqual(tunnels, [])
    }))

  live("is needed: another authority is refused, with and without the proxy", () =>
    Effect.gen(function*() {
      const { host, proxy } = yield* servers
      const other = makeCertificates().ca
      for (
        const client of [
          NodeHttpClient.layerUndici,
          yield* clientOfGuide(other, undefined),
          yield* clientOfGuide(other, proxy)
        ]
      ) {
        const error = yield* Effect.flip(used(host)).pipe(Effect.provide(client))
        assert.strictEqual(error._tag, "McpClientError")
        assert.match(inspect(error, { depth: 12 }), /code: '[A-Z_]*(?:SIGN|CERT|ISSUER)[A-Z_]*'/)
      }
    }))
})
