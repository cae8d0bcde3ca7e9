/** Answer facts: finish reason, usage, pictures and origin of an answer. Shared by whole answers and streams. */
import type * as Response from "effect/ai/Response"
import * as Base64 from "effect/encoding/Base64"
import * as Result from "effect/Result"
import { ownField } from "./ownField.ts"

const reasons: ReadonlyMap<string, Response.FinishReason> = new Map<string, Response.FinishReason>([
  ["stop", "stop"],
  ["eos", "stop"],
  ["eos_token", "stop"],
  ["end_turn", "stop"],
  ["stop_sequence", "stop"],
  ["complete", "stop"],
  ["completed", "stop"],
  ["finished", "stop"],
  ["done", "stop"],
  ["end", "stop"],
  ["normal", "stop"],
  ["end_of_turn", "stop"],
  ["length", "length"],
  ["max_tokens", "length"],
  ["max_output_tokens", "length"],
  ["max_completion_tokens", "length"],
  ["model_length", "length"],
  ["model_context_window_exceeded", "length"],
  ["context_length_exceeded", "length"],
  ["tool_calls", "tool-calls"],
  ["tool_use", "tool-calls"],
  ["tool_call", "tool-calls"],
  ["function_call", "tool-calls"],
  ["content_filter", "content-filter"],
  ["content_filtered", "content-filter"],
  ["refusal", "content-filter"],
  ["safety", "content-filter"],
  ["image_safety", "content-filter"],
  ["recitation", "content-filter"],
  ["sensitive", "content-filter"],
  ["blocklist", "content-filter"],
  ["prohibited_content", "content-filter"],
  ["spii", "content-filter"],
  ["guardrail_intervened", "content-filter"],
  // The model's call could not be read: the answer is not complete, whatever an unknown reason means.
  ["malformed_function_call", "other"],
  ["unexpected_tool_call", "other"]
])

const failures: ReadonlySet<string> = new Set([
  "error",
  "abort",
  "aborted",
  "insufficient_system_resource",
  "network_error"
])

/** The name of an enumeration before a reason: gateways of Google's models print it. */
const enumeration = /^(?:finish_?reason|stop_?reason)[._]/

/** The spellings of a reason: whole, and the words of one with a detail, such as `content_filter: PROHIBITED_CONTENT`. */
const spellings = (raw: string): ReadonlyArray<string> => {
  if (reasons.has(raw)) return [raw]
  const plain = raw.trim().toLowerCase().replaceAll("-", "_").replace(enumeration, "")
  return plain.includes(":") ? [plain, ...plain.split(":").map((word) => word.trim())] : [plain]
}

/** True if the reason means that the server gave up in the middle. */
export const isFailure = (raw: string | undefined): boolean =>
  raw !== undefined && spellings(raw).some((word) => failures.has(word))

/** The reason in effect's words. Some servers say `stop` although they call tools. */
export const finishReason = (
  raw: string | undefined,
  hasToolCalls: boolean,
  unknown: "other" | "stop"
): Response.FinishReason => {
  if (raw === undefined) return "unknown"
  const reason = spellings(raw).map((word) => reasons.get(word)).find((known) => known !== undefined) ?? unknown
  return hasToolCalls && reason === "stop" ? "tool-calls" : reason
}

const at = (value: unknown, ...path: ReadonlyArray<string>): unknown => path.reduce(ownField, value)

/** A count, also if a server writes it as text. A part of a token costs a token. */
const count = (value: unknown): number | undefined => {
  const number = typeof value === "string" && /^\d{1,15}(?:\.\d{1,15})?$/.test(value) ? Number(value) : value
  if (typeof number !== "number") return undefined
  const whole = Math.ceil(number)
  return Number.isSafeInteger(whole) && whole >= 0 ? Math.max(0, whole) : undefined
}

const minus = (total: number | undefined, part: number | undefined): number | undefined =>
  total === undefined ? undefined : Math.max(0, total - (part ?? 0))

/** Fields, or fields of details in them. */
type Paths = ReadonlyArray<readonly [field: string, detail?: string]>

/** Fields of each count in servers' answers. */
const counts = {
  input: [["prompt_tokens"], ["input_tokens"]],
  output: [["completion_tokens"], ["output_tokens"]],
  total: [["total_tokens"]],
  cacheRead: [
    ["prompt_tokens_details", "cached_tokens"],
    ["input_tokens_details", "cached_tokens"],
    ["prompt_cache_hit_tokens"],
    ["cached_tokens"],
    ["cache_read_input_tokens"],
    ["num_cached_tokens"]
  ],
  cacheWrite: [
    ["prompt_tokens_details", "cache_write_tokens"],
    ["prompt_tokens_details", "cache_creation_tokens"],
    ["cache_creation_input_tokens"]
  ],
  uncached: [["prompt_cache_miss_tokens"]],
  reasoning: [
    ["completion_tokens_details", "reasoning_tokens"],
    ["output_tokens_details", "reasoning_tokens"],
    ["reasoning_tokens"]
  ]
} as const satisfies Record<string, Paths>

