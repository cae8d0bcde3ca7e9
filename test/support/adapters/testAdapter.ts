/** Runs the table of cases in the loop of a library. */
import { assert, it } from "@effect/vitest"
import { type CaseName, cases } from "./cases.ts"
import type { Loop } from "./loop.ts"

const isRejected = (promise: Promise<void>): Promise<boolean> => promise.then(() => false, () => true)

/**
 * Makes a test of each case. `exceptions`: cases that the library does not allow; they are asserted to fail, so that a later version
 * that allows them is noticed.
 */
export const testAdapter = (loop: Loop, exceptions: ReadonlyArray<CaseName> = []): void => {
  const names = Object.keys(cases) as ReadonlyArray<CaseName>
  const held = names.filter((name) => !exceptions.includes(name)).map((name) => cases[name])
  it.each(held)(`$title (${loop.name})`, ({ run }) => run(loop))
  it.each(exceptions.map((name) => cases[name]))(`cannot in ${loop.name}: $title`, async ({ run }) => {
    assert.isTrue(await isRejected(run(loop)), "the case holds by now: remove the exception")
  })
}
