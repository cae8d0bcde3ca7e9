/** Schemas of what the server takes. */
import * as Schema from "effect/Schema"
import { Status } from "@recourse/core/Runs"

/** An id that a client makes. */
export const Id = Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(200))

/** An address holds so much of an id, percent-encoded: more is found by no route. */
const longestInAddress = 100

const isInAddress = (id: string): boolean =>
  id.isWellFormed() && id !== "." && id !== ".." && !/\p{Cc}/u.test(id) &&
  encodeURIComponent(id).length <= longestInAddress

/** The id of a thread: clients make it, and it stands in the addresses of routes. */
export const ThreadId = Schema.String.check(
  Schema.isMinLength(1),
  Schema.makeFilter((id) =>
    isInAddress(id) ? undefined : "Expected an id that an address can hold: at most 100 characters, percent-encoded"
  )
)

/** What `DefaultChatTransport` sends. Of the messages, only the last one is looked at. */
export const ChatRequest = Schema.Struct({
  id: ThreadId,
  messages: Schema.Array(Schema.Unknown),
  trigger: Schema.Literals(["submit-message", "regenerate-message"]),
  messageId: Schema.optional(Schema.NullOr(Schema.String)),
  /** Edited arguments of calls that wait, by the id of the approval; the page adds them as `body`. */
  edits: Schema.optional(Schema.Record(Schema.String, Schema.Record(Schema.String, Schema.Json)))
})

export const Resume = Schema.Struct({
  interruptId: Schema.String,
  status: Schema.Literals(["resolved", "cancelled"]),
  payload: Schema.optional(Schema.Json)
})

/** `RunAgentInput`. Of the messages, only the last one is looked at; state, tools and context of the page are not used. */
export const RunAgentInput = Schema.Struct({
  threadId: ThreadId,
  runId: Id,
  protocolVersion: Schema.optional(Schema.String),
  messages: Schema.Array(Schema.Unknown),
  resume: Schema.optional(Schema.Array(Resume))
})

/** What OpenAI's clients send in a message: texts, pictures and files. */
export const Content = Schema.Union([
  Schema.String,
  Schema.Array(Schema.Union([
    Schema.Struct({ type: Schema.Literal("text"), text: Schema.String }),
    Schema.Struct({ type: Schema.Literal("image_url"), image_url: Schema.Struct({ url: Schema.String }) }),
    Schema.Struct({
      type: Schema.Literal("file"),
      file: Schema.Struct({ file_data: Schema.String, filename: Schema.optional(Schema.String) })
    })
  ]))
])

/** A request. The agent has its own tools and settings: those of the request are not used. */
export const CompletionRequest = Schema.Struct({
  model: Schema.String,
  messages: Schema.Array(Schema.Struct({
    role: Schema.Literals(["system", "developer", "user", "assistant"]),
    content: Content
  })).check(Schema.isMinLength(1)),
  stream: Schema.optional(Schema.NullOr(Schema.Boolean)),
  stream_options: Schema.optional(Schema.NullOr(Schema.Struct({ include_usage: Schema.optional(Schema.Boolean) })))
})

/** What begins a run. With a thread, the agent reads what was said there. */
export const StartRequest = Schema.Struct({
  agent: Schema.String,
  message: Schema.String.check(Schema.isMinLength(1)),
  threadId: Schema.optional(ThreadId),
  /** The same key again is the same run. Default: random. */
  key: Schema.optional(Id)
})

/** What a user thinks of a run. */
export const FeedbackRequest = Schema.Struct({
  value: Schema.Literals(["up", "down"]),
  comment: Schema.optional(Schema.String.check(Schema.isMaxLength(4000)))
})

/** The title that a person gives. */
export const RenameRequest = Schema.Struct({
  title: Id.check(Schema.makeFilter((title) => title.trim() === "" ? "Expected a title that can be seen" : undefined))
})

const maxPage = 500

const Millis = Schema.NumberFromString.check(Schema.isFinite())

/** Where a page of a list ends: when the last run of it was started, and its id. */
const Cursor = Schema.TemplateLiteralParser([Schema.NumberFromString.check(Schema.isFinite()), ".", Schema.String])

/** Which runs an operator asks for. */
export const ListRequest = Schema.Struct({
  status: Schema.optionalKey(Status),
  agent: Schema.optionalKey(Schema.String),
  owner: Schema.optionalKey(Schema.String),
  /** What the id of a run begins with. */
  run: Schema.optionalKey(Schema.String),
  from: Schema.optionalKey(Millis),
  to: Schema.optionalKey(Millis),
  cursor: Schema.optionalKey(Cursor),
  limit: Schema.optionalKey(
    Schema.NumberFromString.check(Schema.isInt(), Schema.isBetween({ minimum: 1, maximum: maxPage }))
  )
})
