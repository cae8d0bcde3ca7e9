/**
 * An agent that asks while it runs is interrupted at every operation: its writes are compensated once, or stay if it
 * has ended.
 */
import { assert, describe, it } from "@effect/vitest"
import { ScriptedModel, VirtualTime } from "@recourse/testing"
import { Agent, AgentEvent, Approval, Tool } from "@recourse/core"
import { Cause, Effect, Exit, Layer, Schema, Stream } from "effect"
import { operationsBetween } from "../support/operations.ts"

type Log = Array<string>

const slowly = <A>(done: () => A) => Effect.andThen(Effect.yieldNow, Effect.sync(done))

const clerkOf = (log: Log) =>
  Agent.make("clerk", {
    tools: [
      Tool.make("book", {
        effects: "write",
        success: Schema.String,
        execute: () => Effect.sync(() => `booked ${log.push("book")}`),
        compensate: () => slowly(() => void log.push("unbook"))
      }),
      Tool.make("pay", {
        effects: "write",
        needsApproval: true,
        success: Schema.String,
        execute: () => Effect.sync(() => `paid ${log.push("pay")}`),
        compensate: () => slowly(() => void log.push("unpay"))
      })
    ],
    compensation: {}
  })

const asked = Approval.interactive((call) => Effect.andThen(Effect.yieldNow, Effect.succeed(Approval.approve(call))))

const twice = [
  ScriptedModel.call("book", {}, { id: "b" }),
  ScriptedModel.call("pay", {}, { id: "p" }),
  ScriptedModel.call("pay", {}, { id: "q" }),
  ScriptedModel.text("Done.")
]

const forms: Readonly<Record<string, (log: Log) => Effect.Effect<unknown, unknown, any>>> = {
  "run": (log) => clerkOf(log).pipe(asked).run("x"),
  "streamed": (log) => Stream.runDrain(clerkOf(log).pipe(asked).stream("x")),
  "composed": (log) => Agent.all("w", [clerkOf(log)]).pipe(asked).run("x"),
  "as a step": (log) => Agent.all("w", [clerkOf(log).pipe(asked)]).run("x"),
  "provided": (log) => clerkOf(log).pipe(Agent.provide(Layer.empty), asked).run("x")
}

/** Ids are the same in each run: one's resumed snapshots are not the other's. */
const fresh = () => {
  const claimed = new Set<string>()
  return Layer.succeed(Approval.Resumptions, {
    claim: (id) => Effect.sync(() => claimed.size < claimed.add(id).size),
    release: (id) => Effect.sync(() => void claimed.delete(id))
  })
}

const times = (log: Log, what: string) => log.filter((one) => one === what).length

describe("an agent that asks, interrupted at every operation", () => {
  for (const [name, runs] of Object.entries(forms)) {
    it.effect(name, () =>
      Effect.gen(function*() {
        const go = Effect.fnUntraced(function*(interruptAt: number) {
          const log: Log = []
          const events: Array<AgentEvent.AgentEvent> = []
          const listening = AgentEvent.listen((event) =>
            Effect.andThen(Effect.sync(() => void events.push(event)), Effect.yieldNow)
          )
          const ended = yield* VirtualTime.run(
            Effect.provide(runs(log), Layer.mergeAll(ScriptedModel.layer(twice), listening, fresh())) as Effect.Effect<
              unknown
            >,
            { interruptAt }
          )
          return { ...ended, log, events }
        })
        const whole = yield* go(Infinity)
        assert.deepStrictEqual(whole.log, ["book", "pay", "pay"])
        for (const at of operationsBetween(1, whole.operations + 1, 17)) {
          const { events, exit, log } = yield* go(at)
          const ends = events.flatMap((event) => event._tag === "RunFinished" ? [event.outcome] : [])
          const told = events.filter((event) => event._tag === "ToolCompensated")
          // An inner agent that has ended well stays, for any end of the outer one.
          const isGood = ({ _tag, ...event }: AgentEvent.AgentEvent) =>
            (_tag === "RunFinished" || _tag === "AgentFinished") && "outcome" in event && event.outcome === "success"
          if (events.some(isGood)) {
            assert.deepStrictEqual(log, whole.log, `operation ${at}`)
            continue
          }
          assert.isTrue(Exit.isFailure(exit) && Cause.hasInterrupts(exit.cause), `operation ${at}`)
          // An interrupted write has an unknown outcome: that is reported.
          const isCutOff = told.some((event) =>
            event._tag === "ToolCompensated" && event.tool === "book" && event.outcome === "not_undone"
          )
          assert.strictEqual(times(log, "unbook"), isCutOff ? 0 : times(log, "book"), `operation ${at}: ${log} ${ends}`)
          assert.isAtLeast(told.length, times(log, "book") + times(log, "pay"), `operation ${at}: ${log} ${ends}`)
          const undone = told.filter((event) => event._tag === "ToolCompensated" && event.outcome === "undone")
          assert.strictEqual(undone.length, times(log, "unbook") + times(log, "unpay"), `operation ${at}: ${log}`)
        }
      }))
  }
})
