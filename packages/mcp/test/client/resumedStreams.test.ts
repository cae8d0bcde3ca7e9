/** Streams of calls that end before the answer: the events behind the last one are requested, and the call is made once. */
import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import type { ServerResponse } from "node:http"
import { Mcp } from "@recourse/mcp"
import { call, live } from "../support/helpers.ts"
import { makeServer, type Message } from "../servers/byHand.mjs"
import { listening } from "../servers/overHttp.ts"

/** A stream of the server: its text, and its end. `answer` is in place of the answer. */
interface Streamed {
  readonly text: string
  readonly end?: "cut"
  readonly status?: number
}

const answer = "<answer>"
const priming = "id: e1\nretry: 10\ndata: \n\n"
const answered: Streamed = { text: `id: e2\ndata: ${answer}\n\n` }

const version = "2025-11-25"

/** A server whose calls are answered by the first stream, and resumed by the others in turn, the last one again and again. */
const resuming = (first: Streamed, ...others: ReadonlyArray<Streamed>) =>
  Effect.gen(function*() {
    const server = makeServer({ version })
    const calls: Array<string> = []
    const resumed: Array<string> = []
    const sessions: Array<string> = []
    let result = ""
    const write = (response: ServerResponse, { end, status = 200, text }: Streamed) => {
      response.writeHead(status, { "content-type": "text/event-stream" })
      response.write(text.replace(answer, result))
      if (end === "cut") setTimeout(() => response.destroy(), 20)
      else response.end()
    }
    const url = yield* listening((request, response, body) => {
      const { "last-event-id": id, "mcp-session-id": session } = request.headers
      if (request.method === "GET") {
        if (typeof id !== "string") return void response.writeHead(405).end()
        resumed.push(id)
        sessions.push(String(session))
        return write(response, others[Math.min(resumed.length, others.length) - 1]!)
      }
      if (request.method !== "POST") return void response.writeHead(200).end()
      const message = JSON.parse(body) as Message
      void server.answer(message, () => {}).then((response_: unknown) => {
        if (response_ === undefined) return void response.writeHead(202).end()
        if (message.method === "tools/call") {
          calls.push(String(message.params?.name))
          result = JSON.stringify(response_)
          return write(response, first)
        }
        response.writeHead(200, { "content-type": "application/json", "mcp-session-id": "s1" })
        response.end(JSON.stringify(response_))
      })
    })
    const tools = yield* Mcp.tools({
      name: "s",
      connect: Mcp.http(`${url}/mcp`),
      trust: "trusted",
      timeout: "8 seconds"
    })
    return { called: Effect.result(call(tools, "pay")), calls, resumed, sessions }
  })

const read: Readonly<Record<string, readonly [streams: ReadonlyArray<Streamed>, resumed: ReadonlyArray<string>]>> = {
  "is not resumed if it has the answer": [[{ text: `${priming}data: ${answer}\n\n` }], []],
  "is resumed behind its last event": [[{ text: priming }, answered], ["e1"]],
  "is resumed if the connection is cut": [[{ text: priming, end: "cut" }, answered], ["e1"]],
  "is resumed as often as it gives an event": [
    [{ text: priming }, { text: "id: e2\ndata: \n\n" }, { text: "id: e3\ndata: \n\n", end: "cut" }, answered],
    ["e1", "e2", "e3"]
  ]
}

const lost: Readonly<Record<string, readonly [streams: ReadonlyArray<Streamed>, requests: number]>> = {
  "without ids is lost": [[{ text: "data: \n\n" }], 0],
  "that the server does not resume is lost": [[{ text: priming }, { text: "", status: 404 }], 1],
  "whose server is down is lost": [[{ text: priming }, { text: "", status: 503 }], 5],
  "that is resumed without an event is lost": [[{ text: priming }, { text: ": nothing\n\n" }], 5]
}

describe("the stream of a call", () => {
  for (const [title, [[first, ...others], expected]] of Object.entries(read)) {
    live(title, () =>
      Effect.gen(function*() {
        const { called, calls, resumed, sessions } = yield* resuming(first!, ...others)
        const result = yield* called
        assert.deepStrictEqual(result._tag === "Success" && result.success, `did pay for ${version}`)
        assert.deepStrictEqual([calls, resumed], [["pay"], expected])
        assert.isTrue(sessions.every((session) => session === "s1"))
      }))
  }

  for (const [title, [[first, ...others], requests]] of Object.entries(lost)) {
    live(title, () =>
      Effect.gen(function*() {
        const { called, calls, resumed } = yield* resuming(first!, ...others)
        const result = yield* called
        assert.strictEqual(result._tag === "Failure" && result.failure._tag, "OutcomeUnknown")
        assert.deepStrictEqual([calls.length, resumed.length], [1, requests])
      }))
  }
})
