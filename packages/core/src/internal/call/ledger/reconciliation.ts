/** Reconciliation of a tool: its `reconcile`, and the answers of people if that has none. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { CheckOutcome } from "../../idempotency/checkedOutcomes.ts"
import type { Reconciliation } from "../../../Reconciliation.ts"
import type { Entry } from "../../idempotency/ledgerStore.ts"
import { askService } from "./askService.ts"
import type { Asking, KeyedAttempt } from "./keyedAttempt.ts"

type Answer = Effect.Effect<Reconciliation<unknown>, unknown, unknown>

/** A person's answer, with its result as the tool's `success` schema decodes it. */
const readChecked = (check: CheckOutcome, { id }: Entry, { success }: Asking): Answer =>
  Effect.flatMap(
    check(id),
    (found): Answer =>
      found._tag !== "Completed"
        ? Effect.succeed(found)
        : Effect.map(
          Schema.decodeUnknownEffect(Schema.toCodecJson(success))(found.result),
          (result) => ({ _tag: "Completed", result })
        )
  )

/** Calls the tool's `reconcile`, and then asks people. `undefined` if neither exists. */
export const reconciliationOf = (
  { asking, idempotency: { reconcile } }: KeyedAttempt,
  check: CheckOutcome | undefined,
  entry: Entry
): (() => Answer) | undefined => {
  const own = reconcile === undefined ? undefined : () => reconcile(entry, asking.params)
  if (check === undefined) return own
  const checked = () => readChecked(check, entry, asking)
  if (own === undefined) return checked
  return () =>
    Effect.flatMap(
      askService(own, asking),
      (found) => found._tag === "Unknown" ? checked() : Effect.succeed(found)
    )
}
