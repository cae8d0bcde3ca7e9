/**
 * A streamed chat completion as stream parts.
 *
 * Text, reasoning and the growing arguments of calls come out as they arrive. A `tool-call` part comes out only once the answer is known to be whole, that
 * is at `[DONE]`, or at the end of the body after a `finish_reason`. An end before that is a transport error.
 */
import * as AiError from "effect/ai/AiError"
import type * as Response from "effect/ai/Response"
import * as Result from "effect/Result"
import * as TextCall from "@recourse/core/TextCall"
import * as CallAssembly from "./callAssembly.ts"
import * as ChatResponse from "./chatResponse.ts"
import type { Event } from "./eventStream.ts"
import * as Facts from "./facts.ts"
import * as InlineTools from "../request/inlineTools.ts"
import * as ErrorCodes from "../connection/errorCodes.ts"
import * as OpaqueState from "./opaqueState.ts"
import { argumentsText } from "./sameCall.ts"
import * as TextBlocks from "./textBlocks.ts"
import * as Wire from "./wire.ts"

export interface Step {
  readonly parts: ReadonlyArray<Response.StreamPartEncoded>
  /** True if the event was a piece of the answer, and not only a keep-alive. */
  readonly content?: boolean | undefined
  /** Ends the stream after the parts. */
  readonly failure?: AiError.AiErrorReason | undefined
  /** The answer is whole: no later event is read. */
  readonly done?: boolean | undefined
}

export interface Context extends ChatResponse.Context {
  /** The reason of an error object inside the stream. */
  readonly errorReason: (codes: ErrorCodes.Codes, body: string) => AiError.AiErrorReason
  /** The error of a body that ended too early. */
  readonly truncated: () => AiError.AiErrorReason
}

export interface Assembler {
  readonly push: (event: Event) => Step
  readonly finish: () => Step
}

// oxlint-disable-next-line max-lines-per-function -- one assembler: its cases share what has been read of the answer
export const make = (context: Context): Assembler => {
  const { quirks, server } = context.target
  const calls = CallAssembly.make(context.newId, server, (part) => out.push(part))
  const splitter = context.toolMode === "inline" ? InlineTools.splitter() : undefined
  const blocks = TextBlocks.make((part) => out.push(part))
  let shownText = ""
  const written = { text: "", reasoning: "" }
  let state: OpaqueState.MessageFields = {}
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
  let hasDeltas = false

  const take = (): Array<Response.StreamPartEncoded> => {
    const parts = out
    out = []
    return parts
  }

  const write = (kind: Wire.Piece["kind"], text: string) => {
    content = true
    written[kind] += text
    const shown = kind === "text" && splitter !== undefined ? splitter.push(text) : text
    if (kind === "text") shownText += shown
    blocks.write(kind, shown)
  }

  const readFacts = (message: Wire.Message) => {
    if (message.refusal) refused = true
    if (Array.isArray(message.annotations)) {
      for (const annotation of message.annotations) {
        annotations.push(annotation)
      }
    }
  }

  const pushDelta = (message: Wire.Message, isLast: boolean) => {
    readFacts(message)
    for (const { kind, text } of Wire.pieces(message)) write(kind, text)
    state = OpaqueState.mergeMessage(
      state,
      OpaqueState.messageFields(message, quirks.unreturnedFields, state.content !== undefined)
    )
    const deltas = message.tool_calls ?? []
    if (isLast && calls.mayRepeatAll(deltas)) calls.pushWhole(deltas)
    else for (const delta of deltas) pushCall(delta, false)
    if (message.function_call) pushCall({ function: message.function_call }, true)
  }

  const pushCall = (delta: Wire.ToolCall, isLegacy: boolean) => {
    if (delta.function?.name || argumentsText(delta.function?.arguments) !== "") content = true
    calls.push(delta, isLegacy)
  }

  /**
   * A whole message: instead of deltas, or behind them. It adds parts that no delta has sent; deltas have precedence.
   */
  const pushWhole = (message: Wire.Message): AiError.AiErrorReason | undefined => {
    readFacts(message)
    const pieces = Wire.pieces(message)
    for (const kind of ["reasoning", "text"] as const) {
      const all = pieces.flatMap((piece) => piece.kind === kind ? [piece.text] : []).join("")
      if (all.startsWith(written[kind])) {
        if (all.length > written[kind].length) write(kind, all.slice(written[kind].length))
      } else if (!hasDeltas && kind === "text" && all !== "") {
        return new AiError.InvalidOutputError({
          description:
            "The messages of the stream contradict each other: the later one does not continue the earlier one."
        })
      }
    }
    state = { ...state, ...OpaqueState.messageFields(message, quirks.unreturnedFields) }
    const all = Wire.toolCalls(message)
    if (all.length > 0) {
      content = true
      calls.pushWhole(all)
    }
    return undefined
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
    usage = Facts.mergeUsage(usage, Facts.usageIn(chunk))
    if (chunk.citations !== undefined) lists = { ...lists, citations: chunk.citations }
    if (chunk.search_results !== undefined) lists = { ...lists, search_results: chunk.search_results }
    for (const [at, choice] of (chunk.choices ?? []).entries()) {
      if ((Wire.index(choice.index) ?? at) !== 0) continue
      if (choice.delta) {
        if (Object.keys(choice.delta).some((name) => name !== "role")) hasDeltas = true
        pushDelta(choice.delta, Boolean(choice.finish_reason))
      }
      const contradiction = choice.message ? pushWhole(choice.message) : undefined
      if (contradiction !== undefined) return { parts: take(), failure: contradiction }
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
    const rest = splitter?.finish()
    if (rest !== undefined) {
      blocks.write("text", rest.text)
      for (const call of rest.calls) calls.add(call.name, call.arguments)
    }
    const hasCalls = !calls.isEmpty()
    const text = shownText + (rest?.text ?? "")
    if (!hasCalls && TextCall.isLeftIn(text, context.tools, quirks.textCalls)) {
      return { parts: take(), failure: ChatResponse.leftCall() }
    }
    const settled = OpaqueState.settled(state, hasCalls)
    blocks.end(hasCalls, hasCalls ? {} : OpaqueState.metadata(server, settled))
    out.push(...Facts.sources(annotations, lists))
    const ended = calls.finish(settled)
    if (Result.isFailure(ended)) return { parts: take(), failure: ended.failure }
    out.push(...ended.success)
    out.push({
      type: "finish",
      reason: refused ? "content-filter" : Facts.finishReason(
        finishReason,
        hasCalls,
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
          http: context.http()
        })
      }
    }
    if (json === "[DONE]") return whole(true)
    const error = ErrorCodes.errorObject(json) ?? (event === "error" ? json : undefined)
    if (error !== undefined) {
      return { parts: [], failure: context.errorReason(ErrorCodes.codes(error), data) }
    }
    const chunk = ChatResponse.decodeChunk(json, context.http)
    if (Result.isSuccess(chunk)) return pushChunk(chunk.success)
    // Servers send pings and reports of their own between chunks, and usage without choices.
    if (typeof json === "object" && json !== null && !("choices" in json)) {
      usage = Facts.mergeUsage(usage, Facts.usageIn(json))
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
