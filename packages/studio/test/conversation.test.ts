/** A conversation of the page without a browser: messages that may not have arrived, and texts of a failed load. */
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { afterFailedLoad, initial, isNetworkError, waitBefore } from "../web/chat/conversationState.ts"
import { Outbox } from "../web/chat/outbox.ts"
import type { ChatMessage } from "../web/chat/parts.ts"
import { RequestFailed } from "../web/shared/api.ts"

const message = (id: string, role: "user" | "assistant" = "user"): ChatMessage => ({ id, role, parts: [] })

/** Fate of a message: it is answered, it does not arrive, or it arrives without the page's knowledge. */
const Fate = Schema.Literals(["answered", "lost", "unheard"])

describe("a message that is sent", () => {
  it.prop(
    "is shown once in any case, unsent until the server has it",
    [Schema.Array(Fate)],
    ([fates]) => {
      const outbox = new Outbox()
      // The server has its own ids of messages.
      const stored: Array<ChatMessage> = []
      let shown: ReadonlyArray<ChatMessage> = []
      let wanted = 0
      for (const fate of fates) {
        const again = outbox.unsent
        const sent = again ?? message(`m${wanted++}`)
        outbox.put(sent, shown)
        if (fate !== "lost") {
          stored.push(message(`user_${stored.length}`), message(`answer_${stored.length}`, "assistant"))
        }
        if (fate === "answered") outbox.taken()
        const loaded = outbox.shown(stored)
        shown = loaded.messages
        assert.strictEqual(shown.filter(({ role }) => role === "user").length, wanted)
        assert.strictEqual(loaded.unsent, fate === "lost" ? sent.id : undefined)
        assert.strictEqual(outbox.isTaken, fate !== "lost")
      }
    }
  )

  it("shows no sent message while decisions are in flight", () => {
    const outbox = new Outbox()
    outbox.begin()
    assert.isFalse(outbox.isTaken)
    assert.deepStrictEqual(outbox.shown([message("a")]), { messages: [message("a")], unsent: undefined })
    assert.isTrue(outbox.isTaken)
  })
})

describe("a load that failed", () => {
  const refused = (status: number) => new RequestFailed(status, "No.", "t1")

  it("shows a missing thread, unless its first message may be pending", () => {
    assert.deepStrictEqual(afterFailedLoad(refused(404), initial, undefined), { isOffline: false, load: "missing" })
    assert.deepStrictEqual(afterFailedLoad(refused(404), initial, "m1"), { isOffline: false, unsent: "m1" })
  })

  it("shows a problem with a reference next to the messages", () => {
    const problem = { text: "No.", reference: "t1" }
    assert.deepStrictEqual(afterFailedLoad(refused(500), initial, undefined), { problem })
    assert.deepStrictEqual(afterFailedLoad(refused(500), { ...initial, load: "loading" }, undefined), {
      load: { problem }
    })
  })

  it("retries a load after a network loss, with growing waits", () => {
    assert.isTrue(isNetworkError(new TypeError("Failed to fetch")))
    assert.isTrue(isNetworkError(refused(0)))
    assert.isFalse(isNetworkError(refused(500)))
    assert.deepStrictEqual([0, 1, 4, 100].map(waitBefore), [1000, 2000, 15_000, 15_000])
  })
})
