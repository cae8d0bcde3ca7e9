/**
 * Conversions between Recourse's tools and those of `effect/ai`, both ways: tools that exist there (MCP servers' among
 * them) get recovery, and tools with recovery can be given to `LanguageModel.generateText` and `Chat`.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Effectable from "effect/Effectable"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import type * as AiError from "effect/ai/AiError"
import * as AiTool from "effect/ai/Tool"
import type * as Toolkit from "effect/ai/Toolkit"
import { ConfigurationError } from "./ConfigurationError.ts"
import * as Arguments from "./internal/call/arguments/toolArguments.ts"
import { ToolCall } from "./internal/call/call.ts"
import type { Inferred } from "./internal/foundation/options/inferredOptions.ts"
import type { OnlyKnown } from "./internal/foundation/options/misspeltName.ts"
import type { AfterDefaults, DefaultOf, Defaults, PolicyServices } from "./internal/recovery/policy.ts"
import { answerCalls } from "./internal/round/toolkitCalls.ts"
import { inJsonForm } from "./internal/foundation/json/jsonForm.ts"
import { refusePrototype } from "./internal/foundation/options/plainTable.ts"
import { agentTools } from "./internal/tool/agentTool.ts"
import { define, type From, jsonSchemaOf, type Options } from "./internal/tool/from/fromEffectTool.ts"
import { preliminaryResult } from "./internal/tool/preliminaryResults.ts"
import type * as Tool from "./internal/tool/tool.ts"
import { toolkitGate } from "./internal/tool/from/toolkitGate.ts"
import type { OnTainted } from "./Quarantine.ts"
import type { Escalation, NotApproved, Pending } from "./ToolError.ts"

export type { Listed, ToolList } from "./internal/call/tool/toolList.ts"
export type { From, Options, OptionValue } from "./internal/tool/from/fromEffectTool.ts"

/**
 * Makes a tool of one of `effect/ai` and its handler. A handler's error is the `reason` of `ExecutionError`. Results
 * passed to `context.preliminary` are `ToolPreliminaryResult` events.
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
 *
 * @category constructors
 * @since 0.2.0
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
): From<T, D, R, O> => {
  const emitted = preliminaryResult(definition.successSchema)
  return define(
    definition,
    options,
    (params: never) =>
      Effect.contextWith((context: Context.Context<ToolCall>) =>
        handler(params, {
          toolCallId: Context.get(context, ToolCall).id,
          preliminary: (result) => Effect.provideContext(emitted(result), context)
        })
      )
  ) as never
}

/** Options of a toolkit's tools: by name, or by a function of each definition. */
type AnyToolkitOptions = { readonly [name: string]: Options } | ((definition: AiTool.Any) => Options | undefined)

/**
 * The tools that a toolkit's are made to, `O` having the options of each.
 *
 * @category utility types
 * @since 0.2.0
 */
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
 * Makes tools of a whole toolkit with its handlers: the result of `yield* toolkit`, or a toolkit of `McpClient`.
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
 *
 * @category constructors
 * @since 0.2.0
 */
export const fromToolkit: {
  <Tools extends Record<string, AiTool.Any>, const O extends Options | undefined>(
    toolkit: Toolkit.WithHandler<Tools>,
    options: (definition: Tools[keyof Tools]) => O
  ): FromToolkit<Tools, Readonly<Record<keyof Tools, Exclude<O, undefined>>>>
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
  if (typeof said === "object") refusePrototype("AiToolkit.fromToolkit", said)
  const unknown = typeof said === "object" && Object.keys(said).find((name) => !Object.hasOwn(toolkit.tools, name))
  if (typeof unknown === "string") {
    const problem = `there is no tool "${unknown}". There is ${Object.keys(toolkit.tools).join(", ") || "none"}`
    throw new ConfigurationError({ subject: "AiToolkit.fromToolkit", problem })
  }
  return Object.entries(toolkit.tools).map(([name, definition]) => {
    const emitted = preliminaryResult(definition.successSchema)
    return define(definition, optionsOf(name, definition), (decoded) =>
      Effect.flatMap(ToolCall, (call) => {
        return handlerParams(definition, call.arguments, decoded).pipe(
          Effect.flatMap((params) => toolkit.handle(name, params as never, call.id)),
          Stream.unwrap,
          Stream.tap((result) => result.preliminary ? emitted(result.result) : Effect.void),
          Stream.filter((result) => !result.preliminary),
          Stream.runLast,
          Effect.flatMap(Option.match({
            onNone: () =>
              Effect.die(new ConfigurationError({ subject: `Tool "${name}"`, problem: "its handler gave no result" })),
            onSome: (result) => result.isFailure ? Effect.fail(result.result) : Effect.succeed(result.result)
          }))
        )
      }))
  }) as never
}

