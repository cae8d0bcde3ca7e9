/**
 * SHA-256 and random ids, on effect's `WebCrypto` reference.
 *
 * `effect/crypto`'s `Digest` is a service: each program that runs a tool would have to provide it. The reference has a
 * default, and tests replace it.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as WebCrypto from "effect/crypto/WebCrypto"
import { canonicalJson } from "./json/canonicalJson.ts"

interface NodeCrypto {
  readonly hash?: (algorithm: "sha256", text: string, encoding: "hex") => string
}

interface Runtime {
  readonly process?: { readonly getBuiltinModule?: (id: string) => NodeCrypto | undefined }
}

/**
 * The SHA-256 of a text, in hexadecimal, by the runtime's own hash if it has one: a digest of `WebCrypto` is a task of
 * another thread, and takes ten times as long. The first text loads `node:crypto`, because a program that only starts needs no hash.
 */
export const sha256On = (runtime: Runtime): (text: string) => Effect.Effect<string> => {
  let loaded: NodeCrypto | undefined
  return (text) =>
    Effect.withFiber(({ context }) => {
      const crypto = Context.get(context, WebCrypto.WebCrypto)
      loaded ??= runtime.process?.getBuiltinModule?.("node:crypto") ?? {}
      const atOnce = loaded.hash
      return atOnce !== undefined && crypto === globalThis.crypto
        ? Effect.succeed(atOnce("sha256", text, "hex"))
        : Effect.map(
          Effect.promise(() => crypto.subtle.digest("SHA-256", new TextEncoder().encode(text))),
          (digest) => Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("")
        )
    })
}

/** The SHA-256 of a text, in hexadecimal. */
export const sha256 = sha256On(globalThis as Runtime)

/** A unique random text. */
export const randomId: Effect.Effect<string> = Effect.map(WebCrypto.WebCrypto, (crypto) => crypto.randomUUID())

/** SHA-256 of a JSON value. */
export const hashOf = (value: unknown): Effect.Effect<string> => sha256(canonicalJson(value))
