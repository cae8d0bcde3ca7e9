/** A certificate authority for one test, and a certificate of a server on loopback. Node signs, and has no writer of certificates. */
import { generateKeyPairSync, type KeyObject, randomBytes, sign } from "node:crypto"

/** A value of DER: a tag, a length and the content. */
const der = (tag: number, ...content: ReadonlyArray<Uint8Array>): Buffer => {
  const body = Buffer.concat(content)
  const size = body.length < 128 ? [body.length] : [0x82, body.length >> 8, body.length & 0xff]
  return Buffer.concat([Buffer.from([tag, ...size]), body])
}

const sequence = (...content: ReadonlyArray<Uint8Array>) => der(0x30, ...content)
const oid = (hex: string) => der(0x06, Buffer.from(hex, "hex"))
const octets = (content: Uint8Array) => der(0x04, content)
const yes = Buffer.from([0x01, 0x01, 0xff])

const ecdsaWithSha256 = sequence(oid("2a8648ce3d040302"))
const nameOf = (name: string) => sequence(der(0x31, sequence(oid("550403"), der(0x0c, Buffer.from(name)))))
const timeOf = (time: number) =>
  der(0x18, Buffer.from(`${new Date(time).toISOString().replace(/[-:T]/g, "").slice(0, 14)}Z`))

/** The extensions: an authority may sign, a server is 127.0.0.1. */
const isAuthority = sequence(oid("551d13"), yes, octets(sequence(yes)))
const isLoopback = sequence(oid("551d11"), octets(sequence(der(0x87, Buffer.from([127, 0, 0, 1])))))

const day = 86_400_000

const certificate = (
  subject: string,
  issuer: string,
  publicKey: KeyObject,
  signer: KeyObject,
  extension: Uint8Array
) => {
  const body = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.from([1, ...randomBytes(8)])),
    ecdsaWithSha256,
    nameOf(issuer),
    sequence(timeOf(Date.now() - day), timeOf(Date.now() + day)),
    nameOf(subject),
    publicKey.export({ type: "spki", format: "der" }),
    der(0xa3, sequence(extension))
  )
  const signature = sign("sha256", body, signer)
  const text = sequence(body, ecdsaWithSha256, der(0x03, Buffer.from([0]), signature)).toString("base64")
  return `-----BEGIN CERTIFICATE-----\n${text.match(/.{1,64}/g)!.join("\n")}\n-----END CERTIFICATE-----\n`
}

/** Makes the certificate of an authority, and key and certificate of a server at 127.0.0.1 that it has signed. Both expire in a day. */
export const makeCertificates = (): { readonly ca: string; readonly key: string; readonly cert: string } => {
  const authority = generateKeyPairSync("ec", { namedCurve: "P-256" })
  const server = generateKeyPairSync("ec", { namedCurve: "P-256" })
  return {
    ca: certificate("authority", "authority", authority.publicKey, authority.privateKey, isAuthority),
    key: server.privateKey.export({ type: "pkcs8", format: "pem" }) as string,
    cert: certificate("server", "authority", server.publicKey, authority.privateKey, isLoopback)
  }
}
