/**
 * Recovery for loops that are not ours. A run of calls that the loop of another library makes: with the recovery, the
 * budget, the policies, the keys, the events and the record of an agent's run.
 */
export { type LoopSchema, type LoopTool, loopTools } from "./internal/agent/toolRun/loopTools.ts"
export { make, open, type ToolRunOptions, type WithLayer } from "./internal/agent/toolRun/makeToolRun.ts"
export { call, callPromise, type OneCall } from "./internal/agent/toolRun/oneCall.ts"
export { type Any, type SuccessOf, type ToolRun, TypeId, type Unhandled } from "./internal/agent/toolRun/toolRun.ts"
export { ToolRunEnded } from "./internal/agent/toolRun/toolRunEnded.ts"
export { Failed, type Outcome, type OutcomeFields, Started, Succeeded, Waits } from "./internal/round/callOutcome.ts"
