import { assert, it } from "@effect/vitest"

const foundation = new URL("../../src/internal/foundation/", import.meta.url)
const { Recent } = await import(new URL("recentMap.ts", foundation).href) as {
  readonly Recent: new(most: number) => Map<string, number>
}

it("keeps the last keys up to a limit; reset keys are new", () => {
  const recent = new Recent(3)
  for (const [n, key] of ["a", "b", "c", "a", "d"].entries()) recent.set(key, n)
  assert.deepStrictEqual([...recent], [["c", 2], ["a", 3], ["d", 4]])
  recent.set("e", 5).set("e", 6)
  assert.deepStrictEqual([...recent], [["a", 3], ["d", 4], ["e", 6]])
})
