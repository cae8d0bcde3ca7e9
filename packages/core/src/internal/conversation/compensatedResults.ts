/**
 * Compensated results: results of a thread whose writes its run has compensated, or may have, after they were emitted:
 * over a pause, or at its end.
 */
import type * as Prompt from "effect/ai/Prompt"
import { isMarkedCompensated, resultsIn } from "../history/remainingCalls.ts"

/**
 * Returns the messages of a thread with the results that the transcript marks as compensated, or as possibly
 * compensated. `undefined` if there are none.
 */
export const resultsCompensatedSince = (
  thread: ReadonlyArray<Prompt.Message>,
  transcript: Prompt.Prompt
): ReadonlyArray<Prompt.Message> | undefined => {
  const markedResults = new Map(
    resultsIn(transcript.content).filter(isMarkedCompensated).map((part) => [part.id, part])
  )
  const isLeft = (part: Prompt.ToolResultPart) => markedResults.has(part.id) && !isMarkedCompensated(part)
  if (!resultsIn(thread).some(isLeft)) return undefined
  return thread.map((message) =>
    message.role !== "tool" ? message : {
      ...message,
      content: message.content.map((part) => part.type === "tool-result" ? markedResults.get(part.id) ?? part : part)
    }
  )
}
