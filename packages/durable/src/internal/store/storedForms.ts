/** Stored forms of the events, outcome, snapshot and messages of an execution: they name texts and messages that are stored already. */
import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import type * as Prompt from "effect/ai/Prompt"
import type * as AgentEvent from "@recourse/core/AgentEvent"
import * as Conversations from "@recourse/core/Conversation"
import { type Conversation, idsOf, textsIn } from "./conversation.ts"
import { longTexts, References, unpack } from "./references.ts"
import type { MessagePart, Settlement, Step, StoredRun } from "./store.ts"
import { eventFromStored, eventToStored } from "./storedEvents.ts"

/** The events of steps, in JSON. Conversations in them are empty. */
export const earlierEvents = (run: StoredRun, steps: ReadonlyArray<Step>): ReadonlyArray<Schema.Json> => {
  const textOf = textsIn(steps)
  const named = { said: () => [], text: (path: Parameters<typeof textOf>[1]) => textOf(run.runId, path) }
  return steps.flatMap(({ events, firstEvent }) =>
    events.map((event, n) => {
      const whole = eventFromStored(event, run, firstEvent + n)
      return whole === event ? event : unpack(whole, named)
    })
  )
}

/** Makes stored forms, in the order in which they are written. */
export class StoredForms {
  private readonly run: StoredRun
  private readonly references: References
  /** The conversation of the run, with its newest part. */
  conversation: Conversation

  constructor(run: StoredRun, conversation: Conversation, steps: ReadonlyArray<Step>) {
    this.run = run
    this.conversation = conversation
    this.references = new References(conversation.messages)
    for (const { events, position, value } of steps) {
      this.references.note(position, [...longTexts(value), ...longTexts(events)])
    }
  }

  /** The events of a step. */
  events(
    position: number,
    value: Schema.Json,
    emitted: ReadonlyArray<AgentEvent.AgentEvent>
  ): ReadonlyArray<Schema.Json> {
    const { references, run } = this
    const texts = longTexts(value)
    references.note(position, texts)
    const events = emitted.map((event) => references.pack(eventToStored(event, run)))
    references.note(position, longTexts(events), texts.length)
    return events
  }

  /** A settlement, with the messages since the last part. Make the events of the last step after it. */
  settled<A extends Pick<Settlement, "outcome" | "snapshot" | "status">>(
    settlement: A,
    transcript: Prompt.Prompt | undefined
  ): Effect.Effect<A & Pick<Settlement, "said">> {
    const { outcome, snapshot, status } = settlement
    // A run without a conversation has one from its first pause on.
    const isSaid = transcript !== undefined && (this.references.size > 0 || status === "waiting")
    return Effect.map(isSaid ? this.said(transcript) : Effect.undefined, (said) => ({
      ...settlement,
      ...(said === undefined ? undefined : { said }),
      ...(outcome === undefined ? undefined : { outcome: this.references.pack(outcome) }),
      ...(snapshot === undefined ? undefined : { snapshot: this.references.packMessages(snapshot) })
    }))
  }

  /** The messages since the last part. */
  private said(transcript: Prompt.Prompt): Effect.Effect<MessagePart | undefined> {
    const { conversation, references, run } = this
    const { content } = Conversations.encode(transcript) as { readonly content: ReadonlyArray<Schema.Json> }
    const start = references.endIn(content)
    const messages = start === undefined ? [] : content.slice(start)
    if (messages.length === 0) return Effect.undefined
    return Effect.map(idsOf(run.owner, messages, conversation.id), (ids) => {
      const part: MessagePart = {
        runId: run.runId,
        part: conversation.parts,
        id: ids.at(-1)!,
        parent: conversation.id,
        size: conversation.messages.length + messages.length,
        messages: messages.map((message) => references.pack(message))
      }
      references.extend(messages)
      const all = [...conversation.messages, ...messages]
      this.conversation = { ...conversation, messages: all, parts: part.part + 1, id: part.id }
      return part
    })
  }
}
