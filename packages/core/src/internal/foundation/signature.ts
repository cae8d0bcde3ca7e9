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

const hmacKey = (secret: Redacted.Redacted<string>) =>
  Effect.flatMap(WebCrypto.WebCrypto, (crypto) =>
    Effect.promise(() =>
      crypto.subtle.importKey(
        "raw",
        new TextEncoder().encode(Redacted.value(secret)),
        { name: "HMAC", hash: "SHA-256" },
        false,
        ["sign", "verify"]
      )
    ))

/** HMAC-SHA-256 of a JSON value. */
export const sign = (secret: Redacted.Redacted<string>, value: unknown): Effect.Effect<string> =>
  Effect.flatMap(WebCrypto.WebCrypto, (crypto) =>
    Effect.map(
      Effect.flatMap(hmacKey(secret), (key) => Effect.promise(() => crypto.subtle.sign("HMAC", key, bytes(value)))),
      (mac) => Hex.encode(new Uint8Array(mac))
    ))

/** True if a MAC is the value's, compared in constant time. */
export const verify = (secret: Redacted.Redacted<string>, mac: string, value: unknown): Effect.Effect<boolean> =>
  Effect.flatMap(WebCrypto.WebCrypto, (crypto) =>
    Result.match(Hex.decode(mac), {
      onFailure: () => Effect.succeed(false),
      onSuccess: (given) =>
        Effect.flatMap(hmacKey(secret), (key) =>
          Effect.promise(() => crypto.subtle.verify("HMAC", key, new Uint8Array(given), bytes(value))))
    }))
