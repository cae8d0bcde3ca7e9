/**
 * List of a server's tools, page by page. One bad tool or page does not take the others along: tools are repaired or left out one by
 * one, and a later page that fails ends the list. All that is left out has a name and a reason.
 */
import * as Effect from "effect/Effect"
import { HttpError, McpClientError, ProtocolError } from "effect/ai/McpClientError"
import type * as McpSchema from "effect/ai/McpSchema"
import type { Live } from "../connection.ts"
import type { LeftOut } from "./leftOut.ts"
import { statelessMeta } from "./handshake.ts"
import { own } from "./messages.ts"
import type { Peer } from "./peer.ts"
import { stateless } from "./protocols.ts"
import { repairTool } from "./repairTool.ts"

/** The tools of a server, and the parts that are left out. */
export interface Listing {
  readonly tools: ReadonlyArray<McpSchema.Tool>
  readonly leftOut: ReadonlyArray<LeftOut>
}

const maxPages = 100
const maxTools = 10_000

/** A page of the list as the server sends it. */
interface Page {
  readonly tools: ReadonlyArray<unknown>
  readonly next: string | undefined
}

let requests = 0

const malformed = (description: string) => new McpClientError({ reason: new ProtocolError({ description }) })

const readPage = ({ transport, version }: Peer, cursor: string | undefined): Effect.Effect<Page, McpClientError> =>
  Effect.flatMap(
    transport.request({
      jsonrpc: "2.0",
      id: `recourse-list-${++requests}`,
      method: "tools/list",
      params: {
        ...(cursor === undefined ? undefined : { cursor }),
        ...(version === stateless ? { _meta: statelessMeta } : undefined)
      }
    }),
    (response): Effect.Effect<Page, McpClientError> => {
      if (response.error !== undefined) {
        const { code, data, message } = response.error
        return Effect.fail(new McpClientError({ reason: new ProtocolError({ code, data, description: message }) }))
      }
      const [tools, next] = [own(response.result, "tools"), own(response.result, "nextCursor")]
      if (!Array.isArray(tools)) return Effect.fail(malformed("The page has no list of tools"))
      return Effect.succeed({ tools, next: typeof next === "string" ? next : undefined })
    }
  )

/** True if a page failed, and not the connection. */
const isOfPage = ({ reason }: McpClientError): boolean =>
  reason._tag === "ProtocolError" || (reason instanceof HttpError && reason.status !== 401 && reason.status !== 403)

/** Why a tool that was read cannot be called, if it cannot. */
const problemOf = (raw: unknown, tool: McpSchema.Tool, names: ReadonlySet<string>, peer: Peer): string | undefined => {
  if (names.has(tool.name)) return "another tool of the list has this name"
  if (own(own(raw, "execution"), "taskSupport") === "required") return "it requires task-augmented execution"
  return peer.transport.isCallable(tool) ? undefined : "its x-mcp-header annotations are not valid"
}

/** Reads the list. */
class Reading {
  readonly tools: Array<McpSchema.Tool> = []
  readonly leftOut: Array<LeftOut> = []
  private readonly names = new Set<string>()
  private readonly peer: Peer

  constructor(peer: Peer) {
    this.peer = peer
  }

  add(raws: ReadonlyArray<unknown>, page: number): void {
    for (const [index, raw] of raws.entries()) {
      const repaired = repairTool(raw)
      const name = repaired.name ?? `tool ${index + 1} of page ${page}`
      const problem = repaired.tool === undefined
        ? repaired.problem
        : problemOf(raw, repaired.tool, this.names, this.peer)
      if (problem !== undefined || repaired.tool === undefined) {
        this.leftOut.push({ kind: "tool", name, reason: problem ?? "it cannot be read" })
        continue
      }
      this.names.add(repaired.tool.name)
      this.tools.push(repaired.tool)
      for (const { field, reason } of repaired.dropped) {
        this.leftOut.push({ kind: "field", name: `${name}.${field}`, reason })
      }
    }
  }

  stop(page: number, reason: string): void {
    this.leftOut.push({
      kind: "page",
      name: `page ${page}`,
      reason: `${reason}. It and the pages after it are left out`
    })
  }
}

const readAll = Effect.fnUntraced(function*(peer: Peer): Effect.fn.Return<Listing, McpClientError> {
  const reading = new Reading(peer)
  const cursors = new Set<string>()
  let cursor: string | undefined
  for (let page = 1;; page++) {
    if (page > maxPages || reading.tools.length > maxTools) {
      reading.stop(page, page > maxPages ? `More than ${maxPages} pages` : `More than ${maxTools} tools`)
      return reading
    }
    const read: Page | string = yield* readPage(peer, cursor).pipe(
      Effect.retry({ times: page === 1 ? 0 : 1, while: isOfPage }),
      Effect.catchIf((error) => page > 1 && isOfPage(error), ({ reason }) => Effect.succeed(reason.message))
    )
    if (typeof read === "string") {
      reading.stop(page, read)
      return reading
    }
    reading.add(read.tools, page)
    cursor = read.next
    if (cursor === undefined) return reading
    if (cursors.has(cursor)) {
      reading.stop(page + 1, "The server named the same next page again")
      return reading
    }
    cursors.add(cursor)
  }
})

/**
 * Lists the tools of a connected server. A server that does not declare tools may have some; if it refuses the list, it
 * has none. A client of the program's own lists them itself.
 */
export const listTools = ({ client, peer }: Live): Effect.Effect<Listing, McpClientError> => {
  if (peer === undefined) return Effect.map(client.listTools(), (tools) => ({ tools, leftOut: [] }))
  if (own(peer.capabilities, "tools") !== undefined) return readAll(peer)
  return Effect.catchIf(readAll(peer), isOfPage, () => Effect.succeed<Listing>({ tools: [], leftOut: [] }))
}
