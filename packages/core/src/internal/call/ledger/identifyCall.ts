/** Identity of a call in the ledger: its key, the id of its entry, and the hash of its arguments. */
import * as Effect from "effect/Effect"
import { canonicalJson } from "../../foundation/json/canonicalJson.ts"
import { sha256 } from "../../foundation/digest.ts"
import type { Claimant } from "../../idempotency/claims.ts"
import type { Idempotency } from "../../idempotency/idempotencyOptions.ts"
import { LedgerNamespace } from "../../idempotency/ledgerService.ts"
import type { Asking, Identity } from "./keyedAttempt.ts"
import { plainResult } from "../../foundation/options/hookResult.ts"
import { type Kind } from "../../foundation/options/optionCheck.ts"

const aKey: Kind = { is: (value) => typeof value === "string" && value !== "", called: "a text that is not empty" }

export const identify = (
  idempotency: Idempotency,
  { call, params, raw, run, tool }: Asking
): Effect.Effect<Identity> => {
  const own = idempotency.key === undefined
    ? undefined
    : plainResult({ subject: `Tool "${tool}"`, name: "idempotency.key", kind: aKey }, idempotency.key(params, raw))
  const { namespace } = idempotency
  const parts = own === undefined
    ? [tool, "call", run?.scope ?? call.scope ?? "", call.identity ?? call.id]
    : namespace === undefined
    ? [tool, "key", own]
    : ["namespace", namespace, own]
  return Effect.flatMap(LedgerNamespace, (ledger) =>
    Effect.map(
      Effect.all([
        sha256(canonicalJson(ledger === undefined ? parts : ["ledger", ledger, parts])),
        sha256(canonicalJson(raw))
      ]),
      ([id, hash]) => ({ key: own ?? id, id: idempotency.id ?? id, hash })
    ))
}

/** Claimant of an own key: none if the namespace defines its sharing, or if the run and the call are in the key. */
export const claimantOf = (
  { key, namespace }: Idempotency,
  { call: { record }, run }: Asking
): Claimant | undefined =>
  key === undefined || namespace !== undefined
    ? undefined
    : { agent: run?.path.at(-1), tool: record.attempts.tool, run: run && new WeakRef(run.counts.admitted) }
