/** Repairs the result of a call: one block that is not MCP does not lose the others, nor the outcome of the call. */
import * as McpSchema from "effect/ai/McpSchema"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import type { ProtocolVersion } from "./protocols.ts"

type Fields = Readonly<Record<string, unknown>>

const isFields = (value: unknown): value is Fields => Predicate.isReadonlyObject(value)

const isBlock = Schema.decodeUnknownOption(McpSchema.ContentBlock)

const withoutNulls = (fields: Fields): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null))

/** The most characters of encoded bytes in the text of a block that cannot be read. */
const longestShown = 64

const shortened = (key: string, value: unknown): unknown =>
  (key === "data" || key === "blob") && typeof value === "string" && value.length > longestShown
    ? `${value.length} characters of base64`
    : value

/** Any value as text. */
const textOf = (value: unknown): Fields => ({
  type: "text",
  text: typeof value === "string" ? value : JSON.stringify(value, shortened) ?? ""
})

/** Standard base64 with its padding, and the media type of a data URL. */
const bytesOf = (data: string): { readonly data: string; readonly mimeType?: string } => {
  const [, mimeType, encoded = data] = /^data:([^;,]+)[^,]*;base64,(.*)$/s.exec(data) ?? []
  const plain = encoded.replaceAll(/\s/g, "").replaceAll("-", "+").replaceAll("_", "/").replace(/=+$/, "")
  return {
    data: plain.padEnd(Math.ceil(plain.length / 4) * 4, "="),
    ...(mimeType === undefined ? undefined : { mimeType })
  }
}

/** Media types of bytes that a server sent without one. */
const unnamedTypes: Readonly<Record<string, string>> = { image: "image/png", audio: "audio/wav" }

/** The block in the form of MCP, if its fields allow it. */
const wellFormed = (fields: Fields): Fields => {
  const { data, name, resource, text, type, uri } = fields
  if (type === "text" && text !== undefined) return { ...fields, text: textOf(text)["text"] }
  if ((type === "image" || type === "audio") && typeof data === "string") {
    return { mimeType: unnamedTypes[type], ...fields, ...bytesOf(data) }
  }
  if (type === "resource_link" && typeof uri === "string" && name === undefined) return { ...fields, name: uri }
  if (type !== "resource" || !isFields(resource)) return fields
  const own = withoutNulls(resource)
  return { ...fields, resource: typeof own["blob"] === "string" ? { ...own, blob: bytesOf(own["blob"]).data } : own }
}

/** The block, repaired; as text if it cannot be. */
const blockOf = (raw: unknown): Fields => {
  if (!isFields(raw)) return textOf(raw)
  if (Option.isSome(isBlock(raw))) return raw
  const { annotations: _, _meta, ...fields } = withoutNulls(raw)
  const repaired = wellFormed(fields)
  return Option.isSome(isBlock(repaired)) ? repaired : textOf(fields)
}

/** The first versions of the kinds of blocks that have been added. */
const firstVersions: Readonly<Record<string, ProtocolVersion>> = {
  audio: "2025-03-26",
  resource_link: "2025-06-18"
}

/** The block as one of the kinds that the version has: effect's client refuses a result with another kind. */
const inVersion = (version: ProtocolVersion) => (block: Fields): Fields => {
  const { data, description, mimeType, name, title, type, uri } = block
  const first = firstVersions[String(type)]
  if (first === undefined || version >= first) return block
  return type === "audio"
    ? { type: "resource", resource: { uri: "mcp:audio", mimeType, blob: data } }
    : { type: "text", text: [`${String(title ?? name)}: ${String(uri)}`, description ?? []].flat().join("\n") }
}

const blocksOf = (content: unknown, version: ProtocolVersion): ReadonlyArray<unknown> => {
  if (content === undefined || content === null) return []
  const blocks = Array.isArray(content) ? content : [content]
  return blocks.filter((block) => block !== null).map(blockOf).map(inVersion(version))
}

const isGiven = (value: unknown): boolean => value !== undefined

const flagOf = (isError: unknown): boolean => isError === true || isError === "true"

/** True for another message than a result: a task that has started, or a request for more input. */
const isOther = ({ resultType, task }: Fields): boolean =>
  task !== undefined || (typeof resultType === "string" && resultType !== "complete")

/** The version in which structured content is any JSON; before that, it is an object. */
const firstOfAnyStructure: ProtocolVersion = "2026-07-28"

/** Returns a result of `tools/call` in the form of MCP in that version. A value without fields is the content. */
export const repairResult = (version: ProtocolVersion) => (given: unknown): unknown => {
  const raw = isFields(given) && !Array.isArray(given) ? given : { content: given }
  if (isOther(raw)) return raw
  const { _meta, content, is_error, isError = is_error, resultType, structuredContent, ...others } = withoutNulls(raw)
  const isStructured = isFields(structuredContent) || version >= firstOfAnyStructure
  const known = blocksOf(content, version)
  const isBare = known.length === 0 && (structuredContent === undefined || !isStructured)
  return {
    ...(resultType === undefined ? undefined : { resultType }),
    ...(isFields(_meta) ? { _meta } : undefined),
    ...(structuredContent !== undefined && isStructured ? { structuredContent } : undefined),
    // Fields that a result does not have are the content of one that has no other.
    content: isBare ? [structuredContent, ...Object.values(others)].filter(isGiven).map(textOf) : known,
    ...(isError === undefined ? undefined : { isError: flagOf(isError) })
  }
}
