/** Route of AG-UI: a run, or the answers to its interrupts. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Prompt from "effect/ai/Prompt"
import * as HttpRouter from "effect/http/HttpRouter"
import type { Begun } from "../chat/chats.ts"
import { type Answer, type Question, questionOf } from "../chat/questions.ts"
import { BadRequest } from "../http/errors.ts"
import { answered } from "../http/problem.ts"
import { body, check, mayRun, need } from "../http/request.ts"
import { eventStream } from "../http/sse.ts"
import type { Config } from "./config.ts"
import { agUi } from "../wire/wires.ts"
import { type Resume, RunAgentInput } from "../api/requests.ts"

const Json = Schema.Json

const UserMessage = Schema.Struct({
  id: Schema.String,
  role: Schema.Literal("user"),
  content: Schema.Union([
    Schema.String,
    Schema.Array(Schema.Struct({ type: Schema.Literal("text"), text: Schema.String }))
  ])
})

const Payload = Schema.Union([
  Schema.Struct({ decision: Schema.Literal("approve") }),
  Schema.Struct({ decision: Schema.Literal("reject"), reason: Schema.optional(Schema.String) }),
  Schema.Struct({ decision: Schema.Literal("edit"), arguments: Schema.Record(Schema.String, Json) }),
  Schema.Struct({ decision: Schema.Literal("respond"), result: Json })
])

const decodeUser = Schema.decodeUnknownEffect(UserMessage)
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

const textOf = (content: typeof UserMessage.Type["content"]): string =>
  typeof content === "string" ? content : content.map(({ text }) => text).join("")

/** The events of a segment. */
const response = ({ frames, shows }: Config, begun: Begun, input: typeof RunAgentInput.Type) => {
  const { protocolVersion, runId, threadId } = input
  return eventStream(frames.of(agUi({ runId, threadId, speaksV1: protocolVersion !== undefined }, shows), begun))
}

const post = Effect.fnUntraced(function*(config: Config) {
  const checked = yield* check(config.checks, "chat")
  const { principal } = checked
  const { agent = "" } = yield* HttpRouter.params
  yield* mayRun(principal, agent, config.agents)
  const input = yield* body(RunAgentInput, checked, config.checks)
  const owner = principal.id
  const thread = input.threadId
  if (input.resume !== undefined && input.resume.length > 0) {
    yield* need(principal, "decide")
    const answers = yield* answersOf(input.resume)
    return response(config, yield* config.chats.decide({ owner, thread, by: owner }, answers), input)
  }
  const message = yield* Effect.mapError(
    decodeUser(input.messages.at(-1)),
    () => new BadRequest({ problem: "The last message is not a text of the user" })
  )
  const said = Prompt.make(textOf(message.content))
  const begun = yield* config.chats.send({ agent, owner, thread, messageId: message.id, message: said })
  return response(config, begun, input)
})

/** The route of AG-UI. */
export const agUiRoutes = (config: Config) => [
  HttpRouter.route("POST", "/agents/:agent/ag-ui", answered(post(config)))
]
