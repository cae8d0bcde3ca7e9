/** The events of one model call: its start, the parts of its answer as they come, its end. */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import type * as AiError from "effect/ai/AiError"
import type * as Response from "effect/ai/Response"
import * as Prompt from "effect/ai/Prompt"
import { operatorMessage } from "../run/runFailure.ts"
import { emit, emitWhole, type Run } from "../run/run.ts"
import { finishOf, isCall, isContent, textOf, tokensOf } from "./responseParts.ts"
import { wholePartEvent } from "./wholePartEvent.ts"
import { keepRequest } from "../run/state/runState.ts"

type Part = "text" | "reasoning"

/** Emits the events of one model call. */
export class TurnEvents {
  readonly run: Run
  readonly turn: number
  /** True if content has arrived: then a repeated call is visible. */
  hasContent = false
  /** The parts of the answer that have come. */
  heard: ReadonlyArray<Response.AnyPart> = []
  private isOpen = false
  private openParts: Set<`${Part} ${string}`> | undefined
  private lastGrown:
    | { readonly kind: Part; readonly id: string; readonly open: `${Part} ${string}`; readonly partId: string }
    | undefined
  /** Calls whose arguments are emitted as they arrive. */
  private growing: Map<string, string> | undefined
  private readonly keepsId: (callId: string) => boolean
  private readonly isDelayed: (() => boolean) | undefined
  /** Delayed events, because a guard has not passed. */
  private delayed: Array<() => Effect.Effect<void>> = []
  /** Runs once the delayed events are emitted or dropped. */
  onEmitted: (() => Effect.Effect<void>) | undefined

  /**
   * `keepsId`: true if a call with this id is emitted under it. `isDelayed`: true while events are delayed, until {@link
   * release} or {@link discard}.
   */
  constructor(run: Run, turn: number, keepsId: (callId: string) => boolean, isDelayed?: () => boolean) {
    this.run = run
    this.turn = turn
    this.keepsId = keepsId
    this.isDelayed = isDelayed
  }

  private emitOrDelay(telling: () => Effect.Effect<void>): Effect.Effect<void> {
    if (this.isDelayed?.() === true) {
      this.delayed.push(telling)
      return Effect.void
    }
    return this.delayed.length === 0 ? telling() : Effect.andThen(this.release, Effect.suspend(telling))
  }

  /** True if a part of the answer is not emitted yet. */
  get isHolding(): boolean {
    return this.delayed.length > 0
  }

  /** Emits the delayed events. */
  get release(): Effect.Effect<void> {
    return Effect.suspend(() => {
      const { delayed } = this
      this.delayed = []
      return delayed.length === 0
        ? Effect.void
        : Effect.andThen(
          Effect.forEach(delayed, (telling) => Effect.suspend(telling), { discard: true }),
          this.emitPending
        )
    })
  }

  /** Drops the delayed events for good: another answer, or another request, replaces them. */
  get replaced(): Effect.Effect<void> {
    return Effect.andThen(this.discard, this.emitPending)
  }

  private get emitPending(): Effect.Effect<void> {
    return Effect.suspend(() => {
      const { onEmitted } = this
      this.onEmitted = undefined
      return onEmitted?.() ?? Effect.void
    })
  }

  /** Drops the delayed events, and emits an empty end of the turn: listeners of its start receive its end. */
  get discard(): Effect.Effect<void> {
    return Effect.uninterruptible(Effect.suspend(() => {
      this.delayed = []
      this.heard = []
      if (!this.isOpen) return Effect.void
      this.isOpen = false
      return Effect.flatMapEager(
        this.partsEnd(),
        () => emit(this.run, () => ({ _tag: "ModelTurnFailed", turn: this.turn, error: "Guardrail" }))
      )
    }))
  }

  /** The emitted text, without the delayed one. */
  get text(): string {
    return this.delayed.length > 0 ? "" : this.heard.map(textOf).join("")
  }

  get started(): Effect.Effect<void> {
    return emit(this.run, () => {
      this.isOpen = true
      return { _tag: "ModelTurnStarted", turn: this.turn }
    })
  }

  /** Emits the request to the model, if events include it. */
  requested({ content }: Prompt.Prompt, tools: ReadonlyArray<string>, toolChoice?: string): Effect.Effect<void> {
    const { run, turn } = this
    if (run.audience?.details !== true) return Effect.void
    return emit(run, () => {
      const before = run.reading.requested
      let unchanged = 0
      while (unchanged < before.length && before[unchanged] === content[unchanged]) unchanged++
      keepRequest(run, content)
      return {
        _tag: "ModelRequested",
        turn,
        kept: unchanged,
        messages: Prompt.fromMessages(content.slice(unchanged)),
        tools,
        ...(toolChoice === undefined || toolChoice === "auto" ? undefined : { toolChoice })
      }
    })
  }

  /** Parts of an answer that is streamed. */
  parts(parts: ReadonlyArray<Response.AnyPart>): Effect.Effect<void> {
    this.hasContent ||= parts.some(isContent)
    if (this.run.audience === undefined) return Effect.void
    return this.isDelayed === undefined ? this.each(parts) : this.emitOrDelay(() => this.each(parts))
  }