/**
 * The parameters that the toolkit's handler decodes once more. Arguments in JSON form, such as null for an absent
 * field, are encoded again, because the handler accepts only the schema's own form. For a tool with a JSON Schema they
 * are passed as they are.
 */
const handlerParams = (definition: AiTool.Any, given: unknown, decoded: unknown): Effect.Effect<unknown> => {
  if (jsonSchemaOf(definition) !== undefined) return Effect.succeed(decoded)
  const schema = definition.parametersSchema as Schema.Codec<unknown>
  const raw = Result.getOrElse(Arguments.read(given), () => ({}))
  return Effect.catch(
    Effect.as(Schema.decodeUnknownEffect(schema)(raw), raw),
    () => Effect.orElseSucceed(Schema.encodeEffect(schema)(decoded), () => raw)
  )
}

/** A definition whose parameters `effect/ai` checks in JSON form, the form that the model receives. */
const readingJson = (definition: AiTool.Any): AiTool.Any => {
  if (AiTool.isDynamic(definition) || !Schema.isSchema(definition.parametersSchema)) return definition
  const parameters = inJsonForm(definition.parametersSchema as Schema.Top)
  return parameters === definition.parametersSchema ? definition : definition.setParameters(parameters as never)
}

/**
 * A tool of `effect/ai` made from one with recovery, which leaves `E` and needs `R`. Its failure is the error that
 * recovery leaves.
 *
 * @category models
 * @since 0.2.0
 */
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
 * Applied: recovery, `OutputGuard`, redaction, envelopes around untrusted output, each tool's `needsApproval`, and the
 * quarantine (`onTainted`). In a conversation with an envelope, a tool that is no read needs an approval. `effect/ai`
 * evaluates both when it resolves calls itself, so not with `disableToolCallResolution`. A call with arguments of a
 * fixer cannot request an approval. It is denied once the toolkit has answered with untrusted text. So is a call that
 * needs an approval if the caller gives no id, as `McpServer.toolkit` does: serve tools by `Mcp.layerServer`.
 *
 * Not applied, because there is no run: policies, budgets, the audit, events, pausing, and rules about sequences of
 * calls.
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
 *
 * @category converting
 * @since 0.2.0
 */
export const toToolkit = <
  const Tools extends Tool.List,
  O = {}
>(
  tools: Tools,
  options?:
    & {
      readonly defaults?: Defaults | undefined
      /** Rule for calls once the conversation contains the answer of an untrusted tool. Default: `"approve"`. */
      readonly onTainted?: OnTainted | undefined
    }
    & Inferred<O>
    & OnlyKnown<O, "defaults" | "onTainted">
): Toolkit.WithHandler<
  {
    readonly [T in Tools[number] as T["name"]]: To<
      T,
      AfterDefaults<Tool.Error<T>, O>,
      Tool.Services<T> | PolicyServices<DefaultOf<O>>
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
  const foreign = made.flatMap(({ tool }) => tool.info.description.isForeign ? [tool.name] : [])
  const gate = toolkitGate(onTainted, (name) => compiled.get(name)?.tool.trust === "trusted", foreign)
  const handlers = {
    tools: Object.fromEntries([...compiled].map(([name, { tool }]) => [name, readingJson(gate.definition(tool))])),
    handle: answerCalls({ foreign, gate, onTainted, tools: compiled })
  }
  // As those of `effect/ai`, it is an Effect of itself with its handlers.
  const proto = Effectable.Prototype({ label: "Toolkit", evaluate: () => Effect.succeed(handlers) })
  return Object.assign(Object.create(proto), handlers)
}
