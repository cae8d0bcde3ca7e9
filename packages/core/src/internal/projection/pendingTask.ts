/** Pending tasks: the result of a call whose task continues. */
import * as Duration from "effect/Duration"
import type { Pending } from "../../ToolError.ts"

/** The model's result of a pending task. */
export const pendingResult = (pending: Pending, statusTool: string | undefined) => ({
  status: "pending",
  task_id: pending.taskId,
  ...(pending.retryAfter === undefined
    ? undefined
    : { retry_after_ms: Math.ceil(Duration.toMillis(pending.retryAfter)) }),
  message_for_model: "The task has started and is not finished.",
  instruction: statusTool === undefined
    ? "Do not begin it again."
    : `Do not begin it again. Ask for its state with ${statusTool} and this task_id.`
})

/** The model's result of a pending task. */
export type PendingResult = ReturnType<typeof pendingResult>
