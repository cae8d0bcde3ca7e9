/** Counted, typed, and deleted state over the executions of a run. */
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Exit, Layer, Option, Schema } from "effect"
import { Agent, Recovery, Tool } from "@recourse/core"
import { Durable, RunStore } from "@recourse/durable"
import { ScriptedModel, TestTracer, VirtualTime } from "@recourse/testing"

const storeOf = () => Effect.runSync(Effect.scoped(Layer.build(Layer.fresh(RunStore.layerMemory))))

const Slow = (ran: { times: number }) =>
  Tool.make("slow", {
    success: Schema.String,
    effects: "read",
    execute: () => Effect.suspend(() => (ran.times++, Effect.as(Effect.sleep("6 seconds"), "ok")))
  })

const twice = ({ prompt }: ScriptedModel.Request) =>
  prompt.content.length < 5 ? ScriptedModel.call("slow", {}) : ScriptedModel.text("done")

class Refused extends Schema.TaggedError<Refused>()("Refused", { at: Schema.Date }) {}

describe("a durable run over its executions", () => {
  it.live("has one deadline, which includes the time before an interruption", () =>
    Effect.gen(function*() {
      const store = storeOf()
      const ran = { times: 0 }
      const agent = Durable.make(
        Agent.make("slow", {
          tools: [Slow(ran)],
          defaults: { onError: Recovery.keepGoing },
          budget: { duration: "10 seconds" }
        })
      )
      const life = (limit: number, options: VirtualTime.Options) =>
        VirtualTime.run(
          agent.run("r1", "go").pipe(
            Effect.timeout(limit),
            Effect.provide(
              Durable.layer([agent], { lease: "2 seconds" }).pipe(
                Layer.provide([Layer.succeedContext(store), ScriptedModel.layer(twice)])
              )
            )
          ),
          options
        )
      const whole = yield* life(60_000, {})
      const failure = yield* Effect.flip(whole.exit)
      assert.strictEqual(failure._tag === "RunFailed" && failure.error, "BudgetExceeded")
      // The first call has ended, and was recorded, when the process is stopped in the second.
      const other = storeOf()
      const cut = { times: 0 }
      const again = Durable.make(
        Agent.make("slow", {
          tools: [Slow(cut)],
          defaults: { onError: Recovery.keepGoing },
          budget: { duration: "10 seconds" }
        })
      )
      const lives = (limit: number, startAt: number) =>
        VirtualTime.run(
          again.run("r1", "go").pipe(
            Effect.timeout(limit),
            Effect.provide(
              Durable.layer([again], { grace: 1 }).pipe(
                Layer.provide([Layer.succeedContext(other), ScriptedModel.layer(twice)])
              )
            )
          ),
          { startAt }
        )
      const first = yield* lives(7000, 0)
      assert.isTrue(Exit.isFailure(first.exit))
      assert.strictEqual(cut.times, 2)
      const second = yield* lives(60_000, 100_000)
      const ended = yield* Effect.flip(second.exit)
      assert.strictEqual(ended._tag === "RunFailed" && ended.error, "BudgetExceeded")
      assert.strictEqual(cut.times, 3)
      // Six seconds were used of ten, so it ends before the call that takes six more.
      assert.isBelow(second.elapsed, 5000)
    }))

  it.live("is released by a stopping process, or ends within its grace", () =>
    Effect.gen(function*() {
      for (const [grace, status, times] of [["1 second", "queued", 1], ["30 seconds", "completed", 2]] as const) {
        const store = storeOf()
        const ran = { times: 0 }
        const agent = Durable.make(
          Agent.make("slow", { tools: [Slow(ran)], defaults: { onError: Recovery.keepGoing } })
        )
        const process = Effect.andThen(agent.start("r1", "go"), Effect.sleep("3 seconds")).pipe(
          Effect.provide(
            Durable.layer([agent], { grace }).pipe(
              Layer.provide([Layer.succeedContext(store), ScriptedModel.layer(twice)])
            )
          )
        )
        const { elapsed, exit } = yield* VirtualTime.run(process)
        assert.isTrue(Exit.isSuccess(exit))
        const run = yield* Context.get(store, RunStore.RunStore).get("r1")
        assert.strictEqual(run?.status, status)
        assert.strictEqual(ran.times, times)
        assert.isBelow(elapsed, status === "queued" ? 4500 : 15_000)
      }
    }))

  it.live("fails with its own error if that has a schema, also elsewhere", () =>
    Effect.gen(function*() {
      const refuse = Agent.fromFunction("refuse", (_: string): Effect.Effect<string, Refused> =>
        Effect.fail(new Refused({ at: new Date(7) })))
      const store = storeOf()
      const declared = Durable.make(refuse, { errors: Refused })
      const around = Layer.succeedContext(store)
      const run = declared.run("r1", "x").pipe(Effect.provide(Durable.layer([declared]).pipe(Layer.provide(around))))
      const { exit } = yield* VirtualTime.run(Effect.flip(run))
      const error = yield* exit
      assert.isTrue(error instanceof Refused && error.at.getTime() === 7)
      const elsewhere = declared.await("r1").pipe(
        Effect.provide(Durable.layerClient([declared]).pipe(Layer.provide(around)))
      )
      assert.isTrue((yield* Effect.flip(elsewhere)) instanceof Refused)
      // @ts-expect-error An error that has no schema is told by its tag.
      const plain = Durable.make(refuse)
      const there = yield* Effect.flip(plain.run("r2", "x")).pipe(
        Effect.provide(Durable.layer([plain]).pipe(Layer.provide(around)))
      )
      assert.strictEqual(there._tag === "RunFailed" && there.error, "Refused")
    }))

  it.live("that does something else than before is found, and does not hang", () =>
    Effect.gen(function*() {
      const store = storeOf()
      const ran = { times: 0 }
      let prompts = 0
      const agent = Durable.make(
        Agent.make("odd", {
          tools: [Slow(ran)],
          prompt: () => [{ role: "user", content: [{ type: "text", text: `asked ${++prompts} times` }] }],
          defaults: { onError: Recovery.keepGoing }
        })
      )
      const life = (limit: number, startAt: number) =>
        VirtualTime.run(
          agent.run("r1", "go").pipe(
            Effect.timeout(limit),
            Effect.provide(
              Durable.layer([agent], { grace: 1 }).pipe(
                Layer.provide([Layer.succeedContext(store), ScriptedModel.layer(twice)])
              )
            )
          ),
          { startAt }
        )
      yield* life(7000, 0)
      const { exit } = yield* life(60_000, 100_000)
      const error = yield* Effect.flip(exit)
      assert.strictEqual(error._tag === "RunFailed" && error.error, "NonDeterminismError")
    }))

  it.live("is forgotten when it has ended for as long as is said", () =>
    Effect.gen(function*() {
      const store = storeOf()
      const echo = Durable.make(Agent.fromFunction("echo", (text: string) => Effect.succeed(text)))
      const around = Layer.succeedContext(store)
      const { exit } = yield* VirtualTime.run(
        Effect.gen(function*() {
          yield* echo.run("r1", "x")
          yield* Effect.sleep("10 days")
          yield* echo.run("r2", "x")
          yield* Effect.sleep("21 days")
          return [yield* Effect.exit(echo.poll("r1")), yield* Effect.exit(echo.poll("r2"))] as const
        }).pipe(
          Effect.provide(
            Layer.merge(Durable.layer([echo], { poll: "1 hour" }), RunStore.layerPurge({ keepFor: "30 days" })).pipe(
              Layer.provide(around)
            )
          )
        ),
        { limit: "40 days", steps: 2_000_000 }
      )
      const [first, second] = yield* exit
      assert.isTrue(Exit.isFailure(first))
      assert.isTrue(Exit.isSuccess(second))
    }))

  it.live("is one trace, below the span that it was started in", () =>
    Effect.gen(function*() {
      const store = storeOf()
      const ran = { times: 0 }
      const agent = Durable.make(
        Agent.make("slow", { tools: [Slow(ran)], defaults: { onError: Recovery.keepGoing } })
      )
      const started = yield* Effect.gen(function*() {
        yield* Effect.withSpan(agent.start("r1", "go"), "request")
        yield* agent.start("r2", "go")
        return (yield* (yield* TestTracer.TestTracer).spans).find(({ name }) => name === "request")!
      }).pipe(
        Effect.provide(Durable.layerClient([agent]).pipe(Layer.provide(Layer.succeedContext(store)))),
        Effect.provide(TestTracer.layer)
      )
      /** The spans of agents in an execution, by run. */
      const life = (options: VirtualTime.Options) =>
        Effect.map(
          VirtualTime.run(
            Effect.gen(function*() {
              yield* Effect.ignore(Effect.timeout(Effect.all([agent.await("r1"), agent.await("r2")]), "7 seconds"))
              return (yield* (yield* TestTracer.TestTracer).spans).filter(({ name }) => name === "invoke_agent slow")
            }).pipe(
              Effect.provide(
                Durable.layer([agent], { grace: 1 }).pipe(
                  Layer.provide([Layer.succeedContext(store), ScriptedModel.layer(twice)])
                )
              ),
              Effect.provide(TestTracer.layer)
            ),
            options
          ),
          ({ exit }) => Effect.runSync(exit)
        )
      const first = yield* life({})
      const second = yield* life({ startAt: 100_000, identity: 1 })
      const of = (spans: typeof first, runId: string) =>
        spans.filter(({ attributes }) => attributes.get("gen_ai.conversation.id") === runId)
      const one = [...of(first, "r1"), ...of(second, "r1")]
      assert.strictEqual(one.length, 2)
      for (const span of one) {
        assert.strictEqual(span.traceId, started.traceId)
        assert.strictEqual(Option.getOrUndefined(span.parent)?.spanId, started.spanId)
      }
      const other = new Set([...of(first, "r2"), ...of(second, "r2")].map(({ traceId }) => traceId))
      assert.strictEqual(other.size, 1)
      assert.isFalse(other.has(started.traceId))
    }))
})
