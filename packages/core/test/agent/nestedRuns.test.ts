/** Default keys of calls in nested runs: each run has its own, and keeps them over retries and resumptions. */
import { assert, describe, it } from "@effect/vitest"
import { Drive, ScriptedModel } from "@recourse/testing"
import { Data, Effect, Layer, Redacted, Schedule, Schema } from "effect"
import { Agent, Approval, IdempotencyLedger, Journal, Recovery, Tool, ToolCall } from "@recourse/core"
import { cuts, journalOf } from "../support/interruptedRuns.ts"

class Lost extends Data.TaggedError("Lost") {}

const { call, text } = ScriptedModel

const layer = Layer.merge(
  IdempotencyLedger.layerMemory,
  Approval.layerKey(Redacted.make("0123456789abcdef0123456789abcdef"))
)

/** A service that pays once for each key. */
const bank = () => {
  const keys: Array<string> = []
  const payments = new Map<string, string>()
  const pay = (to: string) =>
    Effect.flatMap(ToolCall.ToolCall, ({ idempotencyKey }) =>
      Effect.sync(() => {
        keys.push(idempotencyKey!)
        if (!payments.has(idempotencyKey!)) payments.set(idempotencyKey!, `#${payments.size + 1} to ${to}`)
        return payments.get(idempotencyKey!)!
      }))
  return { keys, payments, pay }
}

type Bank = ReturnType<typeof bank>

const Pay = ({ pay }: Bank) =>
  Tool.make("pay", {
    parameters: Schema.Struct({ to: Schema.String }),
    success: Schema.String,
    effects: "write",
    idempotency: true,
    execute: ({ to }) => pay(to)
  })

/** Pays and answers. All its conversations make a call with the same id. */
const clerk = (till: Bank) =>
  Agent.make("clerk", { tools: [Pay(till)] }).pipe(
    Agent.provide(
      ScriptedModel.layer(ScriptedModel.steps([call("pay", { to: "Ada" }, { id: "call_1" }), text("paid")]))
    )
  )

describe("each nested run has separate keys", () => {
  const paysTwice = (
    name: string,
    run: (till: Bank) => Effect.Effect<unknown, unknown, IdempotencyLedger.IdempotencyLedger | Approval.SnapshotKey>,
    times = 2
  ) =>
    it.effect(name, () =>
      Effect.gen(function*() {
        const till = bank()
        yield* run(till)
        assert.strictEqual(till.keys.length, times)
        assert.strictEqual(till.payments.size, times)
      }).pipe(Effect.provide(layer)))

  paysTwice("one after another", (till) => clerk(till).pipe(Agent.andThen(clerk(till))).run("go"))
  paysTwice("one agent behind itself", (till) => {
    const one = clerk(till)
    return one.pipe(Agent.andThen(one), Agent.andThen(one)).run("go")
  }, 3)
  paysTwice("side by side", (till) => Agent.all("both", [clerk(till), clerk(till)]).run("go"))
  paysTwice("in a function", (till) => {
    const one = clerk(till)
    return Agent.fromFunction("twice", (input: string) => Effect.andThen(one.run(input), one.run(input))).run("go")
  })
  paysTwice("until an output is good", (till) => clerk(till).pipe(Agent.loopUntil(() => false, { times: 2 })).run("go"))
  paysTwice("in a tool", (till) => {
    const one = clerk(till)
    const Both = Tool.make("both", {
      success: Schema.String,
      execute: () => Effect.andThen(one.run("a"), one.run("b"))
    })
    return Agent.make("lead", { tools: [Both] }).pipe(
      Agent.provide(ScriptedModel.layer(ScriptedModel.steps([call("both", {}), text("done")])))
    ).run("go")
  })

  it.effect("that does not hang on which of them begins first", () =>
    Effect.gen(function*() {
      const keysOf = (slow: number) =>
        Effect.gen(function*() {
          const till = bank()
          const clerks = [0, 1].map((position) =>
            Agent.make("clerk", {
              tools: [
                Tool.make("pay", {
                  success: Schema.String,
                  effects: "write",
                  idempotency: true,
                  execute: () => till.pay(`clerk ${position}`)
                })
              ]
            }).pipe(Agent.provide(Layer.unwrap(Effect.as(
              position === slow ? Effect.promise(() => Promise.resolve()) : Effect.void,
              ScriptedModel.layer(ScriptedModel.steps([call("pay", {}, { id: "call_1" }), text("paid")]))
            ))))
          )
          // The same run id again, like in a program that restarts after a crash.
          yield* Agent.all("both", clerks).run("go", { runId: "run" }).pipe(
            Effect.provide(Layer.fresh(IdempotencyLedger.layerMemory))
          )
          return [...till.payments].map(([key, payment]) => `${payment.slice(-7)} ${key}`).sort()
        })
      const keys = yield* keysOf(0)
      assert.strictEqual(keys.length, 2)
      assert.deepStrictEqual(yield* keysOf(1), keys)
    }))
})

