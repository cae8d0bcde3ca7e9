/**
 * Later attempts in a journaled run: entries of an earlier attempt, or of an earlier execution, apply to that one only.
 */
import { assert, it } from "@effect/vitest"
import { Drive, ScriptedModel } from "@recourse/testing"
import { Effect, Fiber, Schedule, Schema } from "effect"
import { Agent, ErrorProjection, IdempotencyLedger, Journal, Recovery, Tool, ToolCall } from "@recourse/core"
import { type CutAt, cuts, journalOf } from "../support/interruptedRuns.ts"

class Declined extends Schema.TaggedError<Declined>()(
  "Declined",
  {},
  ErrorProjection.declare({ code: "declined", model: "Declined.", outcome: "not_done" })
) {}

const Order = Schema.Struct({ order: Schema.String })

type Callable = Tool.Any & { readonly call: Effect.Effect<string, unknown, ToolCall.ToolCall> }

const doing = (execute: () => Effect.Effect<unknown, unknown, ToolCall.ToolCall>): Tool.Any =>
  Tool.make("do", { success: Schema.String, effects: "read", execute } as never) as unknown as Tool.Any

/** One execution of a run of which the model fails at the end. */
const execution = (tools: ReadonlyArray<Tool.Any>, journal: Journal.Journal, options: object = {}) =>
  Effect.exit(
    (Agent.make(
      "a",
      { tools, defaults: { onError: Recovery.keepGoing }, ...options } as never
    ) as unknown as Agent.Agent<
      string,
      string,
      unknown,
      IdempotencyLedger.IdempotencyLedger
    >).report("go", { runId: "run_1" }).pipe(
      Effect.provideService(Journal.CurrentJournal, journal),
      Effect.provide(ScriptedModel.layer(({ prompt }) =>
        prompt.content.some(({ role }) => role === "tool")
          ? ScriptedModel.failure("InvalidRequestError")
          : ScriptedModel.call("do", {}, { id: "c" })
      ))
    )
  )

/** A payment that is declined first and made then, by a run that is cut off and fails in its next execution. */
const declinedFirst = (cut: CutAt) =>
  Effect.gen(function*() {
    const world: Array<string> = []
    const reported: Array<string> = []
    let tries = 0
    const pay = Tool.make("pay", {
      parameters: Order,
      success: Schema.String,
      failure: Declined,
      effects: "write",
      idempotency: { key: () => "7" },
      execute: () =>
        Effect.suspend(() =>
          tries++ === 0 ? Effect.fail(new Declined()) : Effect.sync(() => (world.push("paid"), "ok"))
        ),
      compensate: () => Effect.sync(() => void world.push("compensated"))
    } as never).pipe(
      Tool.onError(((call: Effect.Effect<string>) => Effect.retry(call, { times: 1 })) as never) as never
    ) as unknown as Callable
    const outer = doing(() =>
      Effect.flatMap(
        ToolCall.ToolCall,
        (call) => Effect.provideService(pay.call, ToolCall.ToolCall, { ...call, arguments: { order: "7" } })
      )
    )
    const compensation = {
      tools: [pay],
      report: (left: ReadonlyArray<{ readonly tool: string }>) =>
        Effect.sync(() => void reported.push(...left.map(({ tool }) => tool)))
    }
    const { life } = journalOf()
    yield* execution([outer, pay], life(cut).journal, { compensation })
    yield* execution([outer, pay], life().journal, { compensation })
    return { reported, world }
  }).pipe(Effect.provide(IdempotencyLedger.layerMemory))

it.effect("a payment declined first and made then is compensated or reported", () =>
  Effect.gen(function*() {
    let paid = 0
    for (const { about, ...cut } of cuts(12)) {
      const { reported, world } = yield* declinedFirst(cut)
      if (!world.includes("paid")) continue
      paid++
      assert.isTrue(reported.length > 0 || world.includes("compensated"), `cut ${about}: ${world}`)
    }
    assert.isAbove(paid, 2)
  }))

