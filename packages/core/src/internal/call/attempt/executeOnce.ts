/** Last step of an attempt: executes the tool once, within its timeout. */
import { execute } from "../execute/executeTool.ts"
import type { Next } from "./attemptState.ts"

export const executeOnce: Next = (attempt) => {
  const { key, params, run, tool } = attempt
  return execute(tool, attempt, params, key, run !== undefined && attempt.isNew)
}
