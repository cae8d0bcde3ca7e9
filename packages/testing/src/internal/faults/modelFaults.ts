/** Model faults, between the agent and the provider. */
import { Effect, Stream } from "effect"
import { AiError, LanguageModel, type Response } from "effect/ai"
import * as FaultPlan from "../../FaultPlan.ts"
import type { Injector } from "./injector.ts"
import { modelReasons } from "./modelReasons.ts"
import { cutText } from "./spoil.ts"

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

/** The fault of an answer: the alteration of its parts, and the number of streamed parts before it is cut off. */
interface AnswerFault {
  readonly alter?: Alter | undefined
  readonly cut?: number | undefined
}

/** Injects the faults of a plan into the calls of a model. */
class FaultyModel {
  private readonly injector: Injector
  private readonly description: string

  constructor(injector: Injector, secret: string | undefined) {
    this.injector = injector
    this.description = `injected${secret === undefined ? "" : ` ${secret}`}`
  }

  /** An answer at once. */
  answer<A extends LanguageModel.GenerateTextResponse<{}>>(
    call: Effect.Effect<A, AiError.AiError>,
    rebuild: (answer: A, content: Array<never>) => A
  ): Effect.Effect<A, AiError.AiError> {
    return Effect.flatMap(this.callFault, (fault) =>
      fault.cut !== undefined
        ? Effect.andThen(call, this.fail("NetworkError"))
        : Effect.flatMap(call, (answer) =>
          Effect.map(
            Effect.forEach(
              (answer.content as ReadonlyArray<Response.AnyPart>).flatMap((part) => alterBy(fault, part) ?? []),
              (part) => this.alterArguments(part)
            ),
            (content) => rebuild(answer, content as Array<never>)
          )))
  }

  /** A streamed answer. */
  stream(parts: Stream.Stream<Response.AnyPart, AiError.AiError>): Stream.Stream<Response.AnyPart, AiError.AiError> {
    return Stream.unwrap(Effect.map(this.callFault, (fault) => {
      const altered = Stream.flatMap(parts, (part) => {
        const altered = alterBy(fault, part)
        return altered === undefined ? Stream.empty : Stream.fromEffect(this.alterArguments(altered))
      })
      return fault.cut === undefined
        ? altered
        : Stream.concat(Stream.take(altered, fault.cut), Stream.fromEffect(this.fail("NetworkError")))
    }))
  }

  private fail(reason: FaultPlan.ModelErrorReason, retryAfter?: number): Effect.Effect<never, AiError.AiError> {
    return Effect.fail(
      AiError.make({ module: "Faults", method: "layer", reason: modelReasons[reason](this.description, retryAfter) })
    )
  }

  /** Injects the next fault of a call before the call, or returns the one of its answer. */
  private get callFault(): Effect.Effect<AnswerFault, AiError.AiError> {
    return Effect.suspend(() => {
      const found = this.injector.next("model", FaultPlan.isOfModel)
      return found === undefined
        ? Effect.succeed({})
        : Effect.andThen(this.injector.log(found, {}), this.inject(found.fault as FaultPlan.ModelFault))
    })
  }

  private inject(fault: FaultPlan.ModelFault): Effect.Effect<AnswerFault, AiError.AiError> {
    switch (fault.type) {
      case "model_error":
        return this.fail(fault.reason, fault.retryAfter)
      case "rate_limit":
        return this.fail("RateLimitError", fault.retryAfter)
      case "model_hang":
        return Effect.never
      case "model_delay":
        return Effect.as(Effect.sleep(fault.millis ?? 1000), {})
      case "stream_cut":
        return Effect.succeed({ cut: fault.after })
      default:
        return Effect.succeed({ alter: alterations[fault.type] })
    }
  }

  /** Spoils the calls of tools whose arguments are to be spoilt. */
  private alterArguments(part: Response.AnyPart): Effect.Effect<Response.AnyPart> {
    if (!isCall(part)) return Effect.succeed(part)
    const found = this.injector.next(
      `arguments ${part.name}`,
      (injection) => "tool" in injection && injection.tool === part.name && writtenByModel.has(injection.fault.type)
    )
    return found === undefined ? Effect.succeed(part) : Effect.as(
      this.injector.log(found, { callId: part.id, tool: part.name }),
      { ...part, params: found.fault.type === "missing_arguments" ? {} : cutText(part.params) } as Response.AnyPart
    )
  }
}

const alterBy = ({ alter }: AnswerFault, part: Response.AnyPart): Response.AnyPart | undefined =>
  alter === undefined ? part : alter(part)

type TextAnswer = Effect.Effect<LanguageModel.GenerateTextResponse<{}>, AiError.AiError>

type ObjectAnswer = Effect.Effect<LanguageModel.GenerateObjectResponse<{}, unknown>, AiError.AiError>

/**
 * Puts the faults of a plan around a model. Its three functions are generic in toolkit and schema; faults are the same
 * for all of them.
 */
export const faultyModel = (injector: Injector, secret: string | undefined) => {
  const faulty = new FaultyModel(injector, secret)
  return (inner: LanguageModel.LanguageModel): LanguageModel.LanguageModel => ({
    ...inner,
    generateText: ((options: {}) =>
      faulty.answer(
        inner.generateText(options as never) as TextAnswer,
        (_, content) => new LanguageModel.GenerateTextResponse(content)
      )) as unknown as LanguageModel.LanguageModel["generateText"],
    generateObject: ((options: {}) =>
      faulty.answer(
        inner.generateObject(options as never) as unknown as ObjectAnswer,
        (answer, content) => new LanguageModel.GenerateObjectResponse(answer.value, content)
      )) as unknown as LanguageModel.LanguageModel["generateObject"],
    streamText: ((options: {}) =>
      faulty.stream(
        inner.streamText(options as never) as Stream.Stream<Response.AnyPart, AiError.AiError>
      )) as unknown as LanguageModel.LanguageModel["streamText"]
  })
}
