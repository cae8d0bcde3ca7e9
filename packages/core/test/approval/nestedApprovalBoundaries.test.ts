/** Boundaries of a waiting inner agent: its snapshot, recoveries, keys, ids and siblings. */

import { assert, describe, it } from "@effect/vitest"
import { ScriptedModel, VirtualTime } from "@recourse/testing"
import { Effect, Exit, Layer, Redacted, Schema } from "effect"
import { Agent, Approval, IdempotencyLedger, Policy, Recovery, Tool } from "@recourse/core"
import { collect, lastResults } from "../support/kit.ts"
import { Note, Refund } from "../support/refundTools.ts"
import {
  approved,
  Ask,
  ask,
  asks,
  clerk,
  desk,
  done,
  ids,
  model,
  nameOf,
  one,
  paused,
  process,
  refund,
  started,
  stored,
  type Turns
} from "../support/askingAgents.ts"

const { call, calls, text } = ScriptedModel

describe("an agent that is a tool", () => {
  it.effect("refuses a snapshot changed inside, of a changed agent, or used", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const pause = yield* started(one, log)
      const approval = [Approval.approve(pause.pending[0]!)]
      const changed: unknown = JSON.parse(JSON.stringify(pause.snapshot).replaceAll("\"amount\":500", "\"amount\":501"))
      const refused = (snapshot: unknown, agent = desk(log)) =>
        Effect.map(
          Effect.flip(process(one, agent.resume(snapshot, approval))),
          (error) => error._tag === "SnapshotRefused" ? [error.agent, error.reason] : error._tag
        )
      assert.deepStrictEqual(yield* refused(changed), ["desk", "tampered"])

      const other = Agent.make("clerk", {
        instructions: "clerk",
        input: Schema.Struct({ task: Schema.String }),
        tools: [Note(log)],
        defaults: { onError: Recovery.standard }
      }).pipe(Agent.asTool("ask_clerk", asks))
      const otherDesk = Agent.make("desk", {
        instructions: "desk",
        tools: [other, Note(log)],
        defaults: { onError: Recovery.standard }
      })
      assert.deepStrictEqual(yield* refused(pause.snapshot, otherDesk), ["clerk", "tools_changed"])
      assert.notInclude(log, "refund A 500")

      // The agent was resumed on its own: the call is not made a second time.
      const inner = pause.snapshot.round?.nested?.[0]?.snapshot
      const { callId, ...rest } = approval[0]!
      assert.strictEqual(callId, "a/r")
      const alone = yield* process(one, clerk(log).resume(inner, [{ ...rest, callId: "r" }]))
      assert.deepStrictEqual(alone.outcome, new Approval.Completed({ output: "refunded A" }))
      assert.deepStrictEqual(yield* refused(pause.snapshot), ["clerk", "used"])
      assert.deepStrictEqual(log.filter((line) => line.startsWith("refund")), ["refund A 500"])
    }))

  it.effect("no recovery sees that it waits, or begins it again", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      let seen = 0
      const agent = () =>
        Agent.make("desk", {
          instructions: "desk",
          tools: [
            Ask(log).pipe(
              Tool.onError((call) =>
                Effect.catchCause(Effect.retry(call, { times: 3 }), () => Effect.sync(() => (seen++, "swallowed")))
              )
            ),
            Note(log)
          ],
          defaults: { onError: Recovery.standard }
        })
      const first = yield* process(one, agent().start("go"))
      const pause = paused(first.outcome)
      assert.deepStrictEqual(ids(pause), ["a/r"])
      assert.strictEqual(first.of("task A").length, 1)
      const { of, outcome } = yield* process(one, agent().resume(...approved(pause)))
      assert.deepStrictEqual(outcome, done)
      assert.deepStrictEqual(lastResults(of("desk")[0]!.prompt)[0]?.result, "refunded A")
      // `catchCause` runs, but its answer is not the call's result.
      assert.isAtMost(seen, 1)
    }))

  it.effect("its own approval is asked for once", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const agent = () =>
        Agent.make("desk", {
          instructions: "desk",
          tools: [Ask(log), Note(log)],
          policies: [
            Policy.make("ask", () => Policy.requireApproval("the desk asks"), { mayRequestApproval: true }).pipe(
              Policy.forTools("ask_clerk")
            )
          ],
          defaults: { onError: Recovery.standard }
        })
      const { events, layer } = collect()
      const run = <A, E, R>(effect: Effect.Effect<A, E, R>) => process(one, effect).pipe(Effect.provide(layer))
      const first = paused((yield* run(agent().start("go"))).outcome)
      assert.deepStrictEqual(ids(first), ["a"])
      const second = paused((yield* run(agent().resume(...approved(first)))).outcome)
      assert.deepStrictEqual(ids(second), ["a/r"])
      const { outcome } = yield* run(agent().resume(...approved(second)))
      assert.deepStrictEqual(outcome, done)
      assert.deepStrictEqual(
        events.flatMap((event) => event._tag === "ApprovalRequested" ? [event.callId] : []),
        ["a", "r"]
      )
    }))

  it.effect("resumes with a fixer's arguments if they were the call's", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const fixer = Agent.fromFunction("fixer", () => Effect.succeed("{\"task\":\"task A\"}"))
      const agent = () =>
        Agent.make("desk", {
          instructions: "desk",
          tools: [Ask(log).pipe(Tool.onError(Recovery.fix("InvalidArgs", fixer)))],
          defaults: { onError: Recovery.standard }
        })
      const turns: Readonly<Record<string, Turns>> = {
        ...one,
        desk: [call("ask_clerk", { tusk: "A" }, { id: "a" }), text("all done")]
      }
      const pause = paused((yield* process(turns, agent().start("go"))).outcome)
      assert.deepStrictEqual(pause.snapshot.round?.nested?.map(({ arguments: args, fixedBy }) => [args, fixedBy]), [
        [{ task: "task A" }, "fixer"]
      ])
      const { of, outcome } = yield* process(turns, agent().resume(...approved(pause)))
      assert.deepStrictEqual(outcome, done)
      const { prompt } = of("desk")[0]!
      assert.deepStrictEqual(lastResults(prompt).map(({ result }) => result), ["refunded A"])
      assert.include(JSON.stringify(prompt), "\"by\":\"fixer\"")
    }))

  it.effect("holds no idempotency key while it waits", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const agent = () =>
        Agent.make("desk", {
          instructions: "desk",
          tools: [Ask(log).pipe(Tool.onError(Recovery.idempotent())), Note(log)],
          defaults: { onError: Recovery.standard }
        })
      const outcome = yield* Effect.gen(function*() {
        const pause = paused((yield* process(one, agent().start("go"))).outcome)
        return (yield* process(one, agent().resume(...approved(pause)))).outcome
      }).pipe(Effect.provide(IdempotencyLedger.layerMemory))
      assert.deepStrictEqual(outcome, done)
      assert.deepStrictEqual(log.filter((line) => line.startsWith("refund")), ["refund A 500"])
    }))

  it.effect("works with a model and a key of its own", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const agent = () =>
        Agent.make("desk", {
          instructions: "desk",
          tools: [
            clerk(log).pipe(
              Agent.provide(Layer.merge(model(one), Approval.layerKey(Redacted.make("x".repeat(32))))),
              Agent.asTool("ask_clerk", asks)
            ),
            Note(log)
          ],
          defaults: { onError: Recovery.standard }
        })
      const first = yield* process(one, agent().start("go"))
      assert.deepStrictEqual(first.requests.map(nameOf), ["desk"])
      const pause = paused(first.outcome)
      const { outcome, requests } = yield* process(one, agent().resume(...approved(pause)))
      assert.deepStrictEqual([outcome, requests.map(nameOf)], [done, ["desk"]])
      assert.include(log, "refund A 500")
    }))

  it.effect("a call's id is never confused with an inner call's", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const agent = () =>
        Agent.make("desk", {
          instructions: "desk",
          tools: [Ask(log), Refund(log)],
          defaults: { onError: Recovery.standard }
        })
      const turns: Readonly<Record<string, Turns>> = {
        desk: [
          calls([ask("A", "a"), { name: "refund", params: { order: "A", amount: 500 }, id: "a/r" }]),
          text("all done")
        ],
        "task A": [refund("A", 500), text("refunded A")]
      }
      const pause = paused((yield* process(turns, agent().start("go"))).outcome)
      const [nested, own] = pause.pending
      assert.strictEqual(nested?.callId, "a/r")
      assert.strictEqual(own?.callId, "a_r")
      const second = paused(
        (yield* process(turns, agent().resume(stored(pause.snapshot), [Approval.approve(nested!)]))).outcome
      )
      assert.deepStrictEqual(second.pending, [own!])
      assert.deepStrictEqual(log, ["refund A 500"])
    }))

  it.effect("a failing sibling ends the run; waiting calls have a result", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const agent = Agent.make("desk", {
        instructions: "desk",
        tools: [
          Ask(log),
          Tool.make("boom", {
            execute: () => Effect.delay(Effect.fail("boom" as const), "1 second")
          })
        ]
      })
      const turns: Readonly<Record<string, Turns>> = {
        ...one,
        desk: [calls([ask("A", "a"), { name: "boom", params: {}, id: "x" }]), text("all done")]
      }
      const { events, layer } = collect()
      const ended = yield* VirtualTime.run(process(turns, agent.report("go")).pipe(Effect.provide(layer)))
      const { outcome: report } = yield* ended.exit
      assert.isTrue(Exit.isFailure(report.exit))
      // Whoever was shown the question learns that it is off.
      assert.deepStrictEqual(
        events.flatMap((event) =>
          event._tag === "ToolResult" ? [[event.path.join("."), event.callId, event.code]] : []
        ),
        [
          ["desk.clerk", "n1", undefined],
          ["desk.clerk", "r", "approval_required"],
          // The clerk has made a note before it came to wait.
          ["desk", "a", "outcome_unknown"],
          ["desk", "x", "execution_error"]
        ]
      )
      const results = lastResults(report.transcript)
      assert.deepStrictEqual(results.map(({ id }) => id), ["a", "x"])
      assert.include(JSON.stringify(results[0]), "outcome_unknown")
    }))
})
