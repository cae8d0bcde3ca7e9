/** Errors of a server that cannot start: secrets that are not set, and addresses that cannot be opened. */
import { assert, describe, it } from "@effect/vitest"
import { ConfigurationError } from "@recourse/core"
import { Authentication, Jwt, Server } from "@recourse/server"
import { Cause, Effect, Exit, Layer, Redacted } from "effect"
import { ServeError } from "effect/http/HttpServerError"

/** The error with which a layer does not start. */
const errorOf = <A, E>(layer: Layer.Layer<A, E>) =>
  Effect.map(
    Effect.scoped(Effect.exit(Layer.build(layer))),
    (exit) => Exit.isFailure(exit) ? Cause.squash(exit.cause) : undefined
  )

const unset: Readonly<Record<string, Redacted.Redacted<string>>> = {
  empty: Redacted.make(""),
  blank: Redacted.make("  "),
  "redacted undefined": Redacted.make(undefined as unknown as string),
  undefined: undefined as unknown as Redacted.Redacted<string>
}

const valueOf = (text: Redacted.Redacted<string> | undefined) => text === undefined ? undefined : Redacted.value(text)

const tokensOf = (given: { readonly issuer: string | undefined } | { readonly audience: string | undefined }) =>
  Jwt.layerJwt(
    { key: Redacted.make("a secret of the tests with 32 bytes or more"), issuer: "i", audience: "a", ...given } as never
  )

const layers = {
  "a bearer token": (token: Redacted.Redacted<string>) =>
    Authentication.layerBearer([
      { token: Redacted.make("token-of-ada"), principal: { id: "ada" } },
      { token, principal: { id: "bob" } }
    ]),
  "a key of web tokens": (key: Redacted.Redacted<string>) => Jwt.layerJwt({ key, issuer: "i", audience: "a" }),
  // Without them, tokens that the same key has signed for other programs would be accepted.
  "an issuer of web tokens": (text: Redacted.Redacted<string>) => tokensOf({ issuer: valueOf(text) }),
  "an audience of web tokens": (text: Redacted.Redacted<string>) => tokensOf({ audience: valueOf(text) })
}

describe("a server", () => {
  for (const [name, layerOf] of Object.entries(layers)) {
    for (const [kind, secret] of Object.entries(unset)) {
      it.live(`does not start if ${name} is ${kind}`, () =>
        Effect.gen(function*() {
          const error = yield* errorOf(layerOf(secret))
          assert.instanceOf(error, ConfigurationError.ConfigurationError)
          assert.include((error as Error).message, "is unset or empty. Set its environment variable")
        }))
    }

    it.live(`starts with ${name}`, () =>
      Effect.gen(function*() {
        assert.isUndefined(yield* errorOf(layerOf(Redacted.make("a secret of the tests with 32 bytes or more"))))
      }))
  }

  const listening: ReadonlyArray<readonly [cause: unknown, message: string]> = [
    [
      { code: "EADDRINUSE", port: 3000, address: "::" },
      "Port 3000 of :: is in use. End the process that listens there, or choose another port."
    ],
    [{ code: "EACCES", port: 80 }, "Port 80 may not be opened by this user. Choose a port from 1024."],
    [
      { code: "EADDRNOTAVAIL", port: 3000, address: "10.9.8.7" },
      "Port 3000 of 10.9.8.7 cannot be opened: this machine does not have the address."
    ],
    [{ code: "EMFILE" }, "The address cannot be opened (EMFILE)."],
    ["closed", "The address cannot be opened (unknown)."]
  ]

  it.live.each(listening)(
    "that cannot listen because of %j is explained",
    ([cause, message]) =>
      Effect.gen(function*() {
        const failed = new ServeError({ cause })
        const error = yield* errorOf(Layer.effectDiscard(Effect.fail(failed)).pipe(Server.explained))
        assert.strictEqual(error, failed)
        assert.strictEqual((error as Error).message, message)
        assert.strictEqual((error as Error).stack, `ServeError: ${message}`)
      })
  )

  it.live("keeps other failures and defects as they are", () =>
    Effect.gen(function*() {
      const other = new Error("database")
      assert.strictEqual(yield* errorOf(Layer.effectDiscard(Effect.fail(other)).pipe(Server.explained)), other)
      assert.strictEqual(yield* errorOf(Layer.effectDiscard(Effect.die(other)).pipe(Server.explained)), other)
      assert.strictEqual(other.message, "database")
    }))
})
