/** Inner calls that repeat: the same call, or a call of its own. */

import { assert, describe, it } from "@effect/vitest"
import { ScriptedModel } from "@recourse/testing"
import { Effect, Layer, Schema } from "effect"
import type { ToolError } from "@recourse/core"
import { Approval, Recovery, Tool, ToolCall } from "@recourse/core"
import { by } from "../support/kit.ts"
import {
  agentOf,
  Args,
  Down,
  type Inner,
  layer,
  outer,
  pausedOf,
  played,
  recovered,
  tool
} from "../support/innerCalls.ts"

const { text } = ScriptedModel

/** Makes a call by hand. */
const made = (call: Inner, args: unknown, id = "mine"): Inner =>
  Effect.provideService(call, ToolCall.ToolCall, ToolCall.make({ id, arguments: args }))

/** Makes a call of the one that runs, with other arguments, and with another id if there is one. */
const instead = (call: Inner, args: unknown, id?: string): Inner =>
  Effect.flatMap(
    ToolCall.ToolCall,
    (current) =>
      Effect.provideService(call, ToolCall.ToolCall, {
        ...current,
        arguments: args,
        ...(id === undefined ? {} : { id })
      })
  )

describe("a repeated call", () => {
  const same: Readonly<Record<string, unknown>> = {
    "the same arguments": { to: "Ada", note: { a: 1, b: 2 } },
    "the same arguments in another order": { note: { b: 2, a: 1 }, to: "Ada" },
    "the same arguments as text": "{ \"note\": { \"b\": 2, \"a\": 1 }, \"to\": \"Ada\" }"
  }

  const other: Readonly<Record<string, unknown>> = {
    "other arguments": { to: "Eve", note: { a: 1, b: 2 } },
    "other arguments as text": "{\"to\":\"Eve\"}",
    "a larger number": { to: "Ada", note: { a: 1n, b: 2 } }
  }

  const Pay = (failures: number) => {
    const runs: Array<string> = []
    const made = Tool.make("outer", {
      parameters: Schema.Struct({ to: Schema.String, note: Schema.optionalKey(Schema.Unknown) }),
      success: Schema.String,
      effects: "write",
      onUnknownKeys: "drop",
      execute: ({ to }) =>
        Effect.flatMap(ToolCall.ToolCall, ({ id }) =>
          Effect.suspend(() => {
            runs.push(`${id} ${to}`)
            return runs.length <= failures ? Effect.fail(new Down()) : Effect.succeed("paid")
          }))
    }) as Tool.Any & { readonly call: Inner }
    return { runs, tool: made }
  }

  const call = ScriptedModel.call("outer", same["the same arguments"], { id: "c" })

  const run = (tool: Tool.Any) =>
    Effect.exit(agentOf([tool]).run("go")).pipe(
      Effect.provide(Layer.merge(layer, ScriptedModel.layer([call, text("done")])))
    )

  for (const [how, args] of Object.entries(same)) {
    it.effect(`with ${how} is that call: a write runs once`, () =>
      Effect.gen(function*() {
        const { runs, tool } = Pay(1)
        yield* run(recovered(tool, (first) => Effect.catch(first, () => instead(tool.call, args))))
        assert.deepStrictEqual(runs, ["c Ada"])
      }))
  }

  for (const [how, args] of Object.entries(other)) {
    it.effect(`with ${how} is a call of its own`, () =>
      Effect.gen(function*() {
        const { runs, tool } = Pay(1)
        yield* run(recovered(tool, (first) => Effect.catch(first, () => instead(tool.call, args))))
        assert.strictEqual(runs.length, 2)
        assert.match(runs[1]!, /^c\/outer_1 /)
      }))
  }

  it.effect("by hand as one value has one record: writes run once", () =>
    Effect.gen(function*() {
      const pay = tool("pay", "write", { failures: 9 })
      const note = tool("note", "write", { failures: 9 })
      const again = (call: Inner) => Effect.option(Effect.retry(call, { times: 2 }))
      const a = outer("read", ({ to }) => {
        const one = ToolCall.make({ id: "mine", arguments: { to } })
        const by = (call: Inner) => Effect.provideService(call, ToolCall.ToolCall, one)
        return Effect.as(
          Effect.all([again(by(pay.tool.call)), again(by(note.tool.call)), again(by(pay.tool.call))]),
          ""
        )
      })
      yield* played(agentOf([a.tool]).report("go"))
      assert.deepStrictEqual(pay.runs.map(({ id }) => id), ["c/mine"])
      assert.deepStrictEqual(note.runs.map(({ id }) => id), ["c/mine_2"])
    }).pipe(Effect.provide(layer)))

  it.effect("has the program's id once, and otherwise its tool's name", () =>
    Effect.gen(function*() {
      const look = tool("look", "read")
      const a = outer("read", () =>
        Effect.as(
          Effect.all([
            instead(look.tool.call, { to: "A" }),
            instead(look.tool.call, { to: "B" }, "x/y"),
            instead(look.tool.call, { to: "C" }, "x/y"),
            instead(look.tool.call, { to: "D" }),
            made(look.tool.call, { to: "E" }, "c")
          ]),
          ""
        ))
      yield* played(agentOf([a.tool]).report("go"))
      assert.deepStrictEqual(look.runs.map(({ id, to }) => `${id} ${to}`), [
        "c/look_1 A",
        "c/x_y B",
        "c/x_y_2 C",
        "c/look_2 D",
        "c/c E"
      ])
    }).pipe(Effect.provide(layer)))

  it.effect("behind a pause has the approved id, for any earlier calls", () =>
    Effect.gen(function*() {
      const runs: Array<string> = []
      const Look = Tool.make("look", {
        parameters: Args,
        success: Schema.String,
        effects: "read",
        needsApproval: ({ to }) => to === "Bob",
        execute: ({ to }) => Effect.map(ToolCall.ToolCall, ({ id }) => (runs.push(`${id} ${to}`), to))
      })
      let lives = 0
      const a = outer("read", () => {
        const names = lives++ === 0 ? ["Ada", "Bob"] : ["Eve", "Eve", "Bob", "Ada"]
        return Effect.map(Effect.forEach(names, (to) => instead(Look.call as Inner, { to })), String)
      })
      const agent = agentOf([a.tool])
      const paused = pausedOf((yield* played(agent.start("go"))).exit)
      assert.deepStrictEqual(paused.pending.map(({ callId }) => callId), ["c/look_2"])
      assert.deepStrictEqual(runs.splice(0), ["c/look_1 Ada"])
      yield* played(agent.resume(JSON.parse(JSON.stringify(paused.snapshot)), [Approval.approve(paused.pending[0]!)]))
      assert.deepStrictEqual(runs, ["c/look_1 Eve", "c/look_3 Eve", "c/look_2 Bob", "c/look_4 Ada"])
    }).pipe(Effect.provide(layer)))
})

