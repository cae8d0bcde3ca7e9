/**
 * Explanations of snapshots: whether an agent in its present state can resume one, and the differences. No call runs.
 */
import * as Effect from "effect/Effect"
import { compareParts, isLost } from "../../approval/compareParts.ts"
import type { Explanation, PartState } from "../../approval/definitions.ts"
import { SnapshotRefused } from "../../approval/outcome.ts"
import { open } from "../../approval/seal.ts"
import type { Snapshot } from "../../approval/snapshot.ts"
import { hashOf } from "../../foundation/digest.ts"
import { idWithin } from "../../path/path.ts"
import type { Kind } from "./agentKind.ts"

/** Compares the parts of an agent with those of a snapshot. Fails if a part that the snapshot is about differs. */
const compared = Effect.fnUntraced(function*(kind: Kind, snapshot: Snapshot) {
  const { name: agent } = kind
  const parts = (yield* compareParts(snapshot, yield* kind.parts(snapshot))).map((part): PartState => ({
    agent,
    ...part
  }))
  const differences = parts.filter(isLost)
  const isRefused = differences.length > 0 ||
    (typeof snapshot.tools === "string" && snapshot.tools !== (yield* hashOf(kind.fingerprint())))
  return {
    parts,
    refused: isRefused
      ? new SnapshotRefused({
        agent,
        reason: "tools_changed",
        ...(differences.length > 0 ? { differences } : undefined)
      })
      : undefined
  }
})

/** Fails if a part that the snapshot is about has changed. */
export const checkParts = (kind: Kind, snapshot: Snapshot): Effect.Effect<void, SnapshotRefused> =>
  Effect.flatMap(
    compared(kind, snapshot),
    ({ refused }) => refused === undefined ? Effect.void : Effect.fail(refused)
  )

const within = (callId: string, part: PartState): PartState => ({
  ...part,
  within: part.within === undefined ? callId : idWithin(callId, part.within)
})

/** The explanation of a snapshot that is refused before its parts are compared. */
export const explainRefused = (error: SnapshotRefused): Explanation => ({
  agent: error.agent,
  canResume: false,
  refused: { reason: error.reason, message: error.message },
  parts: error.differences ?? []
})

const explainOpened = Effect.fnUntraced(function*(
  kind: Kind,
  snapshot: Snapshot
): Effect.fn.Return<Explanation, never, unknown> {
  const own = yield* compared(kind, snapshot)
  const parts = [...own.parts]
  let refused = own.refused && explainRefused(own.refused).refused
  for (const nested of snapshot.round?.nested ?? []) {
    const explained = yield* kind.explainWithin(snapshot, nested)
    parts.push(...explained.parts.map((part) => within(nested.callId, part)))
    refused ??= explained.refused
  }
  return {
    agent: kind.name,
    canResume: refused === undefined,
    ...(refused === undefined ? undefined : { refused }),
    parts
  }
})

/** Explains a snapshot, and those of agents that wait within it. */
export const explain = (kind: Kind, value: unknown): Effect.Effect<Explanation, never, unknown> =>
  Effect.matchEffect(open(kind.name, value), {
    onFailure: (error) => Effect.succeed(explainRefused(error)),
    onSuccess: (snapshot) => explainOpened(kind, snapshot)
  })
