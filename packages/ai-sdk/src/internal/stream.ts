/** A streamed answer of an AI SDK model as stream parts. */
import type { LanguageModelV4FinishReason, LanguageModelV4StreamPart, SharedV4Warning } from "@ai-sdk/provider"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import type * as Pull from "effect/Pull"
import * as Stream from "effect/Stream"
import type * as AiError from "effect/ai/AiError"
import type * as Response from "effect/ai/Response"
import type * as IdleTimeout from "@recourse/core/IdleTimeout"
import * as Errors from "./errors.ts"
import * as TextCall from "@recourse/core/TextCall"
import { streamParts } from "./normalAnswer.ts"
import {
  citations,
  finish,
  leftCall,
  metadata,
  type Reader,
  repeatedCalls,
  responseMetadata,
  type SharedPart,
  sharedPart
} from "./response.ts"

/**
 * The parts of a streamed answer. Text, reasoning and the text of tool arguments come as they arrive. Tool calls wait
 * until the provider has said that the message is complete, and everything that goes into the history behind a call
 * waits with it, so that the history keeps the model's order. A stream that ends before that fails and yields no call.
 */
export const toStreamParts = (
  stream: ReadableStream<LanguageModelV4StreamPart>,
  reader: Reader,
  limits: IdleTimeout.IdleTimeout,
  onWarnings: (warnings: ReadonlyArray<SharedV4Warning>) => Effect.Effect<void>
): Stream.Stream<Response.StreamPartEncoded, AiError.AiError> =>
  Stream.suspend(() => {
    const assembly = new Assembly(reader)
    const parts = Stream.fromReadableStream({ evaluate: () => stream, onError: (cause) => new ReadFailure(cause) })
    // no part of an answer follows its end
    const fellSilent = (silence: IdleTimeout.IdleTimeoutError): Pull.Pull<never, AiError.AiError> =>
      assembly.isFinished ? Cause.done() : Effect.fail(Errors.silent("streamText", silence))
    const normal = streamParts()
    return Stream.transformPull(
      Stream.map(parts, normal),
      (pull) => Effect.succeed(Effect.catchTag(limits.wait(pull), "IdleTimeoutError", fellSilent))
    ).pipe(
      Stream.filter((part) => part !== undefined),
      Stream.tap((part) => Effect.sync(() => limits.heard(activityOf(part)))),
      Stream.tap((part) => part.type === "stream-start" ? onWarnings(part.warnings) : Effect.void),
      Stream.mapEffect((part) => assembly.next(part)),
      Stream.flattenIterable,
      Stream.concat(Stream.suspend(() => Stream.unwrap(Effect.map(assembly.end(), Stream.fromIterable)))),
      Stream.catch((error) =>
        Stream.fromEffect(
          error instanceof ReadFailure ? Effect.flip(fail(error.cause)) : Effect.succeed(error)
        ).pipe(Stream.flatMap(Stream.fail))
      )
    )
  })

/** Failure of the provider's stream; classified once, at the end of the pipe. */
class ReadFailure {
  readonly cause: unknown
  constructor(cause: unknown) {
    this.cause = cause
  }
}

const fail = (cause: unknown, isInPlaceOfAnswer = false) =>
  Effect.flatMap(Errors.fromUnknown("streamText", cause, isInPlaceOfAnswer), Effect.fail)

class Assembly {
  private readonly reader: Reader
  private held: Array<Response.StreamPartEncoded> = []
  private holding = false
  private readonly isRepeated = repeatedCalls()
  private text = ""
  private hasContent = false
  private finished: Extract<LanguageModelV4StreamPart, { type: "finish" }> | undefined

  constructor(reader: Reader) {
    this.reader = reader
  }

  get isFinished(): boolean {
    return this.finished !== undefined
  }

  next(part: LanguageModelV4StreamPart): Effect.Effect<ReadonlyArray<Response.StreamPartEncoded>, AiError.AiError> {
    if (part.type === "error") return fail(part.error, !this.hasContent)
    return Effect.sync(() => {
      this.hasContent ||= activityOf(part) === "content"
      if (part.type === "finish") {
        this.finished = part
        return []
      }
      this.holding ||= part.type === "tool-call" && part.providerExecuted !== true
      if (part.type === "text-delta") this.text += part.delta
      const parts = toParts(part, this.reader).filter((part) => !this.isRepeated(part))
      if (!this.holding || progress.has(part.type)) return parts
      this.held.push(...parts)
      return []
    })
  }

  end(): Effect.Effect<ReadonlyArray<Response.StreamPartEncoded>, AiError.AiError> {
    return Effect.suspend(() =>
      this.finished === undefined || isCut(this.finished.finishReason)
        ? Effect.fail(Errors.cut("streamText"))
        : !this.holding && TextCall.isLeftIn(this.text, this.reader.offered)
        ? Effect.fail(Errors.make("streamText", leftCall()))
        // one chunk: effect/ai looks at the finish reason before it starts the handlers of the calls in the same chunk
        : Effect.succeed([...this.held, finish(this.finished)])
    )
  }
}

/**
 * Meaning of a part for the server's liveness: openings come before the model thinks, raw chunks and pings are only
 * liveness signs.
 */
const activityOf = (part: LanguageModelV4StreamPart): "content" | "ping" | "pause" => {
  switch (part.type) {
    case "stream-start":
    case "response-metadata":
    case "reasoning-start":
      return "pause"
    case "raw":
    case "ping":
      return "ping"
    case "text-delta":
    case "reasoning-delta":
    case "tool-input-delta":
      return part.delta === "" ? "ping" : "content"
    default:
      return "content"
  }
}

/** Parts that never become a part of the history. */
const progress: ReadonlySet<LanguageModelV4StreamPart["type"]> = new Set([
  "tool-input-start",
  "tool-input-delta",
  "tool-input-end",
  "response-metadata"
])

/** No reason of the provider's own came. V4 packages have a word for it; those of V3 leave it at `other`. */
const isCut = ({ unified, raw }: LanguageModelV4FinishReason): boolean =>
  unified === "interrupted" || (unified === "other" && raw === undefined)

const toParts = (
  part: Exclude<LanguageModelV4StreamPart, { type: "finish" | "error" }>,
  reader: Reader
): ReadonlyArray<Response.StreamPartEncoded | SharedPart> => {
  switch (part.type) {
    case "text-start":
    case "reasoning-start":
    case "reasoning-end":
      return [{ type: part.type, id: part.id, ...metadata(part.providerMetadata) }]
    case "text-delta":
    case "reasoning-delta":
      return [{ type: part.type, id: part.id, delta: part.delta, ...metadata(part.providerMetadata) }]
    case "text-end":
      return [
        { type: "text-end", id: part.id, ...metadata(part.providerMetadata) },
        ...citations(part.citations, reader)
      ]
    case "tool-input-start":
      return [{
        type: "tool-params-start",
        id: part.id,
        name: part.toolName,
        ...(part.providerExecuted === true ? { providerExecuted: true } : undefined),
        ...metadata(part.providerMetadata)
      }]
    case "tool-input-delta":
      return [{ type: "tool-params-delta", id: part.id, delta: part.delta, ...metadata(part.providerMetadata) }]
    case "tool-input-end":
      return [{ type: "tool-params-end", id: part.id, ...metadata(part.providerMetadata) }]
    case "response-metadata":
      return responseMetadata(part)
    case "stream-start":
    case "raw":
    case "ping":
      return []
    default:
      return sharedPart(part, reader)
  }
}
