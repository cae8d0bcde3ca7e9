/**
 * Tool call: the call that a tool is running for, as a service. A tool that runs again with another `ToolCall` runs
 * with other arguments.
 */
export { escalate, escalation, partial, pending } from "./internal/call/answers.ts"
export { argumentsText, type Call, make, mayRunAgain, ToolCall } from "./internal/call/call.ts"
export { place } from "./internal/call/place.ts"
export { type Progress, progress } from "./internal/tool/preliminary.ts"
