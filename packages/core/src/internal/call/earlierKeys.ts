/**
 * Earlier keys: an earlier life of the run may have begun a call under a key that the tool of today does not give it, as it has another key or
 * none. Only the ledger knows that, so it is asked before the call is made again.
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Journal } from "../../Journal.ts"
import type { Idempotency } from "../idempotency/declaration.ts"
import { IdempotencyLedger } from "../idempotency/service.ts"
import { type Run, use } from "../run/run.ts"
import * as Arguments from "./arguments.ts"
import { type Attempt, openEntry } from "./attemptLog.ts"
import { isWrite, type PassThrough } from "./execution.ts"
import { type Executable, idempotencyOf } from "./executor.ts"
import { close, recordStart } from "./happened.ts"
import { notBegun, oncePerKey, type Refusals } from "./oncePerKey.ts"
import { keysBefore } from "./ownKeys.ts"
import type { AttemptError } from "./attemptError.ts"
import { rootOf } from "./outerCalls.ts"
import { noteSought } from "./record/replay.ts"

type Found<A> = { readonly value: A } | undefined

type Looking<A, R> = Effect.Effect<Found<A>, AttemptError | PassThrough, R>

const asked = (id: string | undefined): Idempotency => ({
  key: undefined,
  id,
  timeToLive: Duration.hours(24),
  isDeduplicated: false,
  rejected: [],
  reconcile: undefined
})

/** The keys that an earlier life may have given a call from this attempt on, and this one does not. */
const earlierKeys = (
  tool: Pick<Executable<never, unknown, unknown, unknown>, "info" | "idempotency">,
  { call }: Attempt,
  run: Run,
  journal: Journal
): ReadonlyArray<Idempotency> => {
  const today = idempotencyOf(tool, call)
  const own = today?.key === undefined ? keysBefore(journal, run, tool.info.name, call, call.record.attempts.count) : []
  const ofCall = today !== undefined && today.key === undefined ? [] : [asked(undefined)]
  return [...[...new Set(own)].map(asked), ...ofCall]
}

/**
 * What a call comes to that an earlier life has begun under another key than today's: what was done is answered, and of anything else nobody
 * knows. Answers nothing where it has not begun, and where no ledger can say so, unless it writes.
 */
export const underEarlierKeys = <Params, A, D, R>(
  tool: Executable<Params, A, D, R>,
  attempt: Attempt,
  run: Run,
  journal: Journal,
  refusals: Refusals<AttemptError>
): Looking<A, R> | undefined => {
  const { call } = attempt
  const { record } = call
  if (
    !rootOf(record).replay.mayHaveBegun || record.replay.isSought || call.lookupOnly === true ||
    tool.info.isAgent === true
  ) {
    return undefined
  }
  noteSought(record)
  const keys = earlierKeys(tool, attempt, run, journal)
  const read = Arguments.read(call.arguments)
  const raw = read._tag === "Success" ? read.success : {}
  const unknown = Effect.suspend(() => {
    use(run, "toolCalls", 1)
    recordStart(run, record, "unknown", () => run.clock.currentTimeMillisUnsafe())
    const entry = openEntry(attempt)
    entry.outcome = "unknown"
    close(record)
    return refusals.unknown(0)
  })
  const absent = Effect.fail(notBegun)
  const mayHaveBegun = isWrite(tool.info) ? unknown : absent
  const look = (key: Idempotency): Looking<A, R> =>
    oncePerKey<Found<A>, AttemptError | PassThrough | typeof notBegun, R, AttemptError | typeof notBegun>(
      key,
      { call, run, tool: tool.info.name, params: undefined, raw, success: tool.success },
      { conflict: () => unknown, unavailable: () => mayHaveBegun, unknown: () => unknown },
      (_, isAgain) => isAgain ? unknown : absent
    ).pipe(
      Effect.map((value) => ({ value: value as A })),
      Effect.catchIf((error) => error === notBegun, () => Effect.undefined)
    ) as Looking<A, R>
  const looked = keys.reduce<Looking<A, R>>(
    (found, key) => Effect.flatMap(found, (found) => found === undefined ? look(key) : Effect.succeed(found)),
    Effect.undefined
  )
  return Effect.flatMap(
    Effect.serviceOption(IdempotencyLedger),
    (ledger): Looking<A, R> =>
      Option.isSome(ledger)
        ? looked
        : keys.some(({ id }) => id !== undefined) && isWrite(tool.info)
        ? unknown
        : Effect.undefined
  )
}
