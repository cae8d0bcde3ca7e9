/** Namespaces of own keys: a tool is never answered with the payment of another tool. */
import { assert, describe, it } from "@effect/vitest"
import { ScriptedModel } from "@recourse/testing"
import { Effect, Schema } from "effect"
import { Agent, IdempotencyLedger, Tool } from "@recourse/core"

const Order = Schema.Struct({ order: Schema.String })

interface Callable {
  readonly call: Effect.Effect<string>
}

const bank = (
  paid: Array<string>,
  name: string,
  options: { readonly namespace?: string; readonly tool?: string } = {}
): Tool.Any =>
  Tool.make(options.tool ?? "pay", {
    parameters: Order,
    success: Schema.String,
    effects: "write",
    idempotency: {
      key: ({ order }: typeof Order.Type) => order,
      ...(options.namespace === undefined ? {} : { namespace: options.namespace })
    },
    execute: ({ order }: typeof Order.Type) => Effect.sync(() => (paid.push(`${name} ${order}`), `paid by ${name}`))
  } as never) as unknown as Tool.Any

/** Pays order 7 with a tool, by an agent. Returns the result that the model reads: a text, or the code of a failure. */
const pays = (agent: string, tool: Tool.Any) =>
  Effect.gen(function*() {
    const { transcript } = yield* Agent.make(agent, { tools: [tool] } as never).report("go")
    const [result] = transcript.content.flatMap((message) =>
      message.role === "tool" ? message.content.filter((part) => part.type === "tool-result") : []
    )
    return result!.isFailure ? (result!.result as { readonly code: string }).code : result!.result
  }).pipe(Effect.provide(ScriptedModel.layer([
    ScriptedModel.call(tool.name, { order: "7" }),
    ScriptedModel.text("end")
  ]))) as Effect.Effect<unknown, never, IdempotencyLedger.IdempotencyLedger>

describe("an own key", () => {
  it.effect("of another agent's tool of the same name is a conflict", () =>
    Effect.gen(function*() {
      const paid: Array<string> = []
      assert.strictEqual(yield* pays("clerk", bank(paid, "A")), "paid by A")
      assert.strictEqual(yield* pays("teller", bank(paid, "B")), "idempotency_conflict")
      assert.deepStrictEqual(paid, ["A 7"])
    }).pipe(Effect.provide(IdempotencyLedger.layerMemory)))

  it.effect("of one tool that two agents have is done once", () =>
    Effect.gen(function*() {
      const paid: Array<string> = []
      const tool = bank(paid, "A")
      assert.strictEqual(yield* pays("clerk", tool), "paid by A")
      assert.strictEqual(yield* pays("teller", tool), "paid by A")
      assert.deepStrictEqual(paid, ["A 7"])
    }).pipe(Effect.provide(IdempotencyLedger.layerMemory)))

  it.effect("of a tool made for each run of an agent executes once", () =>
    Effect.gen(function*() {
      const paid: Array<string> = []
      assert.strictEqual(yield* pays("clerk", bank(paid, "A")), "paid by A")
      assert.strictEqual(yield* pays("clerk", bank(paid, "A")), "paid by A")
      assert.deepStrictEqual(paid, ["A 7"])
    }).pipe(Effect.provide(IdempotencyLedger.layerMemory)))

  it.effect("is another one in another namespace", () =>
    Effect.gen(function*() {
      const paid: Array<string> = []
      for (const name of ["A", "B"]) {
        assert.strictEqual(
          yield* pays(`clerk of ${name}`, bank(paid, name, { namespace: `bank ${name}` })),
          `paid by ${name}`
        )
      }
      assert.deepStrictEqual(paid, ["A 7", "B 7"])
    }).pipe(Effect.provide(IdempotencyLedger.layerMemory)))

  it.effect("is shared in a declared namespace, by tools of one name", () =>
    Effect.gen(function*() {
      const paid: Array<string> = []
      assert.strictEqual(yield* pays("clerk", bank(paid, "A", { namespace: "bank" })), "paid by A")
      assert.strictEqual(yield* pays("teller", bank(paid, "A", { namespace: "bank" })), "paid by A")
      assert.strictEqual(
        yield* pays("teller", bank(paid, "A", { namespace: "bank", tool: "transfer" })),
        "idempotency_conflict"
      )
      assert.deepStrictEqual(paid, ["A 7"])
    }).pipe(Effect.provide(IdempotencyLedger.layerMemory)))

  it.effect("is another one for each tenant of a ledger", () =>
    Effect.gen(function*() {
      const paid: Array<string> = []
      const tool = bank(paid, "A")
      for (const tenant of ["a", "b", "a"]) {
        yield* pays("clerk", tool).pipe(Effect.provide(IdempotencyLedger.layerNamespace(tenant)))
      }
      assert.deepStrictEqual(paid, ["A 7", "A 7"])
    }).pipe(Effect.provide(IdempotencyLedger.layerMemory)))

  it.effect("of two tools of one name in one executor is a conflict", () =>
    Effect.gen(function*() {
      const paid: Array<string> = []
      const [one, other] = [bank(paid, "A"), bank(paid, "B")] as unknown as ReadonlyArray<Callable>
      const both = Tool.make(
        "both",
        { parameters: Order, success: Schema.String, execute: () => Effect.andThen(one!.call, other!.call) } as never
      ) as unknown as Tool.Any
      // The first payment was made.
      assert.strictEqual(yield* pays("clerk", both), "outcome_unknown")
      assert.deepStrictEqual(paid, ["A 7"])
    }).pipe(Effect.provide(IdempotencyLedger.layerMemory)))

  it.effect("of two tools of same-named agents in one run is a conflict", () =>
    Effect.gen(function*() {
      const paid: Array<string> = []
      const asks = (name: string) =>
        Agent.make("teller", { tools: [bank(paid, name)] } as never).pipe(
          Agent.provide(
            ScriptedModel.layer([ScriptedModel.call("pay", { order: "7" }), ScriptedModel.text(`paid by ${name}`)])
          )
        ) as unknown as Agent.Agent<string, string, unknown, IdempotencyLedger.IdempotencyLedger>
      const outer = Agent.fromFunction("outer", () => Effect.andThen(asks("A").run("go"), asks("B").run("go")))
      const exit = yield* Effect.exit(outer.run("go"))
      assert.include(String(exit), "IdempotencyConflict")
      assert.deepStrictEqual(paid, ["A 7"])
    }).pipe(Effect.provide(IdempotencyLedger.layerMemory)))
})
