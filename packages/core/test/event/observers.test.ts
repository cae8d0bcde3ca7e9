import { Drive, ScriptedModel } from "@recourse/testing"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Clock, Effect, Exit, Fiber, Layer, Logger, Schema, Stream } from "effect"
import { AiError } from "effect/ai"
import { Agent, AgentEvent, Telemetry, Tool } from "@recourse/core"

const shout = Agent.fromFunction("shout", (text: string) => Effect.succeed(text.toUpperCase()))
const failing = Agent.fromFunction("failing", (_: string) => Effect.fail("no" as const))

const Echo = Tool.make("echo", {
  parameters: Schema.Struct({ text: Schema.String }),
  success: Schema.String,
  effects: "read",
  execute: ({ text }) => Effect.succeed(text)
})

/** Logs below a layer. */
const logs = () => {
  const messages: Array<string> = []
  return { messages, layer: Logger.layer([Logger.make(({ message }) => messages.push(String(message)))]) }
}

const tagsOf = (listener: (event: AgentEvent.AgentEvent) => Effect.Effect<unknown> = () => Effect.void) => {
  const tags: Array<string> = []
  const layer = AgentEvent.listen((event) => {
    tags.push(event._tag)
    return listener(event)
  })
  return { tags, layer }
}

describe("a listener", () => {
  const hurting: Readonly<Record<string, (event: AgentEvent.AgentEvent) => Effect.Effect<unknown>>> = {
    "that throws": () => {
      throw new Error("listener")
    },
    "that dies": () => Effect.die("listener"),
    "that fails, by a cast": () => Effect.fail("listener") as never,
    "that interrupts itself": () => Effect.interrupt,
    "that interrupts its fiber": () => Effect.withFiber((fiber) => Effect.sync(() => fiber.interruptUnsafe())),
    "that never answers": () => Effect.never,
    "that never answers and cannot be interrupted": () => Effect.uninterruptible(Effect.never)
  }
  for (const [name, listener] of Object.entries(hurting)) {
    it.effect(`${name} is contained and logged once, and others hear everything`, () =>
      Effect.gen(function*() {
        const { layer: logger, messages } = logs()
        const good = tagsOf()
        const model = ScriptedModel.layer([ScriptedModel.call("echo", { text: "a" }), ScriptedModel.text("done")])
        const agent = Agent.make("a", { tools: [Echo], onModelError: undefined })
        const answer = yield* Drive.drive(
          agent.run("x").pipe(
            Effect.provide(Layer.mergeAll(AgentEvent.listen(listener), good.layer, model, logger))
          )
        )
        assert.strictEqual(answer, "done")
        assert.lengthOf(messages, 1)
        assert.deepStrictEqual(good.tags, [
          "RunStarted",
          "ModelTurnStarted",
          "ModelTurnFinished",
          "ToolCallStarted",
          "ToolAttempt",
          "ToolAttemptSucceeded",
          "ToolResult",
          "ModelTurnStarted",
          "ModelTurnFinished",
          "RunFinished"
        ])
        const failed = yield* Drive.drive(
          Effect.exit(failing.run("x")).pipe(Effect.provide(Layer.mergeAll(AgentEvent.listen(listener), logger)))
        )
        assert.deepStrictEqual(Exit.isFailure(failed) && Cause.squash(failed.cause), "no")
      }))
  }

  it.effect("leaves a typed error of the model as it is", () =>
    Effect.gen(function*() {
      const model = ScriptedModel.layer([ScriptedModel.failure("RateLimitError")])
      const error = yield* Effect.flip(Agent.make("a", {}).run("x")).pipe(
        Effect.provide(Layer.mergeAll(AgentEvent.listen(() => Effect.die("x")), model, logs().layer))
      )
      assert.isTrue(AiError.isAiError(error))
    }))

  it.effect("costs a run its time limit once", () =>
    Effect.gen(function*() {
      const start = yield* Clock.currentTimeMillis
      const slow = AgentEvent.listen(() => Effect.never, { timeLimit: "2 seconds" })
      yield* Drive.drive(shout.run("x").pipe(Effect.provide([slow, logs().layer])))
      assert.strictEqual((yield* Clock.currentTimeMillis) - start, 2000)
    }))

  it.effect("a listener that hangs holds an interruption for at most a second", () =>
    Effect.gen(function*() {
      for (const at of [0, 400, 999, 1700]) {
        const start = yield* Clock.currentTimeMillis
        const hangs = AgentEvent.listen(() => Effect.never)
        const run = shout.run("x").pipe(Effect.provide([hangs, logs().layer]), Effect.timeoutOption(at))
        yield* Drive.drive(run)
        const waited = (yield* Clock.currentTimeMillis) - start - at
        assert.isAtMost(waited, 1000, `interrupted after ${at} ms`)
      }
    }))

  it.effect("receives events with others: merged, nested, and of one nested agent", () =>
    Effect.gen(function*() {
      const [first, second, outer, inner] = [tagsOf(), tagsOf(), tagsOf(), tagsOf()]
      const both = shout.pipe(Agent.provide(inner.layer), Agent.andThen(shout))
      yield* both.run("x").pipe(Effect.provide(Layer.mergeAll(first.layer, second.layer)), Effect.provide(outer.layer))
      const all = ["RunStarted", "AgentStarted", "AgentFinished", "AgentStarted", "AgentFinished", "RunFinished"]
      assert.deepStrictEqual([first.tags, second.tags, outer.tags], [all, all, all])
      assert.deepStrictEqual(inner.tags, ["AgentStarted", "AgentFinished"])
    }))

  it.effect("receives no events of its own runs", () =>
    Effect.gen(function*() {
      const heard = tagsOf((event) => event._tag === "RunStarted" ? shout.run("y") : Effect.void)
      yield* shout.run("x").pipe(Effect.provide(heard.layer))
      assert.deepStrictEqual(heard.tags, ["RunStarted", "RunFinished"])
    }))

  it.effect("receives events of another listener's runs", () =>
    Effect.gen(function*() {
      const runs = tagsOf((event) => event._tag === "RunStarted" ? shout.run("y") : Effect.void)
      const heard = tagsOf()
      yield* shout.run("x").pipe(Effect.provide(Layer.merge(runs.layer, heard.layer)))
      assert.deepStrictEqual(runs.tags, ["RunStarted", "RunFinished"])
      assert.deepStrictEqual(heard.tags.toSorted(), ["RunFinished", "RunFinished", "RunStarted", "RunStarted"])
    }))

  it.effect("of the context receives events alone, and next to layers'", () =>
    Effect.gen(function*() {
      const tags: Array<string> = []
      const listener: AgentEvent.Listener = ({ _tag }) => Effect.sync(() => tags.push(_tag))
      const run = shout.run("x").pipe(Effect.provideService(AgentEvent.CurrentListener, listener))
      yield* run
      assert.deepStrictEqual(tags, ["RunStarted", "RunFinished"])
      const heard = tagsOf()
      yield* Effect.provide(run, heard.layer)
      assert.deepStrictEqual(heard.tags, ["RunStarted", "RunFinished"])
      assert.strictEqual(tags.length, 4)
    }))

  it.effect("receives events singly and in order, also of parallel calls", () =>
    Effect.gen(function*() {
      const heard: Array<number> = []
      let now = 0
      const layer = AgentEvent.listen((event) =>
        Effect.gen(function*() {
          assert.strictEqual(++now, 1)
          yield* Effect.sleep(event.sequence % 3 === 0 ? "20 millis" : "1 millis")
          heard.push(event.sequence)
          now--
        })
      )
      const calls = ["a", "b", "c"].map((text) => ({ name: "echo", params: { text } }))
      yield* Drive.drive(
        Agent.make("a", { tools: [Echo] }).run("x").pipe(
          Effect.provide([layer, ScriptedModel.layer([ScriptedModel.calls(calls), ScriptedModel.text("ok")])])
        ),
        { step: "1 millis" }
      )
      assert.deepStrictEqual(heard, heard.map((_, index) => index))
      assert.lengthOf(heard, 18)
    }))
})

