/**
 * Tools: Effects that read their call from context.
 *
 * `tool.call` is an ordinary Effect that needs a `ToolCall`. Recovery is declared next to the tool with ordinary Effect
 * operators, by {@link onError}. Errors that remain in its type can still end a run.
 */
export type { PassThrough } from "./internal/call/execute/effects.ts"
export type { OnUnknownKeys } from "./internal/call/tool/toolInfo.ts"
export type { ImportedJsonSchema, JsonSchemaOptions } from "./internal/foundation/schema/jsonSchemaImport.ts"
export { escalate, throwException } from "./internal/tool/builtIn.ts"
export type {
  AnyIdempotency,
  ApprovalError,
  ApprovalServices,
  Approves,
  CompensatesWrites,
  DeclaresApprovalRequests,
  ExecuteError,
  Given,
  HasExecute,
  IdempotencyError,
  IdempotencyServices,
  NeedsApproval,
  SchemaServices,
  StatusError,
  StatusOf,
  TimeoutError,
  TransactionError,
  WriteError
} from "./internal/tool/callTypes.ts"
export { client, type ClientOptions, ClientToolFailed } from "./internal/tool/clientTool.ts"
export { fromJsonSchema, type JsonSchemaToolOptions } from "./internal/tool/from/fromJsonSchema.ts"
export {
  fromStandardSchema,
  type HasJsonSchema,
  type StandardSchemaToolOptions
} from "./internal/tool/from/fromStandardSchema.ts"
export {
  type JsonObject,
  type JsonParameters,
  schemaFromJsonSchema
} from "./internal/tool/from/jsonSchemaParameters.ts"
export type { StandardParameters } from "./internal/tool/from/standardSchemaParameters.ts"
export { make } from "./internal/tool/makeTool.ts"
export { onError } from "./internal/tool/onToolError.ts"
export {
  type Any,
  type BehindRecovery,
  type CallOf,
  type Checked,
  type Error,
  isTool,
  type List,
  type Params,
  type ParamsOf,
  type Services,
  type Success,
  type Tool,
  type Trust,
  TypeId
} from "./internal/tool/tool.ts"
export { codes } from "./internal/tool/toolCodes.ts"
export type { BaseOptions, Options, UnknownKeysOption } from "./internal/tool/toolOptions.ts"
export type { Effects } from "./Policy.ts"
