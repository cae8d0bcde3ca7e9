/** Page files: output of the pages' build in `dist/web`, read once. */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import { ConfigurationError } from "@recourse/core/ConfigurationError"

/** A file in its sent form. */
export interface PageFile {
  readonly contentType: string
  readonly plain: Uint8Array
  /** The same, compressed by Brotli. */
  readonly brotli: Uint8Array | undefined
}

const types: Readonly<Record<string, string>> = {
  html: "text/html; charset=utf-8",
  css: "text/css; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  svg: "image/svg+xml",
  woff2: "font/woff2"
}

/** Seen from the sources in the repository, and from the compiled modules in the package: the same folder. */
const folder = new URL("../../dist/web", import.meta.url)

const typeOf = (name: string): string | undefined => types[name.slice(name.lastIndexOf(".") + 1)]

/** The files by their path, such as `chat.html` and `_studio/chat-1a2b3c4d.js`. */
export const pageFiles: Effect.Effect<
  ReadonlyMap<string, PageFile>,
  ConfigurationError,
  FileSystem.FileSystem | Path.Path
> = Effect.gen(function*() {
  const files = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const at = yield* path.fromFileUrl(folder)
  const names = (yield* files.readDirectory(at, { recursive: true })).map((name) => name.replaceAll("\\", "/"))
  const found = new Map<string, PageFile>()
  for (const name of names) {
    const contentType = typeOf(name)
    if (contentType === undefined) continue
    const brotli = names.includes(`${name}.br`) ? yield* files.readFile(path.join(at, `${name}.br`)) : undefined
    found.set(name, { contentType, plain: yield* files.readFile(path.join(at, name)), brotli })
  }
  return found
}).pipe(
  Effect.mapError((error) =>
    new ConfigurationError({ subject: "Studio", problem: `the pages cannot be read: ${error.message}` })
  )
)
