/** Requests of the chat to the server. */
import { get, request } from "../shared/api.ts"
import type { ChatMessage } from "./parts.ts"

export interface Agent {
  readonly name: string
  readonly title?: string
  readonly description?: string
  readonly tools: ReadonlyArray<{ readonly name: string; readonly description?: string }>
  readonly suggestions?: ReadonlyArray<string>
  readonly files?: ReadonlyArray<string>
}

export interface Capabilities {
  readonly agents: ReadonlyArray<Agent>
  readonly principal: { readonly id: string; readonly rights: ReadonlyArray<string> }
  readonly maxBodyBytes: number
  /** True if the server accepts feedback on answers. */
  readonly takesFeedback: boolean
  /** Treatment of a message while a run of its thread has not ended. */
  readonly onBusy: "refuse" | "queue" | "join" | "interrupt"
}

export interface Thread {
  readonly id: string
  readonly title?: string
  readonly version: number
  readonly updatedAt: number
  readonly isRunning: boolean
  readonly isWaiting: boolean
}

export interface ThreadPage {
  readonly threads: ReadonlyArray<Thread>
  readonly next?: string
}

const part = encodeURIComponent

export const capabilities = (signal: AbortSignal): Promise<Capabilities> => get("agents", signal)

export const threads = (
  options: { readonly search: string; readonly after?: string },
  signal: AbortSignal
): Promise<ThreadPage> => {
  const query = new URLSearchParams({ limit: "40" })
  if (options.search !== "") query.set("search", options.search)
  if (options.after !== undefined) query.set("after", options.after)
  return get(`threads?${query}`, signal)
}

export const thread = (
  id: string,
  signal: AbortSignal
): Promise<{ readonly thread: Thread; readonly messages: ReadonlyArray<ChatMessage> }> =>
  get(`threads/${part(id)}`, signal)

/** State of the thread, without its messages. */
export const threadState = (id: string, signal: AbortSignal): Promise<Thread> =>
  get(`threads/${part(id)}/state`, signal)

/** Starts a thread with the messages before the user's nth one. */
export const branch = (id: string, fresh: string, before: number): Promise<unknown> =>
  request("POST", `threads/${part(id)}/branches`, { body: { id: fresh, before } })

/** One of several answers to a message. */
export const answer = (id: string, runId: string): Promise<{ readonly message: ChatMessage }> =>
  get(`threads/${part(id)}/answers/${part(runId)}`)

export const rename = (id: string, title: string): Promise<unknown> =>
  request("PATCH", `threads/${part(id)}`, { body: { title } })

export const remove = (id: string): Promise<unknown> => request("DELETE", `threads/${part(id)}`)

export const feedback = (runId: string, value: "up" | "down", comment?: string): Promise<unknown> =>
  request("POST", `runs/${part(runId)}/feedback`, {
    body: { value, ...(comment === undefined ? undefined : { comment }) }
  })

export const stop = (agent: string, id: string): Promise<unknown> =>
  request("POST", `agents/${part(agent)}/chat/${part(id)}/stop`)
