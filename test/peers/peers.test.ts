import { assert, describe, it } from "@effect/vitest"
import { check } from "../support/peers/check.ts"
import { peers } from "../support/peers/peers.ts"

/** Plans that concern each law. */
const seeds = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]

const brokenBy = async (index: number): Promise<ReadonlyArray<string>> => {
  const scores = await check(peers[index]!, seeds)
  return Object.entries(scores).flatMap(([law, { broken }]) => broken.length === 0 ? [] : [law])
}

const indices = peers.map((_, index) => index)

describe("the laws of recovery", () => {
  it.each(indices.filter((index) => peers[index]!.tools === "adapter").map((index) => ({ ...peers[index]!, index })))(
    "hold in $library with the adapter",
    async ({ index }) => assert.deepStrictEqual(await brokenBy(index), [])
  )

  it.each(indices.filter((index) => peers[index]!.tools === "plain").map((index) => ({ ...peers[index]!, index })))(
    "are broken by plain tools in $library",
    async ({ index }) => assert.includeMembers([...await brokenBy(index)], ["write_at_most_once", "no_false_failure"])
  )
})
