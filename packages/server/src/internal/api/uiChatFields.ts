/** Fields of a request of `DefaultChatTransport`, and of the message that the server reads. */
import { type Fields, inert, refused, used } from "./fields.ts"

/**
 * The request of `POST /agents/:agent/chat`. A page adds `edits` as its `body`.
 *
 * @category schemas
 * @since 0.2.0
 */
export const uiChatFields: Fields = {
  id: used,
  messages: used,
  message: refused("Send it as the last one of `messages`"),
  trigger: used,
  messageId: used,
  edits: used
}

/**
 * The last message.
 *
 * @category schemas
 * @since 0.2.0
 */
export const uiMessageFields: Fields = {
  id: used,
  role: used,
  parts: used,
  metadata: inert("It is the page's own"),
  createdAt: inert("Pages of earlier versions store it"),
  content: inert("Pages of earlier versions store the text next to the parts"),
  messageId: inert("`useChat` copies the option of `sendMessage`; the message is known by its `id`")
}
