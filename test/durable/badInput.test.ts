/** Impossible requests to durable runs are refused with a named error: the same on each store. */
import { assert, describe, it } from "@effect/vitest"
import { Agent, Approval, Recovery, Runs, Tool } from "@recourse/core"
import { Durable, RunStore, Signal } from "@recourse/durable"
import { ScriptedModel } from "@recourse/testing"
import { Effect, Layer, Schema, Stream } from "effect"
import { SqlClient } from "effect/sql"
import { badRequests } from "../../packages/durable/test/support/badRequests.ts"
import { sqlLayer } from "../support/connections.ts"
import { sqlDatabases } from "../support/servers.ts"

const supported = sqlDatabases.filter(({ isShared, name }) => isShared && !name.startsWith("M"))

const Pay = Tool.make("pay", {
  parameters: Schema.Struct({ amount: Schema.Int }),
  effects: "write",
  needsApproval: true,
  execute: () => Effect.void
})
const clerk = (version = "1") =>
  Durable.make(
    Agent.make("clerk", { tools: [Pay], defaults: { onError: Recovery.keepGoing } }),
    { version, previousVersions: { "1": "continue" } }
  )
const Clerk = clerk()
const Other = Durable.make(Agent.fromFunction("other", (n: number) => Effect.succeed(n)), {
  input: Schema.Int,
  output: Schema.Int
})
/** The same agents, made otherwise by a later version. */
const NewClerk = Durable.make(Agent.fromFunction("clerk", (text: string) => Effect.succeed(text)), {
  version: "2",
  previousVersions: { "1": "continue" }
})
const NewOther = Durable.make(Agent.fromFunction("other", (_: { readonly n: string }) => Effect.succeed(1)), {
  input: Schema.Struct({ n: Schema.String }),
  output: Schema.Int,
  version: "2",
  previousVersions: { "1": "continue" }
})

const model = ScriptedModel.layer([ScriptedModel.call("pay", { amount: 7 }, { id: "c1" })])

const tagOf = <R>(effect: Effect.Effect<unknown, { readonly _tag: string }, R>): Effect.Effect<string, never, R> =>
  Effect.match(effect, { onFailure: ({ _tag }) => _tag, onSuccess: () => "nothing" })

/** Each operation, from a process that executes no runs. */
const operations = (
  runId: string,
  decision: Approval.Decision
): Readonly<Record<string, Effect.Effect<unknown, { readonly _tag: string }, Runs.Runs | RunStore.RunStore>>> => ({
  start: Clerk.start(runId, "go"),
  await: Clerk.await(runId),
  poll: Clerk.poll(runId),
  decide: Clerk.decide(runId, [decision]),
  cancel: Clerk.cancel(runId),
  signal: Signal.send(runId, "name", 1),
  events: Effect.flatMap(Runs.Runs, (runs) => Stream.runCollect(runs.events(runId))),
  list: Effect.flatMap(Runs.Runs, (runs) => runs.list()),
  run: Clerk.run(runId, "go")
})

const none: Approval.Decision = { _tag: "Reject", callId: "c9", argumentsHash: "00", reason: "no" } as never

