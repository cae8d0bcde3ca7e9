/** Open calls: calls of a thread that have started writes, in turns that have not ended. Their process died, or runs. */
import * as Prompt from "effect/ai/Prompt"
import type * as Schema from "effect/Schema"
import { decodePrompt } from "../foundation/json/promptJson.ts"
import { unknownOutcome } from "../history/cancelledResults.ts"
import type { Entry, Event } from "./thread.ts"

type EventOf<Tag extends Event["_tag"]> = Extract<Event, { readonly _tag: Tag }>

/** A write of an open call. */
export interface OpenWrite extends Pick<EventOf<"WriteStarted">, "tool" | "path" | "argumentsHash"> {
  readonly write: string
  readonly outcome: EventOf<"WriteEnded">["outcome"] | undefined
}

/** A call that has started a write, in a turn that has not ended. */
export interface OpenCall {
  readonly runId: string
  readonly callId: string
  /** The position of the entry that has its message. */
  readonly position: number
  readonly message: Schema.Json
  readonly writes: ReadonlyMap<string, OpenWrite>
  /** The result that the model reads, if the call is over. */
  readonly result: { readonly position: number; readonly message: Schema.Json } | undefined
}

const started = (call: OpenCall, { argumentsHash, path, tool, write }: EventOf<"WriteStarted">): OpenCall => ({
  ...call,
  writes: new Map(call.writes).set(write, { argumentsHash, path, tool, write, outcome: undefined })
})

const ended = (call: OpenCall, { outcome, result, write }: EventOf<"WriteEnded">, position: number): OpenCall => ({
  ...call,
  writes: new Map(
    [...call.writes].map(([path, one]) =>
      path === write || (write === undefined && one.outcome === undefined) ? [path, { ...one, outcome }] : [path, one]
    )
  ),
  result: result === undefined ? call.result : { position, message: result }
})

/** The open calls of a thread, in the order in which they started. */
export const openCalls = (entries: ReadonlyArray<Entry>): ReadonlyArray<OpenCall> => {
  const calls = new Map<string, OpenCall>()
  for (const { event, position, runId = "" } of entries) {
    if (event._tag === "TurnEnded") {
      for (const [key, call] of calls) if (event.runs.includes(call.runId)) calls.delete(key)
    } else if (event._tag === "WriteStarted") {
      const { callId, message } = event
      const key = JSON.stringify([runId, callId])
      const known = calls.get(key)
      const call = known ?? message
      if (call === undefined) continue
      calls.set(
        key,
        started(
          known ?? { runId, callId, position, message: message!, writes: new Map(), result: undefined },
          event
        )
      )
    } else if (event._tag === "WriteEnded") {
      const key = JSON.stringify([runId, event.callId])
      const known = calls.get(key)
      if (known !== undefined) calls.set(key, ended(known, event, position))
    }
  }
  return [...calls.values()]
}

const nameOf = ({ message, writes }: OpenCall): string => {
  const [said] = decodePrompt({ content: [message] }).content
  const call = said?.role === "assistant" ? said.content.find(({ type }) => type === "tool-call") : undefined
  return call?.type === "tool-call" ? call.name : [...writes.values()][0]?.tool ?? ""
}

/** The result of a call that is not over: it may have happened. */
export const unknownResult = (call: OpenCall): Prompt.ToolMessage =>
  Prompt.toolMessage({
    content: [Prompt.toolResultPart({
      id: call.callId,
      name: nameOf(call),
      isFailure: true,
      providerExecuted: false,
      result: unknownOutcome(call.runId)
    })]
  })

/** The call as an earlier message says it, with its result: of a call that is not over, that it may have happened. */
export const messagesOfCall = (call: OpenCall): ReadonlyArray<Prompt.Message> => [
  ...decodePrompt({ content: [call.message] }).content,
  resultOf(call)
]

/** The message with the result of a call: of a call that is not over, that it may have happened. */
export const resultOf = (call: OpenCall): Prompt.Message =>
  call.result === undefined ? unknownResult(call) : decodePrompt({ content: [call.result.message] }).content[0]!

/** The finding about a call whose turn did not end. */
export const findingOf = (
  call: OpenCall
) => ({ problem: "call_without_result", callId: call.callId, tool: nameOf(call) } as const)
