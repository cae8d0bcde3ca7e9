/**
 * Conversions between Recourse's tools and those of `effect/ai`, both ways: tools that exist there (MCP servers' among
 * them) get recovery, and tools with recovery can be given to `LanguageModel.generateText` and `Chat`.
 */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Effectable from "effect/Effectable"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import type * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as AiError from "effect/ai/AiError"
import type * as Prompt from "effect/ai/Prompt"
import * as AiTool from "effect/ai/Tool"
import type * as Toolkit from "effect/ai/Toolkit"
import { ConfigurationError } from "./ConfigurationError.ts"
import { denied } from "./internal/projection/failures.ts"
import * as Arguments from "./internal/call/arguments.ts"
import { canonicalJson } from "./internal/foundation/canonicalJson.ts"
import { toJson } from "./internal/foundation/jsonValue.ts"
import { failed } from "./internal/round/context.ts"
import { deliver, presentationOf } from "./internal/result/delivery.ts"
import { failureOf, failureOfCutOff } from "./internal/result/failureOf.ts"
import { callSucceeded, endedOtherwise, taskStarted } from "./internal/round/runCall.ts"
import { agentTools } from "./internal/tool/agentTool.ts"
import { randomId } from "./internal/foundation/digest.ts"
import type { CallResult } from "./internal/run/callResult.ts"
import type { JsonSchemaOptions } from "./internal/foundation/jsonSchemaImport.ts"
import type { Keys, OnlyKnown } from "./internal/foundation/misspelt.ts"
import type { AfterDefaults, DefaultOf, Defaults, PolicyServices } from "./internal/recovery/policy.ts"
import type { OnUnknownKeys } from "./internal/call/record.ts"
import { fromOptions, type IdempotencyOptions } from "./internal/idempotency/declaration.ts"
import { schemaFromJsonSchema } from "./internal/tool/jsonSchemaParameters.ts"
import { addTaint } from "./internal/run/run.ts"
import { runAndCheck } from "./internal/tool/complete.ts"
import { define as defineTool } from "./internal/tool/make.ts"
import type * as Tool from "./internal/tool/tool.ts"
import { toolkitGate } from "./internal/tool/toolkitGate.ts"
import type {
  ApprovalServices,
  Approves,
  ExecuteError,
  IdempotencyError,
  IdempotencyServices,
  NeedsApproval,
  TimeoutError,
  WriteError
} from "./internal/tool/callTypes.ts"
import type { Effects } from "./Policy.ts"
import { type OnTainted, policy as quarantine } from "./Quarantine.ts"
import { type Call, forAgent, ToolCall } from "./internal/call/call.ts"
import { noLog } from "./internal/call/callLog.ts"
import { Escalation, type InvalidArgs, type InvalidResult, type NotApproved, Pending } from "./ToolError.ts"

/** What is said about a tool beyond its definition. */
export interface Options<Params = any> extends JsonSchemaOptions {
  /** Default: what the annotations `Readonly` and `Idempotent` say; unspecified if they say nothing. */
  readonly effects?: Effects | undefined
  /** For one attempt. */
  readonly timeout?: Duration.Input | undefined
  /** Default: `"untrusted"` for dynamic tools, such as those of MCP servers, and for a provider's; `"trusted"` for the others. */
  readonly trust?: Tool.Trust | undefined
  /** What the handler fails with, annotated with what may be said of it: see `ErrorProjection.declare`. */
  readonly failure?: Schema.Top | undefined
  /** What becomes of a key that the parameters do not have. Default: as for `Tool.make`. */
  readonly onUnknownKeys?: OnUnknownKeys | undefined
  /** How many characters of a result the model reads. Default: the agent's. */
  readonly resultLimit?: number | undefined
  /** Calls are done once for each key, as for `Tool.make`. Needs an `IdempotencyLedger`. */
  readonly idempotency?: true | IdempotencyOptions<Params, unknown, string> | undefined
  /** Whether a person has to approve a call, in place of what the definition says. */
  readonly needsApproval?: NeedsApproval<Params, Approves> | undefined
}

/**
 * A tool that was made from one of `effect/ai`; `D` is what its handler fails with. Whether it needs approvals, as its
 * definition may say, is not in the definition's type: an agent with it may pause.
 */
