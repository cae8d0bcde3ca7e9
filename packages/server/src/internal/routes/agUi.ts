/** Route of AG-UI: a run, or the answers to its interrupts. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Prompt from "effect/ai/Prompt"
import * as HttpRouter from "effect/http/HttpRouter"
import { ConfigurationError } from "@recourse/core/ConfigurationError"
import * as RequestInput from "@recourse/core/RequestInput"
import type { StartedRun } from "../chat/chats.ts"
import { filePart } from "../chat/files.ts"
import { userMessage } from "../chat/userMessage.ts"
import { type Answer, type Question, questionOf } from "../chat/questions.ts"
import { BadRequest } from "../http/errors.ts"
import { answered } from "../http/problem.ts"
import { body, checkStream, mayRun, need } from "../http/request.ts"
import { eventStream } from "../http/sse.ts"
import type { Config } from "./config.ts"
import { readPageInput } from "./pageInput.ts"
import { agUi } from "../wire/wires.ts"
import { agUiFields, agUiFieldsWithInput, agUiMessageFields } from "../api/agUiFields.ts"
import { checkFields } from "../api/fields.ts"
import { type AgUiPart, AgUiToolMessage, AgUiUserMessage, type Resume, RunAgentInput } from "../api/requests.ts"

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
      const { filename: fileName, mimeType: mediaType } = part
      const url = "data" in part ? dataUrl(mediaType, part.data) : part.url
      return filePart({ url, mediaType, fileName }, param)
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
  return { id: message.id, said: yield* userMessage(parts, `${param}.content`) }
})

/** The events of a segment. */
const response = ({ frames, shows }: Config, startedRun: StartedRun, input: typeof RunAgentInput.Type) => {
  const { protocolVersion, runId, threadId } = input
  return eventStream(
    frames.of(agUi({ runId, threadId, speaksV1: typeof protocolVersion === "string" }, shows), startedRun)
  )
}

/** The messages of a page's results, behind the last message that is none, with their paths. */
const resultsIn = (messages: ReadonlyArray<unknown>) =>
  messages.slice(messages.findLastIndex((one) => (one as { readonly role?: unknown } | null)?.role !== "tool") + 1)
    .map((message, index, { length }) => ({ message, param: `messages[${messages.length - length + index}]` }))

const json = (text: string): Schema.Json => {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

const decodeResult = Schema.decodeUnknownEffect(AgUiToolMessage)

type Key = { readonly owner: string; readonly thread: string }

/** Answers to calls of client tools that the run of a thread waits for. A text may be JSON, or the result itself. */
const pageAnswers = Effect.fnUntraced(function*(
  config: Config,
  { owner, thread }: Key,
  results: ReturnType<typeof resultsIn>,
  read: (text: string) => Schema.Json
) {
  const run = yield* config.chats.owned.current(owner, thread, "waiting")
  const calls = run === undefined ? new Map<string, Question>() : yield* config.chats.owned.clientCalls(run)
  return yield* Effect.forEach(
    results,
    Effect.fnUntraced(function*({ message, param }) {
      yield* checkFields(agUiMessageFields, message, param)
      const { content, error, toolCallId } = yield* Effect.mapError(
        decodeResult(message),
        () => new BadRequest({ problem: `${param}: it is no result of a tool, because text`, param })
      )
      const question = calls.get(toolCallId)
      if (question === undefined) {
        return yield* new BadRequest({ problem: `${param}.toolCallId: no call of a client tool waits under it`, param })
      }
      const text = typeof content === "string" ? content : content.map(({ text }) => text).join("")
      const answer: Answer = typeof error === "string"
        ? { decision: "fail", error: json(error) }
        : { decision: "respond", result: read(text) }
      return [question, answer] as const
    })
  )
})

/** Resumes the run of a thread with answers of people and results of its page. */
const decided = Effect.fnUntraced(function*(
  config: Config,
  key: Key,
  answers: ReadonlyArray<readonly [Question, Answer]>,
  results: ReturnType<typeof resultsIn>
) {
  const decide = (read: (text: string) => Schema.Json) =>
    Effect.flatMap(
      pageAnswers(config, key, results, read),
      (more) => config.chats.decide({ ...key, by: key.owner }, [...answers, ...more])
    )
  return yield* Effect.catchIf(
    decide(json),
    (error) => error._tag === "DecisionRefused" && error.reason === "invalid_result" && results.length > 0,
    () => decide((text) => text)
  )
})

/** A message with the tools that its page executes. */
const withTools = (
  { requestTools }: Config,
  message: Prompt.UserMessage,
  tools: ReadonlyArray<{
    readonly name: string
    readonly description?: string | null | undefined
    readonly parameters?: { readonly [key: string]: Schema.Json } | null | undefined
  }>
): Effect.Effect<Prompt.UserMessage, BadRequest> => {
  if (tools.length === 0) return Effect.succeed(message)
  if (requestTools === "refuse") {
    return Effect.fail(new BadRequest({ problem: "tools: this server takes no tools of a page", param: "tools" }))
  }
  const declared = tools.map(({ description, name, parameters }): RequestInput.RequestTool => ({
    name,
    ...(typeof description === "string" ? { description } : undefined),
    ...(parameters == null ? undefined : { parameters })
  }))
  return Effect.try({
    try: () => RequestInput.addTools(message, declared),
    catch: (error) =>
      new BadRequest({
        problem: `tools: ${error instanceof ConfigurationError ? error.message : "a schema cannot be read"}`,
        param: "tools"
      })
  })
}

/** The model's context of the message: the page's, and the program's conversion of its state. */
const contextOf = Effect.fnUntraced(function*(
  { onPageInput }: Config,
  about: { readonly agent: string; readonly owner: string },
  { context, forwardedProps, runId, state, threadId }: typeof RunAgentInput.Type
) {
  const said = context ?? []
  if (onPageInput === undefined) return said
  const read = yield* readPageInput(onPageInput, { ...about, threadId, runId, state, forwardedProps })
  return [...said, ...read]
})

const post = Effect.fnUntraced(function*(config: Config) {
  const checked = yield* checkStream(config.checks, "chat")
  const { principal } = checked
  const { agent = "" } = yield* HttpRouter.params
  yield* mayRun(principal, agent, config.agents)
  const input = yield* body(
    RunAgentInput,
    checked,
    config.checks,
    config.onPageInput === undefined ? agUiFields : agUiFieldsWithInput
  )
  const owner = principal.id
  const thread = input.threadId
  const results = resultsIn(input.messages)
  if (input.resume != null && input.resume.length > 0) {
    yield* need(principal, "decide")
    const answers = yield* answersOf(input.resume)
    return response(config, yield* decided(config, { owner, thread }, answers, results), input)
  }
  if (results.length > 0) return response(config, yield* decided(config, { owner, thread }, [], results), input)
  const { id, said } = yield* messageOf(input.messages.at(-1), `messages[${input.messages.length - 1}]`)
  const context = yield* contextOf(config, { agent, owner }, input)
  const message = yield* withTools(config, RequestInput.addContext(said, context), input.tools ?? [])
  const startedRun = yield* config.chats.send({
    agent,
    owner,
    thread,
    messageId: id,
    message: Prompt.fromMessages([message])
  })
  return response(config, startedRun, input)
})

/** The route of AG-UI. */
export const agUiRoutes = (config: Config) => [
  HttpRouter.route("POST", "/agents/:agent/ag-ui", answered(post(config)))
]
