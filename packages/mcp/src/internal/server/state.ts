/** The state of a waiting call at a client between two requests: encrypted, because it contains the conversation. */
import type { SnapshotKey } from "@recourse/core/Approval"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import * as WebCrypto from "effect/crypto/WebCrypto"
import * as Base64Url from "effect/encoding/Base64Url"

type Keys = SnapshotKey["Service"]

const keysOf = (keys: Keys): ReadonlyArray<Redacted.Redacted<string>> =>
  "current" in keys ? [keys.current, ...keys.earlier] : [keys]

const bytesOf = (text: string) => new TextEncoder().encode(text)

const cipherKey = async (
  { subtle }: Context.Service.Shape<typeof WebCrypto.WebCrypto>,
  key: Redacted.Redacted<string>
) =>
  subtle.importKey(
    "raw",
    await subtle.digest("SHA-256", bytesOf(`recourse/mcp/request-state\n${Redacted.value(key)}`)),
    "AES-GCM",
    false,
    ["encrypt", "decrypt"]
  )

/** Encrypts JSON for the way over a client. */
export const seal = (keys: Keys, value: unknown): Effect.Effect<string> =>
  Effect.flatMap(WebCrypto.WebCrypto, (crypto) =>
    Effect.promise(async () => {
      const iv = crypto.getRandomValues(new Uint8Array(12))
      const key = await cipherKey(crypto, keysOf(keys)[0]!)
      const sealed = await crypto.subtle.encrypt({ name: "AES-GCM", iv }, key, bytesOf(JSON.stringify(value)))
      return Base64Url.encode(new Uint8Array([...iv, ...new Uint8Array(sealed)]))
    }))

/** Opens a value of {@link seal}; `None` for any other text. */
export const open = (keys: Keys, state: string): Effect.Effect<Option.Option<unknown>> =>
  Effect.flatMap(WebCrypto.WebCrypto, (crypto) =>
    Effect.promise(async () => {
      const bytes = Base64Url.decode(state)
      if (Result.isFailure(bytes) || bytes.success.length < 13) return Option.none()
      const iv = bytes.success.slice(0, 12)
      const sealed = bytes.success.slice(12)
      for (const one of keysOf(keys)) {
        const key = await cipherKey(crypto, one)
        const clear = await crypto.subtle.decrypt({ name: "AES-GCM", iv }, key, sealed).catch(() => undefined)
        if (clear !== undefined) return Option.some(JSON.parse(new TextDecoder().decode(clear)))
      }
      return Option.none()
    }))
