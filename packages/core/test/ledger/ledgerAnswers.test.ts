/** Answers of a ledger: the outcome of a keyed call for each, its number of executions, and its logs. */
import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Logger, References, Schema, type Tracer } from "effect"
import { IdempotencyLedger, Tool, ToolCall } from "@recourse/core"

const entry = { id: "e", tool: "pay", callId: "c1", arguments: "h", claim: "other" }
const broken = (operation: string) =>
  Effect.fail(new IdempotencyLedger.LedgerError({ operation, reason: "down" } as never))

/** A claim that behaves like a healthy process's ledger, except for a case's changes. */
const claimOf = (steps: Array<string>, more: object) => ({
  intent: { ...entry, claim: "mine" },
  confirm: Effect.succeed(true),
  take: () => Effect.succeed(true),
  resume: Effect.succeed(true),
  complete: (outcome: { readonly _tag: string; readonly value: unknown }) =>
    Effect.sync(() => (steps.push(`complete ${outcome._tag} ${JSON.stringify(outcome.value)}`), "recorded")),
  release: Effect.sync(() => void steps.push("release")),
  ...more
})

interface Case {
  /** The answers to its claims, one after another. */
  readonly answers: ReadonlyArray<(claim: object) => object>
  readonly claim?: object
  readonly reconcile?: Effect.Effect<object, unknown>
  readonly fails?: true
}

const begun = (claim: object) => ({ _tag: "Begun", claim, isAgain: false })
const abandoned = (claim: object) => ({ _tag: "Abandoned", entry, sinceMillis: 5, claim })
const finished = (value: Schema.Json) => () => ({
  _tag: "Finished",
  entry,
  sinceMillis: 5,
  waited: false,
  outcome: { _tag: "Result", value }
})

const played = ({ answers, claim = {}, fails, reconcile }: Case) =>
  Effect.gen(function*() {
    const steps: Array<string> = []
    const logged: Array<readonly [string, object]> = []
    let settled = 0
    const pay = Tool.make("pay", {
      success: Schema.String,
      effects: "write",
      idempotency: reconcile === undefined ? true : { rejected: ["Full"], reconcile: () => reconcile },
      execute: () =>
        Effect.suspend(() => {
          steps.push("runs")
          return fails === true ? Effect.fail({ _tag: "Full" }) : Effect.succeed("paid")
        })
    } as never) as never as Tool.Tool<string, never, never, never, never>
    const left = [...answers]
    const ledger = {
      claim: (_: unknown, onHeld: (settle: Effect.Effect<void>) => void) =>
        Effect.suspend(() => {
          onHeld(Effect.sync(() => void settled++))
          const answer = left.shift()
          return answer === undefined ? broken("begin") : Effect.succeed(answer(claimOf(steps, claim)))
        })
    }
    const logger = Logger.make(({ fiber, message }) => {
      const { cause: _, ...annotations } = fiber.getRef(References.CurrentLogAnnotations)
      logged.push([String(Array.isArray(message) ? message[0] : message), annotations])
    })
    const span = yield* Effect.makeSpan("call")
    const exit = yield* Effect.exit(pay.call as Effect.Effect<string, unknown, ToolCall.ToolCall>).pipe(
      Effect.provideService(ToolCall.ToolCall, ToolCall.make({ id: "c1", arguments: {} })),
      Effect.provideService(IdempotencyLedger.IdempotencyLedger, ledger as never),
      Effect.provide(Logger.layer([logger])),
      Effect.withParentSpan(span)
    )
    return {
      end: Exit.isSuccess(exit) ? exit.value : (Cause.squash(exit.cause) as { readonly _tag: string })._tag,
      steps,
      logged,
      events: (span as Tracer.NativeSpan).events.map(([name, , attributes]) => [name, attributes] as const)
        .filter(([name]) => name.startsWith("recourse.ledger")),
      settled
    }
  })

const said = (result: object) => Effect.succeed(result)
const found = said({ _tag: "Completed", result: "found" })
const not = said({ _tag: "NotStarted" })

