/** A whole chat completion as response parts. */
import * as AiError from "effect/ai/AiError"
import type * as Response from "effect/ai/Response"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as TextCall from "@recourse/core/TextCall"
import * as Facts from "./facts.ts"
import * as InlineTools from "../request/inlineTools.ts"
import type { Quirks } from "../../Quirks.ts"
import type { Target } from "../connection/target.ts"
import * as OpaqueState from "./opaqueState.ts"
import * as PlainShape from "./plainShape.ts"
import { argumentsText, hasSameArguments } from "./sameCall.ts"
import * as ThinkTags from "./thinkTags.ts"
import * as ToolArguments from "./toolArguments.ts"
import * as Wire from "./wire.ts"

/** Ids for calls that have none, or one that another call of the same answer has. */
export const callIds = (newId: () => string): (id: string | number | null | undefined) => string => {
  const used = new Set<string>()
  return (given) => {
    let id = given === undefined || given === null ? "" : String(given)
    if (id === "" || used.has(id)) id = newId()
    used.add(id)
    return id
  }
}

/** A call without a name cannot be answered by any tool; the model's next attempt may have one. */
export const namelessCall = (): AiError.InvalidOutputError =>
  new AiError.InvalidOutputError({ description: "The model called a tool without naming it." })

/** Some servers drop the answer of a model that fails; the next attempt may have one. */
const withoutChoice = (): AiError.InvalidOutputError =>
  new AiError.InvalidOutputError({ description: "The server's answer has no choice: it is empty." })

/** The text is a call that the server did not parse; the next attempt may be parsed. */
export const leftCall = (): AiError.InvalidOutputError =>
  new AiError.InvalidOutputError({
    description: "The server left a tool call in the text of the answer: its tool parser is missing or failed."
  })

export interface Context {
  readonly toolMode: Quirks["tools"]
  readonly target: Target
  /** The exchange for an error: made for a failure only, because it redacts each header. */
  readonly http: () => typeof AiError.HttpContext.Type
  readonly newId: () => string
  /** The offered tools, whose calls may be left in the text. */
  readonly tools: ReadonlyArray<string>
}

const decode = <A>(schema: Schema.ConstraintDecoder<A>, isPlain: (json: unknown) => json is A) => {
  const bySchema = Schema.decodeUnknownResult(schema)
  return (
    json: unknown,
    http: () => typeof AiError.HttpContext.Type
  ): Result.Result<A, AiError.InvalidResponseError> =>
    isPlain(json) ? Result.succeed(json) : Result.mapError(bySchema(json), (error) =>
      new AiError.InvalidResponseError({
        description: `The server's answer is not a chat completion: ${error.message}`,
        http: http()
      }))
}

/** Decodes the JSON of a whole answer. Messages name the place that is wrong, never the value found there. */
export const decodeCompletion = decode(Wire.Completion, PlainShape.isCompletion)

/** Decodes the JSON of a piece of a stream, like {@link decodeCompletion}. */
export const decodeChunk = decode(Wire.Chunk, PlainShape.isChunk)

/**
 * The choice of the answer: 0, or the first one if servers count otherwise. Some gateways put the text and the calls of one answer into
 * two choices with the same index, or without any.
 */
const chosen = (choices: NonNullable<Wire.Completion["choices"]>, tools: ReadonlyArray<string>) => {
  const choice = choices.find(({ index }) => Wire.index(index) === 0) ?? choices[0]
  const hasCalls = ({ delta, message }: typeof choices[number]) =>
    Wire.toolCalls(message ?? delta ?? {}, tools).length > 0
  if (choice === undefined || choices.length === 1 || hasCalls(choice)) return choice
  const other = choices.find((one) => Wire.index(one.index) === Wire.index(choice.index) && hasCalls(one))
  const given = other?.message ?? other?.delta
  return given == null
    ? choice
    : { ...choice, message: { ...given, ...choice.message ?? choice.delta, tool_calls: given.tool_calls } }
}

