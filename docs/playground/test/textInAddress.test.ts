import { assert, describe, it } from "vitest"
import { programs } from "../src/choice.ts"
import { agentFile } from "../src/program.ts"
import { decodeText, encodeText, longestFragment } from "../src/textInAddress.ts"

const rejects = (fragment: string): Promise<boolean> => decodeText(fragment).then(() => false, () => true)

describe("text in the address", () => {
  it("is the same after its fragment is read", async () => {
    const longest = programs.map(agentFile).toSorted((one, other) => other.length - one.length)[0]!
    for (const text of ["", "ä 🙂\r\n\t", longest]) {
      const fragment = await encodeText(text)
      assert.match(fragment ?? "", /^#agent=[\w-]*$/)
      assert.strictEqual(await decodeText(fragment!), text)
    }
  })

  it("has room for a text of twice the longest program", async () => {
    const longest = Math.max(
      ...await Promise.all(programs.map(async (one) => (await encodeText(agentFile(one)))!.length))
    )
    assert.isAtMost(longest * 2, longestFragment)
  })

  it("has no fragment if it is too long", async () => {
    const drawn = Array.from({ length: 20_000 }, (_, index) => Math.imul(index + 1, 0x9e3779b1) >>> 0).join(" ")
    assert.isUndefined(await encodeText(drawn.slice(0, 90_000)))
    assert.isUndefined(await encodeText("a".repeat(100_001)))
  })

  it("is absent from other fragments", async () => {
    for (const fragment of ["", "#results", "#agents=abc"]) assert.isUndefined(await decodeText(fragment))
  })

  it("is refused if the fragment is damaged", async () => {
    const fragment = (await encodeText(agentFile(programs[0]!)))!
    assert.isTrue(await rejects(fragment.slice(0, -8)))
    assert.isTrue(await rejects("#agent=%%%"))
    assert.isTrue(await rejects(`#agent=${"A".repeat(longestFragment)}`))
  })
})
