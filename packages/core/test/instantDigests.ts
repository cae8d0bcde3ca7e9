import { Layer } from "effect"
import { WebCrypto } from "effect/crypto"
import { createHash, createHmac } from "node:crypto"

/** Digests and signatures that take no real time, so that no virtual time passes meanwhile. */
export const instantDigests = Layer.succeed(
  WebCrypto.WebCrypto,
  {
    randomUUID: () => globalThis.crypto.randomUUID(),
    subtle: {
      digest: (_: string, data: Uint8Array) => Promise.resolve(createHash("sha256").update(data).digest()),
      importKey: (_: string, key: Uint8Array) => Promise.resolve(key),
      sign: (_: string, key: Uint8Array, data: Uint8Array) =>
        Promise.resolve(createHmac("sha256", key).update(data).digest()),
      verify: (_: string, key: Uint8Array, mac: Uint8Array, data: Uint8Array) =>
        Promise.resolve(createHmac("sha256", key).update(data).digest().equals(mac))
    }
  } as unknown as Crypto
)
