/** Messages that are offered to the running run: each request is open until its message has joined, or a run has started for it. */
import { address, failureOf } from "../shared/api.ts"
import type { ChatMessage } from "./parts.ts"

/** Offers of a conversation. */
export class Offers {
  private readonly open = new Map<string, AbortController>()

  /** Offers a message. Resolves when the server has taken it; rejects if it has not. */
  async make(agent: string, thread: string, message: ChatMessage): Promise<void> {
    const controller = new AbortController()
    this.open.set(message.id, controller)
    try {
      const response = await fetch(address(`agents/${encodeURIComponent(agent)}/chat`), {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ id: thread, messages: [message], trigger: "submit-message" }),
        signal: controller.signal
      })
      if (!response.ok) throw await failureOf(response)
      // The page follows the run by a stream of its own.
      void response.body?.cancel()
    } finally {
      if (this.open.get(message.id) === controller) this.open.delete(message.id)
    }
  }

  /** Withdraws a message that has not joined yet. */
  withdraw(id: string): void {
    this.open.get(id)?.abort()
  }

  close(): void {
    for (const controller of this.open.values()) controller.abort()
  }
}
