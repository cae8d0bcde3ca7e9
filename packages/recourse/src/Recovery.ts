/**
 * Recovery of tool calls: functions from Effect to Effect, each of which changes the error type exactly as it changes the
 * behaviour. They add what Effect's own operators lack; `Effect.retry`, `Effect.catchTag` and the others work as ever.
 */
export * from "./recovery/catchReason.ts"
export * from "./recovery/circuitBreaker.ts"
export { escalate, escalateWith } from "./recovery/escalate.ts"
export * from "./recovery/fallback.ts"
export * from "./recovery/fix.ts"
export {
  happened,
  type IdempotencyOptions,
  idempotent,
  type IdempotentOptions,
  notHappened,
  type Reconciled,
  stillUnknown
} from "./recovery/idempotent.ts"
export * from "./recovery/policy.ts"
export * from "./recovery/retry.ts"
export type { HasTags, NoSuchTag, Tagged, TagOf } from "./recovery/tags.ts"
