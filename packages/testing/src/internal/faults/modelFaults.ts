/** Model faults, between the agent and the provider. */
import { Duration, Effect, Stream } from "effect"
import { AiError, LanguageModel, type Response } from "effect/ai"
import * as FaultPlan from "../../FaultPlan.ts"
import type { Injector } from "./injector.ts"
import { cutText } from "./spoil.ts"

/** Makes the reason of a failed model call. */
export const modelReasons: Record<
  FaultPlan.ModelErrorReason,
  (description: string, retryAfter: number | undefined) => AiError.AiErrorReason
> = {
  NetworkError: (description) =>
    new AiError.NetworkError({
      reason: "TransportError",
      method: "POST",
      url: "http://localhost/injected",
      description
    }),
  RateLimitError: (_, retryAfter) =>
    new AiError.RateLimitError(retryAfter === undefined ? {} : { retryAfter: Duration.millis(retryAfter) }),
  QuotaExhaustedError: () => new AiError.QuotaExhaustedError({}),
  AuthenticationError: (description) => new AiError.AuthenticationError({ kind: "InvalidKey", description }),
  ContentPolicyError: (description) => new AiError.ContentPolicyError({ description }),
  InvalidRequestError: (description) => new AiError.InvalidRequestError({ description }),
  InternalProviderError: (description) => new AiError.InternalProviderError({ description }),
  InvalidResponseError: (description) => new AiError.InvalidResponseError({ description }),
  InvalidOutputError: (description) => new AiError.InvalidOutputError({ description }),
  StructuredOutputError: (description) => new AiError.StructuredOutputError({ description, responseText: "" }),
  UnsupportedSchemaError: (description) => new AiError.UnsupportedSchemaError({ description }),
  UnknownError: (description) => new AiError.UnknownError({ description }),
  ToolNotFoundError: () => new AiError.ToolNotFoundError({ toolName: "injected", availableTools: [] }),
  ToolParameterValidationError: (description) =>
    new AiError.ToolParameterValidationError({ toolName: "injected", description }),
  InvalidToolResultError: (description) => new AiError.InvalidToolResultError({ toolName: "injected", description }),
  ToolResultEncodingError: (description) =>
    new AiError.ToolResultEncodingError({ toolName: "injected", toolResult: null, description }),
  ToolConfigurationError: (description) => new AiError.ToolConfigurationError({ toolName: "injected", description }),
  ToolkitRequiredError: (description) => new AiError.ToolkitRequiredError({ pendingApprovals: [], description }),
  InvalidUserInputError: (description) => new AiError.InvalidUserInputError({ description })
}

type Parts = ReadonlyArray<Response.AnyPart>

type Alter = (part: Response.AnyPart) => Response.AnyPart | undefined

const isCall = (part: Response.AnyPart): part is Response.ToolCallPart<string, unknown> =>
  part.type === "tool-call" && part.providerExecuted !== true

const withCall = (change: (call: Response.ToolCallPart<string, unknown>) => object): Alter => (part) =>
  isCall(part) ? { ...part, ...change(part) } as Response.AnyPart : part

/** Alteration of each part of an answer, for faults of answers. */
const alterations: Partial<Record<FaultPlan.ModelFault["type"], Alter>> = {
  malformed_tool_call: withCall(({ params }) => ({ params: cutText(params) })),
  unknown_tool: withCall(({ name }) => ({ name: `${name}_v2` })),
  duplicate_ids: withCall(() => ({ id: "duplicate" })),
  empty_answer: (part) => part.type === "finish" || part.type === "response-metadata" ? part : undefined,
  truncated_answer: (part) => part.type === "finish" ? { ...part, reason: "length" } as Response.AnyPart : part
}

/** The faults of tools within the model's text. */
export const writtenByModel: ReadonlySet<string> = new Set(["malformed_arguments", "missing_arguments"])

