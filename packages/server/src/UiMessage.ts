/**
 * UI messages of the AI SDK: a page's state after the chunks of a UI message stream, for servers that store or reload
 * messages.
 */
import { MessageParts } from "./internal/wire/ui/messageParts.ts"
import type { UiMessageChunk } from "./UiMessageChunk.ts"

/**
 * A part of a message, in the form of `UIMessage` of the package `ai`.
 *
 * @category models
 * @since 0.2.0
 */
export type UiPart = { readonly type: string; readonly [field: string]: unknown }

/**
 * A message of a thread, in the form of `UIMessage` of the package `ai`.
 *
 * @category models
 * @since 0.2.0
 */
export interface UiMessage {
  readonly id: string
  readonly role: "user" | "assistant"
  readonly metadata?: unknown
  readonly parts: ReadonlyArray<UiPart>
}

/**
 * The assistant's message after the chunks. A text that is not ended stays `"streaming"`.
 *
 * @category converting
 * @since 0.2.0
 */
export const assemble = (messageId: string, chunks: Iterable<UiMessageChunk>): UiMessage => {
  const parts = new MessageParts()
  for (const chunk of chunks) parts.apply(chunk)
  const { list, metadata } = parts
  return { id: messageId, role: "assistant", ...(metadata === undefined ? undefined : { metadata }), parts: list }
}