it.effect("Effect.retry does not rerun an agent that paid in an earlier execution", () =>
  Effect.gen(function*() {
    const paid: Array<string> = []
    let failures = 0
    const pay = Tool.make("pay", {
      parameters: Order,
      success: Schema.String,
      effects: "write",
      execute: ({ order }) => Effect.suspend(() => paid.push(order) === 1 ? Effect.never : Effect.succeed("paid"))
    })
    const inner = Agent.make("inner", { tools: [pay], defaults: { onError: Recovery.keepGoing } }).pipe(
      Agent.provide(ScriptedModel.layer(({ prompt }) =>
        !prompt.content.some(({ role }) => role === "tool")
          ? ScriptedModel.call("pay", { order: "7" }, { id: "p" })
          : failures++ === 0
          ? ScriptedModel.failure("InvalidRequestError")
          : ScriptedModel.text("paid")
      ))
    )
    const outer = doing(() => Effect.retry(inner.run("x"), { times: 1 }))
    const { life } = journalOf()
    const first = yield* Effect.forkChild(execution([outer], life().journal), { startImmediately: true })
    for (let n = 0; n < 50 && paid.length === 0; n++) yield* Effect.yieldNow
    yield* Fiber.interrupt(first)
    yield* execution([outer], life().journal)
    assert.strictEqual(failures, 1)
    assert.deepStrictEqual(paid, ["7"])
  }).pipe(Effect.provide(IdempotencyLedger.layerMemory)))

it.effect("a failed attempt in a second attempt of the outer call is not repeated", () =>
  Effect.gen(function*() {
    const retried = (while_: (error: { readonly attempt: number }) => boolean) =>
      Tool.onError(
        Recovery.retry({
          times: 2,
          schedule: Schedule.spaced("2 seconds"),
          while: while_,
          evenIfRetried: true
        } as never) as never
      ) as never
    const attempts: Array<number> = []
    const pay = Tool.make("pay", {
      parameters: Order,
      success: Schema.String,
      failure: Declined,
      effects: "write",
      idempotency: true,
      execute: () =>
        Effect.flatMap(ToolCall.ToolCall, ({ attempt }) => {
          attempts.push(attempt)
          return attempt < 4 ? Effect.fail(new Declined()) : Effect.succeed("ok")
        })
    } as never).pipe(retried(({ attempt }) => attempt !== 2)) as unknown as Callable
    const outer = (doing(() =>
      Effect.flatMap(
        ToolCall.ToolCall,
        (call) => Effect.provideService(pay.call, ToolCall.ToolCall, { ...call, arguments: { order: "7" } })
      )
    ) as never as { pipe: (f: unknown) => Tool.Any }).pipe(retried(() => true))
    const waits = (keys: Iterable<string>) => [...keys].filter((key) => key.startsWith("wait "))
    const play = (cut: CutAt | undefined) =>
      Effect.gen(function*() {
        attempts.length = 0
        const { kept, life } = journalOf()
        yield* Drive.drive(execution([outer], life(cut).journal))
        const keys = [...kept.keys()]
        if (cut !== undefined) yield* Drive.drive(execution([outer], life().journal))
        return { attempts: [...attempts], keys }
      }).pipe(Effect.provide(IdempotencyLedger.layerMemory))
    const whole = yield* play(undefined)
    assert.deepStrictEqual(whole.attempts, [1, 2, 3, 4])
    assert.deepStrictEqual(waits(whole.keys).map((key) => key.split("/").slice(0, 2).join("/")), [
      "wait /c@1",
      "wait /c#1",
      "wait /c@2"
    ])
    const at = whole.keys.indexOf(waits(whole.keys).at(-1)!) + 1
    const { attempts: again } = yield* play({ at, behind: true })
    assert.deepStrictEqual(again, [1, 2, 3, 4])
  }))