/** Puts the faults of a plan around a model. */
// oxlint-disable-next-line max-lines-per-function -- one table: a case for each fault
export const faultyModel = ({ log, next }: Injector, secret: string | undefined) => {
  const description = `injected${secret === undefined ? "" : ` ${secret}`}`
  const fail = (reason: FaultPlan.ModelErrorReason, retryAfter?: number) =>
    Effect.fail(
      AiError.make({ module: "Faults", method: "layer", reason: modelReasons[reason](description, retryAfter) })
    )

  /** Spoils the calls of tools whose arguments are to be spoilt. */
  const alterArguments = (part: Response.AnyPart): Effect.Effect<Response.AnyPart> => {
    if (!isCall(part)) return Effect.succeed(part)
    const found = next(
      `arguments ${part.name}`,
      (injection) => "tool" in injection && injection.tool === part.name && writtenByModel.has(injection.fault.type)
    )
    return found === undefined ? Effect.succeed(part) : Effect.as(
      log(found, { callId: part.id, tool: part.name }),
      { ...part, params: found.fault.type === "missing_arguments" ? {} : cutText(part.params) } as Response.AnyPart
    )
  }

  /** The fault of a model call: before it, or to its parts. */
  const modelCall = Effect.suspend(() => {
    const found = next("model", FaultPlan.isOfModel)
    if (found === undefined) return Effect.succeed({ alter: undefined, cut: undefined })
    const fault = found.fault as FaultPlan.ModelFault
    const going = (cut?: number) => Effect.as(log(found, {}), { alter: alterations[fault.type], cut })
    switch (fault.type) {
      case "model_error":
        return Effect.andThen(log(found, {}), fail(fault.reason, fault.retryAfter))
      case "rate_limit":
        return Effect.andThen(log(found, {}), fail("RateLimitError", fault.retryAfter))
      case "model_hang":
        return Effect.andThen(log(found, {}), Effect.never)
      case "model_delay":
        return Effect.andThen(
          log(found, {}),
          Effect.as(Effect.sleep(fault.millis ?? 1000), { alter: undefined, cut: undefined })
        )
      case "stream_cut":
        return going(fault.after)
      default:
        return going()
    }
  })

  const alterAll = (parts: Parts, alter: Alter | undefined): Effect.Effect<Array<Response.AnyPart>> =>
    Effect.forEach(
      parts.flatMap((part) => (alter === undefined ? part : alter(part)) ?? []),
      alterArguments
    )

  const decorate = (inner: LanguageModel.LanguageModel): LanguageModel.LanguageModel => {
    const answered = <A extends LanguageModel.GenerateTextResponse<{}>>(
      call: Effect.Effect<A, AiError.AiError>,
      rebuild: (answer: A, content: Array<never>) => A
    ) =>
      Effect.flatMap(modelCall, ({ alter, cut }) =>
        cut !== undefined
          ? Effect.andThen(call, fail("NetworkError"))
          : Effect.flatMap(call, (answer) =>
            Effect.map(
              alterAll(answer.content as Parts, alter),
              (content) => rebuild(answer, content as Array<never>)
            )))
    // The three functions are generic in toolkit and schema; faults are the same for all of them.
    return {
      ...inner,
      generateText: ((options: {}) =>
        answered(
          inner.generateText(options as never) as Effect.Effect<
            LanguageModel.GenerateTextResponse<{}>,
            AiError.AiError
          >,
          (_, content) => new LanguageModel.GenerateTextResponse(content)
        )) as unknown as LanguageModel.LanguageModel["generateText"],
      generateObject: ((options: {}) =>
        answered(
          inner.generateObject(options as never) as unknown as Effect.Effect<
            LanguageModel.GenerateObjectResponse<{}, unknown>,
            AiError.AiError
          >,
          (answer, content) => new LanguageModel.GenerateObjectResponse(answer.value, content)
        )) as unknown as LanguageModel.LanguageModel["generateObject"],
      streamText: ((options: {}) =>
        Stream.unwrap(Effect.map(modelCall, ({ alter, cut }) => {
          const parts = (inner.streamText(options as never) as Stream.Stream<Response.AnyPart, AiError.AiError>).pipe(
            Stream.flatMap((part) => {
              const altered = alter === undefined ? part : alter(part)
              return altered === undefined ? Stream.empty : Stream.fromEffect(alterArguments(altered))
            })
          )
          return cut === undefined
            ? parts
            : Stream.concat(Stream.take(parts, cut), Stream.fromEffect(fail("NetworkError")))
        }))) as unknown as LanguageModel.LanguageModel["streamText"]
    }
  }

  return decorate
}
