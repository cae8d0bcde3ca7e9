/** Schemas of the server's requests. */
import * as Schema from "effect/Schema"
import { isCursor } from "@recourse/core/Conversation"
import { Status } from "@recourse/core/Runs"
import { Answer } from "../index/types.ts"

/** An id that a client makes. */
export const Id = Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(200))

/** An address holds so much of an id, percent-encoded: more is found by no route. */
const longestInAddress = 100

const isInAddress = (id: string): boolean =>
  id.isWellFormed() && id !== "." && id !== ".." && !/\p{Cc}/u.test(id) &&
  encodeURIComponent(id).length <= longestInAddress

/** The id of a thread: clients make it, and it is in the addresses of routes. */
export const ThreadId = Schema.String.check(
  Schema.isMinLength(1),
  Schema.makeFilter((id) =>
    isInAddress(id) ? undefined : "Expected an id that an address can hold: at most 100 characters, percent-encoded"
  )
)

/** Request of `DefaultChatTransport`. Only the last of its messages is read. */
export const ChatRequest = Schema.Struct({
  id: ThreadId,
  messages: Schema.Array(Schema.Unknown),
  /** Absent in the request of a page that makes it by `prepareSendMessagesRequest`: a message is sent. */
  trigger: Schema.optional(Schema.NullOr(Schema.Literals(["submit-message", "regenerate-message"]))),
  messageId: Schema.optional(Schema.NullOr(Schema.String)),
  /** Edited arguments of calls that wait, by the id of the approval; the page adds them as `body`. */
  edits: Schema.optional(Schema.Record(Schema.String, Schema.Record(Schema.String, Schema.Json)))
})

export const Resume = Schema.Struct({
  interruptId: Schema.String,
  status: Schema.Literals(["resolved", "cancelled"]),
  payload: Schema.optional(Schema.Json)
})

/** `RunAgentInput`. Of the messages, only the last one is read. Its other fields are listed in `agUiFields`. */
export const RunAgentInput = Schema.Struct({
  threadId: ThreadId,
  runId: Id,
  protocolVersion: Schema.optional(Schema.NullOr(Schema.String)),
  messages: Schema.Array(Schema.Unknown),
  resume: Schema.optional(Schema.NullOr(Schema.Array(Resume))),
  /** Client tools of the page. A resumed run keeps those of its start. */
  tools: Schema.optional(Schema.NullOr(Schema.Array(Schema.Struct({
    name: Schema.String,
    description: Schema.optional(Schema.NullOr(Schema.String)),
    parameters: Schema.optional(Schema.NullOr(Schema.Record(Schema.String, Schema.Json)))
  })))),
  /** The page's context of the message: the model reads it as untrusted text. */
  context: Schema.optional(Schema.NullOr(Schema.Array(Schema.Struct({
    description: Schema.String,
    value: Schema.String
  })))),
  state: Schema.optional(Schema.Unknown),
  forwardedProps: Schema.optional(Schema.Unknown)
})

const AgUiSource = Schema.Struct({
  type: Schema.Literal("data"),
  value: Schema.String,
  mimeType: Schema.String
})

/** A part of a user's message: a text, or a file whose bytes are in the request. `binary` is the form of 0.0.59. */
export const AgUiPart = Schema.Union([
  Schema.Struct({ type: Schema.Literal("text"), text: Schema.String }),
  Schema.Struct({ type: Schema.Literals(["image", "audio", "video", "document"]), source: AgUiSource }),
  Schema.Struct({
    type: Schema.Literal("binary"),
    mimeType: Schema.String,
    data: Schema.String,
    filename: Schema.optional(Schema.String)
  }),
  Schema.Struct({
    type: Schema.Literal("binary"),
    mimeType: Schema.String,
    url: Schema.String,
    filename: Schema.optional(Schema.String)
  })
])

/** The page's result of a client tool. */
export const AgUiToolMessage = Schema.Struct({
  role: Schema.Literal("tool"),
  toolCallId: Schema.String,
  content: Schema.Union([
    Schema.String,
    Schema.Array(Schema.Struct({ type: Schema.Literal("text"), text: Schema.String }))
  ]),
  error: Schema.optional(Schema.NullOr(Schema.String))
})

