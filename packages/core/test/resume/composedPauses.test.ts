/**
 * Agents made of agents wait if one of them waits, and resume there: in the same process, and from the JSON of a
 * snapshot.
 */

import { assert, describe, it } from "@effect/vitest"
import { Replay } from "@recourse/testing"
import { Effect, Exit, Option } from "effect"
import { Approval } from "@recourse/core"
import { Note, Refund } from "../support/refundTools.ts"
import { cases, type Composed, key, models, play } from "../support/composedAgents.ts"

describe("an agent made of agents waits, and resumes from its snapshot's JSON", () => {
  for (const [name, one] of Object.entries(cases)) {
    it.effect(name, () =>
      Effect.gen(function*() {
        const { log, output, pending } = yield* play(one)
        assert.deepStrictEqual(output, one.output)
        assert.deepStrictEqual(log.toSorted(), one.log.toSorted())
        assert.deepStrictEqual(pending, one.pending)
      }))

    it.effect(`${name}; interactive, in one process`, () =>
      Effect.gen(function*() {
        const log: Array<string> = []
        const asked: Array<string> = []
        const agent = (one.agent(log) as Composed).pipe(
          Approval.interactive((call) => Effect.sync(() => (asked.push(call.callId), Approval.approve(call))))
        )
        const output = yield* agent.run("clerk one").pipe(Effect.provide(models(one.turns)))
        assert.deepStrictEqual(output, one.output)
        assert.deepStrictEqual(log.toSorted(), one.log.toSorted())
        assert.deepStrictEqual(asked, one.pending.flat())
      }))

    it.effect(`${name}; recorded, and replayed without doing anything`, () =>
      Effect.gen(function*() {
        const decide = (pending: ReadonlyArray<Approval.PendingCall>) =>
          Effect.succeed(pending.map((call) => Approval.approve(call)))
        const log: Array<string> = []
        const tools = [Note(log), Refund(log)]
        const { exit, recording } = yield* Replay.record(one.agent(log) as Composed, "clerk one", { tools, decide })
          .pipe(
            Effect.provide([models(one.turns), key])
          )
        assert.deepStrictEqual(exit, Exit.succeed(one.output))
        assert.deepStrictEqual(log.toSorted(), one.log.toSorted())
        const json = yield* Effect.flatMap(Replay.stringify(recording), Replay.parse)
        const again: Array<string> = []
        const replayed = yield* Effect.provide(Replay.run(one.agent(again) as Composed, json, { tools }), key)
        assert.strictEqual(Option.match(replayed.difference, { onNone: () => "", onSome: Replay.print }), "")
        assert.deepStrictEqual(replayed.exit, exit)
        assert.deepStrictEqual(again.filter((line) => /^(note|refund)/.test(line)), [])
      }))
  }
})
