/** Transport: requests of a conversation, each with a place among the streams that the browser's tabs share. */
import { DefaultChatTransport } from "ai"
import { address, failureOf } from "../shared/api.ts"
import type { ChatMessage } from "./parts.ts"
import { NoStream, takeStream } from "./streams.ts"

/** Callbacks between a conversation and its transport. */
export interface Link {
  readonly agent: () => string
  /** Arguments that the reader changed, by the id of the approval. */
  readonly edits: () => Readonly<Record<string, unknown>>
  readonly onSending: () => void
  /** The server took a message or decisions. */
  readonly onTaken: () => void
  /** True if there is a run to follow. */
  readonly onFollowed: (isThere: boolean) => void
}

export class ConversationTransport extends DefaultChatTransport<ChatMessage> {
  private release: (() => void) | undefined

  constructor(link: Link) {
    const route = () => address(`agents/${encodeURIComponent(link.agent())}/chat`)
    super({
      fetch: async (input, init) => {
        const isSent = init?.method === "POST"
        if (isSent) link.onSending()
        this.hold(await takeStream())
        if (!isSent && this.release === undefined) throw new NoStream()
        const response = await fetch(input, init)
        if (!response.ok) {
          if (!isSent) this.hold(undefined)
          throw await failureOf(response)
        }
        if (!isSent) {
          const isThere = response.status === 200
          if (!isThere) this.hold(undefined)
          link.onFollowed(isThere)
        } else {
          link.onTaken()
          if (this.release === undefined) {
            void response.body?.cancel()
            throw new NoStream()
          }
        }
        return response
      },
      prepareSendMessagesRequest: ({ id, messageId, messages, trigger }) => ({
        api: route(),
        // The server has the rest.
        body: { id, messages: messages.slice(-1), trigger, messageId, edits: link.edits() }
      }),
      prepareReconnectToStreamRequest: ({ id }) => ({ api: `${route()}/${encodeURIComponent(id)}/stream` })
    })
  }

  /** Gives the place of a stream back. */
  close(): void {
    this.hold(undefined)
  }

  private hold(release: (() => void) | undefined): void {
    this.release?.()
    this.release = release
  }
}
