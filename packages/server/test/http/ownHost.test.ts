/** Names of a server that does not authenticate: a page of another site whose name leads to it is refused. */
import { NodeHttpServer } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Conversation } from "@recourse/core"
import { Authentication, MemoryRuns, Server } from "@recourse/server"
import { Context, Effect, Layer } from "effect"
import { HttpRouter, HttpServer } from "effect/http"
import { createServer, request } from "node:http"

/** The status and the text of a request under a name. */
const asked = (url: string, host: string, method = "GET") =>
  Effect.promise(() =>
    new Promise<string>((resolve, reject) => {
      const origin = new URL(`http://${host}`).host === host ? { origin: `http://${host}` } : undefined
      const headers = { host, ...origin, "content-type": "application/json" }
      const sent = request(`${url}${method === "GET" ? "/agents" : "/runs"}`, { method, headers }, (response) => {
        let text = ""
        response.setEncoding("utf8").on("data", (data: string) => text += data)
        response.on("end", () => resolve(`${response.statusCode} ${text}`))
      })
      sent.on("error", reject).end(method === "GET" ? undefined : "{}")
    })
  )

const serve = (authentication: Layer.Layer<Authentication.Authentication>) =>
  Effect.map(
    Layer.build(
      HttpRouter.serve(Server.layer({ agents: [] }), { disableListenLog: true, disableLogger: true }).pipe(
        Layer.provideMerge(NodeHttpServer.layer(() => createServer(), { port: 0, host: "127.0.0.1" })),
        Layer.provide([MemoryRuns.layer({ agents: [] }), Conversation.layerMemory, authentication])
      )
    ),
    (context) => HttpServer.formatAddress(Context.get(context, HttpServer.HttpServer).address)
  )

const table: ReadonlyArray<readonly [host: string, isOwn: boolean]> = [
  ["127.0.0.1:3000", true],
  ["192.168.1.7", true],
  ["[::1]:3000", true],
  ["localhost:4983", true],
  ["LOCALHOST", true],
  ["agents.localhost", true],
  ["0x7f.1", true],
  ["evil.example", false],
  ["evil.example:3000", false],
  ["localhost.evil.example", false],
  ["127.0.0.1.evil.example", false],
  ["evillocalhost", false],
  ["agents.internal.evil.example", false],
  ["agents.internal", false]
]

describe("layerAnonymous", () => {
  it.live("refuses names that are neither addresses, localhost nor listed", () =>
    Effect.gen(function*() {
      const url = yield* serve(Authentication.layerAnonymous())
      const listed = yield* serve(Authentication.layerAnonymous({ id: "ada" }, { hosts: ["agents.internal"] }))
      for (const [host, isOwn] of table) {
        const status = isOwn ? "200" : "403"
        const answer = yield* asked(url, host)
        assert.strictEqual(answer.slice(0, 3), status, host)
        if (!isOwn) assert.include(answer, "hosts")
        assert.strictEqual((yield* asked(listed, host)).slice(0, 3), host === "agents.internal" ? "200" : status, host)
      }
      // Before anything is run.
      assert.include(yield* asked(url, "evil.example", "POST"), "WrongHost")
    }))

  it("refuses a list with an entry that is no name", () => {
    for (const entry of ["https://app.example.com", "app.example.com/x", "", "a b"]) {
      assert.throws(() => Authentication.layerAnonymous({ id: "ada" }, { hosts: [entry] }), /in hosts is no name/)
    }
  })
})
