/** A sequence of calls in one executor: which retry repeats its first write. */
import { assert, describe, it } from "@effect/vitest"
import { Drive, ScriptedModel } from "@recourse/testing"
import { Effect, Schedule, Schema } from "effect"
import { Agent, Recovery, Tool } from "@recourse/core"

/** How often a mail is sent in a sequence whose second call fails once. */
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
})
