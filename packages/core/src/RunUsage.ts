/** Run usage: what a run and everything nested in it has used. */

/** What a run used, nested agents included. Token counts are as the provider reported them. */
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
   * Tokens among the others that no provider reported: estimates, made where a budget caps tokens or cost. Left out if there are none.
   */
  readonly estimatedTokens?: number
  /** What the tokens cost by the program's `Budget.Prices`; 0 where there are none. */
  readonly cost: number
}

/** Nothing was used. */
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
