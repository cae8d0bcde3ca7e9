/**
 * Conversation history: the messages that the next turn sees, the known state of its calls, and repair of truncated
 * histories.
 *
 * A call and its result are never torn apart, and a mark of untrusted text stays in the conversation. The functions that
 * shorten fit the `compact` option of agents.
 */
export { countTokens } from "./internal/foundation/tokens.ts"
export { type Claim, claims } from "./internal/history/answerClaims.ts"
export { mend, type Mended, Mending } from "./internal/history/mendHistory.ts"
export { withoutFailedCalls } from "./internal/history/remainingCalls.ts"
export { keepLast, trimResults, withinTokens } from "./internal/history/shortenHistory.ts"
export { summarised, type Summariser } from "./internal/history/summary.ts"
