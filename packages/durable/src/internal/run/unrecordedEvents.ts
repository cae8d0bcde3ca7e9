/**
 * Events of a run that its journal does not have yet. They are recorded with its next step. If the run has readers,
 * they are emitted before, with the pieces of unfinished answers; otherwise pieces are joined, and dropped when their
 * answer is whole.
 */
import * as Option from "effect/Option"
import type * as Schema from "effect/Schema"
import type * as AgentEvent from "@recourse/core/AgentEvent"
import * as EventJson from "@recourse/core/EventJson"

type Event = AgentEvent.AgentEvent
type Piece = Extract<Event, { readonly _tag: "TextDelta" | "ReasoningDelta" | "ToolCallDelta" }>

const isPiece = (event: Event): event is Piece =>
  event._tag === "TextDelta" || event._tag === "ReasoningDelta" || event._tag === "ToolCallDelta"

const answerOf = ({ agentRunId, turn }: { readonly agentRunId: string; readonly turn: number }): string =>
  `${turn} ${agentRunId}`

/** Joins two pieces of one part; `undefined` if they belong to two. */
const joined = (one: Event | undefined, next: Piece): Piece | undefined => {
  if (one === undefined || !isPiece(one) || one._tag !== next._tag || answerOf(one) !== answerOf(next)) return undefined
  const isSame = next._tag === "ToolCallDelta"
    ? one._tag === "ToolCallDelta" && one.callId === next.callId
    : one._tag !== "ToolCallDelta" && one.partId === next.partId
  return isSame ? { ...next, delta: one.delta + next.delta } : undefined
}

/** The events of a run between its steps. */
export class UnrecordedEvents {
  private pending: Array<Event> = []
  /** Answers that are being written. */
  private readonly open = new Set<string>()
  /** Answers of which pieces were recorded: the rest is, too. */
  private readonly shown = new Set<string>()

  /** Notes an event. */
  add(event: Event): void {
    if (isPiece(event)) {
      const at = this.pending.length - 1
      const whole = joined(this.pending[at], event)
      if (whole === undefined) this.pending.push(event)
      else this.pending[at] = whole
      this.open.add(answerOf(event))
      return
    }
    this.pending.push(event)
    if (event._tag === "ModelTurnFinished" || event._tag === "ModelTurnFailed") this.open.delete(answerOf(event))
  }

  /** True if there are events that readers have not received. */
  get hasMore(): boolean {
    return this.pending.length > 0 && this.pending[0]!._tag !== "ModelTurnFinished"
  }

  /** Takes the events for a step. Pieces of an unfinished answer stay, unless the run is read. */
  take(isRead: boolean): ReadonlyArray<Event> {
    const { pending } = this
    this.pending = isRead
      ? []
      : pending.filter((event) => isPiece(event) && this.open.has(answerOf(event)) && !this.shown.has(answerOf(event)))
    const left = new Set<Event>(this.pending)
    return pending.filter((event) => !left.has(event) && (!isPiece(event) || this.isShown(event, isRead)))
  }

  /** Takes the events that can be emitted before a step. A whole answer is emitted with its entry. */
  takeEarly(): ReadonlyArray<Event> {
    const end = this.pending.findIndex(({ _tag }) => _tag === "ModelTurnFinished")
    const early = this.pending.splice(0, end === -1 ? this.pending.length : end)
    for (const event of early) if (isPiece(event)) this.shown.add(answerOf(event))
    return early
  }

  /** True if a piece is recorded: one whose beginning a reader has seen, and reasoning, which no other event has. */
  private isShown(event: Piece, isRead: boolean): boolean {
    const answer = answerOf(event)
    if (isRead && this.open.has(answer)) this.shown.add(answer)
    return event._tag === "ReasoningDelta" || this.shown.has(answer)
  }
}

/**
 * Answers with pieces emitted by an earlier execution that never recorded them: they are requested again. Readers
 * discard their pieces.
 */
export const restartsOf = (events: ReadonlyArray<Schema.Json>, at: number): ReadonlyArray<Event> => {
  const cut = new Map<string, { readonly piece: Piece; text: string }>()
  for (const event of events) {
    const fields = event as { readonly _tag: string; readonly agentRunId: string; readonly turn: number }
    const ends = fields._tag === "ModelTurnFinished" || fields._tag === "AnswerRestarted" ||
      fields._tag === "ModelSubstituted"
    if (ends) cut.delete(answerOf(fields))
    else if (fields._tag === "AgentFinished") {
      for (const [answer, { piece }] of cut) if (piece.agentRunId === fields.agentRunId) cut.delete(answer)
    } else if (fields._tag === "TextDelta" || fields._tag === "ReasoningDelta" || fields._tag === "ToolCallDelta") {
      const piece = Option.getOrUndefined(EventJson.decode(event)) as Piece | undefined
      if (piece === undefined) continue
      const known = cut.get(answerOf(piece)) ?? { piece, text: "" }
      if (piece._tag === "TextDelta") known.text += piece.delta
      cut.set(answerOf(piece), known)
    }
  }
  return [...cut.values()].map(({ piece, text }) => {
    const { agentRunId, parent, path, runId, sequence, turn } = piece
    return {
      _tag: "AnswerRestarted",
      runId,
      agentRunId,
      ...(parent === undefined ? undefined : { parent }),
      path,
      sequence,
      at,
      turn,
      retry: 1,
      text
    }
  })
}