  private each(parts: ReadonlyArray<Response.AnyPart>): Effect.Effect<void> {
    return parts.reduce<Effect.Effect<void>>((emitted, part) => {
      const telling = this.part(part)
      return telling === Effect.void ? emitted : Effect.flatMapEager(emitted, () => telling)
    }, Effect.void)
  }

  /** The model has answered; parts that were not streamed are emitted now. */
  finished(content: ReadonlyArray<Response.AnyPart>): Effect.Effect<void> {
    if (this.run.audience === undefined) return Effect.void
    return this.emitOrDelay(() => this.end(content, !this.run.start.streaming))
  }

  /** The model answered in an earlier execution of the run, which crashed before emitting it. */
  answeredBefore(content: ReadonlyArray<Response.AnyPart>): Effect.Effect<void> {
    if (this.run.audience === undefined) return Effect.void
    this.isOpen = true
    return this.emitOrDelay(() => this.end(content, true))
  }

  private end(content: ReadonlyArray<Response.AnyPart>, isWhole: boolean): Effect.Effect<void> {
    const { run, turn } = this
    this.heard = content
    const first = isWhole ? this.each(content) : this.partsEnd()
    return Effect.flatMapEager(first, () =>
      emit(run, () => {
        this.isOpen = false
        const finish = finishOf(content)
        return {
          _tag: "ModelTurnFinished",
          turn,
          text: content.map(textOf).join(""),
          toolCalls: content.filter(isCall).length,
          finishReason: finish?.reason ?? "unknown",
          ...tokensOf(finish)
        }
      }))
  }

  /** The model call has ended; emits it, unless the model has answered. */
  ended(exit: Exit.Exit<unknown, AiError.AiError>): Effect.Effect<void> {
    if (!this.isOpen || exit._tag === "Success") return Effect.void
    this.isOpen = false
    const error = exit.cause.reasons.find(Cause.isFailReason)?.error.reason._tag ??
      (Cause.hasInterruptsOnly(exit.cause) ? "Interrupted" : "Defect")
    const { run, turn } = this
    return Effect.flatMapEager(
      this.partsEnd(),
      () => emit(run, () => ({ _tag: "ModelTurnFailed", turn, error, ...operatorMessage(run, exit.cause) }))
    )
  }

  private part(part: Response.AnyPart): Effect.Effect<void> {
    const { run, turn } = this
    switch (part.type) {
      case "text-delta":
        return this.delta("text", part.id, part.delta)
      case "reasoning-delta":
        return this.delta("reasoning", part.id, part.delta)
      case "text-end":
        return this.partEnd("text", part.id)
      case "reasoning-end":
        return this.partEnd("reasoning", part.id)
      case "tool-params-start":
        if (!part.providerExecuted && this.growing?.has(part.id) !== true && this.keepsId(part.id)) {
          ;(this.growing ??= new Map()).set(part.id, part.name)
        }
        return Effect.void
      case "tool-params-delta": {
        const tool = this.growing?.get(part.id)
        return tool === undefined ? Effect.void : emit(run, () => ({
          _tag: "ToolCallDelta",
          turn,
          callId: part.id,
          tool,
          delta: part.delta
        }))
      }
      default: {
        const body = wholePartEvent(turn, part)
        return body === undefined ? Effect.void : emit(run, () => body)
      }
    }
  }

  private delta(kind: Part, id: string, delta: string): Effect.Effect<void> {
    const { run, turn } = this
    const _tag = kind === "text" ? "TextDelta" : "ReasoningDelta"
    if (run.parent !== undefined) {
      return emit(run, () => ({ _tag, turn, partId: this.grown(kind, id), delta }))
    }
    // There is one for each piece of an answer: an event that is written out costs a third of one that is put together.
    return emitWhole(run, ({ agentRunId, id: runId, path }, sequence, at) => ({
      runId,
      agentRunId,
      path,
      sequence,
      at,
      _tag,
      turn,
      partId: this.grown(kind, id),
      delta
    }))
  }

  /** Notes that a part grows, and returns its id in events. Most pieces are of the part that grew last. */
  private grown(kind: Part, id: string): string {
    const last = this.lastGrown
    if (last?.kind === kind && last.id === id && this.openParts?.has(last.open) === true) return last.partId
    const open = `${kind} ${id}` as const
    ;(this.openParts ??= new Set()).add(open)
    this.lastGrown = { kind, id, open, partId: `${this.turn}:${id}` }
    return this.lastGrown.partId
  }

  private partEnd(kind: Part, id: string): Effect.Effect<void> {
    const open = `${kind} ${id}` as const
    return Effect.suspend(() =>
      this.openParts?.has(open) !== true ? Effect.void : emit(this.run, () => {
        this.openParts?.delete(open)
        const { turn } = this
        return { _tag: kind === "text" ? "TextFinished" : "ReasoningFinished", turn, partId: `${turn}:${id}` }
      })
    )
  }

  /** Ends the parts that are open, the last first. */
  private partsEnd(): Effect.Effect<void> {
    return this.openParts === undefined || this.openParts.size === 0 ?
      Effect.void :
      Effect.forEach([...this.openParts].toReversed(), (part) => {
        const [kind, id] = part.startsWith("text ")
          ? ["text", part.slice(5)] as const
          : ["reasoning", part.slice(10)] as const
        return this.partEnd(kind, id)
      }, { discard: true })
  }
}
