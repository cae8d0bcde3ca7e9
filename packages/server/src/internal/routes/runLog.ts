/** Route of a run's log: its events, one JSON object a line, without secrets. `recourse-replay` makes a test of it. */
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as HttpRouter from "effect/http/HttpRouter"
import * as Response from "effect/http/HttpServerResponse"
import type { AgentEvent } from "@recourse/core/AgentEvent"
import * as EventJson from "@recourse/core/EventJson"
import * as Redaction from "@recourse/core/Redaction"
import { follow } from "../chat/segments.ts"
import { answered } from "../http/problem.ts"
import { check } from "../http/request.ts"
import { withoutCompensable } from "../wire/publicEvent.ts"
import type { Config } from "./config.ts"
import { find } from "./operator.ts"

/** Fields with names: a random id looks like a secret, and a log without it is useless. */
const names: ReadonlySet<string> = new Set([
  "_tag",
  "runId",
  "agentRunId",
  "parent",
  "path",
  "callId",
  "pendingCallId",
  "parentCallId",
  "partId",
  "tool",
  "argumentsHash",
  "entry"
])

/** Fields with JSON text: inner names mark secrets. */
const texts: ReadonlySet<string> = new Set(["arguments", "before"])

const parsed = (text: unknown): unknown => {
  try {
    return typeof text === "string" ? JSON.parse(text) : undefined
  } catch {
    return undefined
  }
}

/** A redacted field. */
const redacted = (redactor: Redaction.Redactor, name: string, value: unknown): unknown => {
  if (names.has(name)) return value
  const within = texts.has(name) ? parsed(value) : undefined
  if (within !== undefined) return JSON.stringify(Redaction.json(redactor, within))
  const shown = Redaction.json(redactor, { [name]: value }) as Readonly<Record<string, unknown>>
  return shown[name]
}

/** An event as a line. */
const lineOf = (redactor: Redaction.Redactor, event: AgentEvent): string => {
  const fields = Object.entries(EventJson.encode(withoutCompensable(event)) as object)
  return `${
    JSON.stringify(Object.fromEntries(fields.map(([name, value]) => [name, redacted(redactor, name, value)])))
  }\n`
}

const log = Effect.fnUntraced(function*(config: Config) {
  const { principal } = yield* check(config.checks, "operate")
  const { runId } = yield* find(config, principal)
  const redactor = yield* Redaction.Redaction
  const events = yield* Stream.runCollect(follow(config.chats.runs, runId))
  return Response.text(events.map(({ event }) => lineOf(redactor, event)).join(""), {
    contentType: "application/x-ndjson; charset=utf-8",
    headers: { "content-disposition": `attachment; filename="${runId.replaceAll(/[^\w.-]/g, "_")}.jsonl"` }
  })
})

/** The route of a run's log. */
export const runLogRoutes = (config: Config) => [
  HttpRouter.route("GET", "/operator/runs/:run/log", answered(log(config)))
]
