/** Outbox: the message that is being sent, until it is known that the server has it. */
import type { ChatMessage } from "./parts.ts"

const countUsers = (messages: ReadonlyArray<ChatMessage>): number =>
  messages.filter(({ role }) => role === "user").length

/** Shown messages of a thread, followed by the one that the server did not accept. */
export interface Shown {
  readonly messages: Array<ChatMessage>
  readonly unsent: string | undefined
}

/** One message at a time: the next one is written when the last one is answered. */
export class Outbox {
  private message: ChatMessage | undefined
  /** Number of the user's earlier messages. */
  private before = 0
  private isOpen = false

  /** The message that is not known to be taken. */
  get unsent(): ChatMessage | undefined {
    return this.message
  }

  /** True if the server accepted the last message or decision. */
  get isTaken(): boolean {
    return !this.isOpen
  }

  /** A message is sent, for the first time or again. */
  put(message: ChatMessage, shown: ReadonlyArray<ChatMessage>): void {
    this.message = message
    this.before = countUsers(shown.filter(({ id }) => id !== message.id))
    this.isOpen = true
  }

  /** A request is on its way: a message, or a decision. */
  begin(): void {
    this.isOpen = true
  }

  /** The server has answered the request. */
  taken(): void {
    this.message = undefined
    this.isOpen = false
  }

  /**
   * Shown messages of a thread: the message is lost only if the server has no more messages of the user than before.
   */
  shown(messages: ReadonlyArray<ChatMessage>): Shown {
    const lost = this.isOpen && countUsers(messages) <= this.before ? this.message : undefined
    if (lost === undefined) this.taken()
    return lost === undefined
      ? { messages: [...messages], unsent: undefined }
      : { messages: [...messages, lost], unsent: lost.id }
  }
}
