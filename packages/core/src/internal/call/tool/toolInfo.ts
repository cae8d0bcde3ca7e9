/** Tool info: facts of a call's tool for recovery and the steps of an attempt. */
import type * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import type { ClientInfo } from "../clientCall.ts"
import type { Compensation } from "./toolCompensation.ts"
import type { Effects } from "../../../Policy.ts"
import type { Listed } from "./toolList.ts"

/**
 * Treatment of unknown keys in the arguments of a tool.
 *
 * @category models
 * @since 0.2.0
 */
export type OnUnknownKeys = "refuse" | "drop"

/** A tool as models and fixers read it. */
export interface ToolDescription {
  readonly text: string | undefined
  readonly jsonSchema: () => unknown
  /** True if the text and the parameters are untrusted. */
  readonly isForeign: boolean
}

/** Equal calls of a tool. */
export interface EqualCalls {
  /** True if identical calls are intended: the tool returns a state, or takes a step each time. */
  readonly allowIdenticalCalls?: boolean | undefined
  /** True if identical calls of one answer are one execution. */
  readonly coalesce?: boolean | undefined
  /** True if the key of a call is made of its arguments: equal calls have one key. */
  readonly hasKeyFunction?: boolean | undefined
}

/** Approvals that calls of a tool need. */
export interface ToolApproval {
  /** True if a call with these arguments needs an approval; default: false. */
  readonly isNeeded: ((params: never, callId: string) => Effect.Effect<boolean, never, unknown>) | undefined
  /** True if the tool declares that its executor calls tools that may need an approval. */
  readonly mayBeRequested?: boolean | undefined
}

/** Results of a tool for the model. */
export interface ToolResults {
  /** Number of characters of a result that the model reads; default: the agent's. */
  readonly limit: number | undefined
  /** True if results may contain untrusted text. */
  readonly areUntrusted: boolean
}

/** Facts of a tool for its recovery. */
export interface ToolInfo {
  readonly name: string
  readonly description: ToolDescription
  readonly effects: Effects | undefined
  /** True if the tool passes an idempotency key on, so that a repeated attempt has no second effect. */
  readonly passesKey: boolean
  /** True if the tool is an agent, which continues after an interruption if the outer run does. */
  readonly isAgent?: boolean | undefined
  /** Treatment of unknown keys in the arguments. */
  readonly onUnknownKeys: OnUnknownKeys
  readonly approval: ToolApproval
  /** Declared projection of the executor's own errors. */
  readonly failure: Schema.Top | undefined
  readonly success: Schema.Top
  readonly results: ToolResults
  readonly equalCalls: EqualCalls
  /** True if its writes are committed with the entry of its outcome, if the run's journal supports it. */
  readonly isTransaction?: boolean | undefined
  /** The inverse of its writes, if it has one. */
  readonly compensation?: Compensation | undefined
  /** Set for a tool that the page executes. */
  readonly client?: ClientInfo | undefined
  /** The list that it is from, if that can change while agents run. */
  readonly listed?: Listed | undefined
}
