/**
 * Scripted model: a language model that plays a list of turns, one for each model call, and records its requests.
 *
 * It is an ordinary `LanguageModel`, so whatever takes one can be tested with it, streamed or not.
 */
import { Context, Duration, Effect, Layer, Schema, Stream } from "effect"
import { AiError, LanguageModel, type Prompt } from "effect/ai"
import { ConfigurationError, ModelProvider } from "@recourse/core"
import { type Answer, partsOf, type ScriptedCall, streamed } from "./internal/script/answer.ts"

export type { Answer, ScriptedCall } from "./internal/script/answer.ts"

/**
 * A failed model call.
 *
 * @category models
 * @since 0.2.0
 */
export interface Failure {
  readonly _tag: "Failure"
  readonly error: AiError.AiError
}

/**
 * A model call that never ends.
 *
 * @category models
 * @since 0.2.0
 */
export interface Hang {
  readonly _tag: "Hang"
}

/**
 * A turn that begins after a wait.
 *
 * @category models
 * @since 0.2.0
 */
export interface Delay {
  readonly _tag: "Delay"
  readonly duration: Duration.Duration
  readonly turn: Turn
}

/**
 * An answer that is cut off after some of its parts: by an error, or by simply ending.
 *
 * @category models
 * @since 0.2.0
 */
export interface Cut {
  readonly _tag: "Cut"
  readonly answer: Answer
  readonly after: number
  readonly clean: boolean
}

/**
 * One model call of a script.
 *
 * **Example** (A script of two turns)
 *
 * ```ts
 * import { ScriptedModel } from "@recourse/testing"
 *
 * const turns: ReadonlyArray<ScriptedModel.Turn> = [ScriptedModel.failure("RateLimitError"), ScriptedModel.text("hello")]
 * turns.map((turn) => turn._tag) // => ["Failure", "Answer"]
 * ```
 *
 * @category models
 * @since 0.2.0
 */
export type Turn = Answer | Failure | Hang | Delay | Cut

/**
 * A text answer.
 *
 * **Example** (A text, and its reported tokens)
 *
 * ```ts
 * import { ScriptedModel } from "@recourse/testing"
 *
 * ScriptedModel.text("hello").text // => "hello"
 * ScriptedModel.text("hello", { usage: { input: 3, output: 1 } }).usage // => { input: 3, output: 1 }
 * ```
 *
 * @category constructors
 * @since 0.2.0
 */
export const text = (text: string, options?: Omit<Answer, "_tag" | "text">): Answer => ({
  _tag: "Answer",
  text,
  ...options
})

/**
 * An answer that is an object, for structured output.
 *
 * @category constructors
 * @since 0.2.0
 */
export const object = (value: unknown): Answer => ({ _tag: "Answer", text: JSON.stringify(value) })

/**
 * An answer with one tool call.
 *
 * **Example** (A tool call)
 *
 * ```ts
 * import { ScriptedModel } from "@recourse/testing"
 *
 * ScriptedModel.call("search", { text: "tea" }).calls // => [{ name: "search", params: { text: "tea" } }]
 * ```
 *
 * @category constructors
 * @since 0.2.0
 */
export const call = (name: string, params: unknown, options?: { readonly id?: string | undefined }): Answer => ({
  _tag: "Answer",
  calls: [{ name, params, ...options }]
})

/**
 * An answer with several tool calls.
 *
 * **Example** (Two calls in one answer)
 *
 * ```ts
 * import { ScriptedModel } from "@recourse/testing"
 *
 * const answer = ScriptedModel.calls([
 *   { name: "search", params: { text: "tea" } },
 *   { name: "search", params: { text: "cups" }, id: "second" }
 * ])
 *
 * answer.calls?.map(({ id }) => id) // => [undefined, "second"]
 * ```
 *
 * @category constructors
 * @since 0.2.0
 */
export const calls = (calls: ReadonlyArray<ScriptedCall>, options?: Omit<Answer, "_tag" | "calls">): Answer => ({
  _tag: "Answer",
  calls,
  ...options
})

/**
 * All reasons that a scripted model call can fail with.
 *
 * @category constants
 * @since 0.2.0
 */
