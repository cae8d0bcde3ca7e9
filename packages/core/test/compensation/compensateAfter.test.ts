/** Compensation of a run's writes: each way in which a run ends, for each `compensation.after`. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber } from "effect"
import { ScriptedModel } from "@recourse/testing"
import { Prompt } from "effect/ai"
import { Agent, Approval, Journal, Policy, Tool, ToolCall } from "@recourse/core"
import {
  book,
  Boom,
  boss,
  byHand,
  call,
  type Log,
  pay,
  running,
  type Runs,
  Slow,
  text,
  tool,
  type Waits,
  watched
} from "../support/bookings.ts"
import { journalOf } from "../support/interruptedRuns.ts"

type After = "failure" | "interruption" | "rejection"
type Turns = NonNullable<Parameters<typeof running>[2]>

/** A way in which a run ends that has booked. */
interface Ending {
  /** The run. `after` is the option of the agent whose write it is. */
  readonly run: (log: Log, after: ReadonlyArray<After>) => Effect.Effect<unknown, unknown, never>
  /** Later turns of the booking agent's model. */
  readonly behind?: Turns[string] | ReadonlyArray<Turns[string][number]>
  readonly turns?: Turns
  /** Triggers of its compensation: any of these is enough. */
  readonly by: ReadonlyArray<After>
}

const stored = <A>(value: A): A => JSON.parse(JSON.stringify(value)) as A

const clerk = (log: Log, after: ReadonlyArray<After>, tools: ReadonlyArray<unknown> = [], more: object = {}) =>
  boss([book(log), ...tools], { instructions: "clerk", compensation: { after }, ...more }) as unknown as
    & Runs
    & Waits

/** Interrupts an effect while it waits. */
const stopped = (effect: Effect.Effect<unknown, unknown, never>) =>
  Effect.flatMap(
    Effect.forkChild(effect, { startImmediately: true }),
    (fiber) => Effect.andThen(Effect.delay(Fiber.interrupt(fiber), "2 seconds"), Fiber.join(fiber))
  )

/** The next execution of a run. */
const living = (effect: Effect.Effect<unknown, unknown, never>, isCancelled: boolean | (() => boolean)) =>
  Effect.provideService(effect, Journal.CurrentJournal, {
    ...journalOf().life().journal,
    isCancelled: typeof isCancelled === "boolean" ? () => isCancelled : isCancelled
  })

const named = { runId: "run_1" } as const

/** Resumes a run that waits, with one decision for all that it waits for. */
const decided = (
  agent: Waits,
  decide: (pending: Approval.PendingCall) => Approval.Decision,
  resume: (resumed: Effect.Effect<unknown, unknown, never>) => Effect.Effect<unknown, unknown, never> = (all) => all
) =>
  Effect.flatMap(agent.start({}), (paused) =>
    paused._tag === "Paused"
      ? resume(agent.resume(stored(paused.snapshot), paused.pending.map(decide)))
      : assert.fail("it waits"))

const refuse = (pending: Approval.PendingCall) => Approval.reject(pending, "no")
const pays = call("pay", {}, { id: "p" })

const Die = Tool.make("die", { effects: "read", execute: () => Effect.die("no") })
const DiesLate = Tool.make("late", {
  effects: "read",
  execute: () => Effect.onInterrupt(Effect.never, () => Effect.die("no"))
})
const boom = [call("boom", {}, { id: "x" })] as const
const slow = [call("slow", {}, { id: "x" })] as const

/** A function that runs a waiting agent, and uses its result. */
const around = (
  log: Log,
  after: ReadonlyArray<After>,
  use: (inner: Waits) => Effect.Effect<unknown, unknown, never>
): Runs => {
  const booker = boss([book(log)], { instructions: "clerk" }) as unknown as Runs
  const asking = boss([pay(log)], { instructions: "asking" }) as unknown as Waits
  return Agent.fromFunction("program", () => Effect.andThen(booker.run({}), use(asking))).pipe(
    Agent.compensated({ after })
  ) as unknown as Runs
}
const asking = { asking: [pays, text("paid")] } as const satisfies Turns
const booked = [text("booked")] as const
/** Fails as an agent within it waits. */
const fallsWaiting = Tool.make("hand", {
  effects: "read",
  execute: () => Effect.asVoid((boss([pay([])], { instructions: "asking" }) as unknown as Runs).run({}))
})
const falls = [call("hand", {}, { id: "x" })] as const

/** An agent by hand within a call that comes to wait, or may not run, within that agent. */
const within = (log: Log, after: ReadonlyArray<After>, policies: ReadonlyArray<unknown> = []) => {
  const [Book, Pay] = [book(log), pay(log)]
  const made = (tool: { readonly call: Effect.Effect<unknown, unknown, ToolCall.ToolCall> }, id: string) =>
    Effect.provideService(tool.call, ToolCall.ToolCall, ToolCall.make({ id, arguments: {} }))
  const program = Agent.fromFunction("program", () => Effect.andThen(made(Book, "b"), made(Pay, "p"))).pipe(
    Agent.compensated({ after })
  )
  return boss([
    Tool.make("hand", {
      effects: "read",
      mayRequestApproval: true,
      execute: () => Effect.asVoid(program.run(undefined as never)) as Effect.Effect<void>
    })
  ], { policies }) as unknown as Waits
}
const hands = { boss: [call("hand", {}, { id: "h" }), text("It did not work.")] } as const satisfies Turns

