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
import { CallAssembly } from "./callAssembly.ts"
import * as ChatResponse from "./chatResponse.ts"
import * as EventStream from "./eventStream.ts"
import * as Facts from "./facts.ts"
import * as InlineTools from "../request/inlineTools.ts"
import * as ErrorCodes from "../connection/errorCodes.ts"
import * as OpaqueState from "./opaqueState.ts"
import { argumentsText } from "./sameCall.ts"
import { StreamFacts } from "./streamFacts.ts"
import * as TextBlocks from "./textBlocks.ts"
import * as ThinkTags from "./thinkTags.ts"
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
  readonly errorReason: (codes: ErrorCodes.Codes, body: string, hasContent: boolean) => AiError.AiErrorReason
  /** The error of a body that ended too early. */
  readonly truncated: () => AiError.AiErrorReason
}

/** Assembles one answer from the events of its stream. */
export class ChatStream {
  private readonly context: Context
  private readonly calls: CallAssembly
  private readonly splitter: ReturnType<typeof InlineTools.splitter> | undefined
  private readonly blocks: ReturnType<typeof TextBlocks.make>
  private readonly thinkTags: ThinkTags.ThinkTags
  private readonly facts = new StreamFacts()
  /** Received text and reasoning. */
  private readonly written = { text: "", reasoning: "" }
  /** Emitted text: without the calls that are written in it. */
  private shownText = ""
  private state: OpaqueState.MessageFields = {}
  private recognised = false
  /** Why the first strange event is no chunk. */
  private strange: AiError.InvalidResponseError | undefined
  private out: Array<Response.StreamPartEncoded> = []
  /** True if the present chunk is a piece of the answer. */
  private content = false
  /** True if an earlier chunk was one. */
  private hasContent = false
  private hasDeltas = false
  /** The index of the read choice. */
  private choice: number | undefined

  constructor(context: Context) {
    const emit = (part: Response.StreamPartEncoded): void => void this.out.push(part)
    this.context = context
    // A server that sends reasoning apart has none in the text.
    this.thinkTags = ThinkTags.make(() => context.target.quirks.startsWithReasoning && this.written.reasoning === "")
    this.calls = new CallAssembly(context.newId, context.target.server, emit)
    this.splitter = context.toolMode === "inline" ? InlineTools.splitter() : undefined
    this.blocks = TextBlocks.make(emit)
  }

