/** Reads that fail as scripted, with several levels of recovery. */

import type { Effect } from "effect"
import { Data } from "effect"
import type { ToolCall } from "@recourse/core"

export class Down extends Data.TaggedError("Down") {}

export type Recover = (
  call: Effect.Effect<void, unknown, ToolCall.ToolCall>
) => Effect.Effect<void, unknown, ToolCall.ToolCall>
