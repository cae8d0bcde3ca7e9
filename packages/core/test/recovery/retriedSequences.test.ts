/** A sequence of calls in one executor: which retry repeats its first write. */
import { assert, describe, it } from "@effect/vitest"
import { Drive, ScriptedModel } from "@recourse/testing"
import { Effect, Schedule, Schema } from "effect"
import { Agent, History, Recovery, Tool, ToolCall } from "@recourse/core"

/** Number of sent mails in a sequence whose second call fails once. */
const mails = (how: "sequence" | "second" | "tool") =>
  Effect.gen(function*() {
    let sent = 0
    let looked = 0
    const mail = Tool.make("mail", { effects: "write", execute: () => Effect.sync(() => void sent++) })
    const stock = Tool.make("stock", {
      effects: "read",
      execute: () => Effect.suspend(() => looked++ === 0 ? Effect.fail("down" as const) : Effect.void)
    })
    const again = { times: 2, schedule: Schedule.forever }
    const both = Effect.andThen(mail.call, stock.call)
    const executors = {
      sequence: Effect.retry(both, again),
      second: Effect.andThen(mail.call, Effect.retry(stock.call, again)),
      tool: both
    }
    const order = Tool.make("order", { success: Schema.Void, effects: "read", execute: () => executors[how] })
    const tool = how === "tool" ? order.pipe(Tool.onError(Recovery.retry({ ...again, while: () => true }))) : order
    yield* Drive.drive(
      Effect.exit(
        Agent.make("a", { tools: [tool], defaults: { onError: Recovery.keepGoing } }).run("x").pipe(
          Effect.provide(ScriptedModel.layer([ScriptedModel.call("order", {}), ScriptedModel.text("done")]))
        )
      )
    )
    return [sent, looked]
  })

describe("a sequence of calls in one executor", () => {
  it.effect("repeats its first write if Effect.retry is around the sequence", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* mails("sequence"), [2, 2])
    }))

  it.effect("makes its first write once if only the second call is retried", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* mails("second"), [1, 2])
    }))

  it.effect("makes its first write once if Recovery.retry is around the tool", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* mails("tool"), [1, 2])
    }))

  for (const effects of ["read", "idempotent", undefined] as const) {
    it.effect(`repeats no write with random arguments over attempts of a tool: ${effects ?? "undeclared"}`, () =>
      Effect.gen(function*() {
        const booked: Array<number> = []
        let drawn = 0
        const Ticket = Schema.Struct({ id: Schema.Int })
        const book = Tool.make("book", {
          parameters: Ticket,
          effects: "write",
          execute: ({ id }) => Effect.sync(() => void booked.push(id))
        })
        const booking = (id: number) =>
          Effect.updateService(book.call, ToolCall.ToolCall, (call) => ({ ...call, arguments: { id } }))
        const trip = Tool.make("trip", {
          success: Schema.Void,
          ...(effects === undefined ? {} : { effects }),
          execute: () =>
            Effect.suspend(() =>
              Effect.andThen(booking(++drawn), drawn === 1 ? Effect.fail("down" as const) : Effect.void)
            )
        }).pipe(Tool.onError(Recovery.retry({ times: 2, schedule: Schedule.forever, while: () => true })))
        const report = yield* Drive.drive(
          Agent.make("a", { tools: [trip], defaults: { onError: Recovery.keepGoing } }).report("x").pipe(
            Effect.provide(ScriptedModel.layer([ScriptedModel.call("trip", {}), ScriptedModel.text("done")]))
          )
        )
        assert.deepStrictEqual(booked, [1])
        assert.deepStrictEqual(History.claims(report.transcript).map(({ state }) => state), ["unknown"])
      }))
  }
})