export const failureReasons = [
  "RateLimitError",
  "QuotaExhaustedError",
  "AuthenticationError",
  "ContentPolicyError",
  "InvalidRequestError",
  "InvalidResponseError",
  "InternalProviderError",
  "NetworkError",
  "InvalidOutputError",
  "StructuredOutputError",
  "UnknownError"
] as const

const reasons: Readonly<Record<FailureReason, (retryAfter?: Duration.Input) => AiError.AiErrorReason>> = {
  RateLimitError: (retryAfter?: Duration.Input) =>
    new AiError.RateLimitError(
      retryAfter === undefined ? {} : { retryAfter: Duration.fromInputUnsafe(retryAfter) }
    ),
  QuotaExhaustedError: () => new AiError.QuotaExhaustedError({}),
  AuthenticationError: () => new AiError.AuthenticationError({ kind: "InvalidKey" }),
  ContentPolicyError: () => new AiError.ContentPolicyError({ description: "scripted" }),
  InvalidRequestError: () => new AiError.InvalidRequestError({}),
  InvalidResponseError: () => new AiError.InvalidResponseError({ description: "scripted" }),
  InternalProviderError: () => new AiError.InternalProviderError({ description: "scripted" }),
  NetworkError: () =>
    new AiError.NetworkError({ reason: "TransportError", method: "POST", url: "http://localhost/scripted" }),
  InvalidOutputError: () => new AiError.InvalidOutputError({ description: "scripted" }),
  StructuredOutputError: () => new AiError.StructuredOutputError({ description: "scripted", responseText: "" }),
  UnknownError: () => new AiError.UnknownError({})
}

/**
 * The reasons that a scripted model call can fail with.
 *
 * @category models
 * @since 0.2.0
 */
export type FailureReason = (typeof failureReasons)[number]

/**
 * A model call that fails with a reason. `retryAfter` is for `RateLimitError`.
 *
 * **Example** (A rate limit)
 *
 * ```ts
 * import { ScriptedModel } from "@recourse/testing"
 *
 * ScriptedModel.failure("RateLimitError", { retryAfter: "1 second" }).error.reason._tag // => "RateLimitError"
 * ```
 *
 * @category constructors
 * @since 0.2.0
 */
export const failure = (
  reason: FailureReason,
  options?: { readonly retryAfter?: Duration.Input | undefined }
): Failure => ({
  _tag: "Failure",
  error: AiError.make({ module: "ScriptedModel", method: "call", reason: reasons[reason](options?.retryAfter) })
})

/**
 * A model call that fails with an error of your own making.
 *
 * @category constructors
 * @since 0.2.0
 */
export const failWith = (error: AiError.AiError): Failure => ({ _tag: "Failure", error })

/**
 * A model call that never ends.
 *
 * @category constructors
 * @since 0.2.0
 */
export const hang: Hang = { _tag: "Hang" }

/**
 * A turn that begins after a wait.
 *
 * @category constructors
 * @since 0.2.0
 */
export const delay = (duration: Duration.Input, turn: Turn): Delay => ({
  _tag: "Delay",
  duration: Duration.fromInputUnsafe(duration),
  turn
})

/**
 * An answer that is cut off after `after` of its parts: by a network error, or, if `clean`, by simply ending. A call
 * that is not streamed fails with the error in both cases.
 *
 * @category constructors
 * @since 0.2.0
 */
export const cut = (
  answer: Answer,
  options: { readonly after: number; readonly clean?: boolean | undefined }
): Cut => ({
  _tag: "Cut",
  answer,
  after: options.after,
  clean: options.clean ?? false
})

/**
 * Request of one call to the model.
 *
 * @category models
 * @since 0.2.0
 */
export interface Request {
  readonly prompt: Prompt.Prompt
  /** Names of the tools it was offered. */
  readonly tools: ReadonlyArray<string>
  readonly format: "text" | "json"
  readonly streaming: boolean
}

/**
 * A model that decides its turn from the request; `index` counts its calls, from 0. Being a function of the request
 * makes it answer a repeated request as it did before, which a list of turns does not.
 *
 * @category models
 * @since 0.2.0
 */
export type Behaviour = (request: Request, index: number) => Turn

