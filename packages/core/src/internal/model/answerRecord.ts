/** Answers of models as JSON, for the journal of a run. */
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as Response from "effect/ai/Response"
import * as Base64 from "effect/encoding/Base64"
import { Issue } from "../../ToolError.ts"
import { encodeTool, textOf } from "./responseParts.ts"
import { decodePart } from "./sendRequest.ts"
import type { ObjectReply, Reply } from "./callModel.ts"

/** Codec of a turn's answer for other executions of the run. */
export interface AnswerCodec<A> {
  readonly write: (answer: A) => Effect.Effect<Schema.Json, unknown, unknown>
  readonly read: (json: Schema.Json) => Effect.Effect<A, unknown, unknown>
}

type Delta = Extract<Response.AnyPart, { readonly type: "text-delta" | "reasoning-delta" }>

const isDelta = (part: Response.AnyPart | undefined): part is Delta =>
  part?.type === "text-delta" || part?.type === "reasoning-delta"

/** True if a provider has added no metadata to a part. */
const isBare = ({ metadata }: Response.AnyPart): boolean => metadata === undefined || Object.keys(metadata).length === 0

/** The answer with the pieces of each text as one part: the JSON around a piece is longer than a word. */
const withWholePieces = (content: ReadonlyArray<Response.AnyPart>): ReadonlyArray<Response.AnyPart> => {
  const whole: Array<Response.AnyPart> = []
  for (const part of content) {
    const last = whole.at(-1)
    const isNext = isDelta(part) && isDelta(last) && part.type === last.type && part.id === last.id
    if (isNext && isBare(part) && isBare(last)) whole[whole.length - 1] = { ...last, delta: last.delta + part.delta }
    else whole.push(part)
  }
  return whole
}

/** The answer with each streamed text in one part, like an answer without streaming. */
const withWholeTexts = (content: ReadonlyArray<Response.AnyPart>): ReadonlyArray<Response.AnyPart> => {
  const pieces = withWholePieces(content)
  const whole: Array<Response.AnyPart> = []
  for (let n = 0; n < pieces.length; n++) {
    const [start, delta, end] = pieces.slice(n, n + 3)
    const isText = start?.type === "text-start" && delta?.type === "text-delta" && end?.type === "text-end"
    if (isText && start.id === delta.id && delta.id === end.id && [start, delta, end].every(isBare)) {
      whole.push(Response.makePart("text", { text: delta.delta }))
      n += 2
    } else {
      whole.push(start!)
    }
  }
  return whole
}

const partToJson = (part: Response.AnyPart): unknown => {
  const json = encodeTool(part) ?? (part.type === "file" ? { ...part, data: Base64.encode(part.data) } : part)
  return isBare(part) ? { ...json, metadata: undefined } : json
}

/** Encoded by JSON itself: the agent's fields of a part are JSON, or a date, which stays as its text. */
const contentToJson = (content: ReadonlyArray<Response.AnyPart>): Schema.Json =>
  JSON.parse(JSON.stringify(withWholeTexts(content).map(partToJson))) as Schema.Json

const contentOf = (json: unknown): ReadonlyArray<Response.AnyPart> =>
  (json as ReadonlyArray<Response.PartEncoded>).map(decodePart)

interface WrittenReply {
  readonly content: Schema.Json
  /** Left out if it is the text of the content. */
  readonly text?: string
  readonly finishReason: Response.FinishReason
}

const wordsOf = (content: ReadonlyArray<Response.AnyPart>): string => content.map(textOf).join("")

/** Answers in words and calls. */
export const replyCodec: AnswerCodec<Reply> = {
  write: ({ content, finishReason, text }) =>
    Effect.sync(() => ({
      content: contentToJson(content),
      ...(text === wordsOf(content) ? undefined : { text }),
      finishReason
    })),
  read: (json) =>
    Effect.sync(() => {
      const { content: written, finishReason, text } = json as unknown as WrittenReply
      const content = contentOf(written)
      return { content, text: text ?? wordsOf(content), finishReason }
    })
}

const Written = Schema.Struct({
  content: Schema.Json,
  value: Schema.Union([
    Schema.TaggedStruct("Fits", { value: Schema.Json }),
    Schema.TaggedStruct("FitsNot", { issues: Schema.Array(Issue) })
  ])
})

const readWritten = Schema.decodeUnknownEffect(Written)

/** Answers that are objects of a schema, or that do not fit it. */
export const objectCodec = <A>(schema: Schema.Codec<A, unknown, unknown, unknown>): AnswerCodec<ObjectReply<A>> => {
  const json = Schema.toCodecJson(schema)
  const encode = Schema.encodeUnknownEffect(json)
  const decode = Schema.decodeUnknownEffect(json)
  return {
    write: ({ content, value }) =>
      Effect.map(
        Result.match(value, {
          onFailure: (issues): Effect.Effect<unknown, unknown, unknown> => Effect.succeed({ _tag: "FitsNot", issues }),
          onSuccess: (value) => Effect.map(encode(value), (value) => ({ _tag: "Fits", value }))
        }),
        (value) => ({ content: contentToJson(content), value: value as Schema.Json })
      ),
    read: (written) =>
      Effect.flatMap(
        readWritten(written),
        ({ content, value }): Effect.Effect<ObjectReply<A>, unknown, unknown> =>
          value._tag === "FitsNot"
            ? Effect.succeed({ content: contentOf(content), value: Result.fail(value.issues) })
            : Effect.map(
              decode(value.value),
              (value) => ({ content: contentOf(content), value: Result.succeed(value) })
            )
      )
  }
}
