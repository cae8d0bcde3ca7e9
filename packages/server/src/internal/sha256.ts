/**
 * SHA-256 of a text, in hexadecimal: by the runtime's own hash if it has one, else by effect's `WebCrypto` reference.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as WebCrypto from "effect/crypto/WebCrypto"
import * as Hex from "effect/encoding/Hex"

interface NodeCrypto {
  readonly hash?: (algorithm: "sha256", text: string, encoding: "hex") => string
}

interface Runtime {
  readonly process?: { readonly getBuiltinModule?: (id: string) => NodeCrypto | undefined }
}

/** A digest of `WebCrypto` is a task of another thread: each request has several. */
const atOnce = (globalThis as Runtime).process?.getBuiltinModule?.("node:crypto")?.hash

export const sha256 = (text: string): Effect.Effect<string> =>
  Effect.withFiber(({ context }) => {
    const crypto = Context.get(context, WebCrypto.WebCrypto)
    return atOnce !== undefined && crypto === globalThis.crypto
      ? Effect.succeed(atOnce("sha256", text, "hex"))
      : Effect.map(
        Effect.promise(() => crypto.subtle.digest("SHA-256", new TextEncoder().encode(text))),
        (digest) => Hex.encode(new Uint8Array(digest))
      )
  })
