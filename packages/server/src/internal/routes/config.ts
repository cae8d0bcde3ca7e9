/** Configuration of routes. */
import type * as Effect from "effect/Effect"
import type { Chats } from "../chat/chats.ts"
import type { Writer } from "@recourse/core/Audit"
import type { IdempotencyLedger } from "@recourse/core/IdempotencyLedger"
import type { Indexer } from "../index/indexer.ts"
import type { Checks } from "../http/request.ts"
import type { OnPageInput } from "./pageInput.ts"
import type { Frames } from "../wire/frames.ts"

/**
 * Public facts of an agent.
 *
 * @category models
 * @since 0.2.0
 */
export interface AgentCard {
  readonly name: string
  readonly title?: string | undefined
  readonly description?: string | undefined
  /** Its tools, with their public facts. */
  readonly tools: ReadonlyArray<{ readonly name: string; readonly description?: string | undefined }>
  /** Messages that a page offers to begin with. Default: none. */
  readonly suggestions?: ReadonlyArray<string> | undefined
  /** Media types of files that a page lets users attach, such as `image/*`. Default: none. */
  readonly files?: ReadonlyArray<string> | undefined
}

/**
 * A user's feedback on a run.
 *
 * @category models
 * @since 0.2.0
 */
export interface Feedback {
  readonly runId: string
  readonly agent: string
  /** Author: the owner of the run. */
  readonly owner: string
  readonly value: "up" | "down"
  readonly comment?: string | undefined
  /** Milliseconds since the epoch. */
  readonly at: number
}

/** Shared state of all routes. */
export interface Config {
  readonly agents: ReadonlyMap<string, AgentCard>
  readonly checks: Checks
  readonly chats: Chats
  readonly frames: Frames
  readonly indexer: Indexer
  readonly audit: Writer | undefined
  /** The idempotency ledger of the runs, if it is provided to the server as well. */
  readonly ledger: IdempotencyLedger["Service"] | undefined
  readonly onFeedback: ((feedback: Feedback) => Effect.Effect<void, unknown>) | undefined
  readonly requestTools: "allow" | "refuse"
  readonly onPageInput: OnPageInput | undefined
  /** True if the page may see the arguments and the results of a tool. */
  readonly shows: (tool: string) => boolean
}