describe("a keyed call", () => {
  const cases: Readonly<Record<string, readonly [one: Case, end: string, steps: ReadonlyArray<string>]>> = {
    "has begun: it runs": [{ answers: [begun] }, "paid", ["runs", "complete Result \"paid\""]],
    "has begun, and did nothing: its key is free": [
      { answers: [begun], fails: true, reconcile: not },
      "ExecutionError",
      ["runs", "release"]
    ],
    "is not held any more": [{ answers: [begun], claim: { confirm: Effect.succeed(false) } }, "OutcomeUnknown", [
      "release"
    ]],
    "cannot be confirmed": [{ answers: [begun], claim: { confirm: broken("renew") } }, "LedgerUnavailable", [
      "release"
    ]],
    "cannot be claimed": [{ answers: [] }, "LedgerUnavailable", []],
    "is at work elsewhere": [{ answers: [() => ({ _tag: "Busy", entry, sinceMillis: 5 })] }, "OutcomeUnknown", []],
    "has other arguments": [{ answers: [() => ({ _tag: "Conflict" })] }, "IdempotencyConflict", []],
    "is done": [{ answers: [finished("earlier")] }, "earlier", []],
    "is done, and its result cannot be read": [{ answers: [finished(7)] }, "OutcomeUnknown", []],
    "was cut off, and nobody can be asked": [{ answers: [abandoned] }, "OutcomeUnknown", []],
    "was cut off, and was done": [
      { answers: [abandoned], reconcile: found },
      "found",
      ["complete Result \"found\""]
    ],
    "was cut off, and was not done: it runs": [
      { answers: [abandoned], reconcile: not },
      "paid",
      ["runs", "complete Result \"paid\""]
    ],
    "was cut off, and was not done, and is another call's by now": [
      { answers: [abandoned], reconcile: not, claim: { resume: Effect.succeed(false) } },
      "OutcomeUnknown",
      []
    ],
    "was cut off, and the ledger is out of reach then": [
      { answers: [abandoned], reconcile: not, claim: { resume: broken("renew") } },
      "LedgerUnavailable",
      []
    ],
    "was cut off, and cannot be taken over": [
      { answers: [abandoned], reconcile: found, claim: { take: () => broken("take") } },
      "OutcomeUnknown",
      []
    ],
    "was cut off, and is taken over by another, which has done it": [
      { answers: [abandoned, finished("theirs")], reconcile: found, claim: { take: () => Effect.succeed(false) } },
      "theirs",
      []
    ],
    "was cut off, and who is asked fails": [
      { answers: [abandoned], reconcile: Effect.fail("down") },
      "OutcomeUnknown",
      []
    ]
  }
  for (const [name, [one, end, steps]] of Object.entries(cases)) {
    it.effect(`that ${name}`, () =>
      Effect.gen(function*() {
        const ended = yield* played(one)
        assert.deepStrictEqual([ended.end, ended.steps], [end, steps])
      }))
  }

  it.effect("logs the outcome of its entry, and marks its span", () =>
    Effect.gen(function*() {
      const about = { tool: "pay", call_id: "c1", trace_id: "c1" }
      const taken =
        "The key of a call was taken over by another process while the call ran: it may have been done twice"
      const anew = "The entry of a call had vanished from the idempotency ledger: its outcome was recorded again"
      const failed = "The idempotency ledger could not record the outcome of a call"
      const became = (fate: string) => ({ complete: () => Effect.succeed(fate) })
      const cases: ReadonlyArray<
        readonly [claim: object, end: string, logged: ReadonlyArray<unknown>, events: ReadonlyArray<unknown>]
      > = [
        [{}, "paid", [], []],
        [became("lost"), "OutcomeUnknown", [[taken, about]], [["recourse.ledger_entry", { fate: "lost" }]]],
        [became("restored"), "paid", [[anew, about]], [["recourse.ledger_entry", { fate: "restored" }]]],
        [{ confirm: Effect.succeed(false) }, "OutcomeUnknown", [[taken, about]], [["recourse.ledger_entry", {
          fate: "lost"
        }]]],
        [
          { complete: () => broken("complete") },
          "paid",
          [[failed, { ...about, operation: "complete", error: "LedgerError" }]],
          [["recourse.ledger_failed", { operation: "complete" }]]
        ]
      ]
      for (const [claim, end, logged, events] of cases) {
        const ended = yield* played({ answers: [begun], claim })
        assert.deepStrictEqual([ended.end, ended.logged, ended.events], [end, logged, events] as never)
        assert.isAbove(ended.settled, 0)
      }
    }))
})