export type From<T extends AiTool.Any, D, R, O = {}> = Tool.Tool<
  T["name"],
  AiTool.ParametersSchema<T>,
  AiTool.SuccessSchema<T>,
  | InvalidArgs
  | InvalidResult
  | ExecuteError<D>
  | TimeoutOf<O>
  | WriteError<OptionOf<O, "effects">>
  | IdempotencyError<OptionOf<O, "idempotency">>
  | NotApproved,
  | Exclude<R | ApprovalServices<Asks<OptionOf<O, "needsApproval">>>, ToolCall>
  | IdempotencyServices<OptionOf<O, "idempotency">>
  | AiTool.HandlerServices<T>
>

/** What a question for an approval is answered by. */
type Asks<N> = N extends (...args: never) => infer Answer ? Answer : N

/** What `timeout` adds. A tool is a write where the options say so, and not by its definition's annotations. */
type TimeoutOf<O> = [OptionOf<O, "timeout">] extends [undefined] ? never
  : TimeoutError<OptionOf<O, "effects">, OptionOf<O, "timeout">, OptionOf<O, "idempotency">>

/** What an option may be; `undefined`, too, where it may be left out. */
type OptionOf<O, Name extends keyof Options> = O extends { readonly [_ in Name]: infer Value } ? Value
  : Name extends keyof O ? O[Name] | undefined
  : undefined

const effectsOf = (definition: AiTool.Any): Effects | undefined =>
  Context.get(definition.annotations, AiTool.Readonly)
    ? "read"
    : Context.get(definition.annotations, AiTool.Idempotent)
    ? "idempotent"
    : undefined

/** The conversation that led to a call; nothing is known of one where a call is made by hand. */
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

/** Whether a tool's answers come from outside the program: from a server, or from the model's provider. */
const isForeign = (definition: AiTool.Any): boolean =>
  AiTool.isDynamic(definition) || AiTool.isProviderDefined(definition)

/** A dynamic tool's own JSON Schema, by which nobody else checks arguments. */
const jsonSchemaOf = (definition: AiTool.Any) => AiTool.isDynamic(definition) ? definition.jsonSchema : undefined

const define = (
  definition: AiTool.Any,
  options: Options | undefined,
  execute: (params: never) => Effect.Effect<unknown, unknown, unknown>
): Tool.Any => {
  const jsonSchema = jsonSchemaOf(definition)
  const checked = jsonSchema && schemaFromJsonSchema(`Tool "${definition.name}"`, jsonSchema, options)
  const asks = options?.needsApproval
  return defineTool({
    definition: asks === undefined ? definition : definition.setNeedsApproval(undefined as never),
    parameters: checked?.schema,
    unchecked: checked?.unchecked,
    effects: options?.effects ?? effectsOf(definition),
    timeout: options?.timeout,
    trust: options?.trust ?? (isForeign(definition) ? "untrusted" : "trusted"),
    failure: options?.failure,
    onUnknownKeys: options?.onUnknownKeys,
    resultLimit: options?.resultLimit,
    idempotency: options?.idempotency && fromOptions(options.idempotency),
    needsApproval: asks ?? approvalOf(definition),
    execute
  })
}

/**
 * Makes a tool of one of `effect/ai` and its handler. What the handler fails with is the `reason` of `ExecutionError`.
 *
 * Arguments of a dynamic tool are checked by its JSON Schema. Throws `ConfigurationError` for a keyword that cannot be checked
 * and that `unchecked` does not name: see `Tool.fromJsonSchema`.
 *
 * **Example** (Recovery for a tool that exists)
 *
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { Tool as AiTool } from "effect/ai"
 * import { AiToolkit, ToolCall } from "@recourse/core"
 *
 * const Definition = AiTool.make("double", { parameters: Schema.Struct({ n: Schema.Number }), success: Schema.Number })
 * const Double = AiToolkit.fromTool(Definition, ({ n }) => Effect.succeed(n * 2))
 *
 * await Effect.runPromise(
 *   Double.call.pipe(Effect.provideService(ToolCall.ToolCall, ToolCall.make({ id: "c1", arguments: { n: 21 } })))
 * ) // => 42
 * ```
 */
