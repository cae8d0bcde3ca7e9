/**
 * Model fallback: an `ExecutionPlan` around each model call calls the next model or provider when one fails. It is
 * below tool resolution, so no tool runs twice because a model failed. Each model can have a circuit breaker.
 */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as ExecutionPlan from "effect/ExecutionPlan"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import type * as Schedule from "effect/Schedule"
import * as Stream from "effect/Stream"
import * as AiError from "effect/ai/AiError"
import * as LanguageModel from "effect/ai/LanguageModel"
import * as CircuitBreaker from "effect/persistence/CircuitBreaker"
import { wrapModel, type Wrapper } from "./internal/model/wrapModel.ts"
import {
  aFunction,
  anArray,
  anObject,
  anything,
  aPositiveCount,
  aSchedule,
  aTimeLimit,
  checkArgument,
  checkOptions,
  either,
  type Kind
} from "./internal/foundation/options/optionCheck.ts"
import { CurrentRun, emit } from "./internal/run/run.ts"
import * as ModelRequest from "./internal/model/sendRequest.ts"

/**
 * Options of the fallback.
 *
 * @category options
 * @since 0.2.0
 */
export interface Options {
  /**
   * True for failures after which the next model is called. Default: all except refused requests and refused content.
   */
  readonly while?: ((error: AiError.AiError) => boolean) | undefined
  /** Calls of each model before the next model is called. Default: 1. */
  readonly attempts?: number | undefined
  /** Waits between the calls of one model. */
  readonly schedule?: Schedule.Schedule<unknown, AiError.AiError> | undefined
  /** Leaves out a model that keeps failing. Default: none. */
  readonly circuitBreaker?: {
    readonly tripPolicy: CircuitBreaker.TripPolicy
    readonly openDuration: Duration.Input
  } | undefined
}

const kinds: Readonly<Record<keyof Options, Kind>> = {
  while: aFunction,
  attempts: aPositiveCount,
  schedule: aSchedule,
  circuitBreaker: anObject
}

/** Throws `ConfigurationError` for options that the compiler refuses. */
const checkFallback = (models: ReadonlyArray<ModelLayer>, options: Options): void => {
  const subject = "ModelFallback.layer"
  checkArgument(subject, "its models", models, {
    ...anArray,
    called: "a list of layers",
    is: (value) => anArray.is(value) && models.length > 0
  })
  checkOptions(subject, options, { kinds, otherNames: { times: "attempts" } })
  const { circuitBreaker } = options
  if (circuitBreaker === undefined) return
  checkArgument(subject, "circuitBreaker.tripPolicy", circuitBreaker.tripPolicy, anything)
  checkArgument(subject, "circuitBreaker.openDuration", circuitBreaker.openDuration, either(aTimeLimit, aSchedule))
}

const refused: ReadonlySet<string> = new Set<AiError.AiErrorReason["_tag"]>([
  "InvalidRequestError",
  "ContentPolicyError",
  "InvalidUserInputError",
  "UnsupportedSchemaError"
])

const failOver = (error: AiError.AiError): boolean => !refused.has(error.reason._tag)

const isRefusal = (cause: Cause.Cause<unknown>): boolean =>
  cause.reasons.some((reason) =>
    Cause.isFailReason(reason) && AiError.isAiError(reason.error) && !failOver(reason.error)
  )

type Guard = <A, E, R>(call: Effect.Effect<A, E, R>) => Effect.Effect<A, E | AiError.AiError, R>

const unguarded: Guard = (call) => call

const open = (index: number): AiError.AiError =>
  AiError.make({
    module: "ModelFallback",
    method: "call",
    reason: new AiError.InternalProviderError({ description: `Model ${index + 1} is left out: its circuit is open` })
  })

/**
 * Counts failed calls of a model, and fails at once while its circuit is open. A refusal by the model is no failure of
 * it.
 */
const guardOf = (breaker: CircuitBreaker.CircuitBreaker, index: number): Guard => (call) =>
  Effect.catchIf(
    breaker.execute(call, {
      key: `model-${index}`,
      classify: (exit) =>
        Exit.isSuccess(exit)
          ? CircuitBreaker.success
          : isRefusal(exit.cause)
          ? CircuitBreaker.ignored
          : CircuitBreaker.failure()
    }),
    (error) => error instanceof CircuitBreaker.CircuitBreakerError,
    () => Effect.fail(open(index))
  ) as never

