/** Texts and reasonings of a message, each a part with a beginning and an end. */
import type { AgentEvent } from "@recourse/core/AgentEvent"
import type { UiMessageChunk } from "../../../UiMessageChunk.ts"

type Delta = Extract<AgentEvent, { readonly _tag: "TextDelta" | "ReasoningDelta" }>
type Finished = Extract<AgentEvent, { readonly _tag: "TextFinished" | "ReasoningFinished" }>

const idOf = ({ agentRunId, partId }: { readonly agentRunId: string; readonly partId: string }): string =>
  `${agentRunId}:${partId}`

export class TextParts {
  private readonly texts = new Set<string>()
  private readonly reasonings = new Set<string>()
  /** True if the step has shown a text. */
  wasEmitted = false

  delta(event: Delta, chunks: Array<UiMessageChunk>): void {
    const id = idOf(event)
    const { delta } = event
    if (event._tag === "TextDelta") {
      if (!this.texts.has(id)) {
        this.texts.add(id)
        chunks.push({ type: "text-start", id })
      }
      this.wasEmitted = true
      chunks.push({ type: "text-delta", id, delta })
    } else {
      if (!this.reasonings.has(id)) {
        this.reasonings.add(id)
        chunks.push({ type: "reasoning-start", id })
      }
      chunks.push({ type: "reasoning-delta", id, delta })
    }
  }

  finished(event: Finished, chunks: Array<UiMessageChunk>): void {
    const id = idOf(event)
    if (event._tag === "TextFinished") {
      if (this.texts.delete(id)) chunks.push({ type: "text-end", id })
    } else if (this.reasonings.delete(id)) chunks.push({ type: "reasoning-end", id })
  }

  /** A text that comes in one piece. */
  whole(id: string, text: string, chunks: Array<UiMessageChunk>): void {
    this.wasEmitted = true
    chunks.push({ type: "text-start", id }, { type: "text-delta", id, delta: text }, { type: "text-end", id })
  }

  /** Ends open parts. */
  close(chunks: Array<UiMessageChunk>): void {
    for (const id of this.texts) chunks.push({ type: "text-end", id })
    for (const id of this.reasonings) chunks.push({ type: "reasoning-end", id })
    this.texts.clear()
    this.reasonings.clear()
  }
}
