/**
 * HMAC-SHA-256 of JSON values in lowercase hex, on effect's `WebCrypto` reference.
 *
 * `effect/crypto`'s `Mac` is a service: each program that resumes a run would have to provide it.
 */
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import * as WebCrypto from "effect/crypto/WebCrypto"
import * as Hex from "effect/encoding/Hex"
import { canonicalJson } from "./json/canonicalJson.ts"

const bytes = (value: unknown): Uint8Array<ArrayBuffer> =>
  new Uint8Array(new TextEncoder().encode(canonicalJson(value)))

/** Imported keys by secret, of the last implementation of the cryptography: a process signs with few keys. */
const imported = new WeakMap<object, { readonly crypto: Crypto; readonly key: Promise<CryptoKey> }>()

const hmacKey = (crypto: Crypto, secret: Redacted.Redacted<string>): Promise<CryptoKey> => {
  // Fails for a secret that was wiped, also after its first use.
  const raw = new TextEncoder().encode(Redacted.value(secret))
  const known = imported.get(secret)
  if (known?.crypto === crypto) return known.key
  const key = crypto.subtle.importKey(
    "raw",
    raw,
    { name: "HMAC", hash: "SHA-256" },
    false,
    ["sign", "verify"]
  )
  imported.set(secret, { crypto, key })
  return key
}

/** HMAC-SHA-256 of a JSON value. */
export const sign = (secret: Redacted.Redacted<string>, value: unknown): Effect.Effect<string> =>
  Effect.flatMap(WebCrypto.WebCrypto, (crypto) =>
    Effect.promise(async () => {
      const mac = await crypto.subtle.sign("HMAC", await hmacKey(crypto, secret), bytes(value))
      return Hex.encode(new Uint8Array(mac))
    }))

/** True if a MAC is the value's, compared in constant time. */
export const verify = (secret: Redacted.Redacted<string>, mac: string, value: unknown): Effect.Effect<boolean> =>
  Effect.flatMap(WebCrypto.WebCrypto, (crypto) =>
    Result.match(Hex.decode(mac), {
      onFailure: () => Effect.succeed(false),
      onSuccess: (given) =>
        Effect.promise(async () =>
          crypto.subtle.verify("HMAC", await hmacKey(crypto, secret), new Uint8Array(given), bytes(value))
        )
    }))
