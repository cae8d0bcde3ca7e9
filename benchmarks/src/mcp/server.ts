/** MCP server in memory: a `fetch` that speaks the streamable HTTP transport, with one tool. */
import { tool } from "../Task.ts"

export const url = "http://mcp.test/mcp"

interface Request {
  readonly id?: number | string
  readonly method: string
  readonly params?: { readonly arguments?: { readonly n?: number }; readonly protocolVersion?: string }
}

const listed = {
  name: tool.name,
  description: tool.description,
  inputSchema: { type: "object", properties: { n: { type: "number" } }, required: ["n"] },
  annotations: { readOnlyHint: true }
}

const resultOf = ({ method, params }: Request, execute: (n: number) => number): object | undefined => {
  switch (method) {
    case "initialize":
      return {
        protocolVersion: params?.protocolVersion ?? "2025-06-18",
        capabilities: { tools: {} },
        serverInfo: { name: "scripted", version: "1.0.0" }
      }
    case "tools/list":
      return { tools: [listed] }
    case "tools/call":
      return { content: [{ type: "text", text: String(execute(params?.arguments?.n ?? 0)) }] }
    case "ping":
      return {}
    default:
      return undefined
  }
}

const json = (status: number, body: unknown): Response =>
  new Response(JSON.stringify(body), { status, headers: { "content-type": "application/json" } })

/** The `fetch` of one client; the tool doubles. */
export const serverOf = (execute: (n: number) => number): typeof globalThis.fetch => async (_, init) => {
  if (init?.method !== "POST") return new Response(null, { status: 405 })
  const body = init.body
  const text = typeof body === "string" ? body : new TextDecoder().decode(body as Uint8Array)
  const request = JSON.parse(text) as Request
  if (request.id === undefined) return new Response(null, { status: 202 })
  const result = resultOf(request, execute)
  return result === undefined
    ? json(200, { jsonrpc: "2.0", id: request.id, error: { code: -32601, message: "Method not found" } })
    : json(200, { jsonrpc: "2.0", id: request.id, result })
}
