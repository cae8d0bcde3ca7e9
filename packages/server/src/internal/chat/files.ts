/** Files in requests: they come in `data:` addresses, because the server fetches no files for a client. */
import * as Effect from "effect/Effect"
import * as Prompt from "effect/ai/Prompt"
import { BadRequest } from "../http/errors.ts"

const mediaTypeOf = /^data:([\w.+-]+\/[\w.+-]+)[;,]/

/** A file of a request. `mediaType` is absent if the address names it. */
export interface RequestFile {
  readonly url: string
  readonly mediaType?: string | undefined
  readonly fileName?: string | undefined
}

/** Converts a file for a model. Fails with `BadRequest` for another address, and without a known media type. */
export const filePart = (
  { fileName, mediaType: given, url }: RequestFile,
  param: string
): Effect.Effect<Prompt.FilePart, BadRequest> => {
  const mediaType = given ?? mediaTypeOf.exec(url)?.[1]
  if (mediaType === undefined || !url.startsWith("data:")) {
    const problem = `${param}: send files as data: addresses with their media type`
    return Effect.fail(new BadRequest({ problem, param }))
  }
  return Effect.succeed(
    Prompt.makePart("file", { mediaType, data: url, ...(fileName === undefined ? undefined : { fileName }) })
  )
}
