/** Continuations: a conversation that continues another one, and the answers at its end. */
import * as Prompt from "effect/ai/Prompt"
import type * as Schema from "effect/Schema"
import { marked } from "../../Quarantine.ts"
import { canonicalJson } from "../foundation/json/canonicalJson.ts"
import { encodePrompt } from "../foundation/json/promptJson.ts"

/** A message as text. Most are plain texts, and JSON of these takes five times as long. */
const textOf = (message: Prompt.Message): string => {
  const [json] = (encodePrompt(Prompt.fromMessages([message])) as unknown as {
    readonly content: readonly [{ readonly role: string; readonly content: Schema.Json; readonly options?: object }]
  }).content
  const { content, options = {}, role } = json
  return typeof content === "string" && Object.keys(options).length === 0
    ? `${role} ${content}`
    : canonicalJson(json)
}

/** Messages as text: the same for equal ones. */
export const texts = (messages: ReadonlyArray<Prompt.Message>): ReadonlyArray<string> => messages.map(textOf)

/** Returns the end, in a transcript, of messages with the same texts as a prompt's; `undefined` if they are missing. */
export const endOfTextIn = (transcript: Prompt.Prompt, prompt: Prompt.Prompt): number | undefined => {
  const known = texts(prompt.content)
  const all = texts(transcript.content)
  for (let start = 0; start + known.length <= all.length; start++) {
    if (known.every((text, n) => text === all[start + n])) return start + known.length
  }
  return undefined
}

/**
 * Returns the end of a prompt's messages in the transcript of a run that started with it; `undefined` if they are
 * missing.
 */
export const endIn = (transcript: Prompt.Prompt, prompt: Prompt.Prompt): number | undefined => {
  const last = prompt.content.at(-1)
  if (last === undefined) return undefined
  const index = transcript.content.lastIndexOf(last)
  // The transcript was stored in between: the same messages are other objects.
  return index >= 0 ? index + 1 : endOfTextIn(transcript, prompt)
}

/** A conversation with an answer behind it that no model of it has given: only text is said. */
export const withAnswer = (
  prompt: Prompt.Prompt,
  answer: unknown,
  taintedBy: ReadonlyArray<string>
): Prompt.Prompt =>
  typeof answer !== "string" || answer === "" ? prompt : Prompt.fromMessages([
    ...prompt.content,
    Prompt.assistantMessage({ content: [Prompt.textPart({ text: answer })], options: marked({}, taintedBy) })
  ])
