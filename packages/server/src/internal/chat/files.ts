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

/** Standard base64 with its padding, or `undefined` if it has no bytes. */
const base64Of = (data: string): string | undefined => {
  const plain = data.replaceAll(/\s/g, "").replaceAll("-", "+").replaceAll("_", "/").replace(/=+$/, "")
  const padded = plain.padEnd(Math.ceil(plain.length / 4) * 4, "=")
  return plain === "" || Result.isFailure(Base64.decode(padded)) ? undefined : padded
}

/** The base64 of text with percent encoding, as in the address of an SVG. */
const base64OfText = (text: string): string | undefined => {
  try {
    return text === "" ? undefined : Base64.encode(decodeURIComponent(text))
  } catch {
    return undefined
  }
}

const readAddress = (url: string): { readonly mediaType: string | undefined; readonly data: string } | undefined => {
  const [, head, body] = /^data:([^,]*),(.*)$/s.exec(url) ?? []
  if (head === undefined || body === undefined) return undefined
  const [mediaType, ...parameters] = head.split(";")
  const data = parameters.at(-1) === "base64" ? base64Of(body) : base64OfText(body)
  return data === undefined ? undefined : { mediaType, data }
}

/** Converts a file for a model. Fails with `BadRequest` for another address, without a media type, and for bytes that cannot be read. */
export const filePart = (
  { fileName, mediaType: given, url }: RequestFile,
  param: string
): Effect.Effect<Prompt.FilePart, BadRequest> => {
  const read = readAddress(url)
  const mediaType = [given, read?.mediaType].find(isMediaType)
  if (read === undefined || mediaType === undefined) {
    const problem = `${param}: send files as data: addresses with their media type and their bytes in base64`
    return Effect.fail(new BadRequest({ problem, param }))
  }
  const data = `data:${mediaType};base64,${read.data}`
  return Effect.succeed(
    Prompt.makePart("file", { mediaType, data, ...(fileName === undefined ? undefined : { fileName }) })
  )
}
