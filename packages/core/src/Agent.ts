/**
 * Agents: a model with tools and declared recovery, as one Effect with typed input, output and errors.
 *
 * `agent.run` is an ordinary Effect, and Effect's operators apply to it. An agent that runs within another run (as a
 * fixer, as a tool, or by hand) shares that run's budget, events and trace.
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
export {
  type AgentToolError,
  asTool,
  type InputField,
  type OwnParameters,
  type ParametersFit,
  type SaysBoth,
  type SuccessFits
} from "./internal/agent/asTool.ts"
export { compensated } from "./internal/agent/compensation/compensatedAgent.ts"
export type {
  CompensateAfter,
  Compensating,
  CompensationOptions
} from "./internal/agent/compensation/compensationOptions.ts"
export type {
  AgentList,
  AllTaking,
  InputOfAll,
  Judging,
  NoAgent,
  Repeatable,
  TakesConversation,
  Taking,
  ValueName
} from "./internal/agent/compose/agentFit.ts"
export { forCalls, type ForCallsOptions } from "./internal/agent/compose/callAgent.ts"
export type { CallRunOptions, CallRunServices } from "./internal/agent/compose/callRunTypes.ts"
export {
  all,
  andThen,
  branch,
  type Decides,
  firstOf,
  loopUntil,
  route,
  speculative
} from "./internal/agent/compose/combinators.ts"
export type { Composed, StartError, StartErrorOf } from "./internal/agent/compose/composedAgent.ts"
export { handoff, handoffTo } from "./internal/agent/compose/handoff.ts"
export { HandedOff } from "./internal/agent/compose/handoffSignal.ts"
export { bestOf, type Candidates, type Judged, revise, vote } from "./internal/agent/compose/judges.ts"
export type { StreamOptions } from "./internal/agent/eventStream.ts"
export type { AllHookErrors, AllHookServices, CompensationServices, HookName } from "./internal/agent/hookTypes.ts"
export { make } from "./internal/agent/makeAgent.ts"
export type { Described, DescriptionOf, ModelAgent } from "./internal/agent/modelAgent.ts"
export type {
  AfterAgent,
  Answering,
  ApprovalOptions,
  Asks,
  CallTypes,
  NamedTool,
  NeededBy,
  OneTable,
  OnlyOwnTools,
  Options,
  PolicyOf,
  RunTypes,
  ToolRecoveries,
  UnknownNames
} from "./internal/agent/options.ts"
export { type PartialOutput, partialOutput } from "./internal/agent/partialOutput.ts"
export type { From, Resumable } from "./internal/agent/resume/resumableRun.ts"
export { isResumable, provide, type Provided } from "./internal/agent/services/provideLayer.ts"
export type { TurnOptions } from "./internal/agent/turnOptions.ts"
export type { OtherNames } from "./internal/foundation/options/foreignOptionNames.ts"
export type {
  HookError,
  HookServices,
  HookSuccess,
  Inferred,
  OptionOf
} from "./internal/foundation/options/inferredOptions.ts"
export type { Misspelt, OnlyKnown } from "./internal/foundation/options/misspeltName.ts"
export type { CallAnswer, GivenCall } from "./internal/loop/singleCall.ts"
export type { TurnPlan, TurnState } from "./internal/loop/turnPlan.ts"
export type { Defaults } from "./internal/recovery/policy.ts"
export { make as skill } from "./internal/tool/skill.ts"
