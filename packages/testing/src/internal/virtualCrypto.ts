/**
 * Web Crypto as virtual time needs it: digests that are there at once, and identifiers by a seed. The real one works in
 * threads of the host, for which virtual time does not wait.
 */
interface NodeCrypto {
  readonly createHash: (
    name: string
  ) => { readonly update: (data: Uint8Array) => { readonly digest: () => Uint8Array<ArrayBuffer> } }
}

const node = (globalThis as {
  readonly process?: { readonly getBuiltinModule?: (name: string) => NodeCrypto | undefined }
}).process?.getBuiltinModule?.("node:crypto")

const bytesOf = (data: BufferSource): Uint8Array =>
  ArrayBuffer.isView(data) ? new Uint8Array(data.buffer, data.byteOffset, data.byteLength) : new Uint8Array(data)

const uuid = (n: number): ReturnType<Crypto["randomUUID"]> =>
  `00000000-0000-4000-8000-${n.toString(16).padStart(12, "0")}`

/** A crypto, changed in some places. */
const changed = (crypto: Crypto, changes: { readonly [K in keyof Crypto]?: Crypto[K] }): Crypto =>
  new Proxy(crypto, {
    get: (target, property) => {
      if (property in changes) return changes[property as keyof Crypto]
      const value: unknown = Reflect.get(target, property)
      return typeof value === "function" ? value.bind(target) : value
    }
  })

/** Digests are there at once. Without Node's own module they are the host's. */
export const withDigests = (crypto: Crypto): Crypto => {
  const subtle = new Proxy(crypto.subtle, {
    get: (target, property) => {
      if (property === "digest" && node !== undefined) {
        return (algorithm: AlgorithmIdentifier, data: BufferSource): Promise<ArrayBuffer> => {
          const name = (typeof algorithm === "string" ? algorithm : algorithm.name).replace("-", "").toLowerCase()
          return Promise.resolve(new Uint8Array(node.createHash(name).update(bytesOf(data)).digest()).buffer)
        }
      }
      const value: unknown = Reflect.get(target, property)
      return typeof value === "function" ? value.bind(target) : value
    }
  })
  return changed(crypto, { subtle })
}

/** The crypto of one run. */
export const make = (crypto: Crypto): Crypto => {
  let ids = 0
  return changed(withDigests(crypto), { randomUUID: () => uuid(++ids) })
}
