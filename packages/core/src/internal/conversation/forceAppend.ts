/** Appends to a thread whatever its version and its claim are. */
import * as Effect from "effect/Effect"
import type { AppendOptions, Conversations } from "./conversationService.ts"

/** Appends whatever was appended meanwhile: neither a version nor a claim is given. */
export const appendAnyway = (
  store: Conversations["Service"],
  options: Omit<AppendOptions, "version" | "claim" | "requiredClaim">
) => Effect.catchTags(store.append(options), { VersionConflict: Effect.die, ThreadBusy: Effect.die })
