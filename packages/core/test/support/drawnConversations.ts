/** Messages and stores of conversations. */

import { Conversation } from "@recourse/core"
import { Prompt } from "effect/ai"

export const text = (said: string) => Prompt.textPart({ text: said })

export const user = (said: string) => Prompt.userMessage({ content: [text(said)] })

export const told = Prompt.toolMessage({
  content: [Prompt.toolResultPart({ id: "c", name: "t", isFailure: false, result: "needle", providerExecuted: false })]
})

/** Events, and true if a search for a needle finds them. */
export const pieces: ReadonlyArray<readonly [Conversation.Event, boolean]> = [
  [Conversation.toEvents([user("A NEEDLE in it")])[0]!, true],
  [Conversation.toEvents([Prompt.assistantMessage({ content: [text("hay"), text("needles")] })])[0]!, true],
  [Conversation.toEvents([user("needle")], "people")[0]!, true],
  [Conversation.toEvents([user("needle")], "model")[0]!, false],
  [Conversation.toEvents([Prompt.systemMessage({ content: "needle" })])[0]!, false],
  [Conversation.toEvents([told])[0]!, false],
  [Conversation.toEvents([user("need"), user("le")])[0]!, false],
  [{ _tag: "ToolCallsPruned", calls: ["needle"] }, false],
  [
    { _tag: "HistoryCompacted", through: 0, by: Conversation.toEvents([user("needle")]).map(({ message }) => message) },
    false
  ]
]
