/** Pages of the tutorial, in their order. A page continues with the files of the pages before it. */
export const tutorialPages: ReadonlyArray<string> = [
  "first-agent.md",
  "break-it.md",
  "write-once.md",
  "ask-a-person.md",
  "with-a-real-model.md"
]