/** Parts in the order in which effect/ai expects them: metadata, reasoning, text, files, sources, tool calls, finish. */
export const parts = (
  completion: Wire.Completion,
  context: Context
): Result.Result<Array<Response.PartEncoded>, AiError.AiErrorReason> => {
  const choice = chosen(completion.choices ?? [], context.tools)
  if (choice === undefined) return Result.fail(withoutChoice())
  const ended = Wire.finishReason(choice.finish_reason)
  if (Facts.isFailure(ended)) return Result.fail(gaveUp(context.http))
  const given = choice.message ?? choice.delta
  if (!given && (ended === undefined || Facts.finishReason(ended, false, "stop") === "stop")) {
    return Result.fail(
      new AiError.InvalidResponseError({
        description: "The server's answer is not a chat completion: its choice has no message",
        http: context.http()
      })
    )
  }
  // An answer that is cut or filtered may have no message.
  const message = given ?? {}
  const out: Array<Response.PartEncoded> = []
  const metadata = Facts.responseMetadata(completion)
  if (metadata !== undefined) out.push(metadata)

  const id = callIds(context.newId)
  const { server, quirks } = context.target
  const calls: Array<Response.ToolCallPartEncoded> = []
  for (const call of distinctCalls(message, context.tools)) {
    const name = call.function?.name ?? ""
    if (name === "") return Result.fail(namelessCall())
    calls.push({
      type: "tool-call",
      id: id(call.id),
      name,
      params: ToolArguments.parse(call.function?.arguments),
      ...OpaqueState.metadata(server, OpaqueState.callFields(call))
    })
  }
  for (const piece of withoutTags(merged(Wire.pieces(message)), quirks)) {
    if (piece.kind === "text" && calls.length > 0 && piece.text.trim() === "") continue
    if (piece.kind === "text" && context.toolMode === "inline") {
      const parsed = InlineTools.parse(piece.text)
      if (parsed.text !== "") out.push({ type: "text", text: parsed.text })
      for (const call of parsed.calls) {
        calls.push({
          type: "tool-call",
          id: id(undefined),
          name: call.name,
          params: ToolArguments.parse(call.arguments)
        })
      }
    } else out.push({ type: piece.kind, text: piece.text.toWellFormed() })
  }
  const text = out.map((part) => part.type === "text" ? part.text : "").join("")
  if (calls.length === 0 && TextCall.isLeftIn(text, context.tools, quirks.textCalls)) return Result.fail(leftCall())
  const carriers = calls.length > 0 ? calls : out.filter(isText).slice(-1)
  const state = OpaqueState.messageFields(message, quirks.unreturnedFields)
  withState(carriers, server, OpaqueState.settled(state, calls.length > 0))
  out.push(...Facts.files(Wire.pictures(message)), ...Facts.sources(message.annotations, completion), ...calls)
  const refused = Wire.refusalOf(message) !== undefined
  out.push({
    type: "finish",
    // The body is whole, so a missing reason hides no fault.
    reason: refused
      ? "content-filter"
      : Facts.finishReason(ended ?? "stop", calls.length > 0, context.target.quirks.unknownFinishReason),
    usage: Facts.usage(Facts.usageIn(completion))
  })
  return Result.succeed(out)
}

const isText = ({ type }: Response.PartEncoded): boolean => type === "text" || type === "reasoning"

/** Attaches the state of a message to the first of these parts. */
const withState = (
  parts: Array<Response.PartEncoded>,
  server: string,
  fields: OpaqueState.MessageFields
): void => {
  const [first] = parts
  if (first === undefined || Object.keys(fields).length === 0) return
  const own = OpaqueState.fieldsOf(first.metadata ?? {}, server)
  Object.assign(first, OpaqueState.metadata(server, { ...own, ...fields }))
}

/** The calls of a whole message, each once: by id, and the older `function_call` by its content. */
const distinctCalls = (message: Wire.Message, tools: ReadonlyArray<string>): ReadonlyArray<Wire.ToolCall> => {
  const distinct: Array<Wire.ToolCall> = []
  const isReported = (call: Wire.ToolCall, isRepeat: (other: Wire.ToolCall) => boolean): boolean =>
    distinct.some((other) =>
      isRepeat(other) && (call.function?.name || other.function?.name) === other.function?.name &&
      hasSameArguments(argumentsText(call.function?.arguments), argumentsText(other.function?.arguments))
    )
  for (const call of Wire.listedCalls(message, tools)) {
    const id = Wire.callId(call)
    if (id === undefined || !isReported(call, (other) => Wire.callId(other) === id)) distinct.push(call)
  }
  const legacy = Wire.olderCall(message, tools)
  if (legacy && !isReported(legacy, () => true)) distinct.push(legacy)
  return distinct
}

/** The server ended the answer because of a failure of its own and says no more. */
export const gaveUp = (http: () => typeof AiError.HttpContext.Type): AiError.InternalProviderError =>
  new AiError.InternalProviderError({ description: "The server gave up in the middle of the answer.", http: http() })

/** Separates reasoning in the text from the text. A server that sends reasoning apart has none in the text. */
const withoutTags = (pieces: ReadonlyArray<Wire.Piece>, quirks: Quirks): ReadonlyArray<Wire.Piece> => {
  const starts = quirks.startsWithReasoning && pieces[0]?.kind === "text"
  return pieces.flatMap((piece, at) =>
    piece.kind === "text" ? ThinkTags.split(piece.text, starts && at === 0) : [piece]
  )
}

const merged = (pieces: ReadonlyArray<Wire.Piece>): ReadonlyArray<Wire.Piece> => {
  const out: Array<Wire.Piece> = []
  for (const piece of pieces) {
    const last = out.at(-1)
    if (last?.kind === piece.kind) out[out.length - 1] = { kind: piece.kind, text: last.text + piece.text }
    else out.push(piece)
  }
  return out
}
