/** Route of AG-UI: a run, or the answers to its interrupts. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Prompt from "effect/ai/Prompt"
import * as HttpRouter from "effect/http/HttpRouter"
import type { Begun } from "../chat/chats.ts"
import { filePart } from "../chat/files.ts"
import { type Answer, type Question, questionOf } from "../chat/questions.ts"
import { BadRequest } from "../http/errors.ts"
import { answered } from "../http/problem.ts"
import { body, checkStream, mayRun, need } from "../http/request.ts"
import { eventStream } from "../http/sse.ts"
import type { Config } from "./config.ts"
import { agUi } from "../wire/wires.ts"
import { agUiFields, agUiMessageFields } from "../api/agUiFields.ts"
import { checkFields } from "../api/fields.ts"
import { type AgUiPart, AgUiUserMessage, type Resume, RunAgentInput } from "../api/requests.ts"

const Json = Schema.Json

const Payload = Schema.Union([
  Schema.Struct({ decision: Schema.Literal("approve") }),
  Schema.Struct({ decision: Schema.Literal("reject"), reason: Schema.optional(Schema.String) }),
  Schema.Struct({ decision: Schema.Literal("edit"), arguments: Schema.Record(Schema.String, Json) }),
  Schema.Struct({ decision: Schema.Literal("respond"), result: Json })
])

const decodeUser = Schema.decodeUnknownEffect(AgUiUserMessage)
const decodePayload = Schema.decodeUnknownEffect(Payload)

/** The answers to interrupts. One that is cancelled is a refusal. */
const answersOf = (entries: ReadonlyArray<typeof Resume.Type>) =>
  Effect.forEach(
    entries,
    Effect.fnUntraced(function*({ interruptId, payload, status }) {
      const question = questionOf(interruptId)
      if (question === undefined) return yield* new BadRequest({ problem: "An interrupt has an id of another server" })
      const answer: Answer = status === "cancelled"
        ? { decision: "reject" }
        : yield* Effect.mapError(
          decodePayload(payload),
          () => new BadRequest({ problem: "The payload of an answer does not fit the interrupt's responseSchema" })
        )
      return [question, answer] as const satisfies readonly [Question, Answer]
    })
  )

const partOf = (
  part: typeof AgUiPart.Type,
  param: string
): Effect.Effect<Prompt.TextPart | Prompt.FilePart, BadRequest> => {
  switch (part.type) {
    case "text":
      return Effect.succeed(Prompt.makePart("text", { text: part.text }))
    case "binary": {
      const { data, filename: fileName, mimeType: mediaType } = part
      return filePart({ url: dataUrl(mediaType, data), mediaType, fileName }, param)
    }
    default: {
      const { mimeType: mediaType, value } = part.source
      return filePart({ url: dataUrl(mediaType, value), mediaType }, param)
    }
  }
}

/** The address of bytes: base64, or an address already. */
const dataUrl = (mediaType: string, data: string): string =>
  data.startsWith("data:") ? data : `data:${mediaType};base64,${data}`

/** The user's last message as a model reads it. */
const messageOf = Effect.fnUntraced(function*(given: unknown, param: string) {
  yield* checkFields(agUiMessageFields, given, param)
  const message = yield* Effect.mapError(
    decodeUser(given),
    () => new BadRequest({ problem: `${param}: the last message is not the user's, with texts and files`, param })
  )
  const parts = typeof message.content === "string"
    ? [Prompt.makePart("text", { text: message.content })]
    : yield* Effect.forEach(message.content, (part, index) => partOf(part, `${param}.content[${index}]`))
  if (parts.length === 0) return yield* new BadRequest({ problem: `${param}.content: the message is empty`, param })
  return { id: message.id, said: Prompt.fromMessages([Prompt.makeMessage("user", { content: parts })]) }
})

/** The events of a segment. */
const response = ({ frames, shows }: Config, begun: Begun, input: typeof RunAgentInput.Type) => {
  const { protocolVersion, runId, threadId } = input
  return eventStream(frames.of(agUi({ runId, threadId, speaksV1: typeof protocolVersion === "string" }, shows), begun))
}

const post = Effect.fnUntraced(function*(config: Config) {
  const checked = yield* checkStream(config.checks, "chat")
  const { principal } = checked
  const { agent = "" } = yield* HttpRouter.params
  yield* mayRun(principal, agent, config.agents)
  const input = yield* body(RunAgentInput, checked, config.checks, agUiFields)
  const owner = principal.id
  const thread = input.threadId
  if (input.resume != null && input.resume.length > 0) {
    yield* need(principal, "decide")
    const answers = yield* answersOf(input.resume)
    return response(config, yield* config.chats.decide({ owner, thread, by: owner }, answers), input)
  }
  const { id, said } = yield* messageOf(input.messages.at(-1), `messages[${input.messages.length - 1}]`)
  const begun = yield* config.chats.send({ agent, owner, thread, messageId: id, message: said })
  return response(config, begun, input)
})

/** The route of AG-UI. */
export const agUiRoutes = (config: Config) => [
  HttpRouter.route("POST", "/agents/:agent/ag-ui", answered(post(config)))
]
