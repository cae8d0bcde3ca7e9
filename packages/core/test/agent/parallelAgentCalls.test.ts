/**
 * Agents called twice: the call of an agent is raced with itself or retried, and one of its runs waits for a person.
 * The other run's work or failure is reported unchanged, and each attempt ends once, under its own number.
 */
import { assert, describe, it } from "@effect/vitest"
import { Drive } from "@recourse/testing"
import { Effect, Redacted } from "effect"
import { type AgentEvent, Approval } from "@recourse/core"
import { collect } from "../support/kit.ts"
import { type Call, numberedClerk, plain } from "../support/numberedClerk.ts"

const key = Effect.provideService(Approval.SnapshotKey, Redacted.make("a key of 32 bytes for signing ok!"))

/** Ways to call the agent twice at once. */
const ways: Readonly<Record<string, (call: Call) => Call>> = {
  race: (call) => Effect.race(call, call),
  raceFirst: (call) => Effect.raceFirst(call, call),
  both: (call) => Effect.map(Effect.all([call, call], { concurrency: 2 }), ([first]) => first),
  retried: (call) => Effect.retry(call, { times: 1 }),
  "the second one late": (call) => Effect.race(call, Effect.delay(call, "500 millis"))
}

/** Runs of the inner agent. */
const runs = {
  "mayRequestApproval": ["ask"],
  "asks late": ["wait", "ask"],
  "writes, and fails": ["book", "wait", "fail"],
  "writes, and hangs": ["book", "hang"],
  "fails late": ["wait", "fail"],
  "answers late": ["wait"]
} as const

type Way = keyof typeof runs

/** Ends of the waiting call. */
const ends = ["approved", "rejected", "left"] as const

const play = (way: string, [first, ...others]: ReadonlyArray<Way>, end: (typeof ends)[number], calls = ["c"]) =>
  Effect.gen(function*() {
    const world = { booked: 0, paid: 0 }
    const tools = [
      plain("ask", () => Effect.sync(() => `paid ${++world.paid}`), { effects: "write", needsApproval: true }),
      plain("book", () => Effect.sync(() => `booked ${++world.booked}`), { effects: "write" }),
      plain("wait", () => Effect.as(Effect.sleep("2 seconds"), "waited")),
      plain("hang", () => Effect.delay(Effect.fail("no"), "1 minute")),
      plain("fail", () => Effect.fail("no"))
    ]
    const { agent, model } = numberedClerk({
      calls,
      recovered: ways[way]!,
      runs: (number) => runs[(number === 1 ? first : others[number - 2] ?? others.at(-1))!],
      tools
    })
    const { events, layer } = collect()
    const done = Effect.gen(function*() {
      let outcome = yield* agent.start("go")
      for (let n = 0; outcome._tag === "Paused" && n < 4; n++) {
        const { pending, snapshot } = outcome
        if (end === "left") {
          const open = attempts(events)
          return { outcome, open }
        }
        outcome = yield* agent.resume(
          snapshot,
          pending.map((call) => end === "approved" ? Approval.approve(call) : Approval.reject(call, "no"))
        )
      }
      return { outcome, open: attempts(events) }
    })
    const { open, outcome } = yield* Drive.drive(
      Effect.timeout(done, "10 minutes").pipe(Effect.provide([model, layer]), key) as Effect.Effect<
        Effect.Success<typeof done>
      >,
      { step: "1 second" }
    )
    const told = events.flatMap((event) =>
      event._tag === "ToolResult" && event.callId === "c" ? [event.code ?? "ok"] : []
    )
    return { world, open, outcome, told, events }
  })

/** Number of emitted starts and ends of each attempt of the agent's call. */
const attempts = (events: ReadonlyArray<AgentEvent.AgentEvent>, callId = "c") => {
  const counts: Record<number, { begun: number; ended: number }> = {}
  for (const event of events) {
    if (
      event._tag !== "ToolAttempt" && event._tag !== "ToolAttemptFailed" && event._tag !== "ToolAttemptSucceeded" ||
      event.callId !== callId
    ) continue
    const one = counts[event.attempt] ??= { begun: 0, ended: 0 }
    one[event._tag === "ToolAttempt" ? "begun" : "ended"]++
  }
  return Object.values(counts)
}

describe("an agent whose call is made twice", () => {
  for (const way of Object.keys(ways)) {
    for (const end of ends) {
      it.effect(`${way}, ${end}`, () =>
        Effect.gen(function*() {
          let paid = 0
          for (const first of Object.keys(runs) as ReadonlyArray<Way>) {
            for (const second of Object.keys(runs) as ReadonlyArray<Way>) {
              const about = `${first}; ${second}`
              const { open, outcome, told, world } = yield* play(way, [first, second], end)
              // A number is one attempt's, over the pause as well.
              assert.isTrue(
                open.every(({ begun, ended }) => begun === 1 && ended <= 1),
                `${about}: ${JSON.stringify(open)}`
              )
              const running = open.filter(({ ended }) => ended === 0).length
              assert.strictEqual(running, outcome._tag === "Paused" ? 1 : 0, about)
              if (world.booked > 0) assert.notInclude(told, "execution_error", about)
              paid += world.paid
            }
          }
          assert.strictEqual(paid > 0, end === "approved")
        }))
    }
  }

  it.effect("numbers attempts by its own call while another call waits", () =>
    Effect.gen(function*() {
      // The second call is retried, and its second run asks.
      const { events, outcome } = yield* play(
        "retried",
        ["mayRequestApproval", "fails late", "asks late"],
        "approved",
        ["c", "d"]
      )
      assert.strictEqual(outcome._tag, "Completed")
      const ends = (callId: string) =>
        events.flatMap((event) =>
          (event._tag === "ToolAttemptFailed" || event._tag === "ToolAttemptSucceeded") && event.callId === callId
            ? [`${event._tag} ${event.attempt}`]
            : []
        )
      assert.deepStrictEqual(ends("c"), ["ToolAttemptSucceeded 1"])
      assert.deepStrictEqual(ends("d"), ["ToolAttemptFailed 1", "ToolAttemptSucceeded 2"])
    }))
})
