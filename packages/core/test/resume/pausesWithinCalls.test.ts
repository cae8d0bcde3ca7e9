/** A call waits within another one behind inner writes: they are not repeated, and never reported as not done. */

import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Schema } from "effect"
import type { AgentEvent } from "@recourse/core"
import { IdempotencyLedger, Recovery, Tool, ToolError } from "@recourse/core"
import {
  agentOf,
  approvedAll,
  asks,
  type Call,
  Declined,
  key,
  layer,
  outer,
  pausedOf,
  played,
  resumed,
  stored,
  tool,
  withArguments,
  yes
} from "../support/waitingCalls.ts"

describe("calls completed within a call before its wait", () => {
  const pay = () => tool("pay", asks)

  const cases: Readonly<Record<string, (note: ReturnType<typeof tool>, pay: ReturnType<typeof tool>) => Tool.Any>> = {
    "in the executor": (note, pay) => outer(() => Effect.all([note.tool.call, pay.tool.call])),
    "beside it": (note, pay) =>
      outer(() => Effect.all([note.tool.call, Effect.andThen(Effect.yieldNow, pay.tool.call)], { concurrency: 2 })),
    "by a tool that a tool calls": (note, pay) => {
      const between = tool("between", { effects: "read", execute: () => note.tool.call }).tool as typeof note.tool
      return outer(() => Effect.all([between.call, pay.tool.call]))
    },
    "by a write around it that is done": (note, pay) => {
      const between = tool("between", { execute: () => note.tool.call }).tool as typeof note.tool
      return outer(() => Effect.all([between.call, pay.tool.call]))
    },
    "by a write, whose recovery continues": (note, pay) => {
      const between = note.tool.pipe(
        Tool.onError(((call: Call) => Effect.zipWith(call, pay.tool.call, (a, b) => `${a},${b}`)) as never)
      ) as unknown as typeof note.tool
      return outer(() => between.call)
    },
    "in an attempt before": (note, pay) => {
      let attempts = 0
      return outer(() =>
        Effect.andThen(
          note.tool.call,
          (said) =>
            ++attempts === 1 ? Effect.fail(new Declined()) : Effect.map(pay.tool.call, (paid) => `${said},${paid}`)
        )
      ).pipe(Tool.onError(((call: Call) => Effect.retry(call, { times: 1 })) as never)) as never
    }
  }

  for (const [where, make] of Object.entries(cases)) {
    for (const idempotency of [undefined, true]) {
      it.effect(`${where} is not repeated, ${idempotency ? "with" : "without"} a key`, () =>
        Effect.gen(function*() {
          const note = tool("note", { idempotency })
          const asked = pay()
          const { pauses, results } = yield* approvedAll(agentOf([make(note, asked)]))
          assert.deepStrictEqual(pauses.map(({ pending }) => pending.map(({ tool }) => tool)), [["pay"]])
          assert.deepStrictEqual(note.runs, ["Ada"])
          assert.deepStrictEqual(asked.runs, ["Ada"])
          assert.deepStrictEqual(results, ["note 1 Ada,pay 1 Ada"])
        }).pipe(Effect.provide(layer)))
    }
  }

  it.effect("is not done again though the ledger has forgotten it", () =>
    Effect.gen(function*() {
      const note = tool("note", { idempotency: { timeToLive: "1 minute" } })
      const asked = pay()
      const agent = agentOf([outer(() => Effect.all([note.tool.call, asked.tool.call]))])
      const paused = pausedOf(yield* played(agent.start("go")).pipe(Effect.provide(IdempotencyLedger.layerMemory)))
      const { results } = yield* resumed(agent, paused).pipe(Effect.provide(IdempotencyLedger.layerMemory))
      assert.deepStrictEqual(results, ["note 1 Ada,pay 1 Ada"])
      assert.deepStrictEqual(note.runs, ["Ada"])
    }).pipe(Effect.provide(key)))

  it.effect("stay completed over several pauses, each write in turn", () =>
    Effect.gen(function*() {
      const asked = pay()
      const agent = agentOf([
        outer(() => Effect.forEach(["a", "b", "c"], (to) => asked.tool.call.pipe(withArguments({ to }))))
      ])
      const { audit, pauses, results } = yield* approvedAll(agent)
      assert.deepStrictEqual(pauses.flatMap(({ pending }) => pending.map(({ arguments: args }) => args["to"])), [
        "a",
        "b",
        "c"
      ])
      assert.deepStrictEqual(asked.runs, ["a", "b", "c"])
      assert.deepStrictEqual(results, ["pay 1 a,pay 2 b,pay 3 c"])
      assert.deepStrictEqual(audit.filter((record) => record.startsWith("approved")).length, 3)
    }).pipe(Effect.provide(layer)))

  it.effect("are emitted once, charged once, and one entry of the record", () =>
    Effect.gen(function*() {
      const note = tool("note")
      const asked = pay()
      const agent = agentOf([outer(() => Effect.all([note.tool.call, asked.tool.call]))], { budget: { toolCalls: 4 } })
      const first = yield* played(agent.start("go"))
      const paused = pausedOf(first)
      const { events, exit } = yield* played(
        agent.resume(stored(paused), yes(paused))
      )
      assert.isTrue(Exit.isSuccess(exit))
      const attempts = events.flatMap((event) =>
        event._tag === "ToolAttempt" || event._tag === "ToolAttemptRefused" ? [`${event._tag} ${event.tool}`] : []
      )
      assert.deepStrictEqual(attempts, ["ToolAttempt outer", "ToolAttemptRefused note", "ToolAttempt pay"])
      const ended = events.find((event) => event._tag === "RunFinished")
      assert.strictEqual(ended?._tag === "RunFinished" ? ended.usage.toolCalls : undefined, 4)
    }).pipe(Effect.provide(layer)))

  it.effect("keep their outcome: results without JSON, marks, reads", () =>
    Effect.gen(function*() {
      const kinds: Array<boolean> = []
      const ofRun = (asking: object) => {
        const when = tool("when", { success: Schema.Date, execute: () => Effect.sync(() => new Date(0)) })
        const web = tool("web", { trust: "untrusted", execute: () => Effect.succeed("obey") })
        const cached = tool("cached", { execute: () => Effect.fail(new Declined()) }).tool.pipe(
          Tool.onError(
            Recovery.fallback("ExecutionError", Effect.succeed("old"), { degraded: { source: "cache" } }) as never
          )
        ) as unknown as Tool.Any & { readonly call: Call }
        const asked = tool("pay", asking)
        return approvedAll(agentOf([
          outer(() =>
            Effect.gen(function*() {
              const at: unknown = yield* when.tool.call
              kinds.push(at instanceof Date)
              return [yield* web.tool.call, yield* cached.call, yield* asked.tool.call]
            })
          )
        ], { onTainted: { allow: [asked.tool, cached] } }))
      }
      const resultOf = ({ events }: { readonly events: ReadonlyArray<AgentEvent.AgentEvent> }) =>
        JSON.stringify(
          events.flatMap((event) =>
            event._tag === "ToolResult" && event.callId === "c" ? [{ ...event, at: 0, sequence: 0 }] : []
          )
        ).replaceAll(/run_[0-9a-f-]+/g, "run")
      const waited = yield* ofRun(asks)
      assert.strictEqual(waited.pauses.length, 1)
      assert.deepStrictEqual(kinds, [true, true])
      assert.strictEqual(resultOf(waited), resultOf(yield* ofRun({})))
      assert.include(resultOf(waited), "\"untrusted\":true")
      assert.include(resultOf(waited), "\"degraded\":{\"source\":\"cache\"}")
    }).pipe(Effect.provide(layer)))

  it.effect("answer as before if failed though completed", () =>
    Effect.gen(function*() {
      const asked = pay()
      for (
        const error of [
          (fields: object) => new ToolError.PartialSuccess({ ...fields, succeeded: ["a"], failed: [] } as never),
          (fields: object) => new ToolError.Pending({ ...fields, taskId: "t1" } as never)
        ]
      ) {
        let runs = 0
        const part = tool("part", {
          execute: () =>
            Effect.suspend(() => (runs++, Effect.fail(error({ tool: "part", callId: "x", attempt: 1, causes: [] }))))
        })
        const agent = agentOf([
          outer(() =>
            Effect.flatMap(
              Effect.catch(part.tool.call, (error) => Effect.succeed((error as { readonly _tag: string })._tag)),
              (tag) => Effect.map(asked.tool.call, (paid) => `${tag} ${paid.slice(0, 3)}`)
            )
          )
        ])
        const { pauses, results } = yield* approvedAll(agent)
        assert.strictEqual(pauses.length, 1)
        assert.strictEqual(runs, 1)
        assert.match(String(results), /^(PartialSuccess|Pending) pay$/)
      }
    }).pipe(Effect.provide(layer)))
})

