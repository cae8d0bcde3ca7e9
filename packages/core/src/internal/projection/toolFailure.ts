/** The schema of a failed tool result. */
import * as Schema from "effect/Schema"
import { Issue, Severity } from "../../ToolError.ts"

const toolFailure = Schema.Struct({
  status: Schema.Literal("error"),
  /** Machine-readable, such as `invalid_arguments`, `timeout`, `outcome_unknown`. */
  code: Schema.String,
  message_for_model: Schema.String,
  message_for_user: Schema.String,
  /** True if the same call may be repeated without a second effect. */
  safe_to_retry: Schema.Boolean,
  /** The run, for finding it in logs and traces. */
  trace_id: Schema.String,
  /** The first field that is wrong. */
  field: Schema.optionalKey(Schema.String),
  /** Advice for the model. */
  instruction: Schema.optionalKey(Schema.String),
  /** Wait before the next call. */
  retry_after_ms: Schema.optionalKey(Schema.Int),
  /** The parts that were done, and those that were not, of a `partial_success`. */
  succeeded: Schema.optionalKey(Schema.Array(Schema.Unknown)),
  failed: Schema.optionalKey(
    Schema.Array(Schema.Struct({ item: Schema.Unknown, code: Schema.String, reason: Schema.String }))
  ),
  issues: Schema.optionalKey(Schema.Array(Issue)),
  severity: Schema.optionalKey(Severity),
  available_tools: Schema.optionalKey(Schema.Array(Schema.String)),
  /** The untrusted tool that the message is from. */
  untrusted: Schema.optionalKey(Schema.String)
})

type ToolFailureSchemaType = typeof toolFailure

/**
 * Schema of the failure that a model reads.
 *
 * @category models
 * @since 0.2.0
 */
export interface ToolFailureSchema extends ToolFailureSchemaType {}

/**
 * Content of a failed tool result.
 *
 * @category schemas
 * @since 0.2.0
 */
export const ToolFailure: ToolFailureSchema = toolFailure

/**
 * Content of a failed tool result.
 *
 * @category models
 * @since 0.2.0
 */
export type ToolFailure = typeof ToolFailure.Type

// --- declared text --------------------------------------------------------------------------------------------------
