/** Inbox: unrequested messages of a server, and output that is not JSON-RPC. */
import * as Context from "effect/Context"
import type * as McpSchema from "effect/ai/McpSchema"
import { own } from "./messages.ts"

/** Progress of a call, reported by the server. */
export interface ServerProgress {
  readonly progress: number
  readonly total?: number | undefined
  readonly message?: string | undefined
}

/** Received messages of a connection. */
export interface Inbox {
  /** Listeners of calls, by their progress tokens. */
  readonly progress: Map<string, (progress: ServerProgress) => void>
  /** Number of reported changes of the server's tools. */
  readonly toolListChanges: () => number
  /** Number of skipped pieces of output that are not JSON-RPC. */
  readonly noise: () => number
  /** Receives a notification. */
  readonly receive: (message: McpSchema.JsonRpcNotification) => void
  /** Counts a piece of noise. Returns whether it is the first. */
  readonly skip: () => boolean
}

const progressOf = (params: unknown): ServerProgress | undefined => {
  const [progress, total, message] = [own(params, "progress"), own(params, "total"), own(params, "message")]
  return typeof progress !== "number" ? undefined : {
    progress,
    total: typeof total === "number" ? total : undefined,
    message: typeof message === "string" ? message : undefined
  }
}

/** Makes the inbox of a connection. */
export const make = (): Inbox => {
  const progress = new Map<string, (progress: ServerProgress) => void>()
  let changes = 0
  let noise = 0
  return {
    progress,
    toolListChanges: () => changes,
    noise: () => noise,
    receive: ({ method, params }) => {
      if (method === "notifications/tools/list_changed") changes++
      if (method !== "notifications/progress") return
      const token = own(params, "progressToken")
      const said = progressOf(params)
      if (typeof token === "string" && said !== undefined) progress.get(token)?.(said)
    },
    skip: () => noise++ === 0
  }
}

/** Receiver of the progress of the sent call: set around `callTool`. */
export class ProgressListener extends Context.Reference<((progress: ServerProgress) => void) | undefined>(
  "@recourse/mcp/ProgressListener",
  { defaultValue: () => undefined }
) {}
