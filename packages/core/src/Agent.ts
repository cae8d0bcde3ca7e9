/**
 * Agents: a model, its tools, and what to do when they fail, as one Effect with typed input, output and errors.
 *
 * `agent.run` is an ordinary Effect: whatever Effect's operators do, they do to agents. An agent that is run within
 * another one's run (as a fixer, as a tool, or by hand) shares its budget, its events and its trace.
 */
export {
  type Agent,
  type Any,
  type Error,
  fromFunction,
  type Input,
  type Output,
  type RunOptions,
  type Services,
  TypeId
} from "./internal/agent/agent.ts"
export { asTool } from "./internal/agent/asTool.ts"
export {
  all,
  andThen,
  branch,
  type Decides,
  firstOf,
  loopUntil,
  route,
  speculative
} from "./internal/agent/combinators.ts"
export { compensated } from "./internal/agent/compensated.ts"
export type { CompensateAfter, Compensating, CompensationOptions } from "./internal/agent/compensationOptions.ts"
export type { Composed } from "./internal/agent/composed.ts"
export type { StreamOptions } from "./internal/agent/eventStream.ts"
export type { AllTaking, InputOfAll, Judging, TakesConversation, Taking } from "./internal/agent/fitting.ts"
export { forCalls, type ForCallsOptions } from "./internal/agent/forCalls.ts"
export { HandedOff } from "./internal/agent/handedOff.ts"
export { handoff, handoffTo } from "./internal/agent/handoff.ts"
export { bestOf, type Candidates, type Judged, revise, vote } from "./internal/agent/judged.ts"
export { make } from "./internal/agent/make.ts"
export type { Described, ModelAgent } from "./internal/agent/modelAgent.ts"
export type { Answering, CallTypes, Options, RunTypes, ToolRecoveries } from "./internal/agent/options.ts"
export { type PartialOutput, partialOutput } from "./internal/agent/partialOutput.ts"
export { isResumable, provide, type Provided } from "./internal/agent/provide.ts"
export type { From, Resumable } from "./internal/agent/resumable.ts"
export type { TurnOptions } from "./internal/agent/turnOptions.ts"
export type { CallAnswer, GivenCall } from "./internal/loop/givenCall.ts"
export type { TurnPlan, TurnState } from "./internal/loop/turnPlan.ts"
export type { Defaults } from "./internal/recovery/policy.ts"
export { make as skill } from "./internal/tool/skill.ts"
