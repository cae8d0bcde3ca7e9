/**
 * Tool call: the current call of a tool, as a service. A tool that runs again with another `ToolCall` runs with other
 * arguments.
 */
export { argumentsText, type Call, make, mayRunAgain, ToolCall } from "./internal/call/call.ts"
export { place } from "./internal/call/callPlace.ts"
export { escalate, escalation, partial, pending } from "./internal/call/execute/executorAnswers.ts"
export { type Progress, progress } from "./internal/tool/preliminaryResults.ts"
export { type PromiseCall, tryPromise } from "./internal/tool/promiseCall.ts"
