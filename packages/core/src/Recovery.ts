/**
 * Recovery of tool calls: functions from Effect to Effect. Each changes the error type exactly as it changes the
 * behaviour. They add to Effect's own operators; `Effect.retry`, `Effect.catchTag` and the others work as ever.
 */
export type {
  Among,
  CertainTags,
  HasTags,
  IsStored,
  KnownCall,
  Misplaced,
  NoSuchTag,
  NotOnCalls,
  OfUncalled,
  OnCalls,
  OtherTags,
  Single,
  Tagged,
  TagOf,
  Uncalled
} from "./internal/foundation/errorTags.ts"
export type { IdempotencyOptions } from "./internal/idempotency/idempotencyOptions.ts"
export type { Degraded, DegradedMark } from "./internal/projection/degradedMark.ts"
export {
  type AnyExecutionError,
  type CaseHandler,
  type Cases,
  catchReason,
  catchReasons,
  type CertainCases,
  type ExcludeReason,
  type HandlerParams,
  type InheritedFit,
  type ReasonOf
} from "./internal/recovery/catchReason.ts"
export { circuitBreaker, type CircuitBreakerOptions } from "./internal/recovery/circuitBreaker.ts"
export { type Description, escalate, escalateWith } from "./internal/recovery/escalate.ts"
export {
  type CertainlyNamedIn,
  fallback,
  type FallbackOptions,
  type FallbackTag,
  type NamedIn
} from "./internal/recovery/fallback.ts"
export {
  declined,
  fix,
  FixDeclined,
  type Fixer,
  type FixerDoesNotFit,
  type FixerFits,
  type FixError,
  type FixInput,
  type FixOptions,
  FixResult,
  fixResult,
  type TextFixer
} from "./internal/recovery/fix.ts"
export { FixRequest, type FixRequestSchema, type FixTag, renderFixRequest } from "./internal/recovery/fixRequest.ts"
export { idempotent, type IdempotentOptions } from "./internal/recovery/idempotent.ts"
export {
  type AfterDefaults,
  type AnyPolicy,
  type AnyTable,
  type DefaultOf,
  type Ending,
  type EndingOf,
  type FixEntry,
  type HandledTags,
  type NoPolicy,
  type PolicyServices,
  type PolicyTag,
  PolicyTypeId,
  type Recovered,
  type RecoveryPolicy,
  type RetryEntry,
  type SometimesEscalates,
  type Table
} from "./internal/recovery/policy.ts"
export { chatSafe, keepGoing, standard } from "./internal/recovery/presets.ts"
export { retry, type RetryOptions } from "./internal/recovery/retry.ts"
export { policy } from "./internal/recovery/tablePolicy.ts"
