import { assert, it } from "@effect/vitest"

const { atFirstUse } = await import(
  new URL("../../src/internal/foundation/lazyValue.ts", import.meta.url).href
) as {
  readonly atFirstUse: <A extends object>(make: () => A) => () => A
}

it("makes a value in the first call and returns it in later ones", () => {
  let made = 0
  const value = atFirstUse(() => ({ made: ++made }))
  assert.strictEqual(made, 0)
  assert.strictEqual(value(), value())
  assert.strictEqual(made, 1)
})
