/** Common parts of the stores of conversations. */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import { hashOf } from "../../foundation/digest.ts"
import { withoutNul } from "../../foundation/withoutNul.ts"
import { ConversationError, ThreadBusy, type ThreadNotFound, VersionConflict } from "../conversationErrors.ts"
import type { AppendOptions, ListOptions, ThreadKey } from "../conversationService.ts"

/** The hash of an owner. */
export const ownerHash = (owner: string): Effect.Effect<string> => hashOf([owner])

/** The hash of an owner and a thread of theirs: no two pairs have the same. */
export const keyHash = ({ owner, thread }: ThreadKey): Effect.Effect<string> => hashOf([owner, thread])

/** Number of threads in a list. */
export const pageSize = ({ limit = 50 }: ListOptions): number =>
  Number.isFinite(limit) ? Math.min(Math.max(Math.floor(limit), 1), 200) : 50

/** Start of a page: behind a thread with a time of update and a hash. */
export interface Cursor {
  readonly updatedAt: number
  readonly key: string
}

export const cursorText = ({ key, updatedAt }: Cursor): string => `${updatedAt}.${key}`

/** Returns `undefined` for a text that is no cursor: the list then starts at its beginning. */
export const cursorOf = (text: string | undefined): Cursor | undefined => {
  const found = /^(\d{1,15})\.([0-9a-f]{64})$/.exec(text ?? "")
  return found === null ? undefined : { updatedAt: Number(found[1]), key: found[2]! }
}

/**
 * True if a text is the cursor of a list of threads: the `next` of a page. A store lists another text's page from the
 * beginning.
 *
 * @category predicates
 * @since 0.2.0
 */
export const isCursor = (text: string): boolean => cursorOf(text) !== undefined

/** Threads behind a cursor, those that were updated last first. */
export const latestFirst = <A extends Cursor>(threads: ReadonlyArray<A>, after: Cursor | undefined): ReadonlyArray<A> =>
  threads
    .filter(({ key, updatedAt }) =>
      after === undefined || updatedAt < after.updatedAt || (updatedAt === after.updatedAt && key < after.key)
    )
    .toSorted((a, b) => b.updatedAt - a.updatedAt || (a.key < b.key ? 1 : -1))

/** Returns the searched text; `undefined` without a search. */
export const searched = ({ search }: ListOptions): string | undefined => {
  const text = search === undefined ? undefined : withoutNul(search).trim().toLowerCase()
  return text === "" ? undefined : text
}

/** State of a thread before an append. */
export interface Before {
  readonly version: number
  readonly claim: string | undefined
  readonly leasedUntil: number
}

/** Returns the reason why entries cannot be appended to a thread, if there is one. */
export const refusal = (
  { claim, requiredClaim, release, thread, version }: AppendOptions,
  before: Before,
  now: number
): VersionConflict | ThreadBusy | undefined => {
  if (version !== undefined && version !== before.version) {
    return new VersionConflict({ thread, expected: version, actual: before.version })
  }
  if (requiredClaim !== undefined && before.claim !== requiredClaim) return busy(thread, before)
  const isFree = before.claim === undefined || before.claim === release || before.leasedUntil <= now
  return claim === undefined || before.claim === claim.id || isFree ? undefined : busy(thread, before)
}

const busy = (thread: string, { claim, leasedUntil }: Before): ThreadBusy =>
  new ThreadBusy({ thread, ...(claim === undefined ? undefined : { freeAt: leasedUntil }) })

/** Returns the claim of a read thread; `undefined` if no run has it. */
export const claimOf = ({ claim, leasedUntil }: Omit<Before, "version">, now: number) =>
  claim === undefined || leasedUntil <= now ? undefined : { claim: { id: claim, until: leasedUntil } }

export const millis = (duration: Duration.Duration): number => Math.ceil(Duration.toMillis(duration))

/** Names a store's own failures by the operation; declared errors of the interface pass. */
export const during = (
  operation: ConversationError["operation"],
  isTransient?: (reason: unknown) => boolean
) =>
<A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.mapError(effect, (reason) =>
    isDeclared(reason) ? reason : new ConversationError({
      operation,
      reason,
      ...(isTransient?.(reason) ? { isTransient: true } : undefined)
    })) as Effect.Effect<A, Extract<E, ThreadNotFound | VersionConflict | ThreadBusy> | ConversationError, R>

const declared = new Set(["ThreadNotFound", "VersionConflict", "ThreadBusy"])

const isDeclared = (reason: unknown): reason is ThreadNotFound | VersionConflict | ThreadBusy =>
  Predicate.hasProperty(reason, "_tag") && declared.has(reason._tag as string)
