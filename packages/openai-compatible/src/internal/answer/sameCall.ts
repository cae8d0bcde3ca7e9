/** Same call: whether two reports of a tool call are one call. A provider that reports a call twice must not have it executed twice. */
import * as Equal from "effect/Equal"
import * as ToolArguments from "./toolArguments.ts"

/** Numbers that a JavaScript number may round: two of them can be read as equal and differ. */
const longNumbers = (text: string): ReadonlyArray<string> => (text.match(/\d{16,}/g) ?? []).toSorted()

/** True if two texts contain the same arguments: equal JSON in any order of its keys, or equal text. */
export const hasSameArguments = (a: string, b: string): boolean =>
  a === b ||
  (Equal.equals(ToolArguments.parse(a), ToolArguments.parse(b)) && Equal.equals(longNumbers(a), longNumbers(b)))

/** The arguments of a call as the text that they were sent as; none is the empty text. */
export const argumentsText = (args: unknown): string =>
  typeof args === "string" ? args : args === undefined || args === null ? "" : JSON.stringify(args)