const talks = { input: Prompt.Prompt, prompt: (said: Prompt.Prompt) => said }
const handsOver = [call("transfer_to_desk", {}, { id: "t" })] as const
const desk = Agent.make("desk", { ...talks, instructions: "desk" })
const handoff = (log: Log, after: ReadonlyArray<After>, times: number) => {
  const triage = clerk(log, after, [Agent.handoffTo("desk", { description: "Goes on" })], talks)
  return Agent.handoff("support", {
    start: "triage",
    agents: { triage, desk } as never,
    times
  }) as unknown as Agent.Agent<
    Prompt.Prompt,
    string,
    unknown,
    never
  >
}

const endings: Readonly<Record<string, Ending>> = {
  "an error": { run: (log, after) => clerk(log, after, [Boom]).run({}), behind: boom, by: ["failure"] },
  "a defect": {
    run: (log, after) => clerk(log, after, [Die]).run({}),
    behind: [call("die", {}, { id: "x" })],
    by: ["failure"]
  },
  "a used-up budget": {
    run: (log, after) => clerk(log, after, [], { budget: { turns: 1 } }).run({}),
    by: ["failure"]
  },
  "a deadline": {
    run: (log, after) => clerk(log, after, [Slow], { budget: { duration: "1 second" } }).run({}),
    behind: slow,
    by: ["failure"]
  },
  "the used-up budget of the run around it": {
    run: (log, after) =>
      (boss([tool(clerk(log, after, [Boom]), "clerk")], { budget: { toolCalls: 2 } }) as unknown as Runs).run({}),
    behind: boom,
    turns: { boss: [call("clerk", {}, { id: "c" })] },
    by: ["failure"]
  },
  "the deadline of the run around it": {
    run: (log, after) =>
      (boss([tool(clerk(log, after, [Slow]), "clerk")], { budget: { duration: "1 second" } }) as unknown as Runs)
        .run({}),
    behind: slow,
    turns: { boss: [call("clerk", {}, { id: "c" })] },
    by: ["interruption"]
  },
  "an interruption": {
    run: (log, after) => stopped(clerk(log, after, [Slow]).run({})),
    behind: slow,
    by: ["interruption"]
  },
  "an interruption, behind which something dies": {
    run: (log, after) => stopped(clerk(log, after, [DiesLate]).run({})),
    behind: [call("late", {}, { id: "x" })],
    by: ["failure"]
  },
  "an interruption, behind which something dies, in a life": {
    run: (log, after) => living(stopped(clerk(log, after, [DiesLate]).run({}, named)), false),
    behind: [call("late", {}, { id: "x" })],
    by: ["failure"]
  },
  "an interruption of the run around it": {
    run: (log, after) => stopped((boss([tool(clerk(log, after, [Slow]), "clerk")]) as unknown as Runs).run({})),
    behind: slow,
    turns: { boss: [call("clerk", {}, { id: "c" })] },
    by: ["interruption"]
  },
  "the end of a life": {
    run: (log, after) => living(stopped(clerk(log, after, [Slow]).run({}, named)), false),
    behind: slow,
    by: []
  },
  "an interruption that cancels it between its lives": {
    run: (log, after) => living(stopped(clerk(log, after, [Slow]).run({}, named)), true),
    behind: slow,
    by: ["interruption"]
  },
  "an error as it is cancelled": {
    run: (log, after) => living(clerk(log, after, [Boom]).run({}, named), true),
    behind: boom,
    by: ["failure", "interruption"]
  },
  "an error in a life": {
    run: (log, after) => living(clerk(log, after, [Boom]).run({}, named), false),
    behind: boom,
    by: ["failure"]
  },
  "an answer": { run: (log, after) => clerk(log, after).run({}), behind: booked, by: [] },
  "an answer as it is cancelled": {
    run: (log, after) => living(clerk(log, after).run({}, named), true),
    behind: booked,
    by: []
  },
  "a pause": { run: (log, after) => clerk(log, after, [pay(log)]).start({}), behind: [pays], by: [] },
  "a pause that nobody can wait for": {
    run: (log, after) => clerk(log, after, [pay(log)]).run({}),
    behind: [pays],
    by: []
  },
  "a pause as it is cancelled": {
    run: (log, after) => living(clerk(log, after, [pay(log)]).start({}, named), true),
    behind: [pays],
    by: ["interruption"]
  },
  "a pause of a run that continues": {
    run: (log, after) => living(clerk(log, after, [pay(log)]).start({}, named), false),
    behind: [pays],
    by: []
  },
  "a person's no, and an answer": {
    run: (log, after) => decided(clerk(log, after, [pay(log)]), refuse),
    behind: [pays, text("Not paid.")],
    by: ["rejection"]
  },
  "a person's no, and an error": {
    run: (log, after) => decided(clerk(log, after, [pay(log), Boom]), refuse),
    behind: [pays, ...boom],
    by: ["rejection", "failure"]
  },
  "a person's no, and another pause": {
    run: (log, after) => decided(clerk(log, after, [pay(log)]), refuse),
    behind: [pays, call("pay", {}, { id: "q" })],
    by: []
  },
  "a person's no, and an interruption before anything has run": {
    run: (log, after) => decided(clerk(log, after, [pay(log)]), refuse, stopped),
    behind: [pays, ScriptedModel.hang],
    by: []
  },
  "a person's no, and an interruption": {
    run: (log, after) => decided(clerk(log, after, [pay(log), Slow]), refuse, stopped),
    behind: [pays, ...slow],
    by: ["rejection", "interruption"]
  },
  "a person's yes, and an interruption": {
    run: (log, after) => decided(clerk(log, after, [pay(log), Slow]), Approval.approve, stopped),
    behind: [pays, ...slow],
    by: ["interruption"]
  },
  "a conversation that is given away": {
    run: (log, after) => handoff(log, after, 1).run(Prompt.make("Hello")),
    behind: handsOver,
    turns: { desk: [text("I see.")] },
    by: []
  },
  "a conversation without a receiver": {
    run: (log, after) => handoff(log, after, 0).run(Prompt.make("Hello")),
    behind: handsOver,
    by: ["failure"]
  },
  "an agent within that waits, for which nobody can": {
    run: (log, after) => around(log, after, (inner) => inner.run({})).run({}),
    behind: booked,
    turns: asking,
    by: []
  },
  "an agent within that waits, as it is cancelled": {
    run: (log, after) => living(around(log, after, (inner) => inner.run({})).run({}, named), true),
    behind: booked,
    turns: asking,
    by: ["interruption"]
  },
  "an agent that waits within a tool, for which nobody can": {
    run: (log, after) => clerk(log, after, [fallsWaiting]).run({}),
    behind: falls,
    turns: asking,
    by: []
  },
  "an agent that waits within a tool, as it is cancelled": {
    run: (log, after) => living(clerk(log, after, [fallsWaiting]).run({}, named), true),
    behind: falls,
    turns: asking,
    by: ["interruption"]
  },
  "a snapshot within that is refused": {
    run: (log, after) => around(log, after, (inner) => inner.resume({}, [])).run({}),
    behind: booked,
    by: []
  },
  "a decision within that is refused": {
    run: (log, after) =>
      around(
        log,
        after,
        (inner) => decided(inner, (pending) => ({ ...Approval.approve(pending), argumentsHash: "00" }))
      ).run({}),
    behind: booked,
    turns: asking,
    by: []
  },
  "a call around it that comes to wait": { run: (log, after) => within(log, after).start({}), turns: hands, by: [] },
  "a call around it that may not run": {
    run: (log, after) =>
      within(log, after, [
        Policy.make("poor", ({ tool }) => Effect.succeed(tool === "pay" ? Policy.deny("poor") : Policy.allow))
      ]).start({}),
    turns: hands,
    by: []
  },
  "an interruption in a tool that runs it": {
    run: (log, after) => stopped((boss([byHand(clerk(log, after, [Slow]))]) as unknown as Runs).run({})),
    behind: slow,
    turns: { boss: [call("hand", {}, { id: "h" })] },
    by: ["interruption"]
  }
}

const options: ReadonlyArray<ReadonlyArray<After>> = [
  [],
  ["failure"],
  ["interruption"],
  ["rejection"],
  ["failure", "interruption"],
  ["failure", "rejection"],
  ["interruption", "rejection"],
  ["failure", "interruption", "rejection"]
]

describe("a run that ends by", () => {
  for (const [name, { by, run, behind = [], turns }] of Object.entries(endings)) {
    it.effect(`${name} is compensated after: ${by.join(", ") || "nothing"}`, () =>
      Effect.forEach(options, (after) =>
        Effect.gen(function*() {
          const log: Log = []
          const seen = watched()
          const exit = yield* running(run(log, after), seen, {
            clerk: [call("book", {}, { id: "b" }), ...behind],
            ...turns
          })
          const isCompensated = after.some((one) => by.includes(one))
          const about = `after ${after.join(", ") || "nothing"}: ${Exit.isFailure(exit) ? String(exit.cause) : "ok"}`
          assert.deepStrictEqual(
            log.filter((one) => one.endsWith("book")),
            isCompensated ? ["book", "unbook"] : ["book"],
            about
          )
          assert.strictEqual(seen.compensations().length, isCompensated ? 1 : 0, about)
        }), { discard: true }))
  }
})
