/** Run usage: the usage of a run and everything nested in it. */

/**
 * Usage of a run, nested agents included. Token counts are those that the provider reported.
 *
 * @category models
 * @since 0.2.0
 */
export interface RunUsage {
  /** Model calls. */
  readonly turns: number
  /** Executions of tools; each attempt that reached the executor is one. */
  readonly toolCalls: number
  /** Attempts of tool calls beyond the first that no fixer asked for. */
  readonly retries: number
  /** Times that a fixer was asked. */
  readonly fixes: number
  /** HTTP requests of model calls that were sent again below them. */
  readonly transportRetries: number
  readonly inputTokens: number
  /** Input tokens that the provider read from its cache; they are among the others. */
  readonly cachedInputTokens: number
  readonly outputTokens: number
  readonly totalTokens: number
  /**
   * Tokens among the others that no provider reported: estimates, made if a budget caps tokens or cost. Absent if there
   * are none.
   */
  readonly estimatedTokens?: number
  /** Cost of the tokens by the program's `Budget.Prices`; 0 without prices. */
  readonly cost: number
}

/**
 * Zero usage.
 *
 * @category constants
 * @since 0.2.0
 */
export const none: RunUsage = {
  turns: 0,
  toolCalls: 0,
  retries: 0,
  fixes: 0,
  transportRetries: 0,
  inputTokens: 0,
  cachedInputTokens: 0,
  outputTokens: 0,
  totalTokens: 0,
  cost: 0
}
