import { assert, describe, it } from "@effect/vitest"

const foundation = new URL("../../src/internal/foundation/json/", import.meta.url)
const { roughHash } = await import(new URL("roughHash.ts", foundation).href) as {
  readonly roughHash: (value: unknown) => number
}
const { canonicalJson } = await import(new URL("canonicalJson.ts", foundation).href) as {
  readonly canonicalJson: (value: unknown) => string
}

const parts: ReadonlyArray<unknown> = [
  undefined,
  null,
  true,
  false,
  0,
  -0,
  1,
  1.5,
  NaN,
  Infinity,
  "",
  "a",
  "b".repeat(100),
  `${"b".repeat(99)}c`,
  [],
  [1],
  [undefined],
  [null],
  {},
  { x: 1 },
  { toJSON: 1 },
  { toJSON: () => "a" },
  { toJSON: () => 1 },
  { toJSON: () => undefined },
  new Date(0),
  new Date(0).toISOString(),
  () => 1,
  Symbol()
]

describe("rough hash", () => {
  it("values with the same canonical text have the same one", () => {
    const values = [
      ...parts,
      ...parts.flatMap((a) => parts.flatMap((b) => [{ a, b }, { b, a }, { a: b, b: a }, [a, b]]))
    ]
    const byText = new Map<string, number>()
    let met = 0
    for (const value of values) {
      const text = canonicalJson(value)
      const hash = roughHash(value)
      const known = byText.get(text)
      if (known !== undefined) {
        met++
        assert.strictEqual(hash, known, text)
      }
      byText.set(text, hash)
    }
    assert.isAbove(met, 500)
  })

  it("differs for changed numbers, keys, and starts or ends of texts", () => {
    const hashes = Array.from({ length: 1_000 }, (_, n) => [
      { n },
      { [`key${n}`]: 1 },
      { url: `https://example.org/a-long-path/that-all-of-them-have/${n}` },
      { url: `${n} ${"x".repeat(1_000)}` }
    ]).flat().map(roughHash)
    assert.isAbove(new Set(hashes).size, 3_950)
  })
})
