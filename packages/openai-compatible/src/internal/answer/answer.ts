/** Answers of the server, whole or streamed, converted to response parts or to the reason of a failure. */
import * as AiError from "effect/ai/AiError"
import type * as Response from "effect/ai/Response"
import type { NonEmptyReadonlyArray } from "effect/Array"
import * as Arr from "effect/Array"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Pull from "effect/Pull"
import * as Result from "effect/Result"
import * as Stream from "effect/Stream"
import type * as IdleTimeout from "@recourse/core/IdleTimeout"
import * as JsonText from "@recourse/core/JsonText"
import * as ProviderResponse from "@recourse/core/ProviderResponse"
import * as ChatResponse from "./chatResponse.ts"
import { ChatStream, type Step } from "./chatStream.ts"
import * as Connection from "../connection/connection.ts"
import * as EventStream from "./eventStream.ts"
import * as ErrorCodes from "../connection/errorCodes.ts"
import * as ProviderError from "../connection/providerError.ts"
import type { Quirks } from "../../Quirks.ts"
import type { Target } from "../connection/target.ts"

export type ToolMode = Quirks["tools"]

export interface Context {
  readonly target: Target
  readonly toolMode: ToolMode
  readonly newId: () => string
  /** The tools whose calls may be in the text; none if the text is to be JSON. */
  readonly tools: ReadonlyArray<string>
  /** The time in milliseconds at which the answer began. */
  readonly now: number
}

/** The parts of an answer that was asked for whole. */
export const whole = (
  answer: Connection.Received,
  context: Context
): Result.Result<Array<Response.PartEncoded>, AiError.AiErrorReason> =>
  Result.mapError(
    read(answer, context),
    (reason) => ProviderResponse.keep(reason, answer.body, context.target.scrub)
  )

const read = (
  answer: Connection.Received,
  context: Context
): Result.Result<Array<Response.PartEncoded>, AiError.AiErrorReason> => {
  const { now, target } = context
  const http = () => ProviderError.httpContext(answer, target)
  const failed = (codes: ErrorCodes.Codes) => Result.fail(ProviderError.reason({ ...answer, codes }, target, now))
  if (answer.status >= 300) return failed(ErrorCodes.codesOfBody(answer.body))
  let json: unknown
  try {
    json = JSON.parse(answer.body)
  } catch {
    if (EventStream.isEventStream(answer.body)) return wholeOfEvents(answer, context)
    return Result.fail(
      JsonText.isCutOff(answer.body) && answer.body.trim() !== ""
        ? Connection.broken(target, "The answer ended before it was complete", undefined)
        : new AiError.InvalidResponseError({ description: "The server's answer is not JSON.", http: http() })
    )
  }
  const error = ErrorCodes.errorObject(json)
  if (error !== undefined) return failed(ErrorCodes.codes(error))
  const completion = ChatResponse.decodeCompletion(json, http)
  return Result.isFailure(completion)
    ? Result.fail(completion.failure)
    : ChatResponse.parts(completion.success, { ...context, http })
}

const assemblerOf = (
  answer: Pick<Connection.Received, "status" | "headers">,
  context: Context
): ChatStream => {
  const { now, target } = context
  return new ChatStream({
    ...context,
    http: () => ProviderError.httpContext(answer, target),
    errorReason: (codes, body, hasContent) => ProviderError.reason({ ...answer, body, codes, hasContent }, target, now),
    truncated: () => Connection.broken(target, "The answer ended before it was complete", undefined)
  })
}

/** The parts of an answer that came as events although it was asked for whole: some gateways always stream. */
const wholeOfEvents = (
  answer: Connection.Received,
  context: Context
): Result.Result<Array<Response.PartEncoded>, AiError.AiErrorReason> => {
  const parser = EventStream.make()
  const assembler = assemblerOf(answer, context)
  const parts: Array<Response.StreamPartEncoded> = []
  const events = [...parser.push(new TextEncoder().encode(answer.body)), ...parser.finish().events]
  for (const event of events) {
    const step = assembler.push(event)
    parts.push(...step.parts)
    if (step.failure !== undefined) return Result.fail(step.failure)
    if (step.done === true) return Result.succeed(wholeParts(parts))
  }
  const last = assembler.finish()
  return last.failure === undefined ? Result.succeed(wholeParts([...parts, ...last.parts])) : Result.fail(last.failure)
}