  push(received: EventStream.Event): Step {
    const { data, event } = received
    // An event without data is a keep-alive.
    if (data.trim() === "") return { parts: [] }
    if (EventStream.isEnd(received)) return this.whole(true)
    let json: unknown
    try {
      json = JSON.parse(data)
    } catch {
      if (event === "error") return this.failed(undefined, data)
      // Of another name and in words, it is a keep-alive.
      if (event !== "message" && !/^\s*[{[]/.test(data)) return { parts: [] }
      return {
        parts: [],
        failure: new AiError.InvalidResponseError({
          description: "An event of the server's stream is not JSON.",
          http: this.context.http()
        })
      }
    }
    if (json === "[DONE]") return this.whole(true)
    if (json === null) return { parts: [] }
    const error = ErrorCodes.errorObject(json) ?? (event === "error" ? json : undefined)
    if (error !== undefined) return this.failed(error, data)
    const chunk = ChatResponse.decodeChunk(json, this.context.http)
    if (Result.isSuccess(chunk)) return this.pushChunk(chunk.success)
    // Servers send pings and reports of their own between chunks, and usage without choices.
    if (typeof json === "object" && json !== null && !("choices" in json)) {
      this.facts.addUsage(json)
      this.strange ??= chunk.failure
      return { parts: [] }
    }
    return { parts: [], failure: chunk.failure }
  }

  /** The end of the body. */
  finish(): Step {
    if (this.facts.finishReason !== undefined) return this.whole(false)
    const failure = this.recognised ? undefined : this.strange
    return { parts: [], failure: failure ?? this.context.truncated() }
  }

  /** The end of the stream by an error object. */
  private failed(error: unknown, body: string): Step {
    return { parts: [], failure: this.context.errorReason(ErrorCodes.codes(error), body, this.hasContent) }
  }

  private write(kind: Wire.Piece["kind"], text: string): void {
    this.content = true
    this.written[kind] += text
    if (kind === "text") this.show(this.thinkTags.push(text))
    else this.blocks.write(kind, text)
  }

  private show(pieces: ReadonlyArray<Wire.Piece>): void {
    for (const { kind, text } of pieces) {
      const shown = kind === "text" && this.splitter !== undefined ? this.splitter.push(text) : text
      if (kind === "text") this.shownText += shown
      this.blocks.write(kind, shown)
    }
  }

  private pushDelta(message: Wire.Message, isLast: boolean): void {
    this.facts.addMessage(message)
    for (const { kind, text } of Wire.pieces(message)) this.write(kind, text)
    this.state = OpaqueState.mergeMessage(
      this.state,
      OpaqueState.messageFields(message, this.context.target.quirks.unreturnedFields, this.state.content !== undefined)
    )
    const deltas = Wire.listedCalls(message, this.context.tools)
    if (isLast && this.calls.mayRepeatAll(deltas)) this.calls.pushWhole(deltas)
    else for (const delta of deltas) this.pushCall(delta, false)
    const older = Wire.olderCall(message, this.context.tools)
    if (older !== undefined) this.pushCall(older, true)
  }

  private pushCall(delta: Wire.ToolCall, isLegacy: boolean): void {
    if (delta.function?.name || argumentsText(delta.function?.arguments) !== "") this.content = true
    this.calls.push(delta, isLegacy)
  }

  /**
   * A whole message: instead of deltas, or behind them. It adds parts that no delta has sent; deltas have precedence.
   */
  private pushWhole(message: Wire.Message): AiError.AiErrorReason | undefined {
    this.facts.addMessage(message)
    const pieces = Wire.pieces(message)
    for (const kind of ["reasoning", "text"] as const) {
      const all = pieces.flatMap((piece) => piece.kind === kind ? [piece.text] : []).join("")
      if (all.startsWith(this.written[kind])) {
        if (all.length > this.written[kind].length) this.write(kind, all.slice(this.written[kind].length))
      } else if (!this.hasDeltas && kind === "text" && all !== "") {
        return new AiError.InvalidOutputError({
          description:
            "The messages of the stream contradict each other: the later one does not continue the earlier one."
        })
      }
    }
    this.state = { ...this.state, ...OpaqueState.messageFields(message, this.context.target.quirks.unreturnedFields) }
    const all = Wire.toolCalls(message, this.context.tools)
    if (all.length > 0) {
      this.content = true
      this.calls.pushWhole(all)
    }
    return undefined
  }

  /** The pieces of the answer in a chunk: of the choice 0, or of the first one if servers count otherwise. */
  private chosen({ choices }: Wire.Chunk): NonNullable<Wire.Chunk["choices"]> {
    const all = choices ?? []
    const indexes = all.map(({ index }, at) => Wire.index(index) ?? at)
    this.choice ??= indexes.includes(0) ? 0 : indexes[0]
    return all.filter((_, at) => indexes[at] === this.choice)
  }

  private pushChunk(chunk: Wire.Chunk): Step {
    this.recognised = true
    this.content = false
    const metadata = this.facts.addChunk(chunk)
    if (metadata !== undefined) this.out.push(metadata)
    for (const choice of this.chosen(chunk)) {
      const ended = Wire.finishReason(choice.finish_reason)
      if (choice.delta) {
        if (Object.keys(choice.delta).some((name) => name !== "role")) this.hasDeltas = true
        this.pushDelta(choice.delta, ended !== undefined)
      }
      const contradiction = choice.message ? this.pushWhole(choice.message) : undefined
      if (contradiction !== undefined) return { parts: this.take(), failure: contradiction }
      if (Facts.isFailure(ended)) {
        return { parts: this.take(), failure: ChatResponse.gaveUp(this.context.http) }
      }
      if (ended !== undefined) {
        this.facts.finishReason = ended
        this.content = true
      }
    }
    this.hasContent ||= this.content
    return { parts: this.take(), content: this.content }
  }

  private whole(done: boolean): Step {
    const { quirks, server } = this.context.target
    this.show(this.thinkTags.finish())
    const rest = this.splitter?.finish()
    if (rest !== undefined) {
      this.blocks.write("text", rest.text)
      for (const call of rest.calls) this.calls.add(call.name, call.arguments)
    }
    const hasCalls = !this.calls.isEmpty
    const text = this.shownText + (rest?.text ?? "")
    if (!hasCalls && TextCall.isLeftIn(text, this.context.tools, quirks.textCalls)) {
      return { parts: this.take(), failure: ChatResponse.leftCall() }
    }
    const settled = OpaqueState.settled(this.state, hasCalls)
    this.blocks.end(hasCalls, hasCalls ? {} : OpaqueState.metadata(server, settled))
    this.out.push(...this.facts.files, ...this.facts.sources)
    const ended = this.calls.finish(settled)
    if (Result.isFailure(ended)) return { parts: this.take(), failure: ended.failure }
    // `[DONE]` says that the answer is whole, unless arguments of a call are cut off.
    if (done && ended.success.every(({ params }) => typeof params !== "string")) this.facts.finishReason ??= "stop"
    this.out.push(...ended.success, this.facts.finish(hasCalls, done ? quirks.unknownFinishReason : "other"))
    return { parts: this.take(), done: true }
  }

  private take(): Array<Response.StreamPartEncoded> {
    const parts = this.out
    this.out = []
    return parts
  }
}
