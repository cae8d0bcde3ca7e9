/** File of a fault suite: its schemas. */
import { Schema } from "effect"

/**
 * A case in the file. `fault` is one of the faults of `FaultPlan`, with `times`, `from` and `probability` next to its
 * own fields. It is a fault of the `tool`, of its `callback`, of the `store`, or else of the model. `expected` is the
 * name of an expectation, or several. `scenario` names the subject's scenario that is played; else it is the one of the
 * tool's name, else `default`. Tools, faults and expectations have other spellings too: `crm.lookup`, `tool.timeout`,
 * `network-error`, `RATE_LIMITED`.
 *
 * @category schemas
 * @since 0.2.0
 */
export const Case = Schema.Struct({
  id: Schema.NonEmptyString,
  tool: Schema.optionalKey(Schema.String),
  /** `ledger`, the store of idempotency keys, or `resumptions`, which records resumed runs. */
  store: Schema.optionalKey(Schema.String),
  /** `compensate` or `reconcile` of the `tool`, or `audit`. */
  callback: Schema.optionalKey(Schema.String),
  fault: Schema.StructWithRest(Schema.Struct({ type: Schema.String }), [Schema.Record(Schema.String, Schema.Unknown)]),
  expected: Schema.Union([Schema.String, Schema.NonEmptyArray(Schema.String)]),
  scenario: Schema.optionalKey(Schema.String),
  seed: Schema.optionalKey(Schema.Int)
})

/**
 * A case in the file.
 *
 * @category models
 * @since 0.2.0
 */
export type Case = typeof Case.Type

/**
 * A suite in the file.
 *
 * @category schemas
 * @since 0.2.0
 */
export const FaultSuite = Schema.Struct({
  suite: Schema.NonEmptyString,
  cases: Schema.Array(Case)
})

/**
 * A suite in the file.
 *
 * @category models
 * @since 0.2.0
 */
export type FaultSuite = typeof FaultSuite.Type