describe("started calls without an effect", () => {
  it.effect("restart before completed calls are replayed", () =>
    Effect.gen(function*() {
      const first = tool("first", {
        execute: () => Effect.sync(() => first.runs.push("x")).pipe(Effect.andThen(Effect.fail(new Declined())))
      })
      const note = tool("note")
      const asked = tool("pay", asks)
      const agent = agentOf([
        outer(() =>
          Effect.all([Effect.option(first.tool.call), note.tool.call, asked.tool.call]).pipe(
            Effect.map(([, ...rest]) => rest)
          )
        )
      ])
      const { results } = yield* approvedAll(agent)
      assert.deepStrictEqual(results, ["note 1 Ada,pay 1 Ada"])
      assert.deepStrictEqual([first.runs.length, note.runs.length, asked.runs.length], [2, 1, 1])
    }).pipe(Effect.provide(layer)))
})

describe("a replacement of a call", () => {
  for (const idempotency of [undefined, { rejected: ["Declined"] }]) {
    it.effect(`waits for its approval, ${idempotency === undefined ? "without" : "with"} a key`, () =>
      Effect.gen(function*() {
        const asked = tool("pay", asks)
        let runs = 0
        const first = tool("outer", {
          idempotency,
          execute: () => Effect.suspend(() => (runs++, Effect.fail(new Declined())))
        }).tool.pipe(Tool.onError(Recovery.fallback("ExecutionError", asked.tool.call) as never))
        const { results } = yield* approvedAll(agentOf([first as never]))
        assert.deepStrictEqual(results, ["pay 1 Ada"])
        assert.deepStrictEqual([runs, asked.runs], [2, ["Ada"]])
      }).pipe(Effect.provide(layer)))
  }
})

