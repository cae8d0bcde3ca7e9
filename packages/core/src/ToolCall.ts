/**
 * The call that a tool is running for, as a service: run a tool again with another `ToolCall` and it runs with other
 * arguments.
 */
export { escalate, escalation, partial, pending } from "./internal/call/answers.ts"
export { argumentsText, type Call, make, mayRunAgain, ToolCall } from "./internal/call/call.ts"
