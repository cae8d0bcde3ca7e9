/** Refused attempts: no executor runs, and the caller gets the known state, in its types. */
import { assert, describe, it } from "@effect/vitest"
import { Drive, ScriptedModel } from "@recourse/testing"
import { Cause, Data, type Duration, Effect, Exit, Layer, Schema } from "effect"
import { CircuitBreaker } from "effect/persistence"
import { Agent, AgentEvent, Policy, Recovery, type RunRecord, Tool, ToolError } from "@recourse/core"
import { by, collect, lastResults } from "../support/kit.ts"

class Down extends Data.TaggedError("Down") {}
class Odd extends Data.TaggedError("Odd") {}

const { call, text } = ScriptedModel

type Answer = Effect.Effect<string, unknown>

/** A write, and the number of its starts. */
const write = (answer: (run: number) => Answer, timeout?: Duration.Input) => {
  const state = { runs: 0 }
  const tool = Tool.make("pay", {
    success: Schema.String,
    effects: "write",
    timeout: timeout ?? "30 seconds",
    execute: (): Answer => Effect.suspend(() => answer(++state.runs))
  })
  return { state, tool }
}

type Recover = (call: Effect.Effect<string, unknown, never>) => Effect.Effect<string, unknown, never>

const answers: Readonly<Record<string, (run: number) => Answer>> = {
  succeeds: (run) => Effect.succeed(`paid ${run}`),
  fails: () => Effect.fail(new Down()),
  "fails with nothing": () => Effect.fail(undefined),
  dies: () => Effect.die("broken"),
  hangs: () => Effect.never
}

const recoveries: Readonly<Record<string, Recover>> = {
  "timeout, retry": (c) => c.pipe(Effect.timeout("1 second"), Effect.retry({ times: 1 })),
  "timeoutOrElse again": (c) => Effect.timeoutOrElse(c, { duration: "1 second", orElse: () => c }),
  retry: (c) => Effect.retry(c, { times: 2 }),
  repeat: (c) => c.pipe(Effect.timeout("1 second"), Effect.repeat({ times: 2 })),
  "race with itself": (c) => Effect.race(c, c).pipe(Effect.timeout("1 second")),
  "raceFirst with itself": (c) => Effect.raceFirst(c, c).pipe(Effect.timeout("1 second")),
  "twice at once": (c) =>
    Effect.all([c, c], { concurrency: 2 }).pipe(Effect.timeout("1 second"), Effect.map(([a]) => a)),
  "filterOrFail, retry": (c) =>
    c.pipe(Effect.timeout("1 second"), Effect.filterOrFail(() => false, () => new Odd()), Effect.retry({ times: 1 })),
  "catchDefect again": (c) => c.pipe(Effect.timeout("1 second"), Effect.catchDefect(() => c)),
  "catch again": (c) => c.pipe(Effect.timeout("1 second"), Effect.catch(() => c)),
  "catchCause again": (c) => c.pipe(Effect.timeout("1 second"), Effect.catchCause(() => c))
}

/** Recovery on each level; the remaining errors are typed. */
const typed = (error: unknown): boolean =>
  typeof error === "object" && error !== null && "_tag" in error && typeof error._tag === "string"

const levels: Readonly<
  Record<string, (tool: Tool.Any, recover: Recover) => Agent.Agent<string, string, unknown, unknown>>
> = {
  "of the tool": (tool, recover) =>
    Agent.make("a", { tools: [tool.pipe(Tool.onError(recover as never))] as never }) as never,
  "of the agent for the tool": (tool, recover) =>
    Agent.make("a", { tools: [tool] as never, onToolError: { pay: recover } as never }) as never,
  "of the agent for all": (tool, recover) =>
    Agent.make("a", {
      tools: [tool] as never,
      defaults: { onError: Object.assign((c: never) => recover(c), Recovery.policy({})) as never }
    }) as never
}

