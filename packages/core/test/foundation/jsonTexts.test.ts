import { assert, describe, it } from "@effect/vitest"

const foundation = new URL("../../src/internal/foundation/json/", import.meta.url)
const { canonicalJson, deepJson } = await import(new URL("canonicalJson.ts", foundation).href) as {
  readonly canonicalJson: (value: unknown) => string
  readonly deepJson: (value: unknown) => string
}
const { isLongerThan } = await import(new URL("jsonShape.ts", foundation).href) as {
  readonly isLongerThan: (value: unknown, limit: number) => boolean
}

const { jsonPart } = await import(new URL("jsonPart.ts", foundation).href) as {
  readonly jsonPart: (text: string, path: ReadonlyArray<string | number>) => string | undefined
}

const { isDeeperThan, shapeOf } = await import(new URL("jsonShape.ts", foundation).href) as {
  readonly isDeeperThan: (value: unknown, max: number) => boolean
  readonly shapeOf: (value: unknown, max: number) => Readonly<Record<"depth" | "keys" | "size", number>>
}

const leaves: ReadonlyArray<unknown> = [null, true, 0, -1.5, "", "a\"b", "x".repeat(40), [], {}]
const pairs = leaves.flatMap((a) =>
  leaves.flatMap((b): ReadonlyArray<unknown> => [{ b, a }, [a, b], { list: [a, { b }] }])
)
const values = [...leaves, ...pairs, ...pairs.slice(0, 60).map((value) => ({ z: value, y: [value, value] }))]

const sorted = (value: unknown): unknown =>
  Array.isArray(value)
    ? value.map(sorted)
    : typeof value === "object" && value !== null
    ? Object.fromEntries(
      Object.entries(value).sort(([a], [b]) => a < b ? -1 : 1).map(([key, item]) => [key, sorted(item)])
    )
    : value

/** A value within so many lists. */
const within = (levels: number): unknown => {
  let value: unknown = { b: 1, a: 2 }
  for (let level = 0; level < levels; level++) value = [value]
  return value
}

describe("canonical JSON", () => {
  it("canonical JSON sorts the keys of a value", () => {
    for (const value of values) assert.strictEqual(canonicalJson(value), JSON.stringify(sorted(value)))
  })

  it("omits the fields that JSON omits, and calls toJSON", () => {
    const value = { f: () => 1, u: undefined, d: new Date(0), list: [undefined, () => 1, NaN] }
    assert.strictEqual(canonicalJson(value), "{\"d\":\"1970-01-01T00:00:00.000Z\",\"list\":[null,null,null]}")
  })

  it("writes deep values like shallow ones", () => {
    const odd = [undefined, () => 1, null, { f: () => 1, u: undefined, n: null, d: new Date(0), toJSON: 1 }, [
      undefined
    ]]
    for (const value of [...values.slice(0, 90), ...odd.map((item) => ({ item, list: [item, item] }))]) {
      const text = JSON.stringify(sorted(JSON.parse(JSON.stringify(value))))
      let deep: unknown = value
      let [before, behind] = ["", ""]
      for (let level = 0; level < 80; level++) {
        deep = level % 2 === 0 ? [deep, level] : { x: deep }
        before = (level % 2 === 0 ? "[" : "{\"x\":") + before
        behind += level % 2 === 0 ? `,${level}]` : "}"
      }
      assert.strictEqual(canonicalJson(value), text)
      assert.strictEqual(canonicalJson(deep), `${before}${text}${behind}`)
    }
  })

  it("writes objects of any depth", () => {
    let value: unknown = 1
    for (let level = 0; level < 20_000; level++) value = { a: value }
    assert.strictEqual(canonicalJson(value), `${"{\"a\":".repeat(20_000)}1${"}".repeat(20_000)}`)
  })

  it("writes any depth with equal text around the recursion limit", () => {
    for (const levels of [0, 1, 62, 63, 64, 65, 66, 100_000]) {
      assert.strictEqual(canonicalJson(within(levels)), `${"[".repeat(levels)}{"a":2,"b":1}${"]".repeat(levels)}`)
      assert.strictEqual(deepJson(within(levels)), `${"[".repeat(levels)}{"b":1,"a":2}${"]".repeat(levels)}`)
    }
  })
})

