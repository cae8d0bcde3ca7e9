/** `agent.explain`: the changes since the snapshot. */

import { assert, describe, it } from "@effect/vitest"
import { ScriptedModel } from "@recourse/testing"
import { Approval } from "@recourse/core"
import { Effect, Schema } from "effect"
import * as Shops from "../fixtures/pausedShops.ts"
import { type Log, pausedOf, plainTool, shops, spec, stored, systemOf } from "../support/toolVersions.ts"

const { call } = ScriptedModel

describe("agent.explain", () => {
  it.effect("names each tool, its role and its differences", () =>
    Effect.gen(function*() {
      const log: Log = []
      const pausing = shops.desk(
        [Shops.pay(log), Shops.look()],
        [Shops.look(), spec("kept"), spec("gone")].map((one) => "schema" in one ? plainTool(log, one) : one)
      )
      const { snapshot } = pausedOf(
        yield* pausing.start("x").pipe(Effect.provide(ScriptedModel.layer((request) =>
          systemOf(request) === "desk"
            ? call("ask_clerk", { input: "pay" }, { id: "a" })
            : call("pay", { amount: 5 }, { id: "p" })
        )))
      )
      const now = shops.desk([Shops.pay(log, "Pays at once"), Shops.look()], [
        Shops.look("Looks twice"),
        plainTool(log, spec("kept")),
        plainTool(log, spec("more"))
      ])
      const { parts, refused, ...explained } = yield* now.explain(stored(snapshot))
      assert.deepStrictEqual(explained, { agent: "desk", canResume: false })
      assert.strictEqual(
        refused?.message,
        "The snapshot cannot be resumed by agent \"clerk\": tool \"pay\" (waiting) differs in: description. " +
          "Resume with the program that paused, or start the run again"
      )
      assert.deepStrictEqual(
        parts.map(({ agent, differs, name, role, state, within }) => [within, agent, name, role, state, ...differs]),
        [
          [undefined, "desk", "ask_clerk", "nested", "equal"],
          [undefined, "desk", "look", "irrelevant", "changed"],
          [undefined, "desk", "kept", "irrelevant", "equal"],
          [undefined, "desk", "gone", "irrelevant", "missing"],
          [undefined, "desk", "more", "irrelevant", "added"],
          ["a", "clerk", "pay", "waiting", "changed", "description"],
          ["a", "clerk", "look", "irrelevant", "equal"]
        ]
      )
      assert.deepStrictEqual(Schema.decodeUnknownSync(Approval.Explanation)(stored({ ...explained, refused, parts })), {
        ...explained,
        refused: refused!,
        parts
      })
      assert.deepStrictEqual(log, [])
    }).pipe(Effect.provide(Shops.key)))
})