export const fromTool = <
  T extends AiTool.Any,
  D extends AiTool.Failure<T> | AiError.AiError | AiError.AiErrorReason,
  R,
  const O extends Options<AiTool.Parameters<T>> = {}
>(
  definition: T,
  handler: (params: AiTool.Parameters<T>, context: Toolkit.HandlerContext<T>) => Effect.Effect<AiTool.Success<T>, D, R>,
  options?: O & OnlyKnown<O, keyof Options>
): From<T, D, R, O> =>
  define(
    definition,
    options,
    (params: never) =>
      Effect.flatMap(ToolCall, (call) => handler(params, { toolCallId: call.id, preliminary: () => Effect.void }))
  ) as never

/** What is said about tools of a toolkit: by name, or by a function of each definition. */
type AnyToolkitOptions = { readonly [name: string]: Options } | ((definition: AiTool.Any) => Options | undefined)

/** The tools that a toolkit's are made to, `O` having the options of each. */
export type FromToolkit<Tools extends Record<string, AiTool.Any>, O> = ReadonlyArray<
  {
    readonly [Name in keyof Tools]: From<
      Tools[Name],
      AiTool.Failure<Tools[Name]> | AiError.AiError,
      never,
      Name extends keyof O ? O[Name] : {}
    >
  }[keyof Tools]
>

/**
 * Makes tools of a whole toolkit with its handlers: what `yield* toolkit` gives, and what `McpClient` makes.
 *
 * `options` are those of single tools by their names, or a function that gives each tool's. Throws `ConfigurationError` for a
 * name that the toolkit does not have, and as {@link fromTool}.
 *
 * **Example** (All tools of a toolkit)
 *
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { Tool as AiTool, Toolkit } from "effect/ai"
 * import { AiToolkit } from "@recourse/core"
 *
 * const kit = Toolkit.make(AiTool.make("one", { success: Schema.Int }), AiTool.make("two", { success: Schema.Int }))
 * const layer = kit.toLayer({ one: () => Effect.succeed(1), two: () => Effect.succeed(2) })
 *
 * await Effect.runPromise(
 *   kit.pipe(Effect.map((handlers) => AiToolkit.fromToolkit(handlers).map((tool) => tool.name)), Effect.provide(layer))
 * ) // => ["one", "two"]
 * ```
 */
export const fromToolkit: {
  <Tools extends Record<string, AiTool.Any>, const O extends Options | undefined>(
    toolkit: Toolkit.WithHandler<Tools>,
    options: (definition: Tools[keyof Tools]) => O
  ): FromToolkit<Tools, { readonly [_ in keyof Tools]: Exclude<O, undefined> }>
  <
    Tools extends Record<string, AiTool.Any>,
    const O extends { readonly [Name in keyof Tools]?: Options<AiTool.Parameters<Tools[Name]>> } = {}
  >(
    toolkit: Toolkit.WithHandler<Tools>,
    options?: O & OnlyKnown<O, keyof Tools>
  ): FromToolkit<Tools, O>
} = (toolkit: Toolkit.WithHandler<Record<string, AiTool.Any>>, options?: AnyToolkitOptions) => {
  const said = options
  const optionsOf = (name: string, definition: AiTool.Any): Options | undefined =>
    typeof said === "function"
      ? said(definition)
      : said !== undefined && Object.hasOwn(said, name)
      ? said[name]
      : undefined
  const unknown = typeof said === "object" && Object.keys(said).find((name) => !Object.hasOwn(toolkit.tools, name))
  if (typeof unknown === "string") {
    const problem = `there is no tool "${unknown}". There is ${Object.keys(toolkit.tools).join(", ") || "none"}`
    throw new ConfigurationError({ subject: "AiToolkit.fromToolkit", problem })
  }
  return Object.entries(toolkit.tools).map(([name, definition]) =>
    define(definition, optionsOf(name, definition), (decoded) =>
      Effect.flatMap(ToolCall, (call) => {
        // The arguments have been checked. The handler reads them once more itself, unless a JSON Schema is all that there is.
        const params = jsonSchemaOf(definition) === undefined
          ? Result.getOrElse(Arguments.read(call.arguments), () => ({}))
          : decoded
        return toolkit.handle(name, params as never, call.id).pipe(
          Stream.unwrap,
          Stream.filter((result) => !result.preliminary),
          Stream.runLast,
          Effect.flatMap(Option.match({
            onNone: () =>
              Effect.die(new ConfigurationError({ subject: `Tool "${name}"`, problem: "its handler gave no result" })),
            onSome: (result) => result.isFailure ? Effect.fail(result.result) : Effect.succeed(result.result)
          }))
        )
      }))
  ) as never
}

