/** The session of a run. */

import { assert, describe, it } from "@effect/vitest"
import { Prompt } from "effect/ai"
import { openRun } from "../support/openRun.ts"
import { type Json, load, room, runOf, type Write, write } from "../support/partsOfRuns.ts"

const { Session, readResults }: {
  readonly Session: new() => {
    isAnswerNew: boolean
    isResumable: boolean
    isCorrected: boolean
    skill: string | undefined
    turn: number
    readonly callIds: Set<string>
    readonly failures: Map<string, Map<string, number>>
    readonly transcript: { readonly user: (text: string) => void }
    readonly sent: () => Prompt.Prompt
    readonly replace: (prompt: Prompt.Prompt) => void
    readonly checkpoint: (run: object, round: object | undefined) => Record<string, unknown>
    readonly restore: (checkpoint: object) => void
  }
  readonly readResults: (calls: ReadonlyArray<object>, messages: Json) => ReadonlyMap<string, object>
} = await load("session.ts")

const { encodePrompt }: { readonly encodePrompt: (prompt: Prompt.Prompt) => Json } = await import(
  new URL("../foundation/json/promptJson.ts", room).href
) as never

describe("a session", () => {
  const run = (more: object = {}) => runOf(undefined, { id: "r", path: ["a"], scope: "r", ...more })

  it("round-trips a checkpoint, without empty fields", () => {
    const plain = new Session()
    assert.deepStrictEqual([plain.isResumable, plain.isCorrected], [false, false])
    const bare = plain.checkpoint(run(), undefined)
    for (const field of ["scope", "skill", "replaced", "replacedInput", "corrected", "done", "round"]) {
      assert.notProperty(bare, field)
    }
    assert.strictEqual(bare["version"], 4)
    const again = new Session()
    again.restore({ ...bare, answers: undefined })
    assert.deepStrictEqual([again.isResumable, again.isCorrected, again.skill], [true, false, undefined])
    assert.deepStrictEqual(again.checkpoint(run(), undefined), bare)

    const full = new Session()
    full.transcript.user("hello")
    full.replace(Prompt.make("short"))
    full.transcript.user("more")
    Object.assign(full, { isCorrected: true, turn: 2, replacedInput: Prompt.make("instead") })
    full.callIds.add("c1")
    full.failures.set("k", new Map([["timeout", 2]]))
    const outer = run({ parent: openRun({}), scope: "r/c", skill: "s" })
    outer.completed!.add(outer, write("w"), undefined)
    const state = JSON.parse(JSON.stringify(full.checkpoint(outer, undefined))) as Record<string, unknown>
    assert.deepStrictEqual([state["scope"], state["skill"], state["corrected"]], ["r/c", "s", true])
    assert.include(JSON.stringify(state["replacedInput"]), "instead")
    assert.deepStrictEqual((state["done"] as ReadonlyArray<Write>).map(({ id }) => id), ["w"])
    const next = new Session()
    next.restore(state)
    assert.deepStrictEqual(JSON.parse(JSON.stringify(next.checkpoint(outer, undefined))), state)
    assert.deepStrictEqual(
      next.sent().content.map(({ content }) => JSON.stringify(content)).map((text) =>
        /short|hello|more/.exec(text)?.[0]
      ),
      ["short", "more"]
    )
  })

  it("has one version, and names calls waiting within calls", () => {
    const session = new Session()
    const round = (within: ReadonlyArray<object | undefined>, nested?: object) => {
      const waiting = within.map((one) => ({ pending: [], nested, within: one }))
      const { round, version } = session.checkpoint(run(), {
        transcript: Prompt.empty,
        calls: [],
        results: [],
        waiting
      }) as { readonly version: number; readonly round: object }
      return [version, Object.keys(round)]
    }
    const fields = ["calls", "results", "pending"]
    assert.deepStrictEqual(round([]), [4, fields])
    assert.deepStrictEqual(round([undefined]), [4, fields])
    assert.deepStrictEqual(round([{ id: "a" }]), [4, [...fields, "within"]])
    assert.deepStrictEqual(round([{ id: "a" }, { id: "b", begun: [] }]), [4, [...fields, "within"]])
    assert.deepStrictEqual(round([undefined], { id: "n" }), [4, [...fields, "nested"]])
    assert.deepStrictEqual(round([undefined], { id: "n", begun: [] }), [4, [...fields, "nested"]])
    assert.deepStrictEqual(round([undefined], { id: "n", approvals: [] }), [4, [...fields, "nested"]])
  })

  it("reads its calls' results, and no other part of a message", () => {
    const result = (id: string) =>
      Prompt.toolResultPart({ id, name: "t", isFailure: false, result: id, providerExecuted: false })
    const messages = encodePrompt(Prompt.fromMessages([
      Prompt.userMessage({ content: [Prompt.textPart({ text: "c1" })] }),
      // Calls that a provider ran are not the round's.
      Prompt.assistantMessage({ content: [result("c2")] }),
      Prompt.toolMessage({
        content: [
          Prompt.toolApprovalResponsePart({ approvalId: "c2", approved: true }),
          result("c1"),
          result("other")
        ]
      })
    ]))
    const calls = ["c1", "c2"].map((id) => ({ id, name: "t", params: {} }))
    assert.deepStrictEqual([...readResults(calls, messages).keys()], ["c1"])
  })
})
