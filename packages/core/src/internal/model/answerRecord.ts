/** Answers of models as JSON, for the journal of a run. */
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type * as Response from "effect/ai/Response"
import * as Base64 from "effect/encoding/Base64"
import { Issue } from "../../ToolError.ts"
import { encodeTool } from "./parts.ts"
import { decodePart } from "./request.ts"
import type { ObjectReply, Reply } from "./ask.ts"

/** How the answer of a turn is written, and read in another life of the run. */
export interface AnswerCodec<A> {
  readonly write: (answer: A) => Effect.Effect<Schema.Json, unknown, unknown>
  readonly read: (json: Schema.Json) => Effect.Effect<A, unknown, unknown>
}

const partToJson = (part: Response.AnyPart): unknown =>
  encodeTool(part) ?? (part.type === "file" ? { ...part, data: Base64.encode(part.data) } : part)

/** Written by JSON itself: what an agent reads of a part is JSON, or a date, which is left as its text. */
const contentToJson = (content: ReadonlyArray<Response.AnyPart>): Schema.Json =>
  JSON.parse(JSON.stringify(content.map(partToJson))) as Schema.Json

const contentOf = (json: unknown): ReadonlyArray<Response.AnyPart> =>
  (json as ReadonlyArray<Response.PartEncoded>).map(decodePart)

interface WrittenReply {
  readonly content: Schema.Json
  readonly text: string
  readonly finishReason: Response.FinishReason
}

/** Answers in words and calls. */
export const replyCodec: AnswerCodec<Reply> = {
  write: ({ content, finishReason, text }) =>
    Effect.sync(() => ({ content: contentToJson(content), text, finishReason })),
  read: (json) =>
    Effect.sync(() => {
      const { content, finishReason, text } = json as unknown as WrittenReply
      return { content: contentOf(content), text, finishReason }
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
