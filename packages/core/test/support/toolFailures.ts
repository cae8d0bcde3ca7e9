/** Errors of tools, and their failures for the model. */

import type { ErrorProjection } from "@recourse/core"
import { ToolError } from "@recourse/core"
import { Duration } from "effect"

export const failures = await import(
  new URL("../../src/internal/projection/failures.ts", import.meta.url).href
) as Readonly<Record<string, (...args: ReadonlyArray<unknown>) => ErrorProjection.ToolFailure>>

export const where = { tool: "pay", callId: "c1", attempt: 1, causes: [] } as const

export const unclear = new ToolError.OutcomeUnknown({ ...where, after: Duration.seconds(1) })

export const slow = new ToolError.Timeout({ ...where, after: Duration.seconds(1) })

export const escalated = (code: string, error?: unknown) =>
  new ToolError.Escalation({
    ...where,
    code,
    reason: "Ask the desk",
    severity: "high",
    ...error === undefined ? {} : { error }
  })

export const declared = (said: Partial<ToolError.Declared>) =>
  new ToolError.ExecutionError({
    ...where,
    reason: "hunter2",
    declared: { code: "no_seat", repeatable: false, ...said }
  })

export const missing = { path: ["seat"], expected: "text", problem: "missing" } as const

export const went = "Something went wrong. Please try again later."

export const doubtful = "I could not confirm whether this was done. Please check before trying again."

export const onward = "Continue without it."

export const repeatable = "The same call with the same arguments is never done twice: it is safe to make it again. " +
  "Do not change the arguments before you know whether it happened."

export const check = "Do not call again. Check first whether it happened."

export const lost = "No answer came back. The requested action may have happened."

/** Texts for model and user: code, text for the model, text for the user, safety of a repetition, and all else. */
export type Row = readonly [what: unknown, code: string, model: string, user: string, isSafe: boolean, more?: object]

export const of = (name: string, ...args: ReadonlyArray<unknown>) => failures[name]!(...args, "run-1")