/**
 * A behaviour that gives the first turn to a new conversation, the second once the conversation holds one answer, and so
 * on; the last for ever. A call that failed and is made again gets the same turn.
 *
 * **Example** (Two runs that each start at the first turn)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Agent } from "@recourse/core"
 * import { ScriptedModel } from "@recourse/testing"
 *
 * const greeter = Agent.make("greeter", { instructions: "Be polite." })
 * const Model = ScriptedModel.layer(ScriptedModel.steps([ScriptedModel.text("hello"), ScriptedModel.text("again")]))
 * const program = Effect.all([greeter.run("Say hello"), greeter.run("Say hello")])
 *
 * await Effect.runPromise(program.pipe(Effect.provide(Model))) // => ["hello", "hello"]
 * ```
 *
 * @category constructors
 * @since 0.2.0
 */
export const steps = (turns: readonly [Turn, ...ReadonlyArray<Turn>]): Behaviour => ({ prompt }) =>
  turns[prompt.content.filter((message) => message.role === "assistant").length] ?? turns.at(-1)!

/**
 * The script has no turn for a model call, or was not played to its end. A defect: the test is wrong, or the agent is.
 *
 * @category errors
 * @since 0.2.0
 */
export class ScriptError extends Schema.TaggedError<ScriptError>()("ScriptError", {
  problem: Schema.String
}) {
  override get message(): string {
    return this.problem
  }
}

/**
 * Requests to a scripted model, and whether its script is used up.
 *
 * **Example** (The messages of a request)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Agent } from "@recourse/core"
 * import { ScriptedModel } from "@recourse/testing"
 *
 * const program = Effect.gen(function*() {
 *   yield* Agent.make("greeter", { instructions: "Be polite." }).run("Say hello")
 *   const { prompt } = yield* (yield* ScriptedModel.ScriptedModel).lastRequest
 *   return prompt.content.map(({ role }) => role)
 * })
 *
 * await Effect.runPromise(program.pipe(Effect.provide(ScriptedModel.layer([ScriptedModel.text("hello")])))) // => ["system", "user"]
 * ```
 *
 * @category services
 * @since 0.2.0
 */
export class ScriptedModel extends Context.Service<ScriptedModel, {
  /** All requests so far. */
  readonly requests: Effect.Effect<ReadonlyArray<Request>>
  /** The newest request; dies if there is none. */
  readonly lastRequest: Effect.Effect<Request>
  /** Dies if turns of the script are left. */
  readonly assertComplete: Effect.Effect<void>
}>()("@recourse/testing/ScriptedModel") {}

const lastMessage = (prompt: Prompt.Prompt): string => {
  const message = prompt.content.at(-1)
  return message === undefined ? "nothing" : `${message.role}: ${JSON.stringify(message.content)}`
}

const scriptError = (problem: string): Effect.Effect<never> => Effect.die(new ScriptError({ problem }))

/** Made when it is needed: an error holds the frames below it, and all that these can reach. */
const broken = () => AiError.make({ module: "ScriptedModel", method: "call", reason: reasons.NetworkError() })

const played = (turn: Turn): Effect.Effect<Answer | Cut, AiError.AiError> => {
  switch (turn._tag) {
    case "Failure":
      return Effect.fail(turn.error)
    case "Hang":
      return Effect.never
    case "Delay":
      return Effect.andThen(Effect.sleep(turn.duration), played(turn.turn))
    default:
      return Effect.succeed(turn)
  }
}

const tags: ReadonlySet<unknown> = new Set<Turn["_tag"]>(["Answer", "Cut", "Delay", "Failure", "Hang"])

const isTurn = (value: unknown): value is Turn =>
  typeof value === "object" && value !== null && tags.has(Reflect.get(value, "_tag"))

const example = "ScriptedModel.layer([ScriptedModel.text(\"Hello\")])"