describe("agents within agents", () => {
  it.effect("that run in parallel are distinguished, with their outer call", () =>
    Effect.gen(function*() {
      const clerk = Agent.make("clerk", { input: Schema.Struct({ q: Schema.String }), tools: [Echo] })
      const Clerk = clerk.pipe(
        Agent.asTool("ask_clerk", {
          description: "mayRequestApproval",
          parameters: Schema.Struct({ q: Schema.String }),
          success: Schema.String
        })
      )
      const turns = ({ prompt }: ScriptedModel.Request): ScriptedModel.Turn => {
        const isClerk = JSON.stringify(prompt.content[0]).includes("\\\"q\\\"")
        if (prompt.content.some(({ role }) => role === "tool")) return ScriptedModel.text("ok")
        return isClerk
          ? ScriptedModel.call("echo", { text: "t" }, { id: "c1" })
          : ScriptedModel.calls(["a", "b"].map((q) => ({ name: "ask_clerk", params: { q }, id: `outer_${q}` })))
      }
      const events: Array<AgentEvent.AgentEvent> = []
      yield* Agent.make("desk", { tools: [Clerk] }).run("x").pipe(
        Effect.provide([
          ScriptedModel.layer(turns),
          AgentEvent.listen((event) => Effect.sync(() => events.push(event)))
        ])
      )
      const started = events.filter((event) => event._tag === "AgentStarted")
      const root = events[0]!.runId
      assert.deepStrictEqual(started.map(({ parent }) => parent), [
        { agentRunId: root, callId: "outer_a" },
        { agentRunId: root, callId: "outer_b" }
      ])
      assert.strictEqual(new Set(started.map(({ agentRunId }) => agentRunId)).size, 2)
      assert.isTrue(events.filter((event) => event.path.length === 1).every(({ agentRunId }) => agentRunId === root))
      for (const { agentRunId } of started) {
        const own = events.filter((event) => event.agentRunId === agentRunId).map(({ _tag }) => _tag)
        assert.deepStrictEqual([own[0], own.at(-1)], ["AgentStarted", "AgentFinished"])
        assert.lengthOf(own.filter((tag) => tag === "ToolCallStarted"), 1)
      }
    }))

  it.effect("that run one after the other have ids of their own", () =>
    Effect.gen(function*() {
      const ids = new Set<string>()
      yield* shout.pipe(Agent.andThen(shout), Agent.andThen(shout)).run("x").pipe(
        Effect.provide(AgentEvent.listen(({ agentRunId }) => Effect.sync(() => ids.add(agentRunId))))
      )
      assert.strictEqual(ids.size, 5)
    }))

  it.effect("that were detached are interrupted with the run, without later events", () =>
    Effect.gen(function*() {
      const heard = tagsOf()
      let fiber: Fiber.Fiber<unknown, unknown> | undefined
      const slow = Agent.fromFunction("slow", (_: string) => Effect.sleep("1 hour"))
      const outer = Agent.fromFunction("outer", (_: string) =>
        Effect.gen(function*() {
          fiber = yield* Effect.forkDetach(slow.run("x"), { startImmediately: true })
        }))
      yield* outer.run("x").pipe(Effect.provide(heard.layer))
      assert.isTrue(Exit.hasInterrupts(yield* Fiber.await(fiber!)))
      assert.deepStrictEqual(heard.tags, ["RunStarted", "AgentStarted", "AgentFinished", "RunFinished"])
    }))

  it.effect("that start within an ended run are a named defect", () =>
    Effect.gen(function*() {
      const heard = tagsOf()
      let fiber: Fiber.Fiber<unknown, unknown> | undefined
      const outer = Agent.fromFunction("outer", (_: string) =>
        Effect.gen(function*() {
          fiber = yield* Effect.forkDetach(Effect.andThen(Effect.sleep("1 second"), shout.run("x")))
        }))
      yield* outer.run("x").pipe(Effect.provide(heard.layer))
      const exit = yield* Drive.drive(Fiber.await(fiber!))
      assert.match(Exit.isFailure(exit) ? String(Cause.squash(exit.cause)) : "", /has ended/)
      assert.deepStrictEqual(heard.tags, ["RunStarted", "RunFinished"])
    }))
})

