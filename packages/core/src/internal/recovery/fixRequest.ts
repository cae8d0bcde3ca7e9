/** Fix request: the call, its arguments and its error, both a value and a text for a fixer. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { notice } from "../../Quarantine.ts"
import type { Redactor } from "../../Redaction.ts"
import { type ExecutionError, type InvalidArgs, Issue } from "../../ToolError.ts"
import { argumentsText, type Call } from "../call/call.ts"
import { cutText } from "../foundation/json/jsonShape.ts"
import { describe } from "../foundation/schema/schemaIssues.ts"
import { toolFailure } from "../projection/failures.ts"

/**
 * Errors that a fixer can be asked about.
 *
 * @category models
 * @since 0.2.0
 */
export type FixTag = "InvalidArgs" | "ExecutionError"

const fixRequest = Schema.Struct({
  tool: Schema.String,
  description: Schema.optionalKey(Schema.String),
  effects: Schema.optionalKey(Schema.Literals(["read", "idempotent", "write"])),
  arguments: Schema.String,
  jsonSchema: Schema.Unknown,
  code: Schema.String,
  issues: Schema.Array(Issue),
  /** The model's text of the executor's error by the tool's `failure`, redacted: see `ErrorProjection.declare`. */
  message: Schema.optionalKey(Schema.String),
  /** The untrusted tools whose words `message` may hold. */
  untrusted: Schema.optionalKey(Schema.String),
  /** Number of the fix; 1 is the first for this call. */
  fix: Schema.Int,
  /** The error as a value, for programs. The JSON of a request has none, because a model may read that. */
  error: Schema.Unknown.pipe(Schema.withDecodingDefaultKey(Effect.undefined, { encodingStrategy: "omit" }))
})

type FixRequestSchemaType = typeof fixRequest

/**
 * Schema of the request to a fixer.
 *
 * @category models
 * @since 0.2.0
 */
export interface FixRequestSchema extends FixRequestSchemaType {}

/**
 * The input of a fixer: the tool, the arguments in text form, and their faults. A fixer with a string input gets it as
 * text. `error` is the executor's own error as a value, and is neither in the text nor in the JSON of a request.
 *
 * @category schemas
 * @since 0.2.0
 */
export const FixRequest: FixRequestSchema = fixRequest

/**
 * The input of a fixer.
 *
 * @category models
 * @since 0.2.0
 */
export interface FixRequest<out E = InvalidArgs | ExecutionError> extends Omit<typeof FixRequest.Type, "error"> {
  readonly error: E
}

/** Number of characters of a schema, of arguments and of a message that a fixer reads. */
const maxSchema = 16_000
const maxArguments = 8_000
const maxMessage = 2_000

/** The beginning of a text, and a sentence about the omitted rest. */
const beginning = (text: string, length: number): string =>
  text.length <= length ? "" : ` (cut: the first ${length} of ${text.length} characters)`

/** A line of dashes that the text does not contain, so that the text cannot end its block. */
const lineAround = (text: string): string => {
  let longest = 0
  for (const [dashes] of text.matchAll(/-+/g)) longest = Math.max(longest, dashes.length)
  return "-".repeat(Math.max(5, longest + 1))
}

/**
 * The text for a fixer whose input is a string. Bounded; `FixRequest.arguments` has the whole.
 *
 * @category formatting
 * @since 0.2.0
 */
export const renderFixRequest = (request: FixRequest): string => {
  const schema = JSON.stringify(request.jsonSchema) ?? "{}"
  const given = cutText(request.arguments, maxArguments)
  const line = lineAround(given)
  const { message, untrusted } = request
  return [
    `A call of the tool "${request.tool}" failed (${request.code}).`,
    ...(request.description === undefined ? [] : [`Description of the tool: ${request.description}`]),
    ...(request.issues.length === 0 ? [] : [
      "What is wrong:",
      ...request.issues.map((issue) => `- ${describe([issue])}`)
    ]),
    ...(message === undefined ? [] : [
      `The tool's text about the failure, between the lines${beginning(message, maxMessage)}:`,
      ...(untrusted === undefined ? [] : [`${notice} Source: ${untrusted}.`]),
      lineAround(message),
      cutText(message, maxMessage),
      lineAround(message)
    ]),
    `JSON schema of the arguments${beginning(schema, maxSchema)}: ${cutText(schema, maxSchema)}`,
    `The arguments of the failed call, between the lines${beginning(request.arguments, maxArguments)}:`,
    line,
    given,
    line,
    "Answer with corrected arguments only, as one JSON object."
  ].join("\n")
}

export const requestOf = (
  call: Call,
  error: InvalidArgs | ExecutionError,
  fix: number,
  redactor: Redactor
): FixRequest => {
  const { marks: { read = [] }, attempts: { tool } } = call.record
  const message = error._tag === "ExecutionError" ? error.declared?.model : undefined
  return {
    tool: tool?.name ?? "",
    ...(tool?.description.text === undefined ? undefined : { description: tool.description.text }),
    ...(tool?.effects === undefined ? undefined : { effects: tool.effects }),
    arguments: argumentsText(call),
    jsonSchema: tool?.description.jsonSchema(),
    code: toolFailure(error, "").code,
    issues: error._tag === "InvalidArgs" ? error.issues : [],
    ...(message === undefined ? undefined : {
      message: redactor.text(message),
      ...(read.length === 0 ? undefined : { untrusted: read.join(", ") })
    }),
    fix,
    error
  }
}
