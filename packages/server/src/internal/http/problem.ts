/** Problems: errors in RFC 9457 responses. An error that the program does not declare is a fixed sentence. */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as ProblemDetails from "effect/http/ProblemDetails"
import * as Response from "effect/http/HttpServerResponse"
import type { InvalidInput } from "@recourse/core/AgentError"
import type * as Approval from "@recourse/core/Approval"
import type * as Compensation from "@recourse/core/Compensation"
import type * as Runs from "@recourse/core/Runs"
import type { Forbidden, Unauthorized, WrongHost } from "../../Authentication.ts"
import type * as Conversation from "@recourse/core/Conversation"
import type { AnswerOutdated } from "../chat/errors.ts"
import { wentWrong } from "../wire/texts.ts"
import type {
  BadRequest,
  RouteNotFound,
  TooLarge,
  TooManyRequests,
  UnsupportedMediaType,
  WrongOrigin
} from "./errors.ts"

/** Possible errors of a route. */
export type Problem =
  | BadRequest
  | TooLarge
  | TooManyRequests
  | UnsupportedMediaType
  | WrongOrigin
  | WrongHost
  | RouteNotFound
  | AnswerOutdated
  | Unauthorized
  | Forbidden
  | Runs.UnknownAgent
  | Runs.UnknownRun
  | Runs.RunConflict
  | Runs.RunsUnavailable
  | Compensation.RunNotEnded
  | Compensation.NotCompensable
  | InvalidInput
  | Approval.DecisionRefused
  | Conversation.ThreadNotFound
  | Conversation.ThreadBusy
  | Conversation.ConversationError
  | Conversation.VersionConflict

export const statuses: Readonly<Record<Problem["_tag"], number>> = {
  BadRequest: 400,
  Unauthorized: 401,
  Forbidden: 403,
  WrongOrigin: 403,
  WrongHost: 403,
  RouteNotFound: 404,
  UnknownAgent: 404,
  UnknownRun: 404,
  ThreadNotFound: 404,
  AnswerOutdated: 409,
  RunConflict: 409,
  RunNotEnded: 409,
  ThreadBusy: 409,
  VersionConflict: 409,
  TooLarge: 413,
  UnsupportedMediaType: 415,
  DecisionRefused: 422,
  InvalidInput: 422,
  NotCompensable: 422,
  TooManyRequests: 429,
  RunsUnavailable: 503,
  ConversationError: 503
}

/**
 * Form of a problem: that of RFC 9457; a text, if the AI SDK's client shows the whole body to the user; or that of
 * OpenAI's clients.
 */
export type Form = "problem" | "text" | "openai"

/** Public fields of a problem. */
interface PublicProblem {
  readonly status: number
  readonly title: string
  readonly detail: string
  readonly traceId: string
  readonly reason?: string | undefined
  readonly param?: string | undefined
}

const render = (
  form: Form,
  { detail, param, reason, status, title, traceId }: PublicProblem
): Response.HttpServerResponse => {
  switch (form) {
    case "text":
      return Response.text(detail, { status })
    case "openai": {
      const type = status < 500 ? "invalid_request_error" : "server_error"
      const error = { message: detail, type, param: param ?? null, code: title, trace_id: traceId }
      return Response.jsonUnsafe({ error }, { status })
    }
    case "problem": {
      const why = {
        ...(reason === undefined ? undefined : { reason }),
        ...(param === undefined ? undefined : { param })
      }
      return ProblemDetails.toResponse({ type: "about:blank", status, title, detail, trace_id: traceId, ...why })
    }
  }
}

/** A problem as a response. */
const toResponse = (problem: Problem, form: Form, traceId: string): Response.HttpServerResponse => {
  const response = render(form, {
    status: statuses[problem._tag],
    title: problem._tag,
    detail: problem.message,
    traceId,
    reason: "reason" in problem && typeof problem.reason === "string" ? problem.reason : undefined,
    param: problem._tag === "BadRequest" ? problem.param : undefined
  })
  if (problem._tag === "Unauthorized") return Response.setHeader(response, "www-authenticate", "Bearer")
  if (problem._tag === "TooManyRequests") {
    return Response.setHeader(response, "retry-after", String(Math.ceil(problem.retryAfter / 1000)))
  }
  return problem._tag === "RunsUnavailable" ? Response.setHeader(response, "retry-after", "5") : response
}

const unexpected = (form: Form, traceId: string): Response.HttpServerResponse =>
  render(form, {
    status: 500,
    title: "InternalServerError",
    detail: form === "text" ? `${wentWrong} (${traceId})` : wentWrong,
    traceId
  })

/** An operator's reference to a request: the trace of its span, which logs and exporters name. */
const traceOf: Effect.Effect<string> = Effect.catch(
  Effect.map(Effect.currentSpan, ({ traceId }) => traceId),
  () => Effect.sync(() => crypto.randomUUID().replaceAll("-", ""))
)

/** Answers each error of a route, with the id of its trace. A defect is logged, and its cause stays here. */
export const answered = <R>(
  route: Effect.Effect<Response.HttpServerResponse, Problem, R>,
  form: Form = "problem"
): Effect.Effect<Response.HttpServerResponse, never, R> => {
  const traced = (
    respond: (traceId: string) => Effect.Effect<Response.HttpServerResponse>
  ): Effect.Effect<Response.HttpServerResponse> =>
    Effect.flatMap(
      traceOf,
      (traceId) => Effect.map(respond(traceId), Response.setHeader("x-trace-id", traceId))
    )
  return route.pipe(
    Effect.catch((problem) => traced((traceId) => Effect.succeed(toResponse(problem, form, traceId)))),
    Effect.catchCause((cause) =>
      Cause.hasInterruptsOnly(cause)
        ? Effect.failCause(cause)
        : traced((traceId) =>
          Effect.as(
            Effect.annotateLogs(Effect.logError("A request ended with a defect", cause), { trace_id: traceId }),
            unexpected(form, traceId)
          )
        )
    )
  )
}