describe("agent.stream", () => {
  const words = (n: number) => ScriptedModel.text(Array.from({ length: n }, (_, i) => `w${i} `).join(""))

  it("has a buffer of a whole or infinite number of events", () => {
    for (const bufferSize of [0, -1, 1.5, NaN, -Infinity]) {
      assert.throws(
        () => Agent.make("a", {}).stream("x", { bufferSize }),
        "agent.stream: bufferSize must be an integer >= 1, or Infinity"
      )
    }
    for (const bufferSize of [1, 64, Infinity, undefined]) Agent.make("a", {}).stream("x", { bufferSize })
  })

  it.effect("buffers the configured number before the run waits", () =>
    Effect.gen(function*() {
      for (const bufferSize of [1, 2, 5]) {
        const heard = tagsOf()
        let taken = 0
        const fiber = yield* Agent.make("a", {}).stream("x", { bufferSize }).pipe(
          Stream.runForEachArray((events) => {
            taken += events.length
            return Effect.never
          }),
          Effect.provide([ScriptedModel.layer([words(100)]), heard.layer]),
          Effect.forkChild({ startImmediately: true })
        )
        yield* Effect.forEach(Array.from({ length: 500 }), () => Effect.yieldNow, { discard: true })
        assert.strictEqual(heard.tags.length, taken + bufferSize + 1)
        yield* Fiber.interrupt(fiber)
      }
    }))

  it.effect("slows the run down if its events are not consumed", () =>
    Effect.gen(function*() {
      const heard = tagsOf()
      const fiber = yield* Agent.make("a", {}).stream("x", { bufferSize: 8 }).pipe(
        Stream.runForEach(() => Effect.never),
        Effect.provide([ScriptedModel.layer([words(20_000)]), heard.layer]),
        Effect.forkChild({ startImmediately: true })
      )
      yield* Effect.promise(() => new Promise((resolve) => setTimeout(resolve, 30)))
      assert.isBelow(heard.tags.length, 30)
      yield* Fiber.interrupt(fiber)
      assert.deepStrictEqual([heard.tags[0], heard.tags.at(-1)], ["RunStarted", "RunFinished"])
    }))

  it.effect("loses no event and keeps order, for any buffer size", () =>
    Effect.gen(function*() {
      for (const bufferSize of [1, 2, 64, Infinity]) {
        const events = yield* Agent.make("a", {}).stream("x", { bufferSize }).pipe(
          Stream.tap(() => Effect.yieldNow),
          Stream.runCollect,
          Effect.provide(ScriptedModel.layer([words(500)]))
        )
        assert.deepStrictEqual(events.map(({ sequence }) => sequence), events.map((_, index) => index))
        assert.strictEqual(
          events.map((event) => event._tag === "TextDelta" ? event.delta : "").join(""),
          words(500).text
        )
      }
    }))

  it.effect("keeps the deadline while its buffer is full", () =>
    Effect.gen(function*() {
      const heard = tagsOf()
      const agent = Agent.make("a", { budget: { duration: "5 seconds" } })
      const ended = { at: 0 }
      const exit = yield* Drive.drive(
        agent.stream("x", { bufferSize: 1 }).pipe(
          Stream.tap(() => Effect.sleep("1 minute")),
          Stream.runDrain,
          Effect.exit,
          Effect.provide([
            ScriptedModel.layer([words(100)]),
            AgentEvent.listen((event) =>
              Effect.sync(() => {
                heard.tags.push(event._tag)
                if (event._tag === "RunFinished") ended.at = event.at
              })
            )
          ])
        ),
        { step: "1 second" }
      )
      assert.strictEqual(ended.at, 5000)
      assert.strictEqual(Exit.isFailure(exit) && (Cause.squash(exit.cause) as { _tag: string })._tag, "BudgetExceeded")
    }))

  it.effect("interrupts the run when its consumer goes away", () =>
    Effect.gen(function*() {
      const heard = tagsOf()
      yield* Agent.make("a", {}).stream("x", { bufferSize: 2 }).pipe(
        Stream.take(3),
        Stream.runDrain,
        Effect.provide([ScriptedModel.layer([words(1000)]), heard.layer])
      )
      assert.strictEqual(heard.tags.at(-1), "RunFinished")
      assert.isBelow(heard.tags.length, 20)
    }))
})

describe("report", () => {
  it.effect("has every field if the agent's services cannot be built", () =>
    Effect.gen(function*() {
      const broken = Agent.provide(Layer.effect(Logger.CurrentLoggers, Effect.fail("no layer" as const)))(shout)
      const { exit, ...record } = yield* broken.report("x")
      assert.deepStrictEqual(Exit.isFailure(exit) && Cause.squash(exit.cause), "no layer")
      assert.deepStrictEqual(Object.keys(record).toSorted(), [
        "agent",
        "executed",
        "runId",
        "taintedBy",
        "transcript",
        "usage"
      ])
    }))
})

it.effect("events hold no details, and spans no content, unless that is said", () =>
  Effect.gen(function*() {
    assert.strictEqual(yield* AgentEvent.Details, false)
    assert.strictEqual(yield* Telemetry.CaptureContent, false)
  }))
