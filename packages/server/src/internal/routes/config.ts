/** Configuration of routes. */
import type * as Duration from "effect/Duration"
import type { Chats } from "../chat/chats.ts"
import type { Checks } from "../http/request.ts"

/** What users may know of an agent. */
export interface AgentCard {
  readonly name: string
  readonly title?: string | undefined
  readonly description?: string | undefined
  /** Its tools, as far as users may know of them. */
  readonly tools: ReadonlyArray<{ readonly name: string; readonly description?: string | undefined }>
}

/** What all routes know. */
export interface Config {
  readonly agents: ReadonlyMap<string, AgentCard>
  readonly checks: Checks
  readonly chats: Chats
  readonly heartbeat: Duration.Duration
  /** Whether the page may see the arguments and the results of a tool. */
  readonly shows: (tool: string) => boolean
}
