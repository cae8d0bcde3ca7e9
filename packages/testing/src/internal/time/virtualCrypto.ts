/**
 * Web Crypto for virtual time: digests and HMACs without waiting, and identifiers by a seed. The real one works in
 * threads of the host, for which virtual time does not wait.
 */
interface NodeHash {
  readonly update: (data: Uint8Array) => { readonly digest: () => Uint8Array<ArrayBuffer> }
}

interface NodeCrypto {
  readonly createHash: (name: string) => NodeHash
  readonly createHmac: (name: string, key: Uint8Array) => NodeHash
  readonly timingSafeEqual: (a: Uint8Array, b: Uint8Array) => boolean
}

const node = (globalThis as {
  readonly process?: { readonly getBuiltinModule?: (name: string) => NodeCrypto | undefined }
}).process?.getBuiltinModule?.("node:crypto")

const bytesOf = (data: BufferSource): Uint8Array =>
  ArrayBuffer.isView(data) ? new Uint8Array(data.buffer, data.byteOffset, data.byteLength) : new Uint8Array(data)

const bufferOf = (bytes: Uint8Array<ArrayBuffer>): ArrayBuffer => new Uint8Array(bytes).buffer

const uuid = (identity: number, n: number): ReturnType<Crypto["randomUUID"]> =>
  `${identity.toString(16).padStart(8, "0")}-0000-4000-8000-${n.toString(16).padStart(12, "0")}`

const hashName = (algorithm: AlgorithmIdentifier): string =>
  (typeof algorithm === "string" ? algorithm : algorithm.name).replace("-", "").toLowerCase()

type HmacImport = Extract<Parameters<SubtleCrypto["importKey"]>[2], { readonly hash: unknown }>

const isHmac = (algorithm: unknown): algorithm is HmacImport =>
  typeof algorithm === "object" && algorithm !== null && "name" in algorithm && algorithm.name === "HMAC" &&
  "hash" in algorithm

/** The keys that were imported here. */
const hmacs = new WeakMap<CryptoKey, (data: BufferSource) => Uint8Array<ArrayBuffer>>()

/** Operations of Node's own module instead of the host's threads. Keys of another kind are the host's. */
const immediate = (host: SubtleCrypto, { createHash, createHmac, timingSafeEqual }: NodeCrypto) =>
  ({
    digest: async (algorithm, data) => bufferOf(createHash(hashName(algorithm)).update(bytesOf(data)).digest()),
    importKey: (async (format: "raw", data: BufferSource, algorithm: unknown, ...rest: [boolean, Array<KeyUsage>]) => {
      if (format !== "raw" || !isHmac(algorithm)) return host.importKey(format, data, algorithm as "HMAC", ...rest)
      const [extractable, usages] = rest
      const key: CryptoKey = { algorithm: { name: "HMAC" }, extractable, type: "secret", usages }
      const bytes = bytesOf(data).slice()
      hmacs.set(key, (data) => createHmac(hashName(algorithm.hash), bytes).update(bytesOf(data)).digest())
      return key
    }) as SubtleCrypto["importKey"],
    sign: async (algorithm, key, data) => {
      const hmac = hmacs.get(key)
      return hmac === undefined ? host.sign(algorithm, key, data) : bufferOf(hmac(data))
    },
    verify: async (algorithm, key, signature, data) => {
      const mac = hmacs.get(key)?.(data)
      if (mac === undefined) return host.verify(algorithm, key, signature, data)
      const given = bytesOf(signature)
      return given.length === mac.length && timingSafeEqual(given, mac)
    }
  }) satisfies Partial<SubtleCrypto>

/** An object with some of its members replaced; the others are its own. */
const replaced = <T extends object>(target: T, members: Partial<T>): T =>
  new Proxy(target, {
    get: (target, property) => {
      if (Object.hasOwn(members, property)) return members[property as keyof T]
      const value: unknown = Reflect.get(target, property)
      return typeof value === "function" ? value.bind(target) : value
    }
  })

/** Digests and HMACs are there at once. Without Node's own module they are the host's. */
export const withDigests = (crypto: Crypto): Crypto =>
  node === undefined ? crypto : replaced(crypto, { subtle: replaced(crypto.subtle, immediate(crypto.subtle, node)) })

/** The crypto of one process, separated from others by its `identity`. */
export const make = (crypto: Crypto, identity = 0): Crypto => {
  let ids = 0
  return replaced(withDigests(crypto), { randomUUID: () => uuid(identity, ++ids) })
}