/** A started stream: the guard is around the pull of its first parts. */
const pipeGuarded = Effect.fnUntraced(function*<A, E>(guard: Guard, stream: Stream.Stream<A, E>) {
  const pull = yield* Stream.toPull(stream)
  const first = yield* guard(pull)
  return Stream.concat(Stream.fromIterable(first), Stream.fromPull(Effect.succeed(pull)))
})

/** A stream whose first parts are guarded: from then on the model has answered. */
const guardedStream = <A, E>(guard: Guard, stream: Stream.Stream<A, E>): Stream.Stream<A, E | AiError.AiError> =>
  Stream.unwrap(pipeGuarded(guard, stream)) as Stream.Stream<A, E | AiError.AiError>

class Model extends Context.Service<Model, {
  readonly model: LanguageModel.LanguageModel
  readonly guard: Guard
}>()("@recourse/core/ModelFallback/Model") {}

/**
 * A language model that asks the first of several, and when that fails the next.
 *
 * The models are built once. A streamed answer falls over only before its first part. Calls of `generateObject` fall over
 * as a whole, unless they resolve tools themselves: those are the first model's alone.
 *
 * **Example** (The second answers when the first is down)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Agent, ModelFallback } from "@recourse/core"
 * import { ScriptedModel } from "@recourse/testing"
 *
 * const model = ModelFallback.layer([
 *   ScriptedModel.layer([ScriptedModel.failure("NetworkError")]),
 *   ScriptedModel.layer([ScriptedModel.text("hello from the second")])
 * ])
 *
 * await Effect.runPromise(Agent.make("greeter", {}).run("hi").pipe(Effect.provide(model))) // => "hello from the second"
 * ```
 *
 * @category layers
 * @since 0.2.0
 */
export const layer = <const Models extends readonly [ModelLayer, ...ReadonlyArray<ModelLayer>]>(
  models: Models,
  options: Options = {}
): Layer.Layer<LanguageModel.LanguageModel, Layer.Error<Models[number]>, Layer.Services<Models[number]>> => {
  checkFallback(models, options)
  return Layer.effect(
    LanguageModel.LanguageModel,
    Effect.gen(function*() {
      const built = yield* Effect.forEach(
        models,
        (model) => Effect.map(Layer.build(model), Context.get(LanguageModel.LanguageModel))
      )
      const breaker = options.circuitBreaker === undefined
        ? undefined
        : yield* Effect.provide(CircuitBreaker.make(options.circuitBreaker), CircuitBreaker.layerStoreMemory())
      const steps = built.map((model, index) => ({
        provide: Context.make(Model, { model, guard: breaker === undefined ? unguarded : guardOf(breaker, index) }),
        attempts: options.attempts ?? 1,
        while: options.while ?? failOver,
        ...(options.schedule === undefined ? undefined : { schedule: options.schedule })
      }))
      const plan = ExecutionPlan.make(...steps as [typeof steps[0], ...typeof steps])
      const onEvent = (event: ExecutionPlan.Event<unknown>) =>
        event._tag === "AttemptStart" && event.stepIndex > 0
          ? Effect.flatMap(
            CurrentRun,
            (run) => emit(run, () => ({ _tag: "ModelFallback", model: event.stepIndex + 1 }))
          )
          : Effect.void

      const generate = (request: ModelRequest.Request) =>
        Effect.flatMap(Model, ({ guard, model }) => guard(ModelRequest.generateEncoded(model, request))).pipe(
          Effect.withExecutionPlan(plan, { onEvent })
        )
      const stream = (request: ModelRequest.Request) =>
        Stream.unwrap(
          Effect.map(Model, ({ guard, model }) => guardedStream(guard, ModelRequest.streamEncoded(model, request)))
        )
          .pipe(
            Stream.withExecutionPlan(plan, { preventFallbackOnPartialStream: true, onEvent })
          )
      const object: Wrapper["object"] = (call) =>
        Effect.flatMap(Model, ({ guard, model }) => guard(call(model))).pipe(
          Effect.withExecutionPlan(plan, { onEvent })
        )
      return yield* wrapModel(built[0]!, { generate, stream, object })
    })
  ) as never
}

/**
 * A layer of a language model, which may provide more besides.
 *
 * @category models
 * @since 0.2.0
 */
export type ModelLayer = Layer.Layer<LanguageModel.LanguageModel, unknown, unknown>
