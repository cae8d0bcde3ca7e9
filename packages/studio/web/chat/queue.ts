/**
 * Messages that were written while the agent works. Each joins the running run at the agent's next step, or is sent when the
 * one before is answered. It has its id from the start, so the server takes it once, however often it is sent.
 */
import type { FileUIPart } from "ai"
import { draftOf, keepDraft } from "./drafts.ts"
import { newId } from "./ids.ts"

export interface QueuedMessage {
  readonly id: string
  readonly text: string
  readonly files: ReadonlyArray<FileUIPart>
  /** True while it is offered to the running run. */
  readonly joins: boolean
}

export class MessageQueue {
  list: ReadonlyArray<QueuedMessage>
  private readonly thread: string

  constructor(thread: string) {
    this.thread = thread
    this.list = draftOf(thread).queued.map(({ id, text }) => ({ id, text, files: [], joins: false }))
  }

  add(text: string, files: ReadonlyArray<FileUIPart>): QueuedMessage {
    const added: QueuedMessage = { id: newId(), text, files, joins: false }
    this.set([...this.list, added])
    return added
  }

  find(id: string): QueuedMessage | undefined {
    return this.list.find((message) => message.id === id)
  }

  /** Moves a message to the front. */
  first(id: string): void {
    this.set([...this.list.filter((message) => message.id === id), ...this.list.filter((message) => message.id !== id)])
  }

  remove(id: string): void {
    this.set(this.list.filter((message) => message.id !== id))
  }

  /** A message is offered to the running run, or no longer. */
  offered(id: string, joins: boolean): void {
    this.set(this.list.map((message) => message.id === id ? { ...message, joins } : message))
  }

  /** Takes the next message that is not offered to a run. */
  take(): QueuedMessage | undefined {
    const [first] = this.list
    if (first === undefined || first.joins) return undefined
    this.remove(first.id)
    return first
  }

  private set(list: ReadonlyArray<QueuedMessage>): void {
    this.list = list
    // Files are too large to be stored.
    keepDraft(this.thread, { queued: list.filter(({ text }) => text !== "").map(({ id, text }) => ({ id, text })) })
  }
}
