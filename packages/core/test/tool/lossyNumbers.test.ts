/** Numbers whose digits do not survive parsing: no tool runs with another number. */
import { assert, describe, it } from "@effect/vitest"
import { ScriptedModel } from "@recourse/testing"
import { Effect, Schema } from "effect"
import { LanguageModel } from "effect/ai"
import { Agent, AiToolkit, IdempotencyLedger, JsonText, Recovery, Tool } from "@recourse/core"
import { lastResults, random } from "../support/kit.ts"

const { lossyNumbers } = await import(
  new URL("../../src/internal/foundation/json/lossyNumbers.ts", import.meta.url).href
) as {
  readonly lossyNumbers: (text: string) => ReadonlyArray<ReadonlyArray<string | number>>
}

const digits = (next: () => number, length: number): string =>
  Array.from({ length }, (_, index) => Math.floor(next() * (index === 0 ? 9 : 10)) + (index === 0 ? 1 : 0)).join("")

/** A number of JSON as the exact fraction of two integers. */
const exactly = (literal: string): readonly [bigint, bigint] => {
  const [mantissa = "", exponent = "0"] = literal.split(/[eE]/)
  const [whole = "", fraction = ""] = mantissa.split(".")
  const power = Number(exponent) - fraction.length
  const value = BigInt(whole + fraction)
  return power >= 0 ? [value * 10n ** BigInt(power), 1n] : [value, 10n ** BigInt(-power)]
}

const isEqual = (a: string, b: string): boolean => {
  const [p, q] = exactly(a)
  const [r, s] = exactly(b)
  return p * s === r * q
}

describe("lossyNumbers", () => {
  it("finds a drawn number exactly if parsing changes it", () => {
    const next = random(7)
    let lossy = 0
    for (let n = 0; n < 4_000; n++) {
      const literal = (next() < 0.5 ? "-" : "") + digits(next, 1 + Math.floor(next() * 22)) +
        (next() < 0.4 ? `.${digits(next, 1 + Math.floor(next() * 20))}` : "") +
        (next() < 0.3 ? `e${Math.floor(next() * 60) - 30}` : "")
      const changes = !isEqual(literal, String(Number(literal)))
      if (changes) lossy++
      const found = lossyNumbers(`{"a":[{"b":${literal}}]}`)
      assert.deepStrictEqual(found, changes ? [["a", 0, "b"]] : [], literal)
    }
    assert.isAbove(lossy, 500)
    assert.isBelow(lossy, 3_500)
  })

  it("names each field, also behind strings that look like JSON", () => {
    const text =
      "{\"s\":\"{\\\"n\\\":12345678901234567890,[\",\"list\":[1,[],{\"x\":1e999}],\"é\\\"\":12345678901234567891,\"z\":0}"
    assert.deepStrictEqual(lossyNumbers(text), [["list", 2, "x"], ["é\""]])
  })

  it("finds none in texts of JSON.stringify", () => {
    const next = random(11)
    for (let n = 0; n < 2_000; n++) {
      const value = (next() - 0.5) * 10 ** (next() * 600 - 300)
      assert.deepStrictEqual(lossyNumbers(JSON.stringify({ value })), [], String(value))
    }
  })
})

describe("JsonText.exactAt", () => {
  it("keeps the digits of whole numbers as text, and parses the rest", () => {
    const next = random(19)
    let kept = 0
    for (let n = 0; n < 2_000; n++) {
      const whole = (next() < 0.5 ? "-" : "") + digits(next, 1 + Math.floor(next() * 24))
      const fraction = `${digits(next, 3)}.${digits(next, 1 + Math.floor(next() * 24))}`
      const text = `{"jsonrpc":"2.0","rows":[{"id":${whole},"é\\"":${fraction}},"${whole}"],"at":${whole}}`
      const isLossy = lossyNumbers(whole).length > 0
      if (isLossy) kept++
      const id = isLossy ? whole : Number(whole)
      assert.deepStrictEqual(JsonText.exactAt(text, ["rows"]), [{ id, "é\"": Number(fraction) }, whole])
      assert.deepStrictEqual(JsonText.exactAt(text, ["at"]), id)
    }
    assert.isAbove(kept, 500)
  })

  it("returns undefined for invalid JSON, and for a missing path", () => {
    assert.isUndefined(JsonText.exactAt("{", ["a"]))
    assert.isUndefined(JsonText.exactAt(`{"a":1}`, ["b"]))
  })
})

