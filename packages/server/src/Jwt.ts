/** Authentication by JSON Web Tokens, by the package `jose`, which the program installs next to this one. */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Redacted from "effect/Redacted"
import * as OptionCheck from "@recourse/core/OptionCheck"
import { type Authentication, layer, type Principal } from "./Authentication.ts"
import { bearerToken } from "./internal/http/credentials.ts"
import { secretOf, textOf } from "./internal/secretOf.ts"

/**
 * The claims of a verified token. A function over the `JWTPayload` of `jose` accepts them.
 *
 * @category models
 * @since 0.2.0
 */
export interface Claims {
  [claim: string]: unknown
  /** Issuer. */
  iss?: string
  /** Subject: the user. */
  sub?: string
  /** Audience. */
  aud?: string | Array<string>
  /** Id of the token. */
  jti?: string
  /** Not valid before, in seconds since 1970. */
  nbf?: number
  /** Not valid after, in seconds since 1970. */
  exp?: number
  /** Issued at, in seconds since 1970. */
  iat?: number
}

/**
 * Accepted tokens.
 *
 * @category options
 * @since 0.2.0
 */
export interface Options {
  /** A secret (`HS256`) or the address of the issuer's key set. */
  readonly key: Redacted.Redacted<string> | URL
  /** The accepted issuer: the claim `iss`. */
  readonly issuer: string
  /** The accepted audience: the claim `aud`. */
  readonly audience: string
  /** The signature algorithms that are accepted. Default: `HS256` for a secret, `RS256` and `ES256` for a key set. */
  readonly algorithms?: ReadonlyArray<string> | undefined
  /** The principal of the claims. Default: `sub`, with all rights. */
  readonly principal?: ((claims: Claims) => Principal | undefined) | undefined
}

/**
 * The package `jose` is not installed, or cannot be loaded.
 *
 * @category errors
 * @since 0.2.0
 */
export class JoseUnavailable extends Data.TaggedError("JoseUnavailable")<{ readonly cause: unknown }> {
  override get message(): string {
    return "Jwt.layerJwt needs the package jose, which cannot be loaded. Install it: npm install jose@6"
  }
}

const subject = ({ sub }: Claims): Principal | undefined => sub === undefined ? undefined : { id: sub }

// Bundlers accept a missing package only if the import has a `catch`.
const jose = Effect.tryPromise({
  try: () => import("jose").catch((cause: unknown) => Promise.reject(cause)),
  catch: (cause) => new JoseUnavailable({ cause })
})

const called = "Jwt.layerJwt"

const checked: OptionCheck.Checked = {
  kinds: {
    key: OptionCheck.anything,
    issuer: OptionCheck.aString,
    audience: OptionCheck.aString,
    algorithms: OptionCheck.listOf(OptionCheck.aString),
    principal: OptionCheck.aFunction
  },
  otherNames: { secret: "key", jwksUri: "key, with a URL" }
}

/** Checks a token: its claims, or a failure. */
const verifierOf = Effect.fnUntraced(function*(options: Options) {
  const { createRemoteJWKSet, jwtVerify } = yield* jose
  OptionCheck.checkOptions(called, options, checked)
  const { algorithms, key } = options
  // `jose` checks neither of them if it is unset: the tokens of other programs would be accepted.
  const issuer = yield* textOf(called, "its issuer", options.issuer)
  const audience = yield* textOf(called, "its audience", options.audience)
  const checks = { audience, issuer, requiredClaims: ["exp"] }
  if (key instanceof URL) {
    const keys = createRemoteJWKSet(key)
    return (token: string) => jwtVerify(token, keys, { ...checks, algorithms: [...algorithms ?? ["RS256", "ES256"]] })
  }
  const secret = new TextEncoder().encode(yield* secretOf(called, "its key", key))
  return (token: string) => jwtVerify(token, secret, { ...checks, algorithms: [...algorithms ?? ["HS256"]] })
})

/**
 * Authentication by a bearer token that is a JSON Web Token: signature, issuer, audience and expiry are checked.
 *
 * Fails with `JoseUnavailable` if the package `jose` is not installed. Dies with `ConfigurationError` if the key, the issuer or the
 * audience is unset or empty.
 *
 * @category layers
 * @since 0.2.0
 */
export const layerJwt = (options: Options): Layer.Layer<Authentication, JoseUnavailable> =>
  Layer.unwrap(Effect.map(verifierOf(options), (verify) => {
    const principal = options.principal ?? subject
    return layer((request) => {
      const token = bearerToken(request)
      if (token === undefined) return Effect.succeed(undefined)
      // The sender of a refused token does not learn the reason.
      return Effect.map(
        Effect.promise(() => verify(token).then(({ payload }) => payload as Claims, () => undefined)),
        (claims) => claims === undefined ? undefined : principal(claims)
      )
    })
  }))
