/**
 * Tools for servers that have none: they are described in the prompt, and called and answered in the text.
 *
 * A call is `<tool_call name="NAME">ARGUMENTS AS JSON</tool_call>`. The name is outside of the JSON, so that a call
 * with malformed arguments is still a call of that tool, and fails like one.
 */
import type * as LanguageModel from "effect/ai/LanguageModel"

/** Description of a tool. */
export interface Description {
  readonly name: string
  readonly description: string | undefined
  readonly parameters: unknown
}

export interface Call {
  readonly name: string
  readonly arguments: string
}

const opening = "<tool_call name=\""
const call = /<tool_call name="([^"<>]*)">([\s\S]*?)<\/tool_call>/g

/** The instructions that replace the `tools` field. */
export const instructions = (
  tools: ReadonlyArray<Description>,
  choice: LanguageModel.ToolChoice<string>
): string => {
  const must = typeof choice === "object" && "tool" in choice
    ? `\nYou must call the tool ${choice.tool} now.`
    : choice === "required" || (typeof choice === "object" && choice.mode === "required")
    ? "\nYou must call at least one tool now."
    : ""
  return "You can call these tools:\n" +
    tools.map((tool) => JSON.stringify({ ...tool, description: tool.description ?? "" })).join("\n") +
    "\n\nTo call a tool, write exactly\n" +
    `${opening}NAME">ARGUMENTS</tool_call>\n` +
    "where ARGUMENTS is one JSON object that matches the tool's parameters. You may write several. " +
    "Then stop: each result comes back as <tool_result>." + must
}

/** A past call, in the model's spelling. */
export const printCall = (name: string, args: string): string => `${opening}${name}">${args}</tool_call>`

/** A result for the model. It is JSON without `<`, so that no result can end its own frame or look like a call. */
export const printResult = (name: string, content: string): string =>
  `<tool_result name="${name}">${JSON.stringify(content).replaceAll("<", "\\u003c")}</tool_result>`

/** Calls and remaining text of a whole answer. */
export const parse = (text: string): { readonly text: string; readonly calls: ReadonlyArray<Call> } => {
  const calls: Array<Call> = []
  const rest = text.replace(call, (_, name: string, args: string) => {
    calls.push({ name, arguments: args.trim() })
    return ""
  })
  return { text: calls.length > 0 ? rest.trim() : rest, calls }
}

/**
 * Splits streamed text: text that cannot belong to a call comes out at once; everything from the first possible call on
 * is delayed until the answer is known to be whole.
 */
export const splitter = (): {
  readonly push: (text: string) => string
  readonly finish: () => { readonly text: string; readonly calls: ReadonlyArray<Call> }
} => {
  let pending = ""
  let inCall = false
  return {
    push: (text) => {
      pending += text
      if (inCall) return ""
      const start = pending.indexOf(opening)
      inCall = start >= 0
      const safe = start >= 0 ? start : pending.length - partialMarkerLength(pending)
      const out = pending.slice(0, safe)
      pending = pending.slice(safe)
      return out
    },
    finish: () => parse(pending)
  }
}

/** Length of the end of the text that may be the start of a call. */
const partialMarkerLength = (text: string): number => {
  for (let length = Math.min(opening.length - 1, text.length); length > 0; length--) {
    if (opening.startsWith(text.slice(text.length - length))) return length
  }
  return 0
}
