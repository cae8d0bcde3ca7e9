/**
 * Conversation history: what of a conversation the next turn still sees, and histories that were cut elsewhere.
 *
 * A call and its result are never torn apart, and a mark of untrusted text stays in the conversation.
 */
export { withoutFailedCalls } from "./internal/history/calls.ts"
export { mend, type Mended, Mending } from "./internal/history/mend.ts"
