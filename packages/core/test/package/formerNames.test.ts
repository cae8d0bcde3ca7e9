/** Names of version 0.1 in stored data: they are read as the names of today. */
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { Budget, Conversation } from "@recourse/core"

describe("data stored by version 0.1", () => {
  const events = {
    Said: [{ audience: "everyone", message: { role: "user", content: "hi" } }, "MessageAdded"],
    CallsForgotten: [{ calls: ["c1"] }, "ToolCallsPruned"],
    Replaced: [{ through: 2, by: [] }, "HistoryCompacted"]
  } as const
  for (const [former, [fields, today]] of Object.entries(events)) {
    it(`decodes ${former} of a thread as ${today}`, () => {
      const entry = { position: 1, at: 0, event: { _tag: former, ...fields } }
      const decoded = Schema.decodeUnknownSync(Conversation.Entry)(entry)
      assert.deepStrictEqual(decoded.event, { _tag: today, ...fields } as unknown as Conversation.Event)
      assert.deepStrictEqual(Schema.encodeSync(Conversation.Entry)(decoded).event, { _tag: today, ...fields })
    })
  }

  it("decodes BudgetExceeded for levels as maxDepth", () => {
    const stored = { _tag: "BudgetExceeded" as const, reason: "levels", agent: "boss", limit: 1, used: 2 }
    const decoded = Schema.decodeUnknownSync(Budget.BudgetExceeded)(stored)
    assert.deepStrictEqual({ ...Schema.encodeSync(Budget.BudgetExceeded)(decoded) }, {
      ...stored,
      _tag: "BudgetExceeded",
      reason: "maxDepth"
    })
  })

  it("refuses an unknown event and an unknown cap", () => {
    const entry = { position: 1, at: 0, event: { _tag: "constructor" } }
    assert.throws(() => Schema.decodeUnknownSync(Conversation.Entry)(entry))
    const stored = { _tag: "BudgetExceeded", reason: "depth", agent: "boss", limit: 1, used: 2 }
    assert.throws(() => Schema.decodeUnknownSync(Budget.BudgetExceeded)(stored))
  })

  it("refuses an entry about writes of a later version", () => {
    const entry = (version: number) => ({ position: 1, at: 0, event: { _tag: "TurnEnded", version, runs: [] } })
    assert.doesNotThrow(() => Schema.decodeUnknownSync(Conversation.Entry)(entry(1)))
    assert.throws(() => Schema.decodeUnknownSync(Conversation.Entry)(entry(2)))
  })
})