/** A tool of `effect/ai` that was made from one with recovery, which leaves `E` and needs `R`. What it leaves is its failure. */
export type To<T extends Tool.Any, E, R> = AiTool.Tool<
  T["name"],
  {
    readonly parameters: T["parameters"]
    readonly success: T["success"]
    readonly failure: Schema.Codec<
      Exclude<E, Escalation | Pending | NotApproved>,
      unknown
    >
    readonly failureMode: "error"
  },
  R
>

/**
 * Makes a toolkit with handlers of tools with recovery, for `LanguageModel.generateText({ toolkit })` and `Chat`.
 *
 * Applied: recovery, `OutputGuard`, redaction, the envelope around what is untrusted, each tool's `needsApproval`, and the
 * quarantine (`onTainted`): in a conversation that holds an envelope, a tool that is no read needs an approval. Both are asked by
 * `effect/ai`, where it resolves calls itself: with `disableToolCallResolution` nothing is asked. Where a fixer has written the
 * arguments, an approval cannot be asked for, and the call is denied once the toolkit has answered with untrusted text. So is a
 * call that needs an approval where the caller gives no id, as `McpServer.toolkit` does: serve tools by `Mcp.layerServer`.
 *
 * Not applied, as there is no run: policies, budgets, the audit, events, pausing, and what holds for calls that follow each other.
 *
 * Escalations become failed results that the model reads; every other error that is left fails the call. A tool with a
 * `status` brings `{name}_status` with it, which is not in the toolkit's type. Throws `ConfigurationError` for two tools with
 * one name.
 *
 * **Example** (A tool with recovery in `generateText`)
 *
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { LanguageModel } from "effect/ai"
 * import { AiToolkit, Recovery, Tool } from "@recourse/core"
 * import { ScriptedModel } from "@recourse/testing"
 *
 * const Add = Tool.make("add", {
 *   parameters: Schema.Struct({ a: Schema.Number }),
 *   success: Schema.Number,
 *   execute: ({ a }) => Effect.succeed(a + 1)
 * })
 *
 * await Effect.runPromise(
 *   LanguageModel.generateText({
 *     prompt: "Add",
 *     toolkit: AiToolkit.toToolkit([Add], { defaults: { onError: Recovery.standard } })
 *   }).pipe(
 *     Effect.map((response) => response.toolResults.map((result) => result.isFailure)),
 *     Effect.provide(ScriptedModel.layer([ScriptedModel.call("add", {})]))
 *   )
 * ) // => [true]
 * ```
 */
export const toToolkit = <
  const Tools extends ReadonlyArray<Tool.Any>,
  D extends Defaults | undefined = Defaults | undefined,
  O = {}
>(
  tools: Tools,
  options?:
    & {
      readonly defaults?: D
      /** What may be called once the conversation holds what an untrusted tool answered. Default: `"approve"`. */
      readonly onTainted?: OnTainted | undefined
    }
    & Keys<O>
    & OnlyKnown<O, "defaults" | "onTainted">
): Toolkit.WithHandler<
  {
    readonly [T in Tools[number] as T["name"]]: To<
      T,
      AfterDefaults<Tool.Error<T>, D, O>,
      Tool.Services<T> | PolicyServices<DefaultOf<D, O>>
    >
  }