/** A message of the user. */
export const AgUiUserMessage = Schema.Struct({
  id: Schema.String,
  role: Schema.Literal("user"),
  content: Schema.Union([Schema.String, Schema.Array(AgUiPart)])
})

/** A part of a message that OpenAI's clients send: a text, a picture or a file. */
export const ContentPart = Schema.Union([
  Schema.Struct({ type: Schema.Literal("text"), text: Schema.String }),
  Schema.Struct({ type: Schema.Literal("image_url"), image_url: Schema.Struct({ url: Schema.String }) }),
  Schema.Struct({
    type: Schema.Literal("file"),
    file: Schema.Struct({ file_data: Schema.String, filename: Schema.optional(Schema.String) })
  })
])

const TextPart = Schema.Struct({ type: Schema.Literal("text"), text: Schema.String })

const RefusalPart = Schema.Struct({ type: Schema.Literal("refusal"), refusal: Schema.String })

/** A call in a message of the history. */
const HistoryCall = Schema.Struct({
  id: Schema.String,
  type: Schema.optional(Schema.Literal("function")),
  function: Schema.Struct({ name: Schema.String, arguments: Schema.String })
})

/** A message of a conversation that the client keeps. */
export const CompletionMessage = Schema.Union([
  Schema.Struct({
    role: Schema.Literals(["system", "developer", "user"]),
    content: Schema.Union([Schema.String, Schema.Array(ContentPart)])
  }),
  Schema.Struct({
    role: Schema.Literal("assistant"),
    content: Schema.optional(
      Schema.NullOr(Schema.Union([Schema.String, Schema.Array(Schema.Union([TextPart, RefusalPart]))]))
    ),
    refusal: Schema.optional(Schema.NullOr(Schema.String)),
    tool_calls: Schema.optional(Schema.NullOr(Schema.Array(HistoryCall)))
  }),
  Schema.Struct({
    role: Schema.Literal("tool"),
    tool_call_id: Schema.String,
    content: Schema.NullOr(Schema.Union([Schema.String, Schema.Array(TextPart)]))
  })
])

const MaxTokens = Schema.optional(Schema.NullOr(Schema.Int.check(Schema.isGreaterThanOrEqualTo(1))))

/** A request of OpenAI's chat completions. Its other fields are listed in `completionFields`. */
export const CompletionRequest = Schema.Struct({
  model: Schema.String,
  messages: Schema.Array(CompletionMessage).check(Schema.isMinLength(1)),
  stream: Schema.optional(Schema.NullOr(Schema.Boolean)),
  stream_options: Schema.optional(Schema.NullOr(Schema.Struct({ include_usage: Schema.optional(Schema.Boolean) }))),
  /** The answer is cut behind so many tokens, at four characters a token. */
  max_tokens: MaxTokens,
  max_completion_tokens: MaxTokens
})

/** Request to start a run. With a thread, the agent reads its messages. */
export const StartRequest = Schema.Struct({
  agent: Schema.String,
  message: Schema.String.check(Schema.isMinLength(1)),
  threadId: Schema.optional(ThreadId),
  /** The same key again is the same run. Default: random. */
  key: Schema.optional(Id)
})

/** A user's feedback on a run. */
export const FeedbackRequest = Schema.Struct({
  value: Schema.Literals(["up", "down"]),
  comment: Schema.optional(Schema.String.check(Schema.isMaxLength(4000)))
})

/** A branch of a thread: a new one with the entries before the user's nth message, counted from 0. */
export const BranchRequest = Schema.Struct({
  id: ThreadId,
  before: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 100_000 }))
})

/** The title that a person gives. */
export const RenameRequest = Schema.Struct({
  title: Id.check(Schema.makeFilter((title) => title.trim() === "" ? "Expected a title that can be seen" : undefined))
})

const maxPage = 500

const Millis = Schema.NumberFromString.check(Schema.isFinite())