describe("whatever recovery does with a write", () => {
  for (const [level, agent] of Object.entries(levels)) {
    for (const [recovery, recover] of Object.entries(recoveries)) {
      for (const [how, answer] of Object.entries(answers)) {
        it.effect(`${recovery} ${level}, where it ${how}: runs once, fails typed`, () =>
          Effect.gen(function*() {
            const { state, tool } = write(answer)
            const report = yield* Drive.drive(
              agent(tool, recover).report("go").pipe(
                Effect.provide(ScriptedModel.layer(ScriptedModel.steps([call("pay", {}), text("done")])))
              ) as Effect.Effect<RunRecord.RunReport<string, unknown>>
            )
            assert.strictEqual(state.runs, 1)
            if (Exit.isFailure(report.exit) && !Cause.hasDies(report.exit.cause)) {
              const errors = report.exit.cause.reasons.filter(Cause.isFailReason).map(({ error }) => error)
              assert.isTrue(errors.length > 0 && errors.every(typed), Cause.pretty(report.exit.cause))
            }
            if (how !== "dies" && Exit.isFailure(report.exit)) assert.isFalse(Cause.hasDies(report.exit.cause))
          }))
      }
    }
  }
})

describe("a refused attempt", () => {
  it.effect("answers again with the earlier answer, without an execution", () =>
    Effect.gen(function*() {
      const { state, tool } = write(answers["succeeds"]!)
      const again = tool.pipe(Tool.onError((c) => Effect.repeat(c, { times: 3 })))
      assert.strictEqual(yield* again.call.pipe(by({})), "paid 1")
      assert.strictEqual(state.runs, 1)
    }))

  it.effect("of a write that was cut off is an unknown outcome", () =>
    Effect.gen(function*() {
      const { state, tool } = write(answers["hangs"]!)
      const again = tool.pipe(Tool.onError((c) => Effect.timeoutOrElse(c, { duration: "1 second", orElse: () => c })))
      const error = yield* Drive.drive(Effect.flip(again.call.pipe(by({}))))
      assert.instanceOf(error, ToolError.OutcomeUnknown)
      assert.strictEqual(state.runs, 1)
    }))

  it.effect("fails like the inner level left it: removed errors do not return", () =>
    Effect.gen(function*() {
      const { events, layer } = collect()
      const { state, tool } = write(answers["fails"]!)
      const soft = tool.pipe(
        Tool.onError(Recovery.escalate("ExecutionError", "InvalidArgs", "OutcomeUnknown"))
      )
      const agent = Agent.make("a", { tools: [soft], onToolError: { pay: (c) => Effect.retry(c, { times: 2 }) } })
      const script = ScriptedModel.layer(ScriptedModel.steps([call("pay", {}), text("done")]))
      assert.strictEqual(yield* agent.run("go").pipe(Effect.provide(Layer.merge(script, layer))), "done")
      assert.strictEqual(state.runs, 1)
      assert.strictEqual(events.filter(({ _tag }) => _tag === "ToolEscalated").length, 1)
    }))

  it.effect("behind an open circuit, too", () =>
    Effect.gen(function*() {
      const { state, tool } = write(answers["fails"]!)
      const guarded: Tool.Any = tool.pipe(
        Tool.onError((c) =>
          c.pipe(
            Recovery.escalate("ExecutionError", "OutcomeUnknown"),
            Recovery.circuitBreaker({ isFailure: () => true }),
            Effect.retry({ times: 1 })
          )
        )
      )
      const error = yield* Effect.flip(guarded.call.pipe(by({}))) as Effect.Effect<
        unknown,
        unknown,
        CircuitBreaker.CircuitBreaker
      >
      assert.strictEqual((error as { readonly _tag: string })._tag, "Escalation")
      assert.strictEqual(state.runs, 1)
    }).pipe(Effect.provide(
      CircuitBreaker.layer({ tripPolicy: CircuitBreaker.consecutive(1), openDuration: "30 seconds" }).pipe(
        Layer.provide(CircuitBreaker.layerStoreMemory())
      )
    )))

  it.effect("of a call closed by a fixer fails alike, without another fix", () =>
    Effect.gen(function*() {
      let asked = 0
      const judge = Agent.fromFunction(
        "judge",
        (_: Recovery.FixRequest): Effect.Effect<string, ToolError.AgentException> =>
          Effect.suspend(() => {
            asked++
            return Effect.fail(new ToolError.AgentException({ agent: "judge", reason: "no" }))
          })
      )
      const Add = Tool.make("add", {
        parameters: Schema.Struct({ a: Schema.Number }),
        success: Schema.Number,
        effects: "read",
        execute: ({ a }) => Effect.succeed(a)
      })
      const again = Add.pipe(
        Tool.onError((c) => c.pipe(Recovery.fix("InvalidArgs", judge), Effect.catchTag("AgentException", () => c)))
      )
      const error = yield* Effect.flip(again.call.pipe(by({})))
      assert.strictEqual(error._tag, "InvalidArgs")
      const retried = Add.pipe(
        Tool.onError((c) => c.pipe(Recovery.fix("InvalidArgs", judge), Effect.retry({ times: 2 })))
      )
      const same = yield* Effect.flip(retried.call.pipe(by({})))
      assert.strictEqual(same._tag, "AgentException")
      assert.strictEqual(asked, 2)
    }))
})

