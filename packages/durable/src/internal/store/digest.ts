/**
 * SHA-256 of a list of texts, each with all before it: by the runtime's own hash if it has one, else by effect's
 * `WebCrypto` reference.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as WebCrypto from "effect/crypto/WebCrypto"
import * as Base64Url from "effect/encoding/Base64Url"

interface NodeCrypto {
  readonly hash?: (algorithm: "sha256", text: string, encoding: "base64url") => string
}

interface Runtime {
  readonly process?: { readonly getBuiltinModule?: (id: string) => NodeCrypto | undefined }
}

/** A digest of `WebCrypto` is a task of another thread: a conversation has one for each of its messages. */
const atOnce = (globalThis as Runtime).process?.getBuiltinModule?.("node:crypto")?.hash

/** 128 bits. */
const length = 22

/** Returns the hash of the texts up to each one. `seed` is hashed before the first. */
export const chainedHashes = (seed: string, texts: ReadonlyArray<string>): Effect.Effect<ReadonlyArray<string>> =>
  Effect.withFiber(({ context }) => {
    const crypto = Context.get(context, WebCrypto.WebCrypto)
    let last = seed
    if (atOnce !== undefined && crypto === globalThis.crypto) {
      return Effect.sync(() =>
        texts.map((text) => last = atOnce("sha256", `${last}\n${text}`, "base64url").slice(0, length))
      )
    }
    return Effect.forEach(texts, (text) =>
      Effect.map(
        Effect.promise(() => crypto.subtle.digest("SHA-256", new TextEncoder().encode(`${last}\n${text}`))),
        (digest) => last = Base64Url.encode(new Uint8Array(digest)).slice(0, length)
      ))
  })
