import { ScriptedModel, TestTracer } from "@recourse/testing"
import { assert, describe, it } from "@effect/vitest"
import { Context, Data, Effect, Exit, type Fiber, Layer, Scheduler, Schema, Stream } from "effect"
import type { LanguageModel } from "effect/ai"
import { Agent, AgentEvent, Recovery, Tool } from "@recourse/core"
import { operationsBetween } from "../support/operations.ts"

class Down extends Data.TaggedError("Down") {}

/** Numbers that a seed decides. */
const random = (seed: number) => () => {
  seed = (seed * 1664525 + 1013904223) % 4294967296
  return seed / 4294967296
}

const parameters = Schema.Struct({ n: Schema.Number })

/**
 * An agent whose tools answer, fail, are retried, fixed, escalated and are agents themselves, and its model's answers.
 */
const program = (seed: number) => {
  const next = random(seed)
  const pick = <A>(items: ReadonlyArray<A>): A => items[Math.floor(next() * items.length)]!
  const failures = new Map<string, number>()
  const flaky = (name: string, times: number) =>
    Tool.make(name, {
      parameters,
      success: Schema.Number,
      effects: "read",
      execute: ({ n }): Effect.Effect<number, Down> =>
        Effect.suspend(() => {
          const failed = failures.get(name) ?? 0
          failures.set(name, failed + 1)
          return failed < times ? new Down() : Effect.as(Effect.yieldNow, n)
        })
    })
  const ok = flaky("ok", 0)
  const retried = flaky("retried", 2).pipe(
    Tool.onError((call) => Effect.retry(call, { times: 3 }))
  )
  const fixer = Agent.fromFunction("fixer", (_: Recovery.FixRequest) => Effect.as(Effect.yieldNow, `{"n":1}`))
  const fixed = flaky("fixed", 1).pipe(Tool.onError(Recovery.fix("ExecutionError", fixer)))
  const escalated = flaky("escalated", 9).pipe(Tool.onError(Recovery.escalate("ExecutionError", "InvalidArgs")))
  const ending = flaky("ending", 9)
  const clerk = Agent.make("clerk", { input: parameters, tools: [ok, retried, escalated] }).pipe(
    Agent.asTool("clerk", { description: "asks a clerk", parameters, success: Schema.String })
  )
  const tools = [ok, retried, fixed, escalated, clerk, ...(next() < 0.2 ? [ending] : [])]
  const agent = Agent.make("desk", { tools, concurrency: pick([1, 8]) })
  const names = tools.map(({ name }) => name)
  const rounds = 1 + Math.floor(next() * 3)
  const answers = Array.from({ length: rounds }, () =>
    ScriptedModel.calls(
      Array.from({ length: 1 + Math.floor(next() * 3) }, () => ({ name: pick(names), params: { n: 1 } })),
      next() < 0.5 ? { text: "let me see", reasoning: "hm" } : {}
    ))
  const behaviour: ScriptedModel.Behaviour = ({ prompt, tools }) => {
    const turn = prompt.content.filter(({ role }) => role === "assistant").length
    if (!tools.includes("clerk")) {
      return turn === 0 ? ScriptedModel.calls([{ name: pick(tools), params: { n: 1 } }]) : ScriptedModel.text("asked")
    }
    return answers[turn] ?? ScriptedModel.text("that is all")
  }
  return { agent, behaviour, streaming: next() < 0.5 }
}

/** Counts the operations of all fibers, and interrupts the first of them at one. */
class Stepping extends Scheduler.MixedScheduler {
  steps = 0
  readonly at: number
  private first: Fiber.Fiber<unknown, unknown> | undefined
  constructor(at: number) {
    super("async")
    this.at = at
  }
  override shouldYield(fiber: Fiber.Fiber<unknown, unknown>) {
    this.first ??= fiber
    if (++this.steps === this.at) this.first.interruptUnsafe()
    return false
  }
}

/** Runs a program, interrupted at an operation; returns the events, and the number of operations. */
const interruptedAt = (seed: number, at: number) =>
  Effect.gen(function*() {
    const { agent, behaviour, streaming } = program(seed)
    const events: Array<AgentEvent.AgentEvent> = []
    const layer = Layer.mergeAll(
      ScriptedModel.layer(behaviour),
      TestTracer.layer,
      AgentEvent.listen((event) => Effect.sync(() => events.push(event)))
    )
    return yield* Effect.scoped(Effect.flatMap(Layer.build(layer), (context) =>
      Effect.gen(function*() {
        const run: Effect.Effect<unknown, unknown, LanguageModel.LanguageModel> = streaming
          ? Stream.runDrain(agent.stream("x"))
          : agent.run("x")
        const scheduler = new Stepping(at)
        const fiber = Effect.runForkWith(context)(Effect.suspend(() => run), { scheduler })
        yield* Effect.callback<void>((resume) => {
          fiber.addObserver(() => resume(Effect.void))
        })
        const spans = yield* Context.get(context, TestTracer.TestTracer).spans
        return { events, spans, steps: scheduler.steps, exit: fiber.pollUnsafe()! }
      })))
  })

