/**
 * Tool calls of a streamed answer, put together from their deltas.
 *
 * Invariant: a call that the server reports more than once comes out once. A report with the id (or, without an id, the index) of a
 * call that is already complete is withheld until the answer ends; if its tool and arguments are those of the earlier call, it is
 * dropped, otherwise it is a call of its own.
 */
import type * as AiError from "effect/ai/AiError"
import type * as Response from "effect/ai/Response"
import * as Result from "effect/Result"
import * as JsonText from "@recourse/core/JsonText"
import * as ChatResponse from "./chatResponse.ts"
import * as OpaqueState from "./opaqueState.ts"
import { argumentsText, hasSameArguments } from "./sameCall.ts"
import * as ToolArguments from "./toolArguments.ts"
import * as Wire from "./wire.ts"

interface Call {
  /** The id that the call comes out with; drawn at the end for a call that is withheld. */
  id: string | undefined
  /** The id that the server gave, if it gave one. */
  readonly wireId: string | undefined
  name: string
  arguments: string
  /** The length of the arguments that have been emitted. */
  shown: number
  readonly follower: JsonText.Follower
  /** True if the arguments are one whole value, determined at their end. */
  complete: boolean | undefined
  /** The first call that this report may repeat, or `"any"` for the older `function_call`. A withheld call emits no delta. */
  readonly repeats: Call | "any" | undefined
  /** Fields that the protocol does not know. */
  fields: OpaqueState.CallFields
}

type Emit = (part: Response.StreamPartEncoded) => void

/** The calls of one answer. */
export class CallAssembly {
  private readonly uniqueId: (wireId: string | undefined) => string
  private readonly server: string
  private readonly emit: Emit
  private readonly calls: Array<Call> = []
  private readonly byIndex = new Map<number | "function_call", Call>()
  private readonly byId = new Map<string, Call>()
  private wholes: ReadonlyArray<Wire.ToolCall> = []

  /** `emit` receives the growing arguments. */
  constructor(newId: () => string, server: string, emit: Emit) {
    this.uniqueId = ChatResponse.callIds(newId)
    this.server = server
    this.emit = emit
  }

  /** Reads a piece of a call; the older `function_call` has an index of its own. */
  push(delta: Wire.ToolCall, isLegacy = false): void {
    const index = isLegacy ? "function_call" : Wire.index(delta.index)
    const call = this.callOf(delta, index)
    if (index !== undefined) this.byIndex.set(index, call)
    call.fields = OpaqueState.mergeCall(call.fields, OpaqueState.callFields(delta))
    const name = delta.function?.name
    if (call.name === "" && name) {
      call.name = name
      if (call.id !== undefined) this.emit({ type: "tool-params-start", id: call.id, name })
    }
    this.grow(call, argumentsText(delta.function?.arguments))
  }

  /** Reads all calls of a whole message behind the deltas. */
  pushWhole(all: ReadonlyArray<Wire.ToolCall>): void {
    this.wholes = all
  }

  /** True if these calls are complete, have neither id nor index, and are as many as all calls so far. */
  mayRepeatAll(all: ReadonlyArray<Wire.ToolCall>): boolean {
    return all.length > 0 && all.length === this.calls.length && this.calls.every(isComplete) &&
      all.every((call) =>
        Wire.callId(call) === undefined && Wire.index(call.index) === undefined && (call.function?.name ?? "") !== "" &&
        ToolArguments.isComplete(argumentsText(call.function?.arguments))
      )
  }

  get isEmpty(): boolean {
    return this.calls.length === 0 && this.wholes.length === 0
  }

  /** Opens a call that was found in the text. */
  add(name: string, args: string): void {
    const call = this.open(undefined, undefined, name)
    this.emit({ type: "tool-params-start", id: call.id!, name })
    this.grow(call, args)
  }

  /** Ends the calls. The state of their message is attached to the first one. */
  finish(
    message: OpaqueState.MessageFields
  ): Result.Result<ReadonlyArray<Response.ToolCallPartEncoded>, AiError.AiErrorReason> {
    const assembled = this.withWholes(this.distinct())
    if (assembled.some(({ name }) => name === "")) return Result.fail(ChatResponse.namelessCall())
    for (const { id } of assembled) this.emit({ type: "tool-params-end", id: id! })
    return Result.succeed(assembled.map((call, at): Response.ToolCallPartEncoded => ({
      type: "tool-call",
      id: call.id!,
      name: call.name,
      params: ToolArguments.parse(call.arguments),
      ...OpaqueState.metadata(this.server, { ...call.fields, ...(at === 0 ? message : undefined) })
    })))
  }

  private open(wireId: string | undefined, repeats: Call["repeats"], name = ""): Call {
    const call: Call = {
      id: repeats === undefined ? this.uniqueId(wireId) : undefined,
      wireId,
      name,
      arguments: "",
      shown: 0,
      follower: JsonText.follow(),
      complete: undefined,
      repeats,
      fields: {}
    }
    this.calls.push(call)
    if (wireId !== undefined) this.byId.set(wireId, call)
    return call
  }

  private echoOf(call: Call, wireId: string | undefined): Call {
    return this.open(wireId ?? call.wireId, typeof call.repeats === "object" ? call.repeats : call)
  }

