/**
 * Recovery of tool calls: functions from Effect to Effect, each of which changes the error type exactly as it changes the
 * behaviour. They add what Effect's own operators lack; `Effect.retry`, `Effect.catchTag` and the others work as ever.
 */
export type { HasTags, NoSuchTag, Tagged, TagOf } from "./internal/foundation/errorTags.ts"
export { happened, type IdempotencyOptions, notHappened, stillUnknown } from "./internal/idempotency/declaration.ts"
export * from "./internal/recovery/catchReason.ts"
export * from "./internal/recovery/circuitBreaker.ts"
export { escalate, escalateWith } from "./internal/recovery/escalate.ts"
export * from "./internal/recovery/fallback.ts"
export * from "./internal/recovery/fix.ts"
export { idempotent, type IdempotentOptions, type Reconciled } from "./internal/recovery/idempotent.ts"
export * from "./internal/recovery/policy.ts"
export * from "./internal/recovery/retry.ts"