describe("the keys of a nested run stay", () => {
  const Ask = (till: Bank, failures: number) => {
    let runs = 0
    const asked = Agent.make("clerk", {
      input: Schema.Struct({ task: Schema.String }),
      tools: [Pay(till)]
    }).pipe(Agent.provide(
      ScriptedModel.layer(ScriptedModel.steps([call("pay", { to: "Ada" }, { id: "call_1" }), text("paid")]))
    ))
    return Tool.make("ask", {
      parameters: Schema.Struct({ task: Schema.String }),
      success: Schema.String,
      effects: "read",
      execute: (task) =>
        Effect.andThen(
          asked.run(task),
          (answer) => ++runs <= failures ? Effect.fail(new Lost()) : Effect.succeed(answer)
        )
    }).pipe(Tool.onError((call) => Effect.retry(call, { times: failures })))
  }

  it.effect("in a call that is not repeated, because its agent has written", () =>
    Effect.gen(function*() {
      const till = bank()
      const lead = Agent.make("lead", { tools: [Ask(till, 1)] })
      const exit = yield* Effect.exit(
        lead.run("go").pipe(
          Effect.provide(ScriptedModel.layer(ScriptedModel.steps([call("ask", { task: "a" }), text("done")])))
        )
      )
      assert.strictEqual(exit._tag, "Failure")
      assert.strictEqual(till.keys.length, 1)
    }).pipe(Effect.provide(layer)))

  it.effect("at its resumption, with the outer run or alone", () =>
    Effect.gen(function*() {
      const till = bank()
      const agent = () =>
        Agent.make("clerk", {
          input: Schema.Struct({ task: Schema.String }),
          tools: [
            Pay(till),
            Tool.make("ask_somebody", {
              success: Schema.Void,
              needsApproval: true,
              execute: () => Effect.void
            })
          ]
        }).pipe(Agent.provide(ScriptedModel.layer(ScriptedModel.steps([
          call("ask_somebody", {}, { id: "call_1" }),
          call("pay", { to: "Ada" }, { id: "call_2" }),
          text("paid")
        ]))))
      const lead = () =>
        Agent.make("lead", {
          tools: [
            agent().pipe(Agent.asTool("ask", {
              description: "Asks",
              parameters: Schema.Struct({ task: Schema.String }),
              success: Schema.String
            }))
          ]
        }).pipe(
          Agent.provide(ScriptedModel.layer(ScriptedModel.steps([call("ask", { task: "a" }), text("done")])))
        )
      const paused = yield* lead().start("go")
      if (paused._tag !== "Paused") return assert.fail(paused._tag)
      const { argumentsHash, callId } = paused.pending[0]!
      const nested = paused.snapshot.round!.nested![0]!.snapshot
      yield* agent().resume(nested, [{ _tag: "Approve", argumentsHash, callId: callId.replace(/^.*\//, "") }])
      yield* lead().resume(paused.snapshot, [{ _tag: "Approve", argumentsHash, callId }])
      assert.strictEqual(till.keys.length, 1)
    }).pipe(Effect.provide(Layer.merge(layer, anyTime))))
})

describe("a nested run has a separate path in the outer run's log", () => {
  it.effect("in recovery, and in the previous attempt, without mixed answers", () =>
    Effect.gen(function*() {
      for (const cut of cuts(4).slice(-1)) {
        const { life } = journalOf()
        const live = (journal: Journal.Journal) => {
          const answers: Array<string> = []
          const clerk = Agent.make("clerk", { input: Schema.String })
          const attempt = Tool.make("ask", {
            success: Schema.String,
            effects: "read",
            execute: () => Effect.andThen(Effect.orDie(clerk.run("an attempt")), Effect.fail("no" as const))
          })
          const ask = attempt.pipe(
            Tool.onError((call) =>
              Effect.tapCause(
                call,
                () => Effect.map(Effect.orDie(clerk.run("recovery")), (answer) => answers.push(answer))
              ).pipe(
                Recovery.retry({ times: 1, schedule: Schedule.spaced("2 seconds") })
              )
            )
          )
          return Drive.drive(
            Effect.exit(Agent.make("lead", { tools: [ask] }).run("go", { runId: "run_1" })).pipe(
              Effect.as(answers),
              Effect.provide(ScriptedModel.layer(({ prompt, tools }) =>
                tools.length === 0
                  ? text(`in ${JSON.stringify(prompt.content).includes("recovery") ? "recovery" : "an attempt"}`)
                  : call("ask", {}, { id: "c" })
              )),
              Effect.provideService(Journal.CurrentJournal, journal)
            )
          )
        }
        yield* live(life(cut).journal)
        assert.deepStrictEqual(yield* live(life().journal), ["in recovery", "in recovery"], cut.about)
      }
    }))

  it.effect("that does not hang on which of them begins first", () =>
    Effect.gen(function*() {
      const { life } = journalOf()
      const live = (slow: number) => {
        const clerks = ["one", "two"].map((answer, position) =>
          Agent.make("clerk", {}).pipe(Agent.provide(Layer.unwrap(Effect.as(
            position === slow ? Effect.promise(() => Promise.resolve()) : Effect.void,
            ScriptedModel.layer([text(answer)])
          ))))
        )
        return Agent.all("both", clerks).run("go", { runId: "run_1" }).pipe(
          Effect.provideService(Journal.CurrentJournal, life().journal)
        )
      }
      assert.deepStrictEqual(yield* live(0), ["one", "two"])
      assert.deepStrictEqual(yield* live(1), ["one", "two"])
    }))
})

/** Lets a snapshot be resumed twice, like after a crash. */
const anyTime = Layer.succeed(Approval.Resumptions, { claim: () => Effect.succeed(true) } as never)
