/** SHA-256 of a text, in hexadecimal, by effect's `WebCrypto` reference. */
import * as Effect from "effect/Effect"
import * as WebCrypto from "effect/crypto/WebCrypto"

export const sha256 = (text: string): Effect.Effect<string> =>
  Effect.flatMap(WebCrypto.WebCrypto, (crypto) =>
    Effect.map(
      Effect.promise(() => crypto.subtle.digest("SHA-256", new TextEncoder().encode(text))),
      (digest) => Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("")
    ))
