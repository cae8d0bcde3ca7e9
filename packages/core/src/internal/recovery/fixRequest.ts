/** What a fixer is asked: the call, its arguments and its error, as a value and as text. */
import * as Schema from "effect/Schema"
import { type ExecutionError, type InvalidArgs, Issue } from "../../ToolError.ts"
import { argumentsText, type Call } from "../call/call.ts"
import { toolFailure } from "../projection/failures.ts"

/** Errors that a fixer can be asked about. */
export type FixTag = "InvalidArgs" | "ExecutionError"

/**
 * What a fixer is asked: the tool, the arguments as text, and what is wrong with them. A fixer whose input is a string
 * gets it as text; `error` holds the executor's own error as a value and does not stand in the text.
 */
export const FixRequest = Schema.Struct({
  tool: Schema.String,
  description: Schema.optionalKey(Schema.String),
  effects: Schema.optionalKey(Schema.Literals(["read", "idempotent", "write"])),
  arguments: Schema.String,
  jsonSchema: Schema.Unknown,
  code: Schema.String,
  issues: Schema.Array(Issue),
  /** Number of the fix; 1 is the first for this call. */
  fix: Schema.Int,
  error: Schema.Unknown
})

/** What a fixer is asked. */
export interface FixRequest<out E = InvalidArgs | ExecutionError> extends Omit<typeof FixRequest.Type, "error"> {
  readonly error: E
}

/** The text that a fixer with a string as input is asked. */
export const renderFixRequest = (request: FixRequest): string =>
  [
    `A call of the tool "${request.tool}" failed (${request.code}).`,
    ...(request.description === undefined ? [] : [`What the tool does: ${request.description}`]),
    ...(request.issues.length === 0 ? [] : [
      "What is wrong:",
      ...request.issues.map((issue) =>
        `- ${issue.path.length === 0 ? "" : `${issue.path.join(".")}: `}${issue.expected}`
      )
    ]),
    `JSON schema of the arguments: ${JSON.stringify(request.jsonSchema)}`,
    "The arguments of the failed call, between the lines:",
    "-----",
    request.arguments,
    "-----",
    "Answer with corrected arguments only, as one JSON object."
  ].join("\n")

export const requestOf = (call: Call, error: InvalidArgs | ExecutionError, fix: number): FixRequest => {
  const tool = call.record.tool
  return {
    tool: tool?.name ?? "",
    ...(tool?.description === undefined ? undefined : { description: tool.description }),
    ...(tool?.effects === undefined ? undefined : { effects: tool.effects }),
    arguments: argumentsText(call),
    jsonSchema: tool?.jsonSchema(),
    code: toolFailure(error, "").code,
    issues: error._tag === "InvalidArgs" ? error.issues : [],
    fix,
    error
  }
}