const count = (events: ReadonlyArray<AgentEvent.AgentEvent>, name: (event: AgentEvent.AgentEvent) => string) =>
  events.reduce(
    (counts, event) => counts.set(name(event), (counts.get(name(event)) ?? 0) + 1),
    new Map<string, number>()
  )

/** Starts, and their possible ends. */
const pairs: ReadonlyArray<readonly [start: ReadonlyArray<string>, end: ReadonlyArray<string>]> = [
  [["RunStarted"], ["RunFinished"]],
  [["AgentStarted"], ["AgentFinished"]],
  [["ModelTurnStarted"], ["ModelTurnFinished", "ModelTurnFailed"]],
  [["ToolCallStarted"], ["ToolResult"]],
  [["ToolAttempt"], ["ToolAttemptSucceeded", "ToolAttemptFailed"]],
  [["FixStarted"], ["FixFinished"]]
]

/** Faults in the events of an ended run. */
const problems = (events: ReadonlyArray<AgentEvent.AgentEvent>): ReadonlyArray<string> => {
  const of = (tags: ReadonlyArray<string>) =>
    count(events.filter(({ _tag }) => tags.includes(_tag)), (event) =>
      [
        event.agentRunId,
        "callId" in event ? event.callId : "",
        "attempt" in event ? event.attempt : "fix" in event ? event.fix : "turn" in event ? event.turn : ""
      ].join(" "))
  const texts = (deltas: string, ends: string) => {
    const parts = (tag: string) =>
      new Set(
        events.flatMap((event) =>
          event._tag === tag && "partId" in event ? [`${event.agentRunId} ${event.partId}`] : []
        )
      )
    return [...parts(deltas), ...parts(ends)].filter((part) => !parts(deltas).has(part) || !parts(ends).has(part)).map((
      part
    ) => `${deltas} ${part} has no end, or no piece`)
  }
  return [
    ...pairs.flatMap(([starts, ends]) => {
      const [begun, ended] = [of(starts), of(ends)]
      return [...new Set([...begun.keys(), ...ended.keys()])].flatMap((what) =>
        begun.get(what) === ended.get(what)
          ? []
          : [`${starts[0]} ${what}: ${begun.get(what) ?? 0} starts, ${ended.get(what) ?? 0} ends`]
      )
    }),
    ...texts("TextDelta", "TextFinished"),
    ...texts("ReasoningDelta", "ReasoningFinished"),
    ...(events.every(({ sequence }, index) => sequence === index) ? [] : ["the numbers are not in order"]),
    ...(events.length === 0 || events.at(-1)?._tag === "RunFinished"
      ? []
      : [`the last event is ${events.at(-1)?._tag}`])
  ]
}

const programs = Number(process.env["RECOURSE_PROGRAMS"] ?? 4)
const firstSeed = Number(process.env["RECOURSE_SEED"] ?? 1)

describe("a run that is interrupted at any operation", () => {
  it("has an end for each start, of runs, calls, attempts, spans", {
    timeout: 600_000
  }, () =>
    Effect.runPromise(Effect.gen(function*() {
      for (let seed = firstSeed; seed < firstSeed + programs; seed++) {
        const whole = yield* interruptedAt(seed, -1)
        const steps = Math.min(whole.steps, 1000)
        for (const at of [0, ...operationsBetween(1, steps + 1, 5)]) {
          const { events, exit, spans } = at === 0 ? whole : yield* interruptedAt(seed, at)
          const where = `program ${seed}, operation ${at} of ${whole.steps}, ${exit._tag}`
          assert.deepStrictEqual(problems(events), [], where)
          assert.deepStrictEqual(
            spans.filter(({ status }) => status._tag !== "Ended").map(({ name }) => name),
            [],
            where
          )
          if (at > 0 && Exit.isFailure(exit) && events.length > 0) assert.isTrue(events.at(-1)?._tag === "RunFinished")
        }
      }
    })))
})
