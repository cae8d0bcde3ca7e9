/** The page `docs/wire-faults.md`, made of the outcomes of the faults. */

import { ErrorProjection, ProviderResponse } from "@recourse/core"
import { Effect } from "effect"
import type { AiError } from "effect/ai"
import type { Fault } from "./wireFault.ts"

/** Outcome of a fault: the error of its call, and the text that a user reads. */
export interface Row {
  readonly fault: Fault
  readonly failure?: {
    readonly reason: string
    readonly isRetryable: boolean
    readonly message: string
    readonly user: string
    readonly kept: string
  }
}

/** End of each message of a `NetworkError`, which the page has once. */
const advice =
  " (POST http://HOST/v1/chat/completions) Check your network connection and verify that the requested URL is accessible."

const messageOf = (error: AiError.AiError, host: string): string => {
  const message = error.reason.message
    .replaceAll(host, "HOST")
    .replaceAll(/\(E[A-Z_]+\)/g, "(CODE)")
    .replaceAll(/\s+/g, " ")
    .replaceAll("|", "\\|")
  return message.endsWith(advice) ? `${message.slice(0, -advice.length)} …` : message
}

const keptOf = (error: AiError.AiError): string => {
  const all = [
    ...("http" in error.reason && error.reason.http?.response !== undefined ? ["status, headers"] : []),
    ...(ProviderResponse.bodyOf(error) === undefined ? [] : ["body"])
  ]
  return all.length === 0 ? "–" : all.join(", ")
}

export const rowOf = (fault: Fault, error: AiError.AiError | undefined, host: string): Effect.Effect<Row> =>
  error === undefined ?
    Effect.succeed({ fault }) :
    Effect.map(ErrorProjection.forUser(error, "run"), ({ message }) => ({
      fault,
      failure: {
        reason: `\`${error.reason._tag}\``,
        isRetryable: error.isRetryable,
        message: messageOf(error, host),
        user: message,
        kept: keptOf(error)
      }
    }))

type Cells = ReadonlyArray<string>

const table = (rows: ReadonlyArray<Cells>): ReadonlyArray<string> => {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)))
  const line = (cells: Cells) => `| ${cells.map((cell, column) => cell.padEnd(widths[column]!)).join(" | ")} |`
  const [head, ...body] = rows.map(line)
  return [head!, `| ${widths.map((width) => "-".repeat(width)).join(" | ")} |`, ...body]
}

/** Each error once, with the longest of its lists of kept data. */
const errorRows = (rows: ReadonlyArray<Row>): ReadonlyArray<Cells> => {
  const errors = new Map<string, [...Array<string>, string]>()
  for (const { failure } of rows) {
    if (failure === undefined) continue
    const { isRetryable, kept, reason, user } = failure
    const before = errors.get(reason + isRetryable + user)?.at(-1) ?? ""
    errors.set(reason + isRetryable + user, [
      reason,
      isRetryable ? "yes" : "no",
      user,
      before.length > kept.length ? before : kept
    ])
  }
  return [...errors.values()]
}

/** Failures of the same kind under several statuses are one row. */
const failureRows = (rows: ReadonlyArray<Row>): ReadonlyArray<Cells> => {
  const groups = new Map<string, { readonly statuses: Array<string>; readonly rest: Cells }>()
  for (const { failure, fault: { does, fault, requests } } of rows) {
    if (failure === undefined) continue
    const status = /^\d{3}(?=$|, )/.exec(fault)?.[0] ?? ""
    const rest = [
      fault.slice(status.length),
      does === undefined ? String(requests) : `${requests}: ${does}`,
      failure.reason,
      failure.message.replace(`HTTP ${status}`, "HTTP STATUS")
    ]
    const key = status === "" ? fault : rest.join("|")
    const group = groups.get(key)
    if (group === undefined) groups.set(key, { statuses: [status], rest })
    else group.statuses.push(status)
  }
  return [...groups.values()].map(({ rest: [fault, ...cells], statuses }) => [
    statuses.join(", ") + fault!,
    ...cells.slice(0, -1),
    statuses.length === 1 ? cells.at(-1)!.replace("HTTP STATUS", `HTTP ${statuses[0]}`) : cells.at(-1)!
  ])
}

export const page = (rows: ReadonlyArray<Row>): string =>
  [
    "# Faults on the wire",
    "",
    "You have an error of a model call, or a server that misbehaves. Find the fault below, with the reaction of Recourse.",
    "",
    "A fault of the wire never reaches the model. Recourse repeats the same request, or the call fails.",
    "A fault of a body belongs to calls that are not streamed, and a fault of a stream or an event to streamed calls.",
    "Each other fault has the same outcome in both.",
    "",
    "`packages/openai-compatible/test/connection/faults.test.ts` plays each fault on a real socket and generates this page.",
    "",
    "## Faults that the call survives",
    "",
    ...table([
      ["Fault", "Requests", "Recourse"],
      ...rows.flatMap(({ failure, fault: { does, fault, requests } }) =>
        failure === undefined ? [[fault, String(requests), does!]] : []
      )
    ]),
    "",
    "## Faults that end the call",
    "",
    "A call with 3 requests was repeated by the transport.",
    "",
    ...table([["Fault", "Requests", "Error", "Message"], ...failureRows(rows)]),
    "",
    `Each \`…\` is \`${advice.trim()}\``,
    "",
    "## Errors of these calls",
    "",
    "`ProviderResponse` has the kept data, as far as the server sent it.",
    "",
    ...table([["Error", "Retryable", "The user reads", "Kept for the operator"], ...errorRows(rows)]),
    ""
  ].join("\n")
