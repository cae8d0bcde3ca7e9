/** Common parts of the routes of one run, for any user: its events, and decisions about its calls. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as HttpRouter from "effect/http/HttpRouter"
import type * as HttpServerRequest from "effect/http/HttpServerRequest"
import type * as Response from "effect/http/HttpServerResponse"
import * as Approval from "@recourse/core/Approval"
import type { RunInfo } from "@recourse/core/Runs"
import { BadRequest } from "../http/errors.ts"
import { eventStream } from "../http/sse.ts"
import type { Wire } from "../wire/wire.ts"
import type { Config } from "./config.ts"

export const runParam = Effect.map(HttpRouter.params, (params) => params["run"] ?? "")

export const DecideRequest = Schema.Struct({ decisions: Schema.Array(Schema.Unknown) })

/** An `EventSource` without an end event reconnects. */
const theEnd = "event: end\ndata: {}\n\n"

/** The events of a run behind the last one that the reader has. */
export const eventsOf = (
  config: Config,
  wire: Wire,
  runId: string,
  { headers }: HttpServerRequest.HttpServerRequest
): Effect.Effect<Response.HttpServerResponse, BadRequest> => {
  const from = Number(headers["last-event-id"] ?? 0)
  return Number.isSafeInteger(from) && from >= 0
    ? Effect.succeed(eventStream(config.frames.of(wire, { runId, from, untilOver: true }, { behind: theEnd })))
    : Effect.fail(new BadRequest({ problem: "Last-Event-ID is a number" }))
}

/** The deciding person is the signed-in one, regardless of the decisions' content. */
export const decideAs = (config: Config, run: RunInfo, { decisions }: typeof DecideRequest.Type, by: string) =>
  Effect.flatMap(
    Effect.fromResult(Approval.decodeDecisions(decisions)),
    (decoded) => config.chats.decideAll(run, decoded.map((decision) => ({ ...decision, by })))
  )
