/** Tool of an `effect/ai` definition: its effects, approvals and JSON Schema are the tool's. */
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import type * as Prompt from "effect/ai/Prompt"
import * as AiTool from "effect/ai/Tool"
import type { Effects } from "../../../Policy.ts"
import type { InvalidArgs, InvalidResult, NotApproved } from "../../../ToolError.ts"
import { type Call, ToolCall } from "../../call/call.ts"
import type { OnUnknownKeys } from "../../call/tool/toolInfo.ts"
import type { Listed } from "../../call/tool/toolList.ts"
import type { JsonSchemaOptions } from "../../foundation/schema/jsonSchemaImport.ts"
import { fromOptions, type IdempotencyOptions } from "../../idempotency/idempotencyOptions.ts"
import type {
  ApprovalServices,
  Approves,
  ExecuteError,
  IdempotencyError,
  IdempotencyServices,
  NeedsApproval,
  TimeoutError,
  WriteError
} from "../callTypes.ts"
import { schemaFromJsonSchema } from "./jsonSchemaParameters.ts"
import { define as defineTool } from "../defineTool.ts"
import { modelDefinition } from "../modelDefinition.ts"
import type * as Tool from "../tool.ts"

/**
 * Options of a tool beyond its definition.
 *
 * @category options
 * @since 0.2.0
 */
export interface Options<Params = any> extends JsonSchemaOptions {
  /** Effects of a call. Default: by the annotations `Readonly` and `Idempotent`; unspecified without them. */
  readonly effects?: Effects | undefined
  /** For one attempt. */
  readonly timeout?: Duration.Input | undefined
  /**
   * Makes `timeout` an idle timeout: progress that the handler reports (`ToolCall.progress`) starts it again, until the attempt has
   * taken this long. Not shorter than `timeout`. Default: progress does not extend it.
   */
  readonly maxTimeout?: Duration.Input | undefined
  /**
   * Trust in the results. Default: `"untrusted"` for dynamic tools, such as those of MCP servers, and for a provider's;
   * `"trusted"` for the others.
   */
  readonly trust?: Tool.Trust | undefined
  /** The list that the tool is from, if it can change while agents run: they are given its changes between turns. */
  readonly listed?: Listed<Tool.Any> | undefined
  /** Schema of the handler's errors, annotated with their public texts: see `ErrorProjection.declare`. */
  readonly failure?: Schema.Top | undefined
  /** Treatment of unknown keys in the arguments. Default: like `Tool.make`. */
  readonly onUnknownKeys?: OnUnknownKeys | undefined
  /** Number of characters of a result that the model reads. Default: the agent's. */
  readonly resultLimit?: number | undefined
  /** True if identical calls are intended, like in `Tool.make`. Default: `false`. */
  readonly allowIdenticalCalls?: boolean | undefined
  /** Calls are executed once for each key, like in `Tool.make`. Needs an `IdempotencyLedger`. */
  readonly idempotency?: true | IdempotencyOptions<Params, unknown, string> | undefined
  /** True if a person has to approve a call. Overrides the definition. */
  readonly needsApproval?: NeedsApproval<Params, Approves> | undefined
}

/**
 * A tool made from one of `effect/ai`; `D` is the error of its handler. Its approvals, which its definition may
 * require, are not in the definition's type: an agent with it may pause.
 *
 * @category models
 * @since 0.2.0
 */
export type From<T extends AiTool.Any, D, R, O = {}> = Tool.Tool<
  T["name"],
  AiTool.ParametersSchema<T>,
  AiTool.SuccessSchema<T>,
  | InvalidArgs
  | InvalidResult
  | ExecuteError<D>
  | TimeoutError<OptionValue<O, "effects">, O, OptionValue<O, "idempotency">>
  | WriteError<OptionValue<O, "effects">>
  | IdempotencyError<OptionValue<O, "idempotency">>
  | NotApproved,
  | Exclude<
    | R
    | ApprovalServices<
      OptionValue<O, "needsApproval"> extends infer Needs ?
        Needs extends (...args: never) => infer Answer ? Answer : Needs
        : never
    >,
    ToolCall
  >
  | IdempotencyServices<OptionValue<O, "idempotency">>
  | AiTool.HandlerServices<T>
>

/**
 * Values of an option; includes `undefined` if it is optional.
 *
 * @category utility types
 * @since 0.2.0
 */
export type OptionValue<O, Name extends keyof Options> = O extends Record<Name, infer Value> ? Value
  : Name extends keyof O ? O[Name] | undefined
  : undefined

const effectsOf = (definition: AiTool.Any): Effects | undefined =>
  Context.get(definition.annotations, AiTool.Readonly)
    ? "read"
    : Context.get(definition.annotations, AiTool.Idempotent)
    ? "idempotent"
    : undefined

/** Returns the conversation before a call; empty for a call made by hand. */
const leadingTo = ({ id, record: { gate } }: Call): ReadonlyArray<Prompt.Message> => {
  const messages = gate?.messages() ?? []
  const answer = messages.findLastIndex(({ content, role }) =>
    role === "assistant" && content.some((part) => part.type === "tool-call" && part.id === id)
  )
  return answer < 0 ? messages : messages.slice(0, answer)
}

const approvalOf = ({ needsApproval }: AiTool.Any) =>
  typeof needsApproval === "function"
    ? (params: never, { toolCallId }: { readonly toolCallId: string }) =>
      Effect.flatMap(ToolCall, (call) => {
        const needed = needsApproval(params, { toolCallId, messages: leadingTo(call) })
        return Effect.isEffect(needed) ? needed : Effect.succeed(needed)
      })
    : needsApproval

/** True if a tool's answers are untrusted: from a server, or from the model's provider. */
const isForeign = (definition: AiTool.Any): boolean =>
  AiTool.isDynamic(definition) || AiTool.isProviderDefined(definition)

/** A dynamic tool's own JSON Schema; no other component checks its arguments. */
export const jsonSchemaOf = (definition: AiTool.Any) => AiTool.isDynamic(definition) ? definition.jsonSchema : undefined

/** A tool of a definition and its executor. */
export const define = (
  definition: AiTool.Any,
  options: Options | undefined,
  execute: (params: never) => Effect.Effect<unknown, unknown, unknown>
): Tool.Any => {
  const jsonSchema = jsonSchemaOf(definition)
  const checked = jsonSchema && schemaFromJsonSchema(`Tool "${definition.name}"`, jsonSchema, options)
  const asks = options?.needsApproval
  return defineTool({
    definition: modelDefinition(asks === undefined ? definition : definition.setNeedsApproval(undefined as never)),
    parameters: checked?.schema,
    unchecked: checked?.unchecked,
    effects: options?.effects ?? effectsOf(definition),
    timeout: options?.timeout,
    maxTimeout: options?.maxTimeout,
    listed: options?.listed,
    trust: options?.trust ?? (isForeign(definition) ? "untrusted" : "trusted"),
    failure: options?.failure,
    onUnknownKeys: options?.onUnknownKeys,
    resultLimit: options?.resultLimit,
    allowIdenticalCalls: options?.allowIdenticalCalls,
    idempotency: options?.idempotency && fromOptions(options.idempotency),
    needsApproval: asks ?? approvalOf(definition),
    execute
  })
}