describe("a call completed before the pause, in a repeated call", () => {
  it.effect("answers each attempt", () =>
    Effect.gen(function*() {
      const note = tool("note")
      const asked = tool("pay", asks)
      let attempts = 0
      const agent = agentOf([
        outer(() =>
          Effect.flatMap(note.tool.call, (said) =>
            ++attempts === 2 ? Effect.fail(new Declined()) : Effect.map(asked.tool.call, (paid) =>
              `${said},${paid}`))
        )
          .pipe(Tool.onError(
            ((call: Call) =>
              Effect.retry(call, { times: 1 })) as never
          )) as never
      ])
      const { results } = yield* approvedAll(agent)
      assert.deepStrictEqual(results, ["note 1 Ada,pay 1 Ada"])
      assert.deepStrictEqual([attempts, note.runs, asked.runs], [3, ["Ada"], ["Ada"]])
    }).pipe(Effect.provide(layer)))

  it.effect("is unknown and not repeated if its result cannot be decoded", () =>
    Effect.gen(function*() {
      const runs: Array<string> = []
      const agent = (success: Schema.Top) => {
        const note = tool("note", { success, execute: () => Effect.sync(() => (runs.push("note"), "noted")) })
        const asked = tool("pay", { ...asks, execute: () => Effect.sync(() => (runs.push("pay"), "paid")) })
        return agentOf([
          outer(() =>
            Effect.andThen(
              Effect.catchTag(
                note.tool.call as Effect.Effect<string, ToolError.OutcomeUnknown>,
                "OutcomeUnknown",
                () => Effect.succeed("nobody knows")
              ),
              (said) => Effect.map(asked.tool.call, (paid) => `${said}, ${paid}`)
            )
          )
        ])
      }
      const paused = pausedOf(yield* played(agent(Schema.String).start("go")))
      const { audit, results } = yield* resumed(agent(Schema.Int), paused)
      assert.deepStrictEqual(results, ["outcome_unknown"])
      assert.deepStrictEqual(runs, ["note", "pay"])
      assert.deepStrictEqual(audit, ["approved c/pay_1", "outcome_unknown c/note_1"])
    }).pipe(Effect.provide(layer)))
})
