import { Layer } from "effect"
import { WebCrypto } from "effect/crypto"
import { createHash, createHmac } from "node:crypto"

const hmac = (key: Uint8Array, data: Uint8Array) => createHmac("sha256", key).update(data).digest()

/** Digests and signatures that take no real time. `onSign`: done in place of a signature, if there is something. */
export const instantCrypto = (onSign: () => Promise<never> | undefined = () => undefined): Crypto =>
  ({
    randomUUID: () => globalThis.crypto.randomUUID(),
    subtle: {
      digest: (_: string, data: Uint8Array) => Promise.resolve(createHash("sha256").update(data).digest()),
      importKey: (_: string, key: Uint8Array) => Promise.resolve(key),
      sign: (_: string, key: Uint8Array, data: Uint8Array) => onSign() ?? Promise.resolve(hmac(key, data)),
      verify: (_: string, key: Uint8Array, mac: Uint8Array, data: Uint8Array) =>
        Promise.resolve(hmac(key, data).equals(mac))
    }
  }) as unknown as Crypto

/** Digests and signatures that take no real time, so that no virtual time passes meanwhile. */
export const instantDigests = Layer.succeed(WebCrypto.WebCrypto, instantCrypto())
