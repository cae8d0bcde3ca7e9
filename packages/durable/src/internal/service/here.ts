/** Facts of this process for its service. */
import type * as Duration from "effect/Duration"
import type { Changes } from "../run/changes.ts"
import type { KnownConversations } from "../store/conversation.ts"
import type { Runner } from "../runner/runner.ts"
import type { Versions } from "../agent/versions.ts"

/** This process's facts for the service. */
export interface Here {
  readonly agents: () => Versions
  readonly changes: Changes
  readonly conversations: KnownConversations
  readonly poll: Duration.Duration
  readonly starting: Runner["start"]
  readonly isOwned: (runId: string) => boolean
}
