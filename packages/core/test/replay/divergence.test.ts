/** Executors whose fibers start in another order when they are repeated, and races that another branch wins. */
import { assert, describe, it } from "@effect/vitest"
import { Drive, ScriptedModel } from "@recourse/testing"
import { Effect, Exit, Layer, Redacted, Schema } from "effect"
import { Agent, Approval, IdempotencyLedger, Journal, Recovery, Tool } from "@recourse/core"
import { cuts, journalOf } from "../support/interruptedRuns.ts"
import { collect } from "../support/kit.ts"
import { type AnyTool, toolOf } from "../support/looseTools.ts"

type Outcome<A> =
  | { readonly _tag: "Completed"; readonly output: A }
  | { readonly _tag: "Paused"; readonly pending: ReadonlyArray<Approval.PendingCall>; readonly snapshot: Schema.Json }

const keepGoing = Tool.onError(Recovery.escalate("ExecutionError") as never) as never as (tool: AnyTool) => AnyTool

/** Runs an agent with one tool over two executions, of which the first is cut. */
const twoExecutions = (toolIn: (execution: number, world: Array<string>) => AnyTool) =>
  Effect.forEach(cuts(10), (cut) =>
    Effect.gen(function*() {
      const world: Array<string> = []
      const { kept, life } = journalOf()
      const ledger = Layer.succeedContext(yield* Effect.scoped(Layer.build(Layer.fresh(IdempotencyLedger.layerMemory))))
      const execution = (number: number) => {
        const { events, layer } = collect()
        const agent = Agent.make("boss", {
          tools: [toolIn(number, world)],
          defaults: { onError: Recovery.keepGoing }
        } as never)
        const model = ScriptedModel.layer(({ prompt, tools }) => {
          const text = JSON.stringify(prompt.content)
          const owner = text.includes("ann") ? "ann" : "bob"
          if (prompt.content.some(({ role }) => role === "tool")) return ScriptedModel.text("done")
          return ScriptedModel.call(tools[0]!, tools[0] === "pay" ? { owner } : {}, { id: `c ${tools[0]}` })
        })
        return Drive.drive(
          Effect.exit(agent.run("go", { runId: "run_1" }) as Effect.Effect<unknown, unknown>).pipe(
            Effect.map((exit) => ({
              exit,
              codes: events.flatMap((event) =>
                event._tag === "ToolResult" && event.callId === "c outer" ? [event.code ?? "ok"] : []
              )
            })),
            Effect.provide([model, layer, ledger]),
            Effect.provideService(Journal.CurrentJournal, life(number === 0 ? cut : undefined).journal)
          )
        )
      }
      yield* execution(0)
      const isCut = !kept.has("call /c outer")
      const { codes, exit } = yield* execution(1)
      return { about: cut.about, codes, exit, isCut, world }
    }))

const after = <A, E, R>(millis: number, effect: Effect.Effect<A, E, R>) => Effect.andThen(Effect.sleep(millis), effect)

