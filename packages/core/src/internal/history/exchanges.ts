/** Inseparable parts of a conversation: an answer with the results of its calls, or a message of a user. */
import * as Prompt from "effect/ai/Prompt"
import { withTaintOf } from "./remainingCalls.ts"

/** An answer and the messages behind it up to the next answer or user's message; or a message of a user. */
export type Unit = ReadonlyArray<Prompt.Message>

/** A conversation in parts: the system messages at its beginning, and units. */
export interface Parts {
  readonly system: ReadonlyArray<Prompt.Message>
  readonly units: ReadonlyArray<Unit>
}

export const partsOf = ({ content }: Prompt.Prompt): Parts => {
  const first = content.findIndex(({ role }) => role !== "system")
  const units: Array<Array<Prompt.Message>> = []
  for (const message of first < 0 ? [] : content.slice(first)) {
    const last = units.at(-1)
    if (last === undefined || message.role === "user" || message.role === "assistant") units.push([message])
    else last.push(message)
  }
  return { system: first < 0 ? content : content.slice(0, first), units }
}

const isOfUser = (unit: Unit | undefined): boolean => unit?.[0]?.role === "user"

/**
 * Returns the end of a conversation, from a unit on. It starts with a user's message, because providers require it. The
 * last message of a user stays, because it has the task.
 */
export const from = (prompt: Prompt.Prompt, { system, units }: Parts, index: number): Prompt.Prompt => {
  if (index <= 0) return prompt
  const question = units.findLastIndex(isOfUser)
  const first = units.findIndex((unit, n) => n >= index && isOfUser(unit))
  const remaining = first >= 0
    ? units.slice(first)
    : question >= 0
    ? [units[question]!, ...units.slice(Math.max(index, question + 1))]
    : units.slice(index)
  return withTaintOf(prompt, Prompt.fromMessages([...system, ...remaining.flat()]))
}

/** The first of the last units that have so many messages at most; the last unit is always one of them. */
export const lastUnits = ({ units }: Parts, count: number): number => {
  let left = count
  let index = units.length
  while (index > 0 && (index === units.length || left >= units[index - 1]!.length)) left -= units[--index]!.length
  return index
}
