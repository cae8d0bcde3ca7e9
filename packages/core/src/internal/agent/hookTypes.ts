/** Hook types: errors and services of the functions among an agent's options, derived from the type of the options. */
import type * as Effect from "effect/Effect"
import type { ToolCall } from "../call/call.ts"
import type * as Tool from "../tool/tool.ts"

/** Options that are functions and whose effects belong to the run. */
type HookName =
  | "skill"
  | "instructions"
  | "prepareTurn"
  | "guardInput"
  | "guardOutput"
  | "onModelError"
  | "onBudgetExceeded"

/** Value of an option, if it is given. It distributes: the object may be one of several, or absent. */
export type OptionOf<O, Name> = O extends unknown ? Name extends keyof O ? O[Name] : never : never

/** Results of a function, or of one of several. */
type ReturnOf<F> = F extends (...args: never) => infer Result ? Result : never

type ErrorOf<Result> = Result extends Effect.Effect<infer _A, infer E, infer _R> ? E : never
type ServicesOf<Result> = Result extends Effect.Effect<infer _A, infer _E, infer R> ? R : never

/** Errors of the function that is the option of a name. */
export type HookError<O, Name> = ErrorOf<ReturnOf<OptionOf<O, Name>>>

/** Services of the function that is the option of a name. */
export type HookServices<O, Name> = ServicesOf<ReturnOf<OptionOf<O, Name>>>

/** Services of the tools in the option of a name. A compensation has its own `ToolCall`. */
export type ToolServices<O, Name> = OptionOf<O, Name> extends infer Tools
  ? Tools extends ReadonlyArray<infer T> ? Exclude<Tool.Services<T>, ToolCall> : never
  : never

/** Errors that an agent's hooks add to its own. */
export type HookErrors<O> = HookError<O, HookName> | HookError<OptionOf<O, "compact">, "by">

/** Services that an agent's hooks, and the compensation of tools within its tools, add to its own. */
export type AllHookServices<O> =
  | HookServices<O, HookName>
  | HookServices<OptionOf<O, "compact">, "by">
  | CompensationServices<O>

/** Services of the option `compensation`. */
export type CompensationServices<O> =
  | HookServices<OptionOf<O, "compensation">, "report">
  | ToolServices<OptionOf<O, "compensation">, "tools">
