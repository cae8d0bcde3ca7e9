// MCP servers by hand, of each protocol version. Over stdio as a process: `node byHand.mjs '{"version": …}'`. For HTTP see http.ts.
import { appendFileSync } from "node:fs"
import { pathToFileURL } from "node:url"
import { createInterface } from "node:readline"

const empty = { type: "object", properties: {} }
export const stateless = "2026-07-28"

export const defaultTools = [
  { name: "read", inputSchema: empty, annotations: { readOnlyHint: true } },
  { name: "pay", inputSchema: empty, annotations: { destructiveHint: true } }
]

/** A message as it is sent. */
export const textOf = (message) => JSON.stringify(message).replaceAll(/"@(-?[\d.eE+-]+)@"/g, "$1")

const without = (field, response) => Object.fromEntries(Object.entries(response).filter(([key]) => key !== field))

/** Responses of JSON as other libraries write them. */
export const spellings = {
  "null as its error": (response) => ({ ...response, error: null }),
  "an unknown field": (response) => ({ ...response, took: 3 }),
  "its id as text": (response) => ({ ...response, id: String(response.id) }),
  "itself in a batch": (response) => [response],
  "no version": (response) => without("jsonrpc", response),
  "text as its error": (response) => ({ ...without("result", response), error: "boom" }),
  "no code of its error": (response) => ({ ...without("result", response), error: { message: "boom" } }),
  "a word as its code": (response) => ({ ...without("result", response), result: null, error: { code: "E_BOOM", message: "boom" } }),
  "its code as text": (response) => ({ ...without("result", response), error: { code: "-32601", message: "boom" } })
}

/** Responses that only the request of HTTP which they answer identifies. */
export const unnamed = {
  "no id": (response) => without("id", response),
  "null as its id": (response) => ({ ...response, id: null })
}

/**
 * A server. `refusal` is its error for methods of other versions, `strict` refuses another version at `initialize`, `reports` the
 * progress notifications of a call, `changes` adds a tool in a call, `structured` is the structured content of each result: `"@12@"` is sent as
 * the number 12, as it is written. `result` is the result of each call, `handshake` has fields over those of the handshake, `listRefused` refuses
 * the list of tools, `spelling` is the name of another spelling of a call's response.
 */
export const makeServer = ({ version, tools = defaultTools, refusal, strict = false, reports = 0, every = 20, changes = false, structured, result, handshake = {}, listRefused = false, spelling, note = () => {} }) => {
  const complete = version === stateless ? { resultType: "complete" } : {}
  const listed = version === stateless ? { resultType: "complete", ttlMs: 0, cacheScope: "private" } : {}
  const unknown = refusal ?? { code: -32601, message: "no such method" }
  const waiting = new Map()
  let current = tools
  const answer = async (message, send) => {
    const { id, method, params } = message
    note(params?.name ?? method)
    const done = (result) => ({ jsonrpc: "2.0", id, result })
    const refused = (error) => ({ jsonrpc: "2.0", id, error })
    const token = params?._meta?.progressToken
    switch (method) {
      case "initialize":
        if (version === stateless) return refused(unknown)
        if (strict && params.protocolVersion !== version) return refused(unknown)
        return done({ protocolVersion: version, capabilities: { tools: { listChanged: true } }, serverInfo: { name: "by hand", version: "1" }, ...handshake })
      case "server/discover":
        if (version !== stateless) return refused(unknown)
        return done({ ...listed, supportedVersions: [version], capabilities: { tools: { listChanged: true } }, serverInfo: { name: "by hand", version: "1" }, ...handshake })
      case "subscriptions/listen":
        server.push = send
        return new Promise(() => {})
      case "notifications/cancelled":
        waiting.get(params.requestId)?.()
        return undefined
      case "tools/list":
        if (listRefused) return refused({ code: -32601, message: "no such method" })
        return done({ ...listed, tools: current })
      case "tools/call": {
        for (let n = 1; n <= reports; n++) {
          await new Promise((resolve) => setTimeout(resolve, every))
          if (token !== undefined) send({ jsonrpc: "2.0", method: "notifications/progress", params: { progressToken: token, progress: n, total: reports, message: `step ${n}` } })
        }
        if (changes) {
          current = [...current, { name: `new${current.length}`, inputSchema: empty, annotations: { readOnlyHint: true } }]
          for (const to of new Set([server.push, send])) to?.({ jsonrpc: "2.0", method: "notifications/tools/list_changed" })
          // The notification may go another way than the answer.
          await new Promise((resolve) => setTimeout(resolve, 40))
        }
        const spelled = spellings[spelling] ?? unnamed[spelling] ?? ((response) => response)
        if (result !== undefined) return spelled(done(typeof result === "object" && result !== null && !Array.isArray(result) ? { ...complete, ...result } : result))
        if (structured !== undefined) return spelled(done({ ...complete, content: [], structuredContent: structured }))
        return spelled(done({ ...complete, content: [{ type: "text", text: `did ${params.name} for ${version}` }] }))
      }
      default:
        return id === undefined ? undefined : refused({ code: -32601, message: "no such method" })
    }
  }
  const server = { answer, push: undefined, version }
  return server
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const { log, noise = [], partial = "", leaves = false, ...options } = JSON.parse(process.argv[2])
  const server = makeServer({ ...options, note: (text) => log && appendFileSync(log, `${text}\n`) })
  const send = (message) => {
    for (const line of noise) process.stdout.write(`${line}\n`)
    process.stdout.write(`${partial}${textOf(message)}\n`)
  }
  server.push = send
  createInterface({ input: process.stdin }).on("line", async (line) => {
    const message = JSON.parse(line)
    const answer = await server.answer(message, send)
    // `leaves`: the process ends behind the response of a call, which has no end of line.
    if (leaves && message.method === "tools/call") process.stdout.write(textOf(answer), () => process.exit(0))
    else if (answer !== undefined) send(answer)
  })
}
