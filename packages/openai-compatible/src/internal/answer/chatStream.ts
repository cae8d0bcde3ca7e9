/**
 * A streamed chat completion as stream parts.
 *
 * Text, reasoning and the growing arguments of calls come out as they arrive. A `tool-call` part comes out only once the answer is known to be whole, that
 * is at `[DONE]`, or at the end of the body after a `finish_reason`. An end before that is a transport error.
 */
import * as AiError from "effect/ai/AiError"
import type * as Response from "effect/ai/Response"
import * as Result from "effect/Result"
import * as JsonText from "@recourse/core/JsonText"
import * as ChatResponse from "./chatResponse.ts"
import type { Event } from "./eventStream.ts"
import * as Facts from "./facts.ts"
import * as InlineTools from "../request/inlineTools.ts"
import * as ErrorCodes from "../connection/errorCodes.ts"
import * as ToolArguments from "./toolArguments.ts"
import * as Wire from "./wire.ts"

export interface Step {
  readonly parts: ReadonlyArray<Response.StreamPartEncoded>
  /** Whether the event was a piece of the answer, and not only a sign of life. */
  readonly content?: boolean | undefined
  /** Ends the stream after the parts. */
  readonly failure?: AiError.AiErrorReason | undefined
  /** The answer is whole: nothing after it is read. */
  readonly done?: boolean | undefined
}

export interface Context extends ChatResponse.Context {
  /** The reason of an error object inside the stream. */
  readonly errorReason: (codes: ErrorCodes.Codes, body: string) => AiError.AiErrorReason
  /** The error of a body that ended too early. */
  readonly truncated: () => AiError.AiErrorReason
}

interface Call {
  readonly id: string
  /** The id that the server gave, if it gave one. */
  readonly wireId: string | undefined
  name: string
  arguments: string
  /** How much of the arguments has come out. */
  shown: number
  readonly follower: JsonText.Follower
  /** Whether the arguments are one whole value, found once they have come to an end. */
  complete: boolean | undefined
}

export interface Assembler {
  readonly push: (event: Event) => Step
  readonly finish: () => Step
}