describe("a hedged write begins once", () => {
  for (const [name, where] of Object.entries({ "a policy": "policy", "a listener": "listener" })) {
    it.effect(`though ${name} takes its time`, () =>
      Effect.gen(function*() {
        const { state, tool } = write(answers["succeeds"]!)
        const hedged = tool.pipe(Tool.onError((c) => Effect.race(c, c)))
        const slow = Policy.make("slow", () => Effect.as(Effect.yieldNow, Policy.allow))
        const agent = Agent.make("a", {
          tools: [hedged],
          ...(where === "policy" ? { policies: [slow] } : undefined)
        } as never) as Agent.Agent<string, string, unknown, unknown>
        const layer = Layer.merge(
          ScriptedModel.layer(ScriptedModel.steps([call("pay", {}), text("done")])),
          where === "listener" ? AgentEvent.listen(() => Effect.yieldNow) : Layer.empty
        )
        const requests = yield* agent.run("go").pipe(
          Effect.andThen(Effect.flatMap(ScriptedModel.ScriptedModel, ({ requests }) => requests)),
          Effect.provide(layer)
        ) as Effect.Effect<ReadonlyArray<ScriptedModel.Request>>
        assert.strictEqual(state.runs, 1)
        assert.deepStrictEqual(lastResults(requests.at(-1)!.prompt).map(({ result }) => result), ["paid 1"])
      }))
  }

  for (const timeout of [undefined, "1 minute"] as const) {
    for (const [name, recover] of Object.entries(recoveries)) {
      it.effect(`and is charged once: ${name}${timeout === undefined ? "" : ", with a timeout"}`, () =>
        Effect.gen(function*() {
          const { state, tool } = write((run) => Effect.as(Effect.yieldNow, `paid ${run}`), timeout)
          const slow = Policy.make("slow", () => Effect.as(Effect.yieldNow, Policy.allow))
          const agent = Agent.make("a", {
            tools: [tool.pipe(Tool.onError(recover as never))],
            policies: [slow],
            budget: { toolCalls: 1 }
          } as never) as Agent.Agent<string, string, unknown, unknown>
          const { exit } = yield* Drive.drive(
            agent.report("go").pipe(
              Effect.provide(ScriptedModel.layer(ScriptedModel.steps([call("pay", {}), text("done")])))
            )
          ) as Effect.Effect<RunRecord.RunReport<string, unknown>>
          const error = Exit.isFailure(exit) ? Cause.squash(exit.cause) : undefined
          assert.notStrictEqual((error as { readonly _tag?: string } | undefined)?._tag, "BudgetExceeded")
          assert.strictEqual(state.runs, 1)
        }))
    }
  }
})
