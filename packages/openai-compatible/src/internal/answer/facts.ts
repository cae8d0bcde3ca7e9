/** Answer facts: finish reason, usage and origin of an answer. Shared by whole answers and streams. */
import type * as Response from "effect/ai/Response"
import { ownField } from "./ownField.ts"

const reasons: ReadonlyMap<string, Response.FinishReason> = new Map<string, Response.FinishReason>([
  ["stop", "stop"],
  ["eos", "stop"],
  ["eos_token", "stop"],
  ["end_turn", "stop"],
  ["stop_sequence", "stop"],
  ["length", "length"],
  ["max_tokens", "length"],
  ["model_length", "length"],
  ["tool_calls", "tool-calls"],
  ["tool_use", "tool-calls"],
  ["function_call", "tool-calls"],
  ["content_filter", "content-filter"],
  ["safety", "content-filter"],
  ["recitation", "content-filter"],
  ["sensitive", "content-filter"]
])

const failures: ReadonlySet<string> = new Set(["error", "insufficient_system_resource", "network_error"])

/** Whether the reason says that the server gave up in the middle. */
export const isFailure = (raw: string | null | undefined): boolean =>
  typeof raw === "string" && failures.has(raw.toLowerCase())

/** The reason in effect's words. Some servers say `stop` although they call tools. */
export const finishReason = (
  raw: string | undefined,
  hasToolCalls: boolean,
  unknown: "other" | "stop"
): Response.FinishReason => {
  if (raw === undefined) return "unknown"
  const reason = reasons.get(raw.toLowerCase()) ?? unknown
  return hasToolCalls && reason === "stop" ? "tool-calls" : reason
}

const at = (value: unknown, ...path: ReadonlyArray<string>): unknown => path.reduce(ownField, value)

const count = (value: unknown): number | undefined =>
  Number.isSafeInteger(value) && (value as number) >= 0 ? value as number : undefined

const minus = (total: number | undefined, part: number | undefined): number | undefined =>
  total === undefined ? undefined : Math.max(0, total - (part ?? 0))

/** Token counts; what is missing or is not a count stays undefined. */
export const usage = (raw: unknown): Response.FinishPartEncoded["usage"] => {
  const input = count(at(raw, "prompt_tokens"))
  const output = count(at(raw, "completion_tokens"))
  const cacheRead = count(at(raw, "prompt_tokens_details", "cached_tokens")) ??
    count(at(raw, "prompt_cache_hit_tokens"))
  const reasoning = count(at(raw, "completion_tokens_details", "reasoning_tokens"))
  return {
    inputTokens: {
      total: input,
      uncached: count(at(raw, "prompt_cache_miss_tokens")) ?? minus(input, cacheRead),
      cacheRead,
      cacheWrite: count(at(raw, "prompt_tokens_details", "cache_write_tokens"))
    },
    outputTokens: { total: output, text: minus(output, reasoning), reasoning }
  }
}

/** Id, model and time of an answer, as far as they are given. */
export const responseMetadata = (
  head: { readonly id?: unknown; readonly model?: unknown; readonly created?: unknown }
): Response.ResponseMetadataPartEncoded | undefined => {
  const id = typeof head.id === "string" && head.id !== "" ? head.id : undefined
  const modelId = typeof head.model === "string" && head.model !== "" ? head.model : undefined
  const created = count(head.created) ?? 0
  const timestamp = created > 0 && created < 253_402_300_800 ? new Date(created * 1000).toISOString() : undefined
  if (id === undefined && modelId === undefined && timestamp === undefined) return undefined
  return { type: "response-metadata", id, modelId, timestamp }
}

/** Web sources, from `annotations` (OpenAI, OpenRouter), `search_results` or `citations` (Perplexity). */
export const sources = (
  annotations: unknown,
  head: { readonly citations?: unknown; readonly search_results?: unknown }
): ReadonlyArray<Response.UrlSourcePartEncoded> => {
  const found = new Map<string, string>()
  const add = (url: unknown, title: unknown) => {
    if (typeof url === "string" && URL.canParse(url) && !found.has(url)) {
      found.set(url, typeof title === "string" ? title : url)
    }
  }
  for (const annotation of list(annotations)) {
    add(at(annotation, "url_citation", "url"), at(annotation, "url_citation", "title"))
  }
  for (const result of list(head.search_results)) add(at(result, "url"), at(result, "title"))
  for (const citation of list(head.citations)) add(citation, undefined)
  return Array.from(found, ([url, title], index) => ({
    type: "source",
    sourceType: "url",
    id: `source_${index + 1}`,
    url,
    title
  }))
}

const list = (value: unknown): ReadonlyArray<unknown> => Array.isArray(value) ? value : []