const order = "2512292042121000001"

describe("a call with a number that parsing changes", () => {
  for (
    const [name, schema] of Object.entries({
      Int: Schema.Int,
      Number: Schema.Number,
      Finite: Schema.Finite,
      Unknown: Schema.Unknown
    })
  ) {
    for (const how of ["text", "object"] as const) {
      it.effect(`does not run, by a schema of ${name}, given as ${how}`, () =>
        Effect.gen(function*() {
          const ran: Array<unknown> = []
          const Refund = Tool.make("refund", {
            parameters: Schema.Struct({ order: schema as Schema.Codec<unknown> }),
            effects: "write",
            execute: ({ order }) => Effect.sync(() => void ran.push(order))
          })
          yield* Agent.make("a", { tools: [Refund], defaults: { onError: Recovery.standard } }).run("go")
          const { lastRequest } = yield* ScriptedModel.ScriptedModel
          const [result] = lastResults((yield* lastRequest).prompt as never)
          assert.deepStrictEqual(ran, [])
          assert.include(JSON.stringify(result), "\"code\":\"invalid_arguments\"")
          assert.include(JSON.stringify(result), "order: expected a number that keeps all its digits")
          assert.include(JSON.stringify(result), "Send it as a string")
        }).pipe(Effect.provide(ScriptedModel.layer([
          ScriptedModel.call("refund", (how === "text" ? `{"order":${order}}` : { order: Number(order) }) as never),
          ScriptedModel.text("done")
        ]))))
    }
  }

  for (const how of ["text", "object"] as const) {
    it.effect(`does not run by AiToolkit.toToolkit, given as ${how}`, () =>
      Effect.gen(function*() {
        const ran: Array<unknown> = []
        const Refund = Tool.make("refund", {
          parameters: Schema.Struct({ order: Schema.Number }),
          effects: "write",
          execute: ({ order }) => Effect.sync(() => void ran.push(order))
        })
        const toolkit = AiToolkit.toToolkit([Refund], { defaults: { onError: Recovery.standard } })
        const { toolResults } = yield* LanguageModel.generateText({ prompt: "go", toolkit })
        assert.deepStrictEqual(ran, [])
        assert.include(JSON.stringify(toolResults), "order: expected a number that keeps all its digits")
      }).pipe(Effect.provide(ScriptedModel.layer([
        ScriptedModel.call("refund", (how === "text" ? `{"order":${order}}` : { order: Number(order) }) as never)
      ]))))
  }

  it.effect("is not answered by the key of another number", () =>
    Effect.gen(function*() {
      const paid: Array<number> = []
      const Pay = Tool.make("pay", {
        parameters: Schema.Struct({ id: Schema.Number }),
        success: Schema.String,
        effects: "write",
        idempotency: { key: ({ id }) => String(id) },
        execute: ({ id }) => Effect.sync(() => (paid.push(id), `paid ${id}`))
      })
      yield* Agent.make("a", { tools: [Pay], defaults: { onError: Recovery.standard } }).run("go")
      assert.deepStrictEqual(paid, [9007199254740992 - 1])
    }).pipe(
      Effect.provide(IdempotencyLedger.layerMemory),
      Effect.provide(ScriptedModel.layer([
        ScriptedModel.call("pay", "{\"id\":9007199254740993}" as never),
        ScriptedModel.call("pay", "{\"id\":9007199254740991}" as never),
        ScriptedModel.text("done")
      ]))
    ))
})

describe("JsonText.argumentsAt", () => {
  it("returns text for numbers that parsing changes, and values otherwise", () => {
    const body = `{"params":{"arguments":{"n":${order}},"other":{"n":1.50}},"list":[{"n":0.12345678901234567891}]}`
    assert.strictEqual(JsonText.argumentsAt(body, ["params", "arguments"]), `{"n":${order}}`)
    assert.deepStrictEqual(JsonText.argumentsAt(body, ["params", "other"]), { n: 1.5 })
    assert.strictEqual(JsonText.argumentsAt(body, ["list", 0]), `{"n":0.12345678901234567891}`)
    assert.isUndefined(JsonText.argumentsAt(body, ["list", 1]))
    assert.isUndefined(JsonText.argumentsAt("{", []))
  })
})
