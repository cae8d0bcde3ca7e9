/** Schemas of the server's answers, for clients and the OpenAPI document. */
import * as Schema from "effect/Schema"
import * as HttpApiSchema from "effect/http-api/HttpApiSchema"
import * as ProblemDetails from "effect/http/ProblemDetails"
import { Pending } from "@recourse/core/AgentEvent"
import * as Conversation from "@recourse/core/Conversation"
import { RunInfo } from "@recourse/core/Runs"
import { CallFacts, Check, Overview, RunSummary } from "../index/types.ts"
import type { Problem } from "../http/problem.ts"

/** A page's view of an agent. */
const Agent = Schema.Struct({
  name: Schema.String,
  title: Schema.optional(Schema.String),
  description: Schema.optional(Schema.String),
  tools: Schema.Array(Schema.Struct({ name: Schema.String, description: Schema.optional(Schema.String) })),
  suggestions: Schema.optional(Schema.Array(Schema.String)),
  files: Schema.optional(Schema.Array(Schema.String))
})

/** `GET /agents` */
export const Capabilities = Schema.Struct({
  agents: Schema.Array(Agent),
  principal: Schema.Struct({
    id: Schema.String,
    rights: Schema.Array(Schema.Literals(["chat", "decide", "operate"]))
  }),
  maxBodyBytes: Schema.Int,
  /** True if `POST /runs/:run/feedback` exists. */
  takesFeedback: Schema.Boolean,
  /** Treatment of a message while a run of its thread has not ended. */
  onBusy: Schema.Literals(["refuse", "queue", "join", "interrupt"])
})

/** A run as its owner sees it. */
export const Run = (({ owner: _, ...fields }) => Schema.Struct(fields))(RunInfo.fields)

/** An operator's view of a run. `summary`: its entry in the index of runs, which may be a moment behind. */
export const OperatorRun = Schema.Struct({ ...RunInfo.fields, summary: Schema.optional(RunSummary) })

/** Counts of runs. `isComplete`: whether all runs are counted; else older ones are still being read. */
export const Counted = Schema.Struct({ ...Overview.fields, isComplete: Schema.Boolean })

/** A call that a person has to check, or has checked. */
export const Outcome = Schema.Struct({
  run: Schema.Struct({ runId: Schema.String, agent: Schema.String, owner: Schema.optional(Schema.String) }),
  call: CallFacts,
  check: Schema.optional(Check)
})

/** An entry of the idempotency ledger without an outcome, that no call is at work on. Times are milliseconds since the epoch. */
export const LedgerEntry = Schema.Struct({
  id: Schema.String,
  tool: Schema.String,
  callId: Schema.String,
  startedAt: Schema.Finite,
  leasedUntil: Schema.Finite
})

/** A thread as its owner sees it. */
export const Thread = (({ owner: _, ...fields }) => Schema.Struct(fields))(Conversation.Thread.fields)

const Fields = Schema.Record(Schema.String, Schema.Json)

/** A message as `UIMessage` of the AI SDK. */
export const Message = Schema.Struct({
  id: Schema.String,
  role: Schema.Literals(["user", "assistant"]),
  metadata: Schema.optional(Fields),
  parts: Schema.Array(Schema.StructWithRest(Schema.Struct({ type: Schema.String }), [
    Schema.Record(Schema.String, Schema.Json)
  ]))
})

/** A run's timeline, made by `RunTimeline`. */
export const Timeline = Schema.Struct({
  spans: Schema.Array(Fields),
  decisions: Schema.Array(Fields),
  failures: Schema.Array(Fields),
  outcomes: Schema.Array(Fields),
  requests: Schema.Array(Fields),
  meters: Schema.Array(Fields),
  usage: Schema.Record(Schema.String, Schema.Finite),
  calls: Schema.Int,
  waited: Schema.Finite,
  waitingSince: Schema.optional(Schema.Finite),
  pending: Schema.Array(Fields)
})

/** A call that waits, and its run. */
export const Waiting = Schema.Struct({
  run: (({ pending: _, ...fields }) => Schema.Struct({ ...fields, summary: Schema.optional(RunSummary) }))(
    RunInfo.fields
  ),
  call: Pending
})

/** An agent as a model of OpenAI's protocol. */
export const Model = Schema.Struct({
  id: Schema.String,
  object: Schema.Literal("model"),
  created: Schema.Int,
  owned_by: Schema.String
})

/** A chat completion, whole. */
export const Completion = Schema.Struct({
  id: Schema.String,
  object: Schema.Literal("chat.completion"),
  created: Schema.Int,
  model: Schema.String,
  choices: Schema.Array(Schema.Struct({
    index: Schema.Int,
    message: Schema.Struct({ role: Schema.Literal("assistant"), content: Schema.String, refusal: Schema.Null }),
    logprobs: Schema.Null,
    finish_reason: Schema.String
  })),
  usage: Schema.Struct({
    prompt_tokens: Schema.Int,
    completion_tokens: Schema.Int,
    total_tokens: Schema.Int
  })
})

/** Error of a request without an answer for OpenAI's clients. `code`: name of the fault. */
export const openAiError = (status: number) =>
  Schema.Struct({
    error: Schema.Struct({
      message: Schema.String,
      type: Schema.String,
      /** The path of the field that the request is refused for. */
      param: Schema.NullOr(Schema.String),
      code: Schema.String,
      /** Reference for an operator: the request, or the run. */
      trace_id: Schema.optional(Schema.String)
    })
  }).pipe(HttpApiSchema.status(status))

const problem = <
  const Status extends number,
  const Titles extends ReadonlyArray<Problem["_tag"] | "InternalServerError">
>(
  status: Status,
  ...titles: Titles
) =>
  Schema.Struct({
    type: Schema.String,
    status: Schema.Literal(status),
    /** Name of the fault. */
    title: Schema.Literals(titles),
    detail: Schema.String,
    /** Reference to the request for an operator. */
    trace_id: Schema.String,
    reason: Schema.optional(Schema.String),
    /** The path of the field that the request is refused for. */
    param: Schema.optional(Schema.String)
  }).pipe(HttpApiSchema.status(status), HttpApiSchema.asJson({ contentType: ProblemDetails.contentType }))

/** Answers of every route. */
export const problems = {
  unauthorized: problem(401, "Unauthorized"),
  forbidden: problem(403, "Forbidden", "WrongOrigin", "WrongHost"),
  tooMany: problem(429, "TooManyRequests"),
  unexpected: problem(500, "InternalServerError"),
  unavailable: problem(503, "RunsUnavailable", "ConversationError"),
  badRequest: problem(400, "BadRequest"),
  unknown: problem(404, "UnknownAgent", "UnknownRun", "ThreadNotFound"),
  conflict: problem(409, "AnswerOutdated", "RunConflict", "ThreadBusy", "VersionConflict", "RunNotEnded"),
  tooLarge: problem(413, "TooLarge"),
  unsupported: problem(415, "UnsupportedMediaType"),
  refused: problem(422, "DecisionRefused", "InvalidInput", "NotCompensable")
} as const
