/** A fault of the wire: replies of the server, and the expected reaction. */

import type { OpenAiCompatible } from "@recourse/openai-compatible"
import type { Duration } from "effect"
import type { AiError } from "effect/ai"
import * as Server from "./server.ts"

export type Mode = "whole" | "stream"

export interface Fault {
  readonly fault: string
  /** Recourse's reaction, for the reader; none if the error and the number of requests say all. */
  readonly does?: string
  /** In which calls it can happen. Default: both. */
  readonly in?: Mode
  readonly replies: (mode: Mode) => ReadonlyArray<Server.Reply>
  readonly options?: Partial<OpenAiCompatible.Options>
  readonly requests: number
  /** The reason of the error; none if the call succeeds. */
  readonly reason?: AiError.AiErrorReason["_tag"]
  readonly retryable?: boolean
  readonly retryAfter?: Duration.Input
  /** Further invariant. */
  readonly check?: (outcome: Outcome) => void
}

export interface Outcome {
  readonly error: AiError.AiError | undefined
  readonly parts: ReadonlyArray<Record<string, unknown>>
  readonly bodies: ReadonlyArray<Record<string, unknown>>
}

export const answer = (mode: Mode): Server.Reply =>
  mode === "whole"
    ? Server.completion({ content: "fine" })
    : { chunks: [Server.chunk({ content: "fine" }), Server.chunk({}, "stop"), Server.done] }

export const thenAnswer = (reply: Server.Reply) => (mode: Mode) => [reply, answer(mode)]

export const always = (reply: Server.Reply) => () => [reply]

export const halfCall = Server.chunk({ tool_calls: [{ index: 0, id: "a", function: { name: "now", arguments: "{" } }] })

/** An answer with these fields of the message, whole or in one delta. */
export const message =
  (fields: Record<string, unknown>, finish = "stop") => (mode: Mode): ReadonlyArray<Server.Reply> => [
    mode === "whole"
      ? Server.completion({ content: null, ...fields }, {}, finish)
      : { chunks: [Server.chunk(fields), Server.chunk({}, finish), Server.done] }
  ]

export const nowCall = (args = "{}") => ({
  index: 0,
  id: "a",
  type: "function",
  function: { name: "now", arguments: args }
})

export const callsIn = (parts: Outcome["parts"]) => parts.filter((part) => part.type === "tool-call")

export const textIn = (parts: Outcome["parts"]) =>
  parts.map((part) => part.type === "text" ? part.text : part.type === "text-delta" ? part.delta : "").join("")
