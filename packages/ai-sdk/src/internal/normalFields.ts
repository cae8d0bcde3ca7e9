/** Normal fields: the fields of an answer's parts in the form of the interface, made of any value. */
import type { LanguageModelV4FinishReason, LanguageModelV4Usage } from "@ai-sdk/provider"

export type Fields = Readonly<Record<string, unknown>>

/** Returns whether the value has fields, and is no list. */
export const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const optionalText = (value: unknown): string | undefined => typeof value === "string" ? value : undefined

/** A text that is none is empty. */
export const text = (value: unknown): string => optionalText(value) ?? ""

/** The name of a tool. A call of a tool without a name is one of an unknown tool. */
export const name = (value: unknown): string => value === undefined || value === null ? "" : String(value)

/** An id; some models count. */
export const id = (value: unknown): string | undefined =>
  typeof value === "string" || typeof value === "number" ? String(value) : undefined

/** A list that is none is empty. */
export const list = (value: unknown): Array<any> => Array.isArray(value) ? value : []

/** The value through JSON, because effect/ai refuses a whole answer over an `undefined` inside; `undefined` for a value without a JSON form. */
export const json = (value: unknown): unknown => {
  try {
    const written = JSON.stringify(value)
    return written === undefined ? undefined : JSON.parse(written)
  } catch {
    return undefined
  }
}

/** The arguments of a call as text. */
export const inputOf = (input: unknown): string => {
  if (typeof input === "string") return input
  const value = input === undefined || input === null ? undefined : json(input)
  return value === undefined ? "" : JSON.stringify(value)
}

const reasons: ReadonlySet<unknown> = new Set<LanguageModelV4FinishReason["unified"]>([
  "stop",
  "length",
  "content-filter",
  "tool-calls",
  "error",
  "other",
  "interrupted"
])

const unifiedOf = (word: unknown): LanguageModelV4FinishReason["unified"] =>
  reasons.has(word) ? word as LanguageModelV4FinishReason["unified"] : "other"

/** The reason of an end; version 2 has it as a word. */
export const finishReason = (given: unknown): LanguageModelV4FinishReason => {
  const { raw, unified }: Fields = isFields(given) ? given : { raw: given, unified: given }
  return { unified: unifiedOf(unified), raw: optionalText(raw) }
}

const counts = (given: unknown): object => isFields(given) ? given : { total: given }

/** The counts of tokens; version 2 has totals alone. */
export const usage = (given: unknown): LanguageModelV4Usage => {
  const fields: Fields = isFields(given) ? given : {}
  return {
    ...fields,
    inputTokens: counts(fields["inputTokens"]),
    outputTokens: counts(fields["outputTokens"])
  } as LanguageModelV4Usage
}

const time = (value: unknown): Date | undefined => {
  const date = typeof value === "string" || typeof value === "number" ? new Date(value) : value
  return date instanceof Date && !Number.isNaN(date.getTime()) ? date : undefined
}

/** The known id, model and time of an answer. */
export const response = (value: unknown): Fields => {
  const { id, modelId, timestamp }: Fields = isFields(value) ? value : {}
  return { id: optionalText(id), modelId: optionalText(modelId), timestamp: time(timestamp) }
}

const urlOf = (value: unknown): URL | undefined => {
  if (value instanceof URL) return value
  return typeof value === "string" && URL.canParse(value) ? new URL(value) : undefined
}

/** The data of a file; version 3 has bytes without a type. */
const fileData = (data: unknown): Fields | undefined => {
  if (typeof data === "string" || data instanceof Uint8Array) return { type: "data", data }
  if (data instanceof URL) return { type: "url", url: data }
  if (!isFields(data)) return undefined
  const url = urlOf(data["url"])
  return url === undefined ? fileData(data["data"]) : { type: "url", url }
}

/** A file with data, or none. */
export const file = (part: Fields): Fields | undefined => {
  const data = fileData(part["data"])
  return data && { ...part, data, mediaType: optionalText(part["mediaType"]) ?? "application/octet-stream" }
}

/** A source with its fields, or none. */
export const source = (part: Fields): Fields | undefined => {
  const title = optionalText(part["title"])
  const fields = { ...part, id: id(part["id"]) ?? "", title }
  if (part["sourceType"] === "url") return { ...fields, url: text(part["url"]) }
  return part["sourceType"] === "document"
    ? {
      ...fields,
      title: title ?? "",
      mediaType: optionalText(part["mediaType"]) ?? "application/octet-stream",
      filename: optionalText(part["filename"])
    }
    : undefined
}

/** The citations that have a source. */
export const citations = (value: unknown): ReadonlyArray<Fields> =>
  list(value).flatMap((citation: unknown) => {
    const cited = isFields(citation) && isFields(citation["source"]) ? source(citation["source"]) : undefined
    return cited === undefined ? [] : [{ source: cited }]
  })
