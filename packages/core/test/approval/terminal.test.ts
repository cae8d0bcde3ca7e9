/** A person at the terminal. */

import { ScriptedModel } from "@recourse/testing"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Layer, Queue, Schema, Terminal } from "effect"
import { Agent, Approval, Audit, Recovery, Tool } from "@recourse/core"
import { refunds, told } from "../support/refunds.ts"

const { call, text } = ScriptedModel

/** A terminal at which lines are typed. */
const typing = (...lines: ReadonlyArray<string>) => {
  const shown: Array<string> = []
  const left = [...lines]
  const terminal = Terminal.make({
    columns: Effect.succeed(40),
    rows: Effect.succeed(20),
    size: Effect.flatMap(Queue.unbounded<Terminal.Size, Cause.Done>(), (queue) => Effect.succeed(queue)),
    readInput: Effect.flatMap(Queue.unbounded<Terminal.UserInput, Cause.Done>(), (queue) => Effect.succeed(queue)),
    readLine: Effect.suspend(() => {
      const line = left.shift()
      return line === undefined ? Effect.fail(new Terminal.QuitError({})) : Effect.succeed(line)
    }),
    display: (text) => Effect.sync(() => void shown.push(text))
  })
  return { shown, layer: Layer.succeed(Terminal.Terminal, terminal) }
}

describe("a person at the terminal", () => {
  const decide = (params: unknown, ...lines: ReadonlyArray<string>) => {
    const { layer, shown } = typing(...lines)
    const { clerk, done } = refunds()
    const records: Array<string> = []
    return Effect.gen(function*() {
      const exit = yield* Effect.exit(
        clerk.pipe(Approval.interactive(Approval.terminal({ by: "Ada" }))).run("x")
      )
      return { exit, done, shown: shown.join(""), records, told: JSON.stringify(yield* told) }
    }).pipe(
      Effect.provide(Layer.mergeAll(
        layer,
        ScriptedModel.layer([call("refund", params), text("ok")]),
        Audit.layer((record) => Effect.sync(() => records.push(`${record.decision} by ${record.by}`)))
      ))
    )
  }

  it.effect("approves", () =>
    Effect.gen(function*() {
      const { done, records, shown } = yield* decide({ euros: 3 }, "what?", " Y ")
      assert.deepStrictEqual(done, [3])
      assert.include(records, "approved by Ada")
      assert.strictEqual(
        shown,
        "\nMay refund be called with these\n  arguments?\n  euros: 3\n[y]es, [n]o, [e]dit? [y]es, [n]o, [e]dit? "
      )
    }))

  it.effect("refuses, and says why", () =>
    Effect.gen(function*() {
      const { done, told } = yield* decide({ euros: 3 }, "no", "Not today")
      assert.deepStrictEqual(done, [])
      assert.include(told, "Not today")
    }))

  it.effect("edits arguments, and is asked again for a non-object", () =>
    Effect.gen(function*() {
      const { done, shown } = yield* decide({ euros: 3 }, "e", "[4]", "edit", "{\"euros\":4}")
      assert.deepStrictEqual(done, [4])
      assert.include(shown, "That is not a JSON object.")
    }))

  it.effect("quits, and the run ends with that", () =>
    Effect.gen(function*() {
      const { done, exit } = yield* Effect.scoped(
        Effect.gen(function*() {
          const { layer } = typing()
          const { clerk, done } = refunds()
          const exit = yield* Effect.exit(clerk.pipe(Approval.interactive(Approval.terminal())).run("x")).pipe(
            Effect.provide([layer, ScriptedModel.layer([call("refund", { euros: 3 })])])
          )
          return { exit, done }
        })
      )
      assert.isTrue(Exit.isFailure(exit) && Cause.squash(exit.cause) instanceof Terminal.QuitError)
      assert.deepStrictEqual(done, [])
    }))

  it.effect("reads the arguments with escaped control characters", () =>
    Effect.gen(function*() {
      const layers = typing("n", "")
      const Run = Tool.make("run", {
        parameters: Schema.Struct({ command: Schema.String }),
        effects: "write",
        needsApproval: true,
        execute: () => Effect.void
      })
      const agent = Agent.make("a", { tools: [Run], defaults: { onError: Recovery.standard } })
      yield* agent.pipe(Approval.interactive(Approval.terminal())).run("x").pipe(
        Effect.provide([
          layers.layer,
          ScriptedModel.layer([call("run", { command: "rm -rf / \u001B[2K\rls \u202E\u009B1A" }), text("ok")])
        ])
      )
      const shown = layers.shown.join("")
      assert.include(shown, "rm -rf /")
      // oxlint-disable-next-line no-control-regex
      assert.notMatch(shown, /[\u0000-\u0009\u000B-\u001F\u007F-\u009F\u202E]/)
    }))
})