/** The cursor of a page: the start time and the id of the last run before it. */
const Cursor = Schema.String.check(
  Schema.isPattern(/^-?\d{1,16}\..+$/s, { message: "Expected the `next` of a page of runs" })
)

const limitUpTo = (maximum: number) =>
  Schema.optionalKey(Schema.NumberFromString.check(Schema.isInt(), Schema.isBetween({ minimum: 1, maximum })))

/** The query of an owner's list of runs. */
export const OwnRunsRequest = Schema.Struct({
  status: Schema.optionalKey(Status),
  agent: Schema.optionalKey(Schema.String),
  cursor: Schema.optionalKey(Cursor),
  limit: limitUpTo(maxPage)
})

/** The query of an operator's list of runs. */
export const ListRequest = Schema.Struct({
  ...OwnRunsRequest.fields,
  owner: Schema.optionalKey(Schema.String),
  /** The beginning of a run's id. */
  run: Schema.optionalKey(Schema.String),
  from: Schema.optionalKey(Millis),
  to: Schema.optionalKey(Millis),
  /** Words of the user's input, or of the answer. */
  text: Schema.optionalKey(Schema.String.check(Schema.isMaxLength(200))),
  /** A tool that was called. */
  tool: Schema.optionalKey(Schema.String),
  /** A code that a call or the run failed with. */
  code: Schema.optionalKey(Schema.String),
  /** `unknown`: with a call that an operator has to check. `undone`: with one that was compensated. */
  state: Schema.optionalKey(Schema.Literals(["unknown", "undone", "retried", "fixed"])),
  /** Milliseconds of work at least. */
  minWorked: Schema.optionalKey(Millis),
  minCost: Schema.optionalKey(Schema.NumberFromString.check(Schema.isFinite())),
  /** The id of a run: only those of its agent that ended alike. */
  like: Schema.optionalKey(Schema.String)
})

/** The query of an operator's list of approvals: waiting runs. */
export const ApprovalsRequest = Schema.Struct({
  ...OwnRunsRequest.fields,
  owner: Schema.optionalKey(Schema.String),
  run: Schema.optionalKey(Schema.String),
  from: Schema.optionalKey(Millis),
  to: Schema.optionalKey(Millis)
})

/** The query of the overview. Default: the last 24 hours in 24 parts. */
export const OverviewRequest = Schema.Struct({
  from: Schema.optionalKey(Millis),
  to: Schema.optionalKey(Millis),
  parts: limitUpTo(200)
})

/** The query of the calls that an operator has to check. */
export const OutcomesRequest = Schema.Struct({ limit: limitUpTo(maxPage) })

/** A person's findings about calls of a run. */
export const ChecksRequest = Schema.Struct({
  checks: Schema.Array(Schema.Struct({
    spanId: Schema.String,
    answer: Answer,
    note: Schema.optionalKey(Schema.String.check(Schema.isMaxLength(1000))),
    result: Schema.optionalKey(Schema.Json)
  })).check(Schema.isMinLength(1), Schema.isMaxLength(100))
})

/** The answer of a person about an entry of the ledger. */
export const LedgerCheckRequest = Schema.Struct({
  answer: Schema.Literals(["happened", "not_happened"]),
  note: Schema.optionalKey(Schema.String.check(Schema.isMaxLength(1000))),
  result: Schema.optionalKey(Schema.Json)
})

/** Which writes of a run are compensated: all that can be, if left out. */
export const CompensationsRequest = Schema.Struct({
  writes: Schema.optional(Schema.Array(Schema.String).check(Schema.isMinLength(1), Schema.isMaxLength(500)))
})

/** The query of the stream of a thread. `wait`: whether it stays open while its run waits. */
export const StreamRequest = Schema.Struct({ wait: Schema.optionalKey(Schema.Literals(["true", "false"])) })

/** The query of a list of threads. `after` is the `next` of the page before. */
export const ThreadsRequest = Schema.Struct({
  search: Schema.optionalKey(Schema.String),
  after: Schema.optionalKey(
    Schema.String.check(
      Schema.makeFilter((text) => isCursor(text) ? undefined : "Expected the `next` of a page of threads")
    )
  ),
  limit: limitUpTo(200)
})
