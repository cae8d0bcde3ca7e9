/** Authentication by JSON Web Tokens, by the package `jose`. */
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { createRemoteJWKSet, type JWTPayload, jwtVerify } from "jose"
import { type Authentication, layer, type Principal } from "./Authentication.ts"
import { bearerToken } from "./internal/http/credentials.ts"

/** Which tokens are accepted. */
export interface Options {
  /** A secret (`HS256`) or the address of the issuer's key set. */
  readonly key: Redacted.Redacted<string> | URL
  readonly issuer: string
  readonly audience: string
  /** The signature algorithms that are accepted. Default: `HS256` for a secret, `RS256` and `ES256` for a key set. */
  readonly algorithms?: ReadonlyArray<string> | undefined
  /** Who the claims are of. Default: `sub`, with all rights. */
  readonly principal?: ((claims: JWTPayload) => Principal | undefined) | undefined
}

const subject = ({ sub }: JWTPayload): Principal | undefined => sub === undefined ? undefined : { id: sub }

/** Authentication by a bearer token that is a JSON Web Token: signature, issuer, audience and expiry are checked. */
export const layerJwt = (options: Options): Layer.Layer<Authentication> => {
  const { audience, issuer } = options
  const principal = options.principal ?? subject
  const verify = options.key instanceof URL
    ? (() => {
      const keys = createRemoteJWKSet(options.key)
      const algorithms = [...options.algorithms ?? ["RS256", "ES256"]]
      return (token: string) => jwtVerify(token, keys, { audience, issuer, algorithms, requiredClaims: ["exp"] })
    })()
    : (() => {
      const secret = new TextEncoder().encode(Redacted.value(options.key))
      const algorithms = [...options.algorithms ?? ["HS256"]]
      return (token: string) => jwtVerify(token, secret, { audience, issuer, algorithms, requiredClaims: ["exp"] })
    })()
  return layer((request) => {
    const token = bearerToken(request)
    if (token === undefined) return Effect.succeed(undefined)
    // A token that is refused is nobody's: why is for nobody who sends one.
    return Effect.map(
      Effect.promise(() => verify(token).then(({ payload }) => payload, () => undefined)),
      (claims) => claims === undefined ? undefined : principal(claims)
    )
  })
}
