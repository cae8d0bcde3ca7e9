/** Readings of a thread. */

import { assert, describe, it } from "@effect/vitest"
import { Conversation } from "@recourse/core"
import { Prompt } from "effect/ai"
import { pieces, text, user } from "../support/drawnConversations.ts"

describe("readings of a thread", () => {
  it("show people their messages with the run of each", () => {
    const entry = (position: number, event: Conversation.Event, runId?: string): Conversation.Entry => ({
      position,
      at: position * 10,
      event,
      ...(runId === undefined ? {} : { runId })
    })
    const shown = Conversation.visibleMessages(
      pieces.map(([event], n) => entry(n + 1, event, n === 1 ? "run" : undefined))
    )
    assert.deepStrictEqual(
      shown.map(({ at, message, position, runId }) => [position, at, message.role, runId]),
      [
        [1, 10, "user", undefined],
        [2, 20, "assistant", "run"],
        [3, 30, "user", undefined],
        [6, 60, "tool", undefined],
        [
          7,
          70,
          "user",
          undefined
        ]
      ]
    )
    assert.deepStrictEqual(shown.map((one) => "runId" in one), [false, true, false, false, false])
  })

  it("show the model its messages, with replacements before later ones", () => {
    const of = (...events: ReadonlyArray<Conversation.Event>) =>
      Conversation.toPrompt(events.map((event, n) => ({ position: n + 1, at: 0, event }))).content.map((
        { content, role }
      ) =>
        `${role} ${
          typeof content === "string" ? content : content.map((part) => part.type === "text" ? part.text : "")
        }`
      )
    const [one] = Conversation.toEvents([user("1")])
    const [two] = Conversation.toEvents([user("2")], "people")
    const [three] = Conversation.toEvents([user("3")], "model")
    const [four] = Conversation.toEvents([Prompt.assistantMessage({ content: [text("4")] })])
    const by = (through: number, ...said: ReadonlyArray<string>): Conversation.Event => ({
      _tag: "HistoryCompacted",
      through,
      by: Conversation.toEvents(said.map(user)).map(({ message }) => message)
    })
    assert.deepStrictEqual(of(one!, two!, three!, four!), ["user 1", "user 3", "assistant 4"])
    assert.deepStrictEqual(of(one!, three!, by(1, "s"), four!), ["user s", "user 3", "assistant 4"])
    assert.deepStrictEqual(of(one!, by(0, "s"), three!), ["user s", "user 1", "user 3"])
    assert.deepStrictEqual(of(one!, three!, by(2, "s", "t"), four!, by(3, "u")), ["user u", "assistant 4"])
    // A replacement of entries is removed when others replace those.
    assert.deepStrictEqual(of(one!, three!, by(2, "s"), by(1, "u")), ["user u", "user s"])
    assert.deepStrictEqual(of(one!, by(1), four!), ["assistant 4"])
  })
})
