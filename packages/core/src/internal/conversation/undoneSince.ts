/** Undone since: results that a thread has, and that its run has undone after they were told: over a pause, or when it ends. */
import type * as Prompt from "effect/ai/Prompt"

const isUndone = ({ result }: Prompt.ToolResultPart): boolean =>
  typeof result === "object" && result !== null && Object.hasOwn(result, "undone")

const resultsOf = (messages: ReadonlyArray<Prompt.Message>): ReadonlyArray<Prompt.ToolResultPart> =>
  messages.flatMap((message) =>
    message.role === "tool" ? message.content.filter((part) => part.type === "tool-result") : []
  )

/** The messages of a thread with the results that say in the transcript that they are undone. Nothing where there are none. */
export const undoneSince = (
  thread: ReadonlyArray<Prompt.Message>,
  transcript: Prompt.Prompt
): ReadonlyArray<Prompt.Message> | undefined => {
  const undone = new Map(resultsOf(transcript.content).flatMap((part) => isUndone(part) ? [[part.id, part]] : []))
  const isLeft = (part: Prompt.ToolResultPart) => undone.has(part.id) && !isUndone(part)
  if (undone.size === 0 || !resultsOf(thread).some(isLeft)) return undefined
  return thread.map((message) =>
    message.role !== "tool" ? message : {
      ...message,
      content: message.content.map((part) =>
        part.type === "tool-result" && isLeft(part) ? undone.get(part.id) ?? part : part
      )
    }
  )
}
