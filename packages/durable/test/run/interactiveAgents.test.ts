/** Durable runs of interactive agents: their writes are compensated once if the question fails, in any execution. */
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer, Logger, Schema, Stream } from "effect"
import type { LanguageModel } from "effect/ai"
import { Agent, Approval, IdempotencyLedger, Recovery, Runs, Tool } from "@recourse/core"
import { Durable, RunStore } from "@recourse/durable"
import { ScriptedModel, VirtualTime } from "@recourse/testing"
import { operationsBetween } from "../../../core/test/support/operations.ts"
import { ledgerStore } from "../../../core/test/fixtures/sharedStore.ts"

/**
 * Answers of a person: always valid, or, from the second question of an execution on, missing or for other arguments.
 */
const answers = {
  "approves": (call: Approval.PendingCall) => Effect.succeed(Approval.approve(call)),
  "is not there": () => Effect.fail("nobody" as const),
  "decides about another call": (call: Approval.PendingCall) =>
    Effect.succeed({ ...Approval.approve(call), argumentsHash: "00" }),
  "breaks": () => Effect.die(new Error("broken"))
} as const

const worldOf = (answer: keyof typeof answers) => {
  const log: Array<string> = []
  const reported: Array<string> = []
  const kept = Effect.runSync(Effect.scoped(Layer.build(Layer.fresh(RunStore.layerMemory))))
  const entries = ledgerStore()
  const store = Layer.succeedContext(kept)
  const book = <const Name extends string>(name: Name, more: object = {}) =>
    Tool.make(name, {
      success: Schema.String,
      effects: "write",
      execute: () =>
        Effect.sync(() => log.push(name)).pipe(Effect.andThen(Effect.sleep("30 millis")), Effect.as(`did ${name}`)),
      compensate: () => Effect.andThen(Effect.sync(() => log.push(`un${name}`)), Effect.sleep("30 millis")),
      ...more
    })
  /** A person who answers the first question, and the second one as is said. */
  const asking = () => {
    let questions = 0
    return Approval.interactive((call) =>
      Effect.andThen(
        Effect.sleep("20 millis"),
        Effect.suspend((): Effect.Effect<Approval.Decision, "nobody"> =>
          questions++ === 0 ? Effect.succeed(Approval.approve(call)) : answers[answer](call)
        )
      )
    )
  }
  const clerk = () =>
    Agent.make("clerk", {
      tools: [
        book("flight"),
        book("hotel", { needsApproval: true, idempotency: true }),
        book("car", { needsApproval: true })
      ],
      defaults: { onError: Recovery.keepGoing },
      compensation: {
        report: (left) => Effect.sync(() => void reported.push(...left.map(({ tool }) => tool)))
      }
    }).pipe(asking())
  const durable = () =>
    Durable.make(clerk() as never as Agent.Agent<string, string, "nobody", LanguageModel.LanguageModel>, {
      errors: Schema.Literal("nobody")
    })
  const model = ScriptedModel.layer(({ prompt }) => {
    const turn = prompt.content.filter(({ role }) => role === "assistant").length
    const name = ["flight", "hotel", "car"][turn]
    return ScriptedModel.delay(
      "30 millis",
      name === undefined ? ScriptedModel.text("done") : ScriptedModel.call(name, {}, { id: name })
    )
  })
  const around = Layer.mergeAll(store, model, Layer.suspend(() => IdempotencyLedger.layer(entries)))
  /** A process that executes existing runs until the run has ended. */
  const process = () => {
    const agent = durable()
    return Effect.exit(agent.run("r1", "go")).pipe(
      Effect.provide(Durable.layer([agent]).pipe(Layer.provide(around))),
      Effect.provide(Logger.layer([]))
    )
  }
  const seen = Effect.provide(
    Effect.flatMap(Runs.Runs, (runs) => Effect.zip(runs.get("r1"), Stream.runCollect(runs.events("r1")))),
    Durable.layerClient([durable()]).pipe(Layer.provide(store))
  )
  return { log, process, reported, seen, store: Context.get(kept, RunStore.RunStore) }
}

const times = (log: ReadonlyArray<string>, what: string) => log.filter((one) => one === what).length

/**
 * No call is repeated, calls of a failed run are compensated once or reported, and the last event has the end of the
 * run.
 */
const laws = Effect.fnUntraced(function*({ log, reported, seen }: ReturnType<typeof worldOf>, about: string) {
  const [info, events] = yield* seen
  const last = events.at(-1)?.event
  assert.deepEqual(events.map(({ number }) => number), events.map((_, n) => n), about)
  assert.deepInclude(last, { _tag: "RunFinished", outcome: info.status === "completed" ? "success" : "failure" }, about)
  if (last?._tag === "RunFinished" && info.failure !== undefined) {
    assert.strictEqual(last.userMessage, info.failure.userMessage, about)
  }
  for (const tool of ["flight", "hotel", "car"]) {
    if (tool !== "hotel") assert.isAtMost(times(log, tool), 1, about)
    const isReported = reported.includes(tool)
    if (info.status === "completed") assert.strictEqual(times(log, `un${tool}`), 0, about)
    else if (times(log, tool) > 0) assert.isTrue(isReported || times(log, `un${tool}`) > 0, `${about}: ${tool} stays`)
    if (tool !== "hotel") assert.isAtMost(times(log, `un${tool}`), 1, about)
  }
  return info
})

describe("a durable run of an agent that asks a person while it runs", () => {
  for (const answer of ["approves", "is not there", "decides about another call", "breaks"] as const) {
    it.live(`ends once, and is compensated if it fails: the person ${answer}`, () =>
      Effect.gen(function*() {
        const whole = worldOf(answer)
        const { operations } = yield* VirtualTime.run(whole.process())
        const info = yield* laws(whole, "whole")
        assert.strictEqual(info.status, answer === "approves" ? "completed" : "failed")
        if (answer === "approves") assert.deepEqual(whole.log, ["flight", "hotel", "car"])
        else assert.deepEqual(whole.log, ["flight", "hotel", "unhotel", "unflight"])
        // Two executions are killed, each anywhere.
        for (const killAt of operationsBetween(300, operations, 389)) {
          for (const share of [0.4, 1]) {
            const world = worldOf(answer)
            yield* VirtualTime.run(world.process(), { killAt })
            yield* VirtualTime.run(world.process(), {
              killAt: Math.round(killAt * share) + 150,
              startAt: 60_000,
              identity: 1
            })
            yield* VirtualTime.run(world.process(), { startAt: 120_000, identity: 2 })
            yield* laws(world, `killed at ${killAt} and ${share}`)
          }
        }
      }), 120_000)
  }
})
