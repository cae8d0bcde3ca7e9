/** Text files, which servers do not take as files: models read them as text. */
import type * as Prompt from "effect/ai/Prompt"
import * as Base64 from "effect/encoding/Base64"
import * as Result from "effect/Result"

/** True for a media type of text. */
export const isText = (mediaType: string): boolean =>
  /^text\/|^application\/(?:[\w.-]+\+)?(?:json|xml|yaml)\b|^application\/(?:x-yaml|x-ndjson|javascript|sql|toml)\b/
    .test(mediaType)

/** The text of a file; `undefined` for bytes that are no UTF-8, and for an address. */
export const fileText = (data: Prompt.FilePart["data"], base64: string | undefined): string | undefined => {
  if (base64 === undefined) return undefined
  const bytes = data instanceof Uint8Array ? Result.succeed(data) : Base64.decode(base64)
  if (Result.isFailure(bytes)) return undefined
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes.success)
  } catch {
    return undefined
  }
}
