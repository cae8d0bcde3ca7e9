/**
 * Files in requests: they come in `data:` addresses, because the server fetches no files for a client. A model's server refuses a request
 * with a file that it cannot read, and the file would be in each later request of the thread.
 */
import * as Base64 from "effect/encoding/Base64"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Prompt from "effect/ai/Prompt"
import { BadRequest } from "../http/errors.ts"

/** A file of a request. `mediaType` is absent if the address names it. */
export interface RequestFile {
  readonly url: string
  readonly mediaType?: string | undefined
  readonly fileName?: string | undefined
}

const isMediaType = (text: string | undefined): text is string => /^[\w.+-]+\/[\w.+-]+$/.test(text ?? "")

/** Standard base64 with its padding, or `undefined` if it cannot be read. */
const base64Of = (data: string): string | undefined => {
  const plain = data.replaceAll(/\s/g, "").replaceAll("-", "+").replaceAll("_", "/").replace(/=+$/, "")
  const padded = plain.padEnd(Math.ceil(plain.length / 4) * 4, "=")
  return Result.isFailure(Base64.decode(padded)) ? undefined : padded
}

/** The base64 of text with percent encoding, as in the address of an SVG. */
const base64OfText = (text: string): string | undefined => {
  try {
    return Base64.encode(decodeURIComponent(text))
  } catch {
    return undefined
  }
}

const readAddress = (url: string): { readonly mediaType: string | undefined; readonly data: string } | undefined => {
  // Browsers read an empty file so.
  if (url === "data:") return { mediaType: undefined, data: "" }
  const [, head, body] = /^data:([^,]*),(.*)$/s.exec(url) ?? []
  if (head === undefined || body === undefined) return undefined
  const [mediaType, ...parameters] = head.split(";")
  const data = parameters.at(-1) === "base64" ? base64Of(body) : base64OfText(body)
  return data === undefined ? undefined : { mediaType, data }
}

/** The text for an empty file: models' servers refuse one. */
const emptyFile = (fileName: string | undefined, mediaType: string | undefined): Prompt.TextPart => {
  const facts = [fileName, mediaType].filter((fact) => fact !== undefined && fact !== "")
  return Prompt.makePart("text", { text: `[The file is empty${facts.length === 0 ? "" : `: ${facts.join(", ")}`}]` })
}

/**
 * Converts a file for a model; an empty one is a text that says so. Fails with `BadRequest` for another address, without a media type, and
 * for bytes that cannot be read.
 */
export const filePart = (
  { fileName, mediaType: given, url }: RequestFile,
  param: string
): Effect.Effect<Prompt.FilePart | Prompt.TextPart, BadRequest> => {
  const read = readAddress(url)
  const mediaType = [given, read?.mediaType].find(isMediaType)
  if (read?.data === "") return Effect.succeed(emptyFile(fileName, mediaType))
  if (read === undefined || mediaType === undefined) {
    const problem = `${param}: send files as data: addresses with their media type and their bytes in base64`
    return Effect.fail(new BadRequest({ problem, param }))
  }
  const data = `data:${mediaType};base64,${read.data}`
  return Effect.succeed(
    Prompt.makePart("file", { mediaType, data, ...(fileName === undefined ? undefined : { fileName }) })
  )
}