  /** The call that a delta belongs to: by id, else by index, else the last one. A complete call is not written on. */
  private callOf(delta: Wire.ToolCall, index: number | "function_call" | undefined): Call {
    const wireId = Wire.callId(delta)
    const named = (delta.function?.name ?? "") !== ""
    const known = wireId === undefined ? undefined : this.byId.get(wireId)
    if (known !== undefined && !startsAnother(known, delta)) return known
    if (known !== undefined && (!named || delta.function?.name === nameOf(known))) return this.echoOf(known, wireId)
    const there = index === undefined
      ? this.calls.at(-1)
      : this.byIndex.get(index) ?? (wireId === undefined && !named ? this.withoutArguments() : undefined)
    if (there === undefined) return this.open(wireId, index === "function_call" ? "any" : undefined)
    if (startsAnother(there, delta)) {
      const isEcho = !named || (wireId === undefined && index !== undefined && delta.function?.name === nameOf(there))
      return isEcho ? this.echoOf(there, wireId) : this.open(wireId, undefined)
    }
    return hasOwnId(there, wireId, index, delta) ? this.open(wireId, undefined) : there
  }

  /** The last call, if it has an id, a name and no arguments: some servers send those under another index. */
  private withoutArguments(): Call | undefined {
    const last = this.calls.at(-1)
    return last?.wireId !== undefined && last.name !== "" && last.arguments === "" ? last : undefined
  }

  private grow(call: Call, text: string): void {
    const caughtUp = call.shown === call.arguments.length
    call.arguments += text
    call.follower.push(text)
    if (call.id !== undefined && call.name !== "" && call.shown < call.arguments.length) {
      this.emit({ type: "tool-params-delta", id: call.id, delta: caughtUp ? text : call.arguments })
      call.shown = call.arguments.length
    }
  }

  /** Gives a withheld call an id, and emits it. */
  private reveal(call: Call, name: string): void {
    call.id = this.uniqueId(call.wireId)
    call.name = name
    this.emit({ type: "tool-params-start", id: call.id, name })
    if (call.arguments !== "") this.emit({ type: "tool-params-delta", id: call.id, delta: call.arguments })
    call.shown = call.arguments.length
  }

  /** The calls that are not repeated reports of others. */
  private distinct(): Array<Call> {
    const distinctCalls: Array<Call> = this.calls.filter(({ repeats }) => repeats === undefined)
    for (const call of this.calls) {
      const { repeats } = call
      if (repeats === undefined) continue
      const name = nameOf(call)
      const same = distinctCalls.find((other) =>
        (repeats === "any" || other === repeats || other.repeats === repeats) &&
        other.name === name && hasSameArguments(other.arguments, call.arguments)
      )
      if (same !== undefined) same.fields = OpaqueState.mergeCall(same.fields, call.fields)
      // Without a name it can only belong to the call before it, which the tool's own check then refuses.
      else if (call.name === "" && repeats !== "any") this.grow(repeats, call.arguments)
      else {
        if (call.name !== "") this.reveal(call, name)
        distinctCalls.push(call)
      }
    }
    return this.calls.filter((call) => distinctCalls.includes(call))
  }

  /** Adds the calls of a whole message that no delta has reported. */
  private withWholes(assembled: Array<Call>): Array<Call> {
    const unmatched = new Set(assembled)
    for (const whole of this.wholes) {
      const wireId = Wire.callId(whole)
      const text = argumentsText(whole.function?.arguments)
      const name = whole.function?.name ?? ""
      const isNamed = (call: Call) => name === "" || call.name === "" || call.name === name
      const same = [...unmatched].find((call) =>
        isNamed(call) && (wireId === undefined || call.wireId === undefined || wireId === call.wireId) &&
        (hasSameArguments(call.arguments, text) ||
          (wireId !== undefined && wireId === call.wireId && !ToolArguments.isComplete(call.arguments)))
      )
      if (same === undefined) {
        const call = this.open(wireId, "any", name)
        call.arguments = text
        call.fields = OpaqueState.callFields(whole)
        if (name !== "") this.reveal(call, name)
        assembled.push(call)
        continue
      }
      unmatched.delete(same)
      same.fields = { ...same.fields, ...OpaqueState.callFields(whole) }
      if (same.name === "" && name !== "") this.reveal(same, name)
      if (same.arguments !== text && !ToolArguments.isComplete(same.arguments)) {
        if (text.startsWith(same.arguments)) this.grow(same, text.slice(same.arguments.length))
        same.arguments = text
      }
    }
    return assembled
  }
}

/**
 * True if a new id is that of another call. Some servers give every call of an answer the same index, or none. Some
 * give each delta an id of its own: that of a delta without a name, or of one with the index of incomplete arguments,
 * identifies no call.
 */
const hasOwnId = (
  there: Call,
  wireId: string | undefined,
  index: number | "function_call" | undefined,
  delta: Wire.ToolCall
): boolean =>
  wireId !== undefined && there.name !== "" && (delta.function?.name ?? "") !== "" &&
  (index === undefined || (there.wireId !== undefined && there.follower.progress() !== "open"))

/** A call with another name, or arguments after complete ones, is another call or a repeated report. */
const startsAnother = (call: Call, delta: Wire.ToolCall): boolean => {
  const name = delta.function?.name ?? ""
  const args = argumentsText(delta.function?.arguments)
  if (name === "") return /^\s*[[{]/.test(args) && call.follower.progress() === "ended" && isComplete(call)
  const known = nameOf(call)
  if (known === "") return false
  return name !== known || (args !== "" && isComplete(call))
}

/** The name of a call; a repeated report without one has that of the call before it. */
const nameOf = ({ name, repeats }: Call): string => name || (typeof repeats === "object" ? repeats.name : "")

/** Checked once, at the end of the text: no later text makes it whole. Bare values are short. */
const isComplete = (call: Call): boolean => {
  switch (call.follower.progress()) {
    case "open":
      return false
    case "ended":
      return call.complete ??= ToolArguments.isComplete(call.arguments)
    case "bare":
      return call.arguments.length < 64 && ToolArguments.isComplete(call.arguments)
  }
}