const counted = (raw: unknown, name: keyof typeof counts): number | undefined => {
  for (const [field, detail] of counts[name] as Paths) {
    const value = ownField(raw, field)
    const found = count(detail === undefined ? value : ownField(value, detail))
    if (found !== undefined) return found
  }
  return undefined
}

/**
 * Token counts; missing or invalid ones stay undefined. Some servers count reasoning outside of the output, and in the
 * total alone: it is output.
 */
export const usage = (raw: unknown): Response.FinishPartEncoded["usage"] => {
  const total = counted(raw, "total")
  const shown = counted(raw, "output")
  const input = counted(raw, "input") ??
    (total === undefined || shown === undefined ? undefined : Math.max(0, total - shown))
  const rest = total === undefined || input === undefined ? undefined : Math.max(0, total - input)
  const output = shown === undefined ? rest : Math.max(shown, rest ?? 0)
  const cacheRead = counted(raw, "cacheRead")
  const reasoning = counted(raw, "reasoning") ??
    (shown === undefined || output === undefined || output === shown ? undefined : output - shown)
  return {
    inputTokens: {
      total: input,
      uncached: counted(raw, "uncached") ?? minus(input, cacheRead),
      cacheRead,
      cacheWrite: counted(raw, "cacheWrite")
    },
    outputTokens: { total: output, text: minus(output, reasoning), reasoning }
  }
}

/** The usage of an answer or a chunk, wherever servers put it. */
export const usageIn = (head: unknown): unknown => {
  const usual = ownField(head, "usage")
  if (isObject(usual)) return usual
  const first = ownField(ownField(head, "choices"), "0")
  return [
    at(head, "x_groq", "usage"),
    ownField(first, "usage"),
    at(first, "message", "usage"),
    at(first, "delta", "usage")
  ].find(isObject)
}

const isObject = (value: unknown): boolean => typeof value === "object" && value !== null

const isCounted = (value: unknown): boolean => value !== null && value !== undefined && value !== 0 && value !== "0"

/** Counts of a stream: later ones outrank earlier ones, unless they are 0 or absent. */
export const mergeUsage = (earlier: unknown, later: unknown): unknown => {
  if (later === undefined) return earlier
  if (!isObject(earlier) || !isObject(later)) return later
  const fields = Object.entries(later as object)
    .filter(([name, value]) => isCounted(value) || ownField(earlier, name) === undefined)
  return { ...earlier as object, ...Object.fromEntries(fields) }
}

/** Id, model and time of an answer, if they are given. */
export const responseMetadata = (
  head: { readonly id?: unknown; readonly model?: unknown; readonly created?: unknown }
): Response.ResponseMetadataPartEncoded | undefined => {
  const id = typeof head.id === "string" && head.id !== "" ? head.id : undefined
  const modelId = typeof head.model === "string" && head.model !== "" ? head.model : undefined
  const created = Number.isSafeInteger(head.created) ? head.created as number : 0
  const timestamp = created > 0 && created < 253_402_300_800 ? new Date(created * 1000).toISOString() : undefined
  if (id === undefined && modelId === undefined && timestamp === undefined) return undefined
  return { type: "response-metadata", id, modelId, timestamp }
}

/** Web sources, from `annotations` (OpenAI, OpenRouter), `search_results` or `citations` (Perplexity). */
export const sources = (
  annotations: unknown,
  head: { readonly citations?: unknown; readonly search_results?: unknown }
): ReadonlyArray<Response.UrlSourcePartEncoded> => {
  const cited = list(annotations)
  const searched = list(head.search_results)
  const citations = list(head.citations)
  // Most answers have none.
  if (cited.length + searched.length + citations.length === 0) return none
  const found = new Map<string, string>()
  const add = (url: unknown, title: unknown) => {
    if (typeof url === "string" && URL.canParse(url) && !found.has(url)) {
      found.set(url, typeof title === "string" ? title : url)
    }
  }
  for (const annotation of cited) {
    add(at(annotation, "url_citation", "url"), at(annotation, "url_citation", "title"))
  }
  for (const result of searched) add(at(result, "url"), at(result, "title"))
  for (const citation of citations) add(citation, undefined)
  return Array.from(found, ([url, title], index) => ({
    type: "source",
    sourceType: "url",
    id: `source_${index + 1}`,
    url,
    title
  }))
}

/** Pictures with their bytes as files, once each. An address elsewhere is not fetched. */
export const files = (addresses: ReadonlyArray<unknown>): ReadonlyArray<Response.FilePartEncoded> =>
  addresses.length === 0 ?
    none :
    [...new Set(addresses)].flatMap((address): ReadonlyArray<Response.FilePartEncoded> => {
      const [, mediaType, data] = /^data:([\w.+-]+\/[\w.+-]+)[^,]*;base64,(.+)$/s.exec(String(address)) ?? []
      return mediaType === undefined || data === undefined || Result.isFailure(Base64.decode(data))
        ? none
        : [{ type: "file", mediaType, data }]
    })

const none: ReadonlyArray<never> = []

const list = (value: unknown): ReadonlyArray<unknown> => Array.isArray(value) ? value : none