describe("a key around a call", () => {
  it.effect("that a tool makes is that call's", () =>
    Effect.gen(function*() {
      const pay = tool("pay", "write")
      const once = Recovery.idempotent({ key: () => "k" })
      const a = outer("read", () =>
        Effect.map(Effect.all([once(pay.tool.call as never), once(pay.tool.call as never)]), String))
      const { results } = yield* played(agentOf([a.tool]).report("go"))
      assert.deepStrictEqual(
        results.map(({ result }) =>
          result
        ),
        ["pay 1 Ada,pay 1 Ada"]
      )
      assert.strictEqual(pay.runs.length, 1)
    }).pipe(Effect.provide(layer)))

  it.effect("that makes calls is not theirs", () =>
    Effect.gen(function*() {
      const pay = tool("pay", "write")
      const a = outer("write", () => Effect.map(Effect.all([pay.tool.call, pay.tool.call]), String))
      const once = recovered(a.tool, Recovery.idempotent({ key: () => "k" }) as never)
      const { results } = yield* played(agentOf([once]).report("go"))
      assert.deepStrictEqual(results.map(({ result }) => result), ["pay 1 Ada,pay 2 Ada"])
    }).pipe(Effect.provide(layer)))
})

describe("a call by hand", () => {
  it.effect("may have values beyond JSON, unless a policy or key compares", () =>
    Effect.gen(function*() {
      const seen: Array<unknown> = []
      const made = (options: object) =>
        Tool.make("t", {
          parameters: Schema.Struct({ value: Schema.Any }),
          effects: "write",
          execute: ({ value }: { readonly value: unknown }) => Effect.sync(() => void seen.push(value)),
          ...options
        } as never) as unknown as Tool.Any & { readonly call: Inner }
      const value = () => 1
      yield* made({}).call.pipe(by({ value }))
      assert.deepStrictEqual(seen.splice(0), [value])
      for (const options of [{ idempotency: true }, { needsApproval: () => false }]) {
        const error = yield* Effect.flip(made(options).call.pipe(by({ value })))
        assert.strictEqual((error as ToolError.InvalidArgs)._tag, "InvalidArgs")
      }
      assert.deepStrictEqual(seen, [])
    }).pipe(Effect.provide(layer)))
})