/** The parts of a stream as those of a whole answer. */
const wholeParts = (parts: ReadonlyArray<Response.StreamPartEncoded>): Array<Response.PartEncoded> => {
  const out: Array<Response.PartEncoded> = []
  let text = ""
  for (const part of parts) {
    switch (part.type) {
      case "text-start":
      case "reasoning-start":
        text = ""
        break
      case "text-delta":
      case "reasoning-delta":
        text += part.delta
        break
      case "text-end":
      case "reasoning-end": {
        const { metadata } = part
        const type = part.type === "text-end" ? "text" : "reasoning"
        out.push({ type, text, ...(metadata === undefined ? undefined : { metadata }) })
        break
      }
      case "tool-params-start":
      case "tool-params-delta":
      case "tool-params-end":
      case "error":
        break
      default:
        out.push(part)
    }
  }
  return out
}

/** The parts of an answer that was asked for as a stream. A server that answers whole all the same is understood too. */
export const streamed = (
  answer: Connection.Received | Connection.Opened,
  context: Context
): Stream.Stream<Response.StreamPartEncoded, AiError.AiErrorReason> => {
  if (answer._tag === "Opened") return events(answer, context)
  const parts = whole(answer, context)
  return Result.isFailure(parts) ? Stream.fail(parts.failure) : Stream.fromIterable(parts.success.flatMap(streamPart))
}

const streamPart = (part: Response.PartEncoded, index: number): ReadonlyArray<Response.StreamPartEncoded> => {
  switch (part.type) {
    case "text": {
      const id = `text_${index}`
      return [{ type: "text-start", id }, { type: "text-delta", id, delta: part.text }, { type: "text-end", id }]
    }
    case "reasoning": {
      const id = `reasoning_${index}`
      return [
        { type: "reasoning-start", id },
        { type: "reasoning-delta", id, delta: part.text },
        { type: "reasoning-end", id }
      ]
    }
    default:
      return [part]
  }
}

const events = (
  answer: Connection.Opened,
  context: Context
): Stream.Stream<Response.StreamPartEncoded, AiError.AiErrorReason> =>
  Stream.fromPull(Effect.sync(() => parts(answer, context)))

/** Pulls the parts of a stream's answer. */
const parts = (
  answer: Connection.Opened,
  context: Context
): Pull.Pull<NonEmptyReadonlyArray<Response.StreamPartEncoded>, AiError.AiErrorReason> => {
  const { target } = context
  const parser = EventStream.make()
  const assembler = assemblerOf(answer, context)
  let ended = false
  let failure: AiError.AiErrorReason | undefined

  const feed = (events: ReadonlyArray<EventStream.Event>): Array<Response.StreamPartEncoded> => {
    const out: Array<Response.StreamPartEncoded> = []
    for (const event of events) {
      if (ended) break
      settle(assembler.push(event), out)
    }
    return out
  }
  const settle = (step: Step, out: Array<Response.StreamPartEncoded>) => {
    if (step.content === true) answer.limits.heard("content")
    for (const part of step.parts) out.push(part)
    failure = step.failure
    ended = step.failure !== undefined || step.done === true
  }
  /** Ends a body that was not of events: it may be a whole answer. */
  const endOther = (text: string): Array<Response.StreamPartEncoded> => {
    const { headers, request, status } = answer
    const parts = whole({ _tag: "Received", request, status, headers, body: text }, context)
    ended = true
    if (Result.isSuccess(parts)) return parts.success.flatMap(streamPart)
    failure = parts.failure
    return []
  }
  const end = (): Array<Response.StreamPartEncoded> => {
    const { events, other } = parser.finish()
    if (other !== undefined) return endOther(other)
    const out = feed(events)
    if (!ended) settle(assembler.finish(), out)
    ended = true
    return out
  }
  /** Silence after the reason of the end is an end; before it, it is why the answer is cut off. */
  const fellSilent = (silence: IdleTimeout.IdleTimeoutError): Array<Response.StreamPartEncoded> => {
    const out: Array<Response.StreamPartEncoded> = []
    settle(assembler.finish(), out)
    if (failure !== undefined) failure = Connection.broken(target, silence.message, undefined)
    ended = true
    return out
  }

  // Parts come out before the failure that follows them, in whatever split the bytes arrive.
  const next: Pull.Pull<NonEmptyReadonlyArray<Response.StreamPartEncoded>, AiError.AiErrorReason> = Effect.suspend(
    () => {
      if (ended) return failure === undefined ? Cause.done() : Effect.fail(failure)
      return answer.body.pipe(
        Effect.map((chunks) => feed(chunks.flatMap(parser.push))),
        Pull.catchDone(() => Effect.sync(end)),
        Effect.catchTag("IdleTimeoutError", (silence) => Effect.sync(() => fellSilent(silence))),
        Effect.flatMap((parts) => Arr.isArrayNonEmpty(parts) ? Effect.succeed(parts) : next)
      )
    }
  )
  return next
}