// oxlint-disable-next-line max-lines-per-function -- one assembler: its cases share what has been read of the answer
export const make = (context: Context): Assembler => {
  const uniqueId = ChatResponse.callIds(context.newId)
  const calls: Array<Call> = []
  const byIndex = new Map<number | undefined, Call>()
  const byId = new Map<string | undefined, Call>()
  const splitter = context.toolMode === "inline" ? InlineTools.splitter() : undefined
  let block: { readonly kind: Wire.Piece["kind"]; readonly id: string } | undefined
  let blocks = 0
  let metadataSent = false
  let recognised = false
  let strange: AiError.InvalidResponseError | undefined
  let finishReason: string | undefined
  let refused = false
  let usage: unknown
  const annotations: Array<unknown> = []
  let lists: { readonly citations?: unknown; readonly search_results?: unknown } = {}
  let out: Array<Response.StreamPartEncoded> = []
  let content = false

  const take = (): Array<Response.StreamPartEncoded> => {
    const parts = out
    out = []
    return parts
  }

  const endBlock = () => {
    if (block !== undefined) out.push({ type: `${block.kind}-end`, id: block.id })
    block = undefined
  }

  const write = (kind: Wire.Piece["kind"], delta: string) => {
    if (delta === "") return
    if (block?.kind !== kind) {
      endBlock()
      block = { kind, id: `${kind}_${blocks++}` }
      out.push({ type: `${kind}-start`, id: block.id })
    }
    out.push({ type: `${kind}-delta`, id: block.id, delta })
  }

  const openCall = (wireId: string | undefined): Call => {
    const call: Call = {
      id: uniqueId(wireId),
      wireId,
      name: "",
      arguments: "",
      shown: 0,
      follower: JsonText.follow(),
      complete: undefined
    }
    calls.push(call)
    if (wireId !== undefined) byId.set(wireId, call)
    return call
  }

  /** Which call a delta belongs to: by id, else by index, else the last one; a complete call is not written on. */
  const callOf = (delta: Wire.ToolCall): Call => {
    const wireId = delta.id === undefined || delta.id === null || delta.id === "" ? undefined : String(delta.id)
    const index = delta.index ?? undefined
    const known = byId.get(wireId)
    if (known !== undefined && !startsAnew(known, delta)) return known
    const there = index === undefined ? calls.at(-1) : byIndex.get(index)
    const another = there === undefined || startsAnew(there, delta) || hasOwnId(there, wireId, index, delta)
    const call = another ? openCall(wireId) : there
    byIndex.set(index, call)
    return call
  }

  /**
   * Whether an id that is new is that of another call. Some servers give every call of an answer the same index, or none; some
   * give each delta an id of its own: that of a delta without a name, or behind arguments that have only begun, says nothing.
   */
  const hasOwnId = (
    there: Call,
    wireId: string | undefined,
    index: number | undefined,
    delta: Wire.ToolCall
  ): boolean =>
    wireId !== undefined && (index === undefined || there.wireId !== undefined) && there.name !== "" &&
    (delta.function?.name ?? "") !== "" && there.follower.progress() !== "open"

  /** A call with another name, or arguments after complete ones, is another call. */
  const startsAnew = (call: Call, delta: Wire.ToolCall): boolean => {
    const name = delta.function?.name ?? ""
    if (name === "" || call.name === "") return false
    return name !== call.name || (hasArguments(delta) && isComplete(call))
  }

  const pushCall = (delta: Wire.ToolCall) => {
    if (delta.function?.name || hasArguments(delta)) content = true
    const call = callOf(delta)
    if (call.name === "" && delta.function?.name) {
      call.name = delta.function.name
      out.push({ type: "tool-params-start", id: call.id, name: call.name })
    }
    const args = delta.function?.arguments
    const text = typeof args === "string" ? args : args === undefined || args === null ? "" : JSON.stringify(args)
    const caughtUp = call.shown === call.arguments.length
    call.arguments += text
    call.follower.push(text)
    if (call.name !== "" && call.shown < call.arguments.length) {
      out.push({ type: "tool-params-delta", id: call.id, delta: caughtUp ? text : call.arguments })
      call.shown = call.arguments.length
    }
  }

  const pushMessage = (message: Wire.Message) => {
    if (message.refusal) refused = true
    if (Array.isArray(message.annotations)) {
      for (const annotation of message.annotations) {
        annotations.push(annotation)
      }
    }
    for (const piece of Wire.pieces(message)) {
      content = true
      write(piece.kind, piece.kind === "text" && splitter !== undefined ? splitter.push(piece.text) : piece.text)
    }
    Wire.toolCalls(message).forEach(pushCall)
  }

  const pushChunk = (chunk: Wire.Chunk): Step => {
    recognised = true
    content = false
    if (!metadataSent) {
      const metadata = Facts.responseMetadata(chunk)
      if (metadata !== undefined) {
        metadataSent = true
        out.push(metadata)
      }
    }
    usage = chunk.usage ?? usage
    if (chunk.citations !== undefined) lists = { ...lists, citations: chunk.citations }
    if (chunk.search_results !== undefined) lists = { ...lists, search_results: chunk.search_results }
    for (const choice of chunk.choices) {
      if ((choice.index ?? 0) !== 0) continue
      if (choice.delta) pushMessage(choice.delta)
      if (Facts.isFailure(choice.finish_reason)) {
        return { parts: take(), failure: ChatResponse.gaveUp(context.http) }
      }
      if (choice.finish_reason) {
        finishReason = choice.finish_reason
        content = true
      }
    }
    return { parts: take(), content }
  }

  const whole = (done: boolean): Step => {
    if (splitter !== undefined) {
      const rest = splitter.finish()
      write("text", rest.text)
      for (const inline of rest.calls) {
        const call = openCall(undefined)
        call.name = inline.name
        call.arguments = inline.arguments
        out.push({ type: "tool-params-start", id: call.id, name: call.name })
        out.push({ type: "tool-params-delta", id: call.id, delta: call.arguments })
      }
    }
    endBlock()
    out.push(...Facts.sources(annotations, lists))
    for (const call of calls) {
      if (call.name === "") return { parts: take(), failure: ChatResponse.namelessCall() }
      out.push({ type: "tool-params-end", id: call.id })
    }
    for (const call of calls) {
      out.push({ type: "tool-call", id: call.id, name: call.name, params: ToolArguments.parse(call.arguments) })
    }
    out.push({
      type: "finish",
      reason: refused ? "content-filter" : Facts.finishReason(
        finishReason,
        calls.length > 0,
        done ? context.target.quirks.unknownFinishReason : "other"
      ),
      usage: Facts.usage(usage)
    })
    return { parts: take(), done: true }
  }

  const push = ({ data, event }: Event): Step => {
    if (data.trim() === "[DONE]") return whole(true)
    let json: unknown
    try {
      json = JSON.parse(data)
    } catch {
      if (event === "error") return { parts: [], failure: context.errorReason(ErrorCodes.codes(undefined), data) }
      return {
        parts: [],
        failure: new AiError.InvalidResponseError({
          description: "An event of the server's stream is not JSON.",
          http: context.http
        })
      }
    }
    const error = ErrorCodes.errorObject(json) ?? (event === "error" ? json : undefined)
    if (error !== undefined) {
      return { parts: [], failure: context.errorReason(ErrorCodes.codes(error), data) }
    }
    const chunk = ChatResponse.decode(Wire.Chunk, json, context.http)
    if (Result.isSuccess(chunk)) return pushChunk(chunk.success)
    // Servers send pings and reports of their own between chunks, and usage without choices.
    if (typeof json === "object" && json !== null && !("choices" in json)) {
      if ("usage" in json && json.usage !== null) usage = json.usage
      strange ??= chunk.failure
      return { parts: [] }
    }
    return { parts: [], failure: chunk.failure }
  }

  return {
    push,
    finish: () => {
      if (finishReason !== undefined) return whole(false)
      return { parts: [], failure: recognised ? context.truncated() : strange ?? context.truncated() }
    }
  }
}

/** Looked at once, where the text has come to an end: no text that follows makes it whole. Bare values are short. */
const isComplete = (call: Call): boolean => {
  switch (call.follower.progress()) {
    case "open":
      return false
    case "ended":
      return call.complete ??= ToolArguments.isComplete(call.arguments)
    case "bare":
      return call.arguments.length < 64 && ToolArguments.isComplete(call.arguments)
  }
}

const hasArguments = (delta: Wire.ToolCall): boolean => {
  const args = delta.function?.arguments
  return args !== undefined && args !== null && args !== ""
}