> => {
  const policy = options?.defaults?.onError
  const made = tools.flatMap((tool) => agentTools(tool, undefined, policy as never))
  const compiled = new Map(made.map((one) => [one.tool.name, one] as const))
  if (compiled.size < made.length) {
    throw new ConfigurationError({ subject: "AiToolkit.toToolkit", problem: "there are two tools with one name" })
  }
  const onTainted = options?.onTainted ?? "approve"
  for (const allowed of typeof onTainted === "object" ? onTainted.allow : []) {
    if (typeof allowed === "string" && !compiled.has(allowed)) {
      throw new ConfigurationError({
        subject: "AiToolkit.toToolkit",
        problem: `onTainted allows "${allowed}", which is none of its tools`
      })
    }
  }
  const foreign = made.flatMap(({ tool }) => tool.info.foreignDescription ? [tool.name] : [])
  const toolkit = toolkitGate(onTainted, (name) => compiled.get(name)?.tool.trust === "trusted", foreign)
  /** Untrusted tools that this toolkit has answered for, or whose descriptions the model reads. */
  const read: Array<string> = [...foreign]
  const handle = (name: string, params: unknown, callId?: string): Effect.Effect<unknown, unknown, unknown> => {
    const id = callId ?? name
    const found = compiled.get(name)
    if (found === undefined) {
      const reason = new AiError.ToolNotFoundError({ toolName: name, availableTools: [...compiled.keys()] })
      return Effect.fail(AiError.make({ module: "AiToolkit", method: `${name}.handle`, reason }))
    }
    const raw = { id, name, params }
    let call: Call | undefined
    const delivered = (result: CallResult, value: unknown = result.encoded) =>
      Effect.map(
        Effect.contextWith((context) =>
          deliver(presentationOf(context), { id }, found.tool.info, result, call?.record.read)
        ),
        ({ encoded, isFailure, modelOutput, taints }) => {
          addTaint(read, taints ?? [])
          return isFailure
            ? { result: encoded, encodedResult: encoded, isFailure, failureOrigin: "handler", preliminary: false }
            : { result: value, encodedResult: encoded, modelOutput, isFailure, preliminary: false }
        }
      )
    if (toolkit.denies(id)) return Effect.succeed(Stream.fromEffect(delivered(failed(raw, denied(id)))))
    // Whether a call may run has been asked by `effect/ai`, by the definition's `needsApproval`: not where the arguments are a fixer's.
    const gate = {
      policies: () => read.length === 0 ? [] : [quarantine(onTainted === "deny" ? "approve" : onTainted)],
      runId: id,
      path: [],
      taintedBy: () => read,
      canKeep: true,
      messages: () => [],
      log: noLog
    }
    // Who gives no id, such as a server, has asked nobody: what needs an approval is denied then.
    const approved = callId === undefined ? undefined : canonicalJson(Option.getOrNull(toJson(params)))
    // There is no run to tell calls apart that have the same id: no call here is another one's repetition.
    const result = Effect.flatMap(randomId, (scope) => {
      const { level } = found
      const made = {
        ...forAgent({ id, arguments: params, level, gate, approved }),
        scope
      }
      call = made
      // An agent that is the tool may wait where nobody can go on with it.
      const stopped = () =>
        delivered(
          failed(raw, made.record.stop?._tag === "CutOff" ? failureOfCutOff(made.record, id) : denied(id))
        )
      return Effect.matchCauseEffect(runAndCheck(found, made), {
        onSuccess: (checked) =>
          made.record.stop === undefined
            ? delivered(callSucceeded(found, raw, made, checked), checked.value)
            : stopped(),
        onFailure: (cause) => {
          if (made.record.stop !== undefined && !endedOtherwise(cause)) return stopped()
          const error = cause.reasons.find(Cause.isFailReason)?.error
          return error instanceof Pending
            ? delivered(taskStarted(found, raw, made, error))
            : error instanceof Escalation
            ? delivered(failed(raw, failureOf(made.record, error, id)))
            : Effect.failCause(cause)
        }
      })
    })
    return Effect.succeed(Stream.fromEffect(result))
  }
  const handlers = {
    tools: Object.fromEntries([...compiled].map(([name, { tool }]) => [name, toolkit.definition(tool)])),
    handle
  }
  // As those of `effect/ai`, it is an Effect of itself with its handlers.
  const proto = Effectable.Prototype({ label: "Toolkit", evaluate: () => Effect.succeed(handlers) })
  return Object.assign(Object.create(proto), handlers)
}
