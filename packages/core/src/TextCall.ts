/**
 * Text calls, for providers: tool calls that a server left in the text of an answer, because it has no parser for the model's own
 * spelling, or one that failed. Such a text is no answer. The spellings are data.
 */

/**
 * Spellings of a call by models, before a server parses it. Each must match the beginning of a call, and no prose
 * outside code.
 *
 * @category constants
 * @since 0.2.0
 */
export const spellings: ReadonlyArray<RegExp> = [
  // Hermes, Qwen, GLM, Granite
  /<tool_call>\s*(?:[[{]|<(?:function|name|arg_key)\b|[\w.-]+\s*(?:\n|<arg_key>|\{|<\/tool_call>))/,
  /<\|tool_call\|>/,
  /<tool_calls?>\s*[[{]/,
  /<function_calls?>\s*[[{<]/,
  // Llama, Qwen Coder
  /<function=[\w.-]+>?/,
  /<\|python_tag\|>/,
  // Mistral
  /\[TOOL_CALLS\]/,
  // Harmony
  /<\|(?:channel|constrain)\|>/,
  /<\|start\|>assistant/,
  // DeepSeek, Kimi
  /<[|｜]tool[▁_]calls?[▁_](?:section_)?(?:begin|sep)[|｜]>/,
  /<[|｜]DSML[|｜]/,
  // Anthropic, MiniMax
  /<(?:\w+:)?(?:tool_call|function_calls)>\s*<invoke\b/,
  /<invoke name="/,
  // Phi, Gemma, Command R
  /functools\[\s*\{/,
  /<start_function_call>/,
  /```tool_code\s/,
  /<\|START_ACTION\|>/
]

/** Returns the text without quoted code: an answer may show how calls are spelled. */
const withoutCode = (text: string): string =>
  text.replaceAll(/```(?!tool_code)[\s\S]*?(?:```|$)/g, "").replaceAll(/(?<!`)`[^`\n]+`(?!`)/g, "")

const ownText = (value: object, key: string): unknown =>
  Object.hasOwn(value, key) ? (value as Readonly<Record<string, unknown>>)[key] : undefined

/** True if a value is a call of one of the tools: its name and its arguments, and no other field. */
const isCall = (value: unknown, tools: ReadonlyArray<string>): boolean => {
  if (typeof value !== "object" || value === null) return false
  const inner = ownText(value, "function")
  if (typeof inner === "object" && inner !== null) return isCall(inner, tools)
  const args = ownText(value, "arguments") ?? ownText(value, "parameters")
  return typeof args === "object" && args !== null && tools.includes(ownText(value, "name") as string) &&
    Object.keys(value).every((key) => ["id", "type", "name", "arguments", "parameters"].includes(key))
}

/** True if the whole text is the JSON of one or several calls of the tools. */
const isJsonCall = (text: string, tools: ReadonlyArray<string>): boolean => {
  const json = /^\s*(?:```(?:json)?\s*)?([[{][\s\S]*[\]}])\s*(?:```)?\s*$/.exec(text)?.[1]
  if (json === undefined) return false
  try {
    const value: unknown = JSON.parse(json)
    return Array.isArray(value)
      ? value.length > 0 && value.every((item) => isCall(item, tools))
      : isCall(value, tools)
  } catch {
    return false
  }
}

/**
 * True if a text contains a tool call that its server did not parse: one of the spellings outside of code, or only the
 * JSON of a call of an offered tool. False without tools.
 *
 * **Example** (A call that is no answer)
 *
 * ```ts
 * import { TextCall } from "@recourse/core"
 *
 * TextCall.isLeftIn(`<tool_call>\n{"name": "weather", "arguments": {}}\n</tool_call>`, ["weather"]) // => true
 * TextCall.isLeftIn("Qwen writes `<tool_call>` before a call.", ["weather"]) // => false
 * ```
 *
 * @category predicates
 * @since 0.2.0
 */
export const isLeftIn = (
  text: string,
  tools: ReadonlyArray<string>,
  spelled: ReadonlyArray<RegExp> = spellings
): boolean => {
  if (tools.length === 0 || text === "") return false
  if (spelled.length > 0 && isJsonCall(text, tools)) return true
  // With the flag `g`, `test` depends on the text before.
  const isSpelled = (text: string) => spelled.some((spelling) => text.search(spelling) >= 0)
  return isSpelled(text) && isSpelled(withoutCode(text))
}
