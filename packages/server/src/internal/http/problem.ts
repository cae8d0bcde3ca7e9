/** Problems: errors as RFC 9457 responses. What the program does not declare is a fixed sentence. */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as ProblemDetails from "effect/http/ProblemDetails"
import * as Response from "effect/http/HttpServerResponse"
import type { InvalidInput } from "@recourse/core/AgentError"
import type * as Approval from "@recourse/core/Approval"
import type * as Runs from "@recourse/core/Runs"
import type { Forbidden, Unauthorized } from "../../Authentication.ts"
import type * as Conversation from "@recourse/core/Conversation"
import { wentWrong } from "../wire/texts.ts"
import type { BadRequest, TooLarge, TooManyRequests, UnsupportedMediaType, WrongOrigin } from "./errors.ts"

/** What a route may fail with. */
export type Problem =
  | BadRequest
  | TooLarge
  | TooManyRequests
  | UnsupportedMediaType
  | WrongOrigin
  | Unauthorized
  | Forbidden
  | Runs.UnknownAgent
  | Runs.UnknownRun
  | Runs.RunConflict
  | Runs.RunsUnavailable
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
  UnknownAgent: 404,
  UnknownRun: 404,
  ThreadNotFound: 404,
  RunConflict: 409,
  ThreadBusy: 409,
  VersionConflict: 409,
  TooLarge: 413,
  UnsupportedMediaType: 415,
  DecisionRefused: 422,
  InvalidInput: 422,
  TooManyRequests: 429,
  RunsUnavailable: 503,
  ConversationError: 503
}

/** A problem as a response. `asText`: the AI SDK's client shows the whole body to the user. */
const toResponse = (problem: Problem, asText: boolean, traceId: string): Response.HttpServerResponse => {
  const status = statuses[problem._tag]
  const reason = "reason" in problem && typeof problem.reason === "string" ? { reason: problem.reason } : undefined
  const response = asText
    ? Response.text(problem.message, { status })
    : ProblemDetails.toResponse({
      type: "about:blank",
      status,
      title: problem._tag,
      detail: problem.message,
      trace_id: traceId,
      ...reason
    })
  if (problem._tag === "Unauthorized") return Response.setHeader(response, "www-authenticate", "Bearer")
  if (problem._tag === "TooManyRequests") {
    return Response.setHeader(response, "retry-after", String(Math.ceil(problem.retryAfter / 1000)))
  }
  return problem._tag === "RunsUnavailable" ? Response.setHeader(response, "retry-after", "5") : response
}

const unexpected = (asText: boolean, traceId: string): Response.HttpServerResponse =>
  asText
    ? Response.text(`${wentWrong} (${traceId})`, { status: 500 })
    : ProblemDetails.toResponse({
      type: "about:blank",
      status: 500,
      title: "InternalServerError",
      detail: wentWrong,
      trace_id: traceId
    })

/** Where an operator finds a request: the trace of its span, which logs and exporters name. */
const traceOf: Effect.Effect<string> = Effect.catch(
  Effect.map(Effect.currentSpan, ({ traceId }) => traceId),
  () => Effect.sync(() => crypto.randomUUID().replaceAll("-", ""))
)

/** Answers each error of a route, with the id of its trace. A defect is logged, and its cause stays here. */
export const answered = <R>(
  route: Effect.Effect<Response.HttpServerResponse, Problem, R>,
  options?: { readonly asText?: boolean }
): Effect.Effect<Response.HttpServerResponse, never, R> => {
  const asText = options?.asText ?? false
  const traced = (
    respond: (traceId: string) => Effect.Effect<Response.HttpServerResponse>
  ): Effect.Effect<Response.HttpServerResponse> =>
    Effect.flatMap(
      traceOf,
      (traceId) => Effect.map(respond(traceId), Response.setHeader("x-trace-id", traceId))
    )
  return route.pipe(
    Effect.catch((problem) => traced((traceId) => Effect.succeed(toResponse(problem, asText, traceId)))),
    Effect.catchCause((cause) =>
      Cause.hasInterruptsOnly(cause)
        ? Effect.failCause(cause)
        : traced((traceId) =>
          Effect.as(
            Effect.annotateLogs(Effect.logError("A request ended with a defect", cause), { trace_id: traceId }),
            unexpected(asText, traceId)
          )
        )
    )
  )
}
