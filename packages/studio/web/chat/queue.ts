/** Messages that were written while the agent works: each is sent when the one before is answered. */
import type { FileUIPart } from "ai"
import { draftOf, keepDraft } from "./drafts.ts"

export interface QueuedMessage {
  readonly id: number
  readonly text: string
  readonly files: ReadonlyArray<FileUIPart>
}

export class MessageQueue {
  list: ReadonlyArray<QueuedMessage>
  private readonly thread: string
  private next = 0

  constructor(thread: string) {
    this.thread = thread
    this.list = draftOf(thread).queued.map((text) => ({ id: this.next++, text, files: [] }))
  }

  add(text: string, files: ReadonlyArray<FileUIPart>): void {
    this.set([...this.list, { id: this.next++, text, files }])
  }

  /** Moves a message to the front. */
  first(id: number): void {
    this.set([...this.list.filter((message) => message.id === id), ...this.list.filter((message) => message.id !== id)])
  }

  remove(id: number): void {
    this.set(this.list.filter((message) => message.id !== id))
  }

  /** Takes the next message. */
  take(): QueuedMessage | undefined {
    const [first] = this.list
    if (first !== undefined) this.remove(first.id)
    return first
  }

  private set(list: ReadonlyArray<QueuedMessage>): void {
    this.list = list
    // Files are too large to be stored.
    keepDraft(this.thread, { queued: list.map(({ text }) => text).filter((text) => text !== "") })
  }
}