describe("length of a JSON text", () => {
  it("a measured length stays below a limit of the text", () => {
    for (const value of values) {
      const { length } = JSON.stringify(value)
      assert.isFalse(isLongerThan(value, length + 16), JSON.stringify(value))
      if (length > 16) assert.isTrue(isLongerThan(value, Math.floor(length / 2)), JSON.stringify(value))
    }
  })

  it("numbers and texts alone", () => {
    assert.deepStrictEqual([
      isLongerThan(-1234.5, 6),
      isLongerThan(-1234.5, 7),
      isLongerThan("abc", 4),
      isLongerThan("abc", 5)
    ], [
      true,
      false,
      true,
      false
    ])
  })

  it("measures short and long texts, and single values", () => {
    for (const value of [null, true]) {
      assert.deepStrictEqual([3, 4].map((limit) => isLongerThan(value, limit)), [true, false])
    }
    const text = "x".repeat(100)
    assert.deepStrictEqual([24, 25, 50, 101, 102].map((limit) => isLongerThan(text, limit)), [
      true,
      true,
      true,
      true,
      false
    ])
    assert.isFalse(isLongerThan(-Number.MAX_VALUE, 25))
  })

  it("stops at the limit: a million values in a million lists", () => {
    const list = Array.from({ length: 1_000_000 }, () => 1)
    assert.isTrue(isLongerThan(Array.from({ length: 1_000_000 }, () => list), 1_000))
  })
})

describe("the shape of a JSON value", () => {
  it.each<readonly [value: unknown, depth: number, keys: number, size: number]>([
    [5, 0, 0, 1],
    ["abc", 0, 0, 1],
    [null, 0, 0, 1],
    [[], 1, 0, 1],
    [{}, 1, 0, 1],
    [[1, null, "abc"], 1, 0, 4],
    [{ a: 1, b: null }, 1, 2, 3],
    [[[1, 2], { a: [] }], 3, 1, 6],
    [{ a: { b: 1 }, c: [1, 2, 3] }, 2, 3, 7]
  ])("is its levels, its keys and its values: %j", (value, depth, keys, size) => {
    const shape = shapeOf(value, 10)
    assert.deepStrictEqual([shape.depth, shape.keys, shape.size], [depth, keys, size])
  })

  it("measures a depth above a limit that its levels exceed", () => {
    for (const levels of [1, 2, 199, 200, 201, 5_000]) {
      const deep = within(levels - 1)
      assert.deepStrictEqual([isDeeperThan(deep, levels - 1), isDeeperThan(deep, levels)], [true, false])
      assert.deepStrictEqual([isDeeperThan([1, deep], 200), isDeeperThan({ a: deep, b: 1 }, 200)], [
        levels >= 200,
        levels >= 200
      ])
    }
    assert.deepStrictEqual([0, 1].map((max) => isDeeperThan([1], max)), [true, false])
    assert.isFalse(isDeeperThan("abc", 0))
  })

  it("returns infinity for more values than any text has", () => {
    const list = Array.from({ length: 5_000 }, () => 1)
    assert.isTrue(isDeeperThan(Array.from({ length: 4_100 }, () => list), 200))
  })
})

/** Each place of a value, with the value there. */
const placesOf = (
  value: unknown,
  path: ReadonlyArray<string | number> = []
): ReadonlyArray<readonly [ReadonlyArray<string | number>, unknown]> => [
  [path, value],
  ...(Array.isArray(value)
    ? value.flatMap((item, index) => placesOf(item, [...path, index]))
    : typeof value === "object" && value !== null
    ? Object.entries(value).flatMap(([key, item]) => placesOf(item, [...path, key]))
    : [])
]

describe("the text of one value within a JSON text", () => {
  it("finds a value at each path of drawn values, spaced or not", () => {
    const odd = { "a:b,{": [" ] ", { "\"": "}" }], "": { "\\": [[], {}] }, "0": ["x"] }
    for (const value of [...values, odd, [odd, [odd]]]) {
      for (const space of [0, 2]) {
        const text = JSON.stringify(value, undefined, space)
        for (const [path, expected] of placesOf(value)) {
          assert.deepStrictEqual(JSON.parse(jsonPart(text, path)!), expected, `${text} at ${path.join()}`)
        }
      }
    }
  })

  it("finds the text as written, of the last of equal keys", () => {
    assert.strictEqual(jsonPart("{\"a\":1,\"b\": 1.50 ,\"a\": 2e0}", ["a"]), "2e0")
    assert.strictEqual(jsonPart("{\"a\":1,\"b\": 1.50 ,\"a\": 2e0}", ["b"]), "1.50")
    assert.strictEqual(jsonPart("[0,[12345678901234567891]]", [1, 0]), "12345678901234567891")
  })

  it("finds no text if the path leads to no value", () => {
    for (const path of [["b"], ["a", "b"], [0], ["c", 2], ["c", "0"], ["d", 0]]) {
      assert.isUndefined(jsonPart("{\"a\":\"b\",\"c\":[1,{\"b\":1}],\"d\":[]}", path), path.join())
    }
  })
})
