/** Undone since: results that a thread has, and that its run has undone, or may have, after they were told: over a pause, or when it ends. */
import type * as Prompt from "effect/ai/Prompt"
import { isMarkedCompensated, resultsIn } from "../history/keptCalls.ts"

/** The messages of a thread with the results that say in the transcript that they are undone, or may be. Nothing where there are none. */
export const resultsCompensatedSince = (
  thread: ReadonlyArray<Prompt.Message>,
  transcript: Prompt.Prompt
): ReadonlyArray<Prompt.Message> | undefined => {
  const undone = new Map(resultsIn(transcript.content).filter(isMarkedCompensated).map((part) => [part.id, part]))
  const isLeft = (part: Prompt.ToolResultPart) => undone.has(part.id) && !isMarkedCompensated(part)
  if (!resultsIn(thread).some(isLeft)) return undefined
  return thread.map((message) =>
    message.role !== "tool" ? message : {
      ...message,
      content: message.content.map((part) => part.type === "tool-result" ? undone.get(part.id) ?? part : part)
    }
  )
}