/** The turns of a script. Throws `ConfigurationError` for values that the compiler refuses. */
const checkedTurns = (turns: Iterable<Turn>): ReadonlyArray<Turn> => {
  const refuse = (problem: string): never => {
    throw new ConfigurationError.ConfigurationError({ subject: "ScriptedModel", problem })
  }
  if (typeof turns !== "object" || turns === null || !(Symbol.iterator in turns)) {
    return refuse(`its turns have to be a list or a function: ${example}`)
  }
  const list = [...turns]
  const wrong = list.findIndex((turn) => !isTurn(turn))
  return wrong < 0 ? list : refuse(`turn ${wrong + 1} is no turn of a script. Make each turn: ${example}`)
}

/** The turns of a model, and its requests so far. */
class Script {
  private readonly turns: ReadonlyArray<Turn> | Behaviour
  private readonly requests: Array<Request> = []

  constructor(turns: Iterable<Turn> | Behaviour) {
    this.turns = typeof turns === "function" ? turns : checkedTurns(turns)
  }

  /** Records a request, and plays its turn up to an answer. */
  play(options: LanguageModel.ProviderOptions, streaming: boolean): Effect.Effect<Answer | Cut, AiError.AiError> {
    return Effect.suspend(() => {
      const { turns } = this
      const request: Request = {
        prompt: options.prompt,
        tools: options.tools.map((tool) => tool.name),
        format: options.responseFormat.type,
        streaming
      }
      const index = this.requests.push(request) - 1
      const turn = typeof turns === "function" ? turns(request, index) : turns[index]
      return turn === undefined
        ? scriptError(
          `The script has ${
            typeof turns === "function" ? 0 : turns.length
          } turns, and the model was called once more, with ${lastMessage(options.prompt)}`
        )
        : played(turn)
    })
  }

  get service(): ScriptedModel["Service"] {
    const { requests, turns } = this
    return {
      requests: Effect.sync(() => [...requests]),
      lastRequest: Effect.suspend(() => {
        const request = requests.at(-1)
        return request === undefined ? scriptError("The model was not called") : Effect.succeed(request)
      }),
      assertComplete: Effect.suspend(() =>
        typeof turns !== "function" && requests.length < turns.length
          ? scriptError(`The model was called ${requests.length} times, and the script has ${turns.length} turns`)
          : Effect.void
      )
    }
  }
}

/**
 * Makes the model and its record.
 *
 * @category constructors
 * @since 0.2.0
 */
export const make = (
  turns: Iterable<Turn> | Behaviour
): Effect.Effect<{ readonly model: LanguageModel.LanguageModel; readonly script: ScriptedModel["Service"] }> =>
  Effect.gen(function*() {
    const script = new Script(turns)
    let ids = 0
    const nextId = () => `call_${++ids}`
    const model = yield* ModelProvider.make({
      generateText: (options) =>
        Effect.flatMap(
          script.play(options, false),
          (turn) => turn._tag === "Cut" ? Effect.failSync(broken) : Effect.sync(() => [...partsOf(turn, nextId)])
        ),
      streamText: (options) =>
        Stream.unwrap(Effect.map(script.play(options, true), (turn) => {
          if (turn._tag === "Answer") return streamed(turn, nextId)
          const parts = streamed(turn.answer, nextId, turn.after)
          return turn.clean ? parts : Stream.concat(parts, Stream.failSync(broken))
        }))
    })
    return { model, script: script.service }
  })

/**
 * A layer of a scripted model.
 *
 * **Example** (A model that says hello, once)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { LanguageModel } from "effect/ai"
 * import { ScriptedModel } from "@recourse/testing"
 *
 * const program = Effect.gen(function*() {
 *   const { text } = yield* LanguageModel.generateText({ prompt: "Say hello" })
 *   const script = yield* ScriptedModel.ScriptedModel
 *   yield* script.assertComplete
 *   return [text, (yield* script.requests).length]
 * })
 *
 * await Effect.runPromise(program.pipe(Effect.provide(ScriptedModel.layer([ScriptedModel.text("hello")])))) // => ["hello", 1]
 * ```
 *
 * @category layers
 * @since 0.2.0
 */
export const layer = (turns: Iterable<Turn> | Behaviour): Layer.Layer<LanguageModel.LanguageModel | ScriptedModel> =>
  Layer.effectContext(
    Effect.map(
      make(turns),
      ({ model, script }) => Context.make(LanguageModel.LanguageModel, model).pipe(Context.add(ScriptedModel, script))
    )
  )
