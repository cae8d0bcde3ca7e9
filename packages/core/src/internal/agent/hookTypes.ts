/** Hook types: errors and services of the functions among an agent's options, derived from the type of the options. */
import type { ToolCall } from "../call/call.ts"
import type { HookError, HookServices, OptionOf } from "../foundation/options/inferredOptions.ts"
import type * as Tool from "../tool/tool.ts"

/**
 * Options that are functions and whose effects belong to the run.
 *
 * @category models
 * @since 0.2.0
 */
export type HookName =
  | "skill"
  | "instructions"
  | "prepareTurn"
  | "guardInput"
  | "guardOutput"
  | "onModelError"
  | "onBudgetExceeded"

/**
 * Errors that an agent's hooks add to its own.
 *
 * @category utility types
 * @since 0.2.0
 */
export type AllHookErrors<O> = HookError<O, HookName> | HookError<OptionOf<O, "compact">, "by">

/**
 * Services that an agent's hooks, and the compensation of tools within its tools, add to its own.
 *
 * @category utility types
 * @since 0.2.0
 */
export type AllHookServices<O> =
  | HookServices<O, HookName>
  | HookServices<OptionOf<O, "compact">, "by">
  | CompensationServices<O>

/**
 * Services of the option `compensation`. A compensation has its own `ToolCall`.
 *
 * @category utility types
 * @since 0.2.0
 */
export type CompensationServices<O> =
  | HookServices<OptionOf<O, "compensation">, "report">
  | (OptionOf<OptionOf<O, "compensation">, "tools"> extends infer Tools
    ? Tools extends ReadonlyArray<infer T> ? Exclude<Tool.Services<T>, ToolCall> : never
    : never)
