/** Error responses of a model's server are available to operators on request, and never printed or stored. */
import { inspect } from "node:util"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { AiError } from "effect/ai"
import { Headers } from "effect/http"
import { ProviderResponse } from "@recourse/core"

const secret = "sk-0123456789"
const scrub = (text: string) => text.replaceAll(secret, "[secret]")

const errorWith = (...bodies: ReadonlyArray<string | undefined>) => {
  const reason = new AiError.UnknownError({ description: "HTTP 418" })
  for (const body of bodies) assert.strictEqual(ProviderResponse.keep(reason, body, scrub), reason)
  return AiError.make({ module: "m", method: "generateText", reason })
}

const kept = (...bodies: ReadonlyArray<string | undefined>) => {
  const body = ProviderResponse.bodyOf(errorWith(...bodies))
  return body && Redacted.value(body)
}

describe("the body of an error", () => {
  it("stays without secrets, and is neither printed nor stored", () => {
    const error = errorWith(`teapot ${secret}`)
    const body = ProviderResponse.bodyOf(error)
    assert.strictEqual(body && Redacted.value(body), "teapot [secret]")
    assert.strictEqual(String(body), "<redacted:body>")
    for (const shown of [JSON.stringify(error), inspect(error, { depth: 9 }), String(error)]) {
      assert.notInclude(shown, "teapot")
    }
  })

  it.effect.each<readonly [rule: string, bodies: ReadonlyArray<string | undefined>, body: string | undefined]>([
    ["is none where the server sent none", [undefined], undefined],
    ["is none where it is empty", [""], undefined],
    ["that is kept already stays", ["first", "second"], "first"],
    ["is the first that is there", [undefined, "", "third"], "third"],
    ["has 16,384 characters", ["x".repeat(16_384)], "x".repeat(16_384)],
    ["has no more of them", ["x".repeat(20_000)], "x".repeat(16_384)],
    [
      "has no half of a secret that stands across the cut",
      [`${"x".repeat(16_380)}${secret}`],
      `${"x".repeat(16_380)}[sec`
    ]
  ])("%s", ([, bodies, body]) => Effect.sync(() => assert.strictEqual(kept(...bodies), body)))

  it("redacts an error body within its size limit, at any length", () => {
    let looked = 0
    ProviderResponse.keep(new AiError.UnknownError({ description: "d" }), "x".repeat(1_000_000), (text) => {
      looked = text.length
      return text
    })
    assert.strictEqual(looked, 32_768)
  })
})

describe("a header of an error", () => {
  const shown = (name: string, value: string) => {
    const header = ProviderResponse.headers(Headers.fromInput({ [name]: value }), scrub)[name]
    if (typeof header === "string") return header
    assert.isTrue(Redacted.isRedacted(header) && Redacted.value(header) === value, "is there for who asks")
    return undefined
  }

  it.effect.each([
    "cf-ray",
    "content-length",
    "content-type",
    "date",
    "request-id",
    "retry-after",
    "retry-after-ms",
    "server",
    "x-request-id",
    "x-should-retry",
    "ratelimit-limit",
    "x-ratelimit-remaining-requests",
    "anthropic-ratelimit-tokens-reset"
  ])("%s is shown, if it is short and has no secret", (name) =>
    Effect.sync(() => {
      assert.strictEqual(shown(name, "x".repeat(128)), "x".repeat(128))
      assert.isUndefined(shown(name, "x".repeat(129)))
      assert.isUndefined(shown(name, `a ${secret}`))
    }))

  it.effect.each([
    "x-api-key",
    "set-cookie",
    "x-ratelimit-",
    "x-ratelimit-1",
    "x-ratelimit-limit1",
    "1-ratelimit-limit",
    "ratelimit"
  ])(
    "%s is not shown",
    (name) => Effect.sync(() => assert.isUndefined(shown(name, "5")))
  )
})