const program = (break_: Effect.Effect<unknown> | undefined) =>
  Effect.gen(function*() {
    const store = yield* RunStore.RunStore
    const around = Layer.succeed(RunStore.RunStore, store)
    const client = Durable.layerClient([Clerk, Other]).pipe(Layer.provideMerge(around))
    const runner = (agents: ReadonlyArray<Durable.Any>) =>
      Durable.layer(agents, { poll: "20 millis" }).pipe(Layer.provide([around, model])) as Layer.Layer<Runs.Runs>
    const until = (runId: string, status: string) =>
      Effect.gen(function*() {
        const runs = yield* Runs.Runs
        for (;;) {
          const info = yield* runs.get(runId)
          if (info.status === status) return info
          yield* Effect.sleep("10 millis")
        }
      })
    yield* Effect.gen(function*() {
      // The run is unknown.
      for (const [name, operation] of Object.entries(operations("nobody", none))) {
        if (name === "start" || name === "list" || name === "run") continue
        assert.strictEqual(yield* tagOf(operation), "UnknownRun", name)
      }
      const runs = yield* Runs.Runs
      yield* Clerk.start("r1", "go")
      yield* Other.start("o1", 7)
      // The id is another run's, the input is invalid, or the agent is unknown.
      const conflict = yield* Effect.flip(Clerk.start("r1", "stop"))
      assert.deepInclude(conflict, { _tag: "RunConflict", differs: "input" })
      assert.deepInclude(yield* Effect.flip(Other.start("r1", 7)), { _tag: "RunConflict", differs: "agent" })
      assert.strictEqual(yield* tagOf(runs.start({ agent: "other", input: "seven" })), "InvalidInput")
      const unknown = yield* Effect.flip(runs.start({ agent: "nobody", input: 1 }))
      assert.include(unknown.message, "there are clerk, other")
      // No runner has the agent: the run is there, and says so.
      assert.strictEqual((yield* Clerk.poll("r1")).status, "queued")
      assert.strictEqual(yield* tagOf(Clerk.decide("r1", [none])), "DecisionRefused")
    }).pipe(Effect.provide(client))
    yield* Effect.scoped(Effect.provide(until("r1", "waiting"), runner([Clerk])))
    yield* Effect.gen(function*() {
      const [call] = (yield* Clerk.poll("r1")).pending as unknown as ReadonlyArray<Approval.PendingCall>
      const approved = Approval.approve(call!)
      const reasons = yield* Effect.forEach(
        [[none], [{ ...approved, argumentsHash: "00" }], [approved, approved]],
        (decisions) =>
          Effect.map(Effect.flip(Clerk.decide("r1", decisions)), (error) =>
            error._tag === "DecisionRefused" ? error.reason : error._tag)
      )
      assert.deepEqual(reasons, ["unknown_call", "other_arguments", "twice"])
      yield* Clerk.decide("r1", [approved])
      assert.deepInclude(yield* Effect.flip(Clerk.decide("r1", [approved])), { reason: "twice" })
    }).pipe(Effect.provide(client))
    // Another version has them, which cannot continue them.
    yield* Effect.scoped(Effect.provide(
      Effect.gen(function*() {
        const infos = [yield* until("r1", "failed"), yield* until("o1", "failed")]
        assert.deepEqual(
          infos.map(({ failure }) =>
            failure?.error
          ),
          ["SnapshotRefused", "InvalidInput"]
        )
      }),
      runner([NewClerk, NewOther])
    ))
    yield* Effect.gen(function*() {
      // An ended run is not cancelled, and has no waits.
      assert.isFalse(yield* Clerk.cancel("r1"))
      assert.strictEqual(yield* tagOf(Clerk.decide("r1", [none])), "DecisionRefused")
      if (break_ === undefined) return
      yield* break_
      for (const [name, operation] of Object.entries(operations("r1", none))) {
        assert.strictEqual(yield* tagOf(operation), "RunsUnavailable", name)
      }
    }).pipe(Effect.provide(client))
  })

/** A run whose model's ids and texts contain characters that a database may not store, next to another run. */
const oddly = Effect.gen(function*() {
  const odd = "a\0b \ud800"
  const Write = Tool.make("write", { effects: "write", success: Schema.String, execute: () => Effect.succeed(odd) })
  const Odd = Durable.make(Agent.make("odd", { tools: [Write], defaults: { onError: Recovery.keepGoing } }))
  const answers = ScriptedModel.layer(({ prompt }) =>
    prompt.content.some(({ role }) => role === "tool")
      ? ScriptedModel.text(odd)
      : ScriptedModel.calls([{ name: "write", params: {}, id: odd }, { name: "write", params: { odd }, id: `${odd}/` }])
  )
  const around = Layer.succeed(RunStore.RunStore, yield* RunStore.RunStore)
  const runners = Durable.layer([Odd, Other], { poll: "20 millis" }).pipe(Layer.provide([around, answers]))
  const both = Effect.all([Odd.run("odd1", odd), Other.run("other1", 7)], { concurrency: "unbounded" })
  assert.deepEqual(yield* Effect.provide(Effect.timeout(both, "10 seconds"), runners), [odd, 7])
}).pipe(Effect.scoped)

describe("impossible requests to durable runs are refused by name", () => {
  it("memory", () => Effect.runPromise(Effect.scoped(Effect.provide(program(undefined), RunStore.layerMemory))))

  for (const { name, open } of supported) {
    it(`${name}: also if the tables are missing, or of another version`, async () => {
      const { address, close } = await open()
      const sql = sqlLayer(address)
      const store = RunStore.layerSql().pipe(Layer.provideMerge(sql))
      const statement = (text: string) => Effect.flatMap(SqlClient.SqlClient, (sql) => sql.unsafe(text))
      try {
        await Effect.runPromise(Effect.scoped(Effect.provide(
          Effect.gen(function*() {
            const sql = yield* SqlClient.SqlClient
            yield* badRequests
            yield* oddly
            yield* program(Effect.orDie(sql.unsafe("DROP TABLE recourse_runs")))
          }),
          store
        )))
        // Tables of another version, whichever they are.
        for (const lost of ["recourse_steps DROP COLUMN event_count", "recourse_queues DROP COLUMN busy_until"]) {
          const table = lost.split(" ")[0]!
          const opened = Effect.scoped(Layer.build(RunStore.layerSql({ create: false })))
          const error = await Effect.runPromise(Effect.provide(
            Effect.gen(function*() {
              yield* Effect.scoped(Layer.build(RunStore.layerSql()))
              yield* opened
              yield* statement(`ALTER TABLE ${lost}`)
              const error = yield* Effect.flip(opened)
              yield* statement(`DROP TABLE ${table}`)
              return error
            }),
            sql
          ))
          assert.include(String((error as Error).message), "RunStore.createTableSql", table)
        }
      } finally {
        await close()
      }
    })
  }
})
