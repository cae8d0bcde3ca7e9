/**
 * Key/value store in files with atomic writes: a new text is written to a new file, reaches the disk, and replaces the
 * old one by renaming. A full disk or a loss of power leaves the old text.
 */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import * as KeyValueStore from "effect/persistence/KeyValueStore"
import type * as PlatformError from "effect/PlatformError"
import type { KeyValues } from "./ledgerKeyValueStore.ts"

const writing = ".writing"

/** A store in a directory, which is created if missing. One process at a time may use it. */
export const atomicFiles = Effect.fnUntraced(function*(
  directory: string
): Effect.fn.Return<KeyValues, PlatformError.PlatformError, FileSystem.FileSystem | Path.Path> {
  const files = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  yield* files.makeDirectory(directory, { recursive: true })
  let written = 0

  const failed = (method: string, about: { readonly key?: string } = {}) =>
    Effect.mapError((cause: PlatformError.PlatformError) =>
      new KeyValueStore.KeyValueStoreError({
        method,
        message: `The file of an entry cannot be used: ${method}`,
        cause,
        ...about
      })
    )
  const pathOf = (key: string) => path.join(directory, encodeURIComponent(key))
  /**
   * A renamed file has reached the disk when the directory has. If directories cannot be opened, the system decides.
   */
  const syncDirectory = Effect.ignore(
    Effect.scoped(Effect.flatMap(files.open(directory), (file) => file.sync))
  )
  const write = (key: string, value: string) =>
    Effect.suspend(() => {
      const target = pathOf(key)
      const temporary = `${target}.${++written}${writing}`
      const whole = Effect.scoped(Effect.flatMap(
        files.open(temporary, { flag: "w" }),
        (file) => Effect.andThen(file.writeAll(new TextEncoder().encode(value)), file.sync)
      ))
      return Effect.andThen(
        Effect.andThen(whole, files.rename(temporary, target)).pipe(
          Effect.onError(() => Effect.ignore(files.remove(temporary)))
        ),
        syncDirectory
      )
    })
  const keys = Effect.map(
    files.readDirectory(directory),
    (names) => names.filter((name) => !name.endsWith(writing)).map(decodeURIComponent)
  )
  return {
    get: (key) =>
      Effect.catchTag(
        files.readFileString(pathOf(key)),
        "PlatformError",
        (error) => error.reason._tag === "NotFound" ? Effect.undefined : failed("get", { key })(Effect.fail(error))
      ),
    set: (key, value) => failed("set", { key })(Effect.uninterruptible(write(key, value))),
    remove: (key) => failed("remove", { key })(files.remove(pathOf(key), { force: true })),
    keys: failed("keys")(keys)
  }
})