describe("a repeated executor", () => {
  for (const idempotency of [undefined, true]) {
    it.effect(`runs its agents in another order${idempotency ? ", whose writes have keys" : ""}`, () =>
      Effect.gen(function*() {
        const outer = (execution: number, world: Array<string>) => {
          const pay = Tool.make("pay", {
            parameters: Schema.Struct({ owner: Schema.String }),
            success: Schema.String,
            effects: "write",
            execute: ({ owner }: { readonly owner: string }) => Effect.sync(() => (world.push(owner), "paid")),
            ...(idempotency === undefined ? undefined : { idempotency })
          } as never)
          const clerk = Agent.make("clerk", { tools: [pay], defaults: { onError: Recovery.keepGoing } } as never)
          const run = (owner: string, rank: number) =>
            after(execution === rank ? 1 : 30, clerk.run(owner as never) as Effect.Effect<unknown, unknown>)
          return toolOf("outer", {
            effects: "read",
            execute: () => Effect.as(Effect.all([run("ann", 0), run("bob", 1)], { concurrency: 2 }), "both")
          })
        }
        for (const { about, exit, world } of yield* twoExecutions(outer)) {
          assert.isTrue(Exit.isSuccess(exit), `${about}: ${exit}`)
          assert.deepStrictEqual([...new Set(world)], world, about)
          if (idempotency) assert.deepStrictEqual(world.toSorted(), ["ann", "bob"], about)
        }
      }))
  }

  it.effect("starts its writes in another order", () =>
    Effect.gen(function*() {
      const outer = (execution: number, world: Array<string>) => {
        const write = (name: string, rank: number) =>
          after(
            execution === rank ? 1 : 30,
            toolOf(name, { effects: "write", execute: () => Effect.sync(() => (world.push(name), name)) }).call
          )
        return keepGoing(toolOf("outer", {
          effects: "read",
          execute: () => Effect.as(Effect.all([write("x", 0), write("y", 1)], { concurrency: 2 }), "both")
        }))
      }
      for (const { about, codes, isCut, world } of yield* twoExecutions(outer)) {
        assert.deepStrictEqual([...new Set(world)], world, about)
        // Of a write that the cut hit the outcome is unknown. Every other one is done once.
        if (isCut && !codes.includes("outcome_unknown")) assert.deepStrictEqual(world.toSorted(), ["x", "y"], about)
      }
    }))

  it.effect("does not do the other one of two alternative writes", () =>
    Effect.gen(function*() {
      let cutBehindWrite = 0
      const outer = (execution: number, world: Array<string>) => {
        const write = (name: string) =>
          toolOf(name, { effects: "write", execute: () => Effect.sync(() => (world.push(name), name)) })
        const look = (name: string, rank: number) =>
          toolOf(name, { effects: "read", execute: () => after(execution === rank ? 1 : 30, Effect.succeed(name)) })
        return keepGoing(toolOf("outer", {
          effects: "read",
          execute: () =>
            Effect.flatMap(
              Effect.raceFirst(look("a", 0).call, look("b", 1).call),
              (won) => (won === "a" ? write("x") : write("y")).call
            )
        }))
      }
      for (const { about, codes, isCut, world } of yield* twoExecutions(outer)) {
        assert.isAtMost(world.length, 1, about)
        if (!isCut || world[0] !== "x") continue
        cutBehindWrite++
        assert.deepStrictEqual(codes, ["outcome_unknown"], about)
      }
      assert.isAbove(cutBehindWrite, 0)
    }))

  it.effect("starts its writes in another order in its second attempt", () =>
    Effect.gen(function*() {
      const world: Array<string> = []
      let attempt = 0
      const tools = ["x", "y"].map((name) =>
        toolOf(name, { effects: "write", execute: () => Effect.sync(() => (world.push(name), name)) })
      )
      const write = (rank: number) => Effect.suspend(() => after(attempt % 2 === rank ? 1 : 30, tools[rank]!.call))
      const outer = toolOf("outer", {
        effects: "read",
        execute: () =>
          Effect.suspend(() => {
            attempt++
            const both = Effect.all([write(0), write(1)], { concurrency: 2 })
            return attempt === 1
              ? after(0, Effect.andThen(write(1), Effect.fail("down")))
              : Effect.as(both, "both")
          })
      }).pipe(Tool.onError((call) => Effect.retry(call as never, { times: 1 }) as never) as never)
      const { events, layer } = collect()
      const agent = Agent.make("boss", { tools: [outer], defaults: { onError: Recovery.keepGoing } } as never)
      yield* Drive.drive(
        (agent.run("go") as Effect.Effect<unknown, unknown>).pipe(
          Effect.provide([
            ScriptedModel.layer([ScriptedModel.call("outer", {}, { id: "c" }), ScriptedModel.text("done")]),
            layer
          ])
        )
      )
      const codes = events.flatMap((event) =>
        event._tag === "ToolResult" && event.callId === "c" ? [event.code ?? "ok"] : []
      )
      assert.deepStrictEqual(world, ["y", "x"])
      assert.deepStrictEqual(codes, ["ok"])
    }))
})

describe("a question parallel to a write in one executor", () => {
  const key = Approval.layerKey(Redacted.make("0123456789abcdef0123456789abcdef0123456789"))
  for (const effects of ["write", "idempotent", "read"]) {
    it.effect(`reaches a person, and the parallel ${effects} has its result`, () =>
      Effect.gen(function*() {
        const world: Array<string> = []
        const doing = (name: string, more: object, millis: number) =>
          toolOf(name, { execute: () => after(millis, Effect.sync(() => (world.push(name), name))), ...more })
        const slow = doing("slow", { effects }, 30)
        const pay = doing("pay", { effects: "write", needsApproval: true }, 0)
        const outer = toolOf("outer", {
          effects: "read",
          mayRequestApproval: true,
          execute: () =>
            Effect.map(Effect.all([slow.call, after(5, pay.call)], { concurrency: 2 }), (names) => names.join())
        })
        const agent = Agent.make("boss", { tools: [outer], defaults: { onError: Recovery.keepGoing } } as never)
        const model = ScriptedModel.layer(({ prompt }) => {
          const result = prompt.content.flatMap(({ content, role }) => role === "tool" ? content : [])[0]
          return result === undefined
            ? ScriptedModel.call("outer", {}, { id: "c" })
            : ScriptedModel.text(String((result as { readonly result: unknown }).result))
        })
        const started = yield* Drive.drive(
          (agent.start("go") as never as Effect.Effect<Outcome<unknown>, unknown>).pipe(Effect.provide([key, model]))
        )
        assert(started._tag === "Paused")
        assert.deepStrictEqual(started.pending.map(({ tool }) => tool), ["pay"])
        assert.deepStrictEqual(world, effects === "write" ? ["slow"] : [])
        const resumed = yield* Drive.drive(
          (agent.resume(
            started.snapshot,
            started.pending.map((one) => Approval.approve(one))
          ) as never as Effect.Effect<
            Outcome<unknown>,
            unknown
          >).pipe(Effect.provide([key, model]))
        )
        assert(resumed._tag === "Completed")
        assert.strictEqual(resumed.output, "slow,pay")
        assert.deepStrictEqual(world.toSorted(), ["pay", "slow"])
      }))
  }
})
