/** A run that is cancelled while it waits is undone by whichever process lives next, on each database. */
import { assert, describe, it } from "@effect/vitest"
import { Agent, Audit, Tool } from "@recourse/core"
import { Durable, RunStore } from "@recourse/durable"
import { ScriptedModel } from "@recourse/testing"
import { Effect, Layer, Schema } from "effect"
import { sqlLayer } from "../support/connections.ts"
import { sqlDatabases } from "../support/servers.ts"

const supported = sqlDatabases.filter(({ isShared, name }) => isShared && !name.startsWith("M"))

describe("a durable run that is cancelled while it waits", () => {
  for (const { name, open } of supported) {
    it(`is undone: ${name}`, async () => {
      const { address, close } = await open()
      const log: Array<string> = []
      const audit: Array<string> = []
      const Book = Tool.make("book", {
        parameters: Schema.Struct({ seat: Schema.String }),
        success: Schema.Struct({ id: Schema.String }),
        effects: "write",
        execute: ({ seat }) => Effect.sync(() => (log.push(`book ${seat}`), { id: `b-${seat}` })),
        compensate: (_arguments, { id }) => Effect.sync(() => void log.push(`cancel ${id}`))
      })
      const Pay = Tool.make("pay", { effects: "write", needsApproval: true, execute: () => Effect.void })
      const agent = Durable.make(Agent.make("travel", { tools: [Book, Pay], compensation: {} }))
      const model = ScriptedModel.layer(({ prompt }) =>
        prompt.content.some(({ role }) => role === "tool")
          ? ScriptedModel.call("pay", {}, { id: "p" })
          : ScriptedModel.call("book", { seat: "1A é\u0000" }, { id: "b" })
      )
      const store = RunStore.layerSql().pipe(Layer.provide(sqlLayer(address)))
      const around = Layer.mergeAll(
        store,
        model,
        Audit.layer(({ decision }) => Effect.sync(() => void audit.push(decision)))
      )
      const process = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
        Effect.provide(effect, Durable.layer([agent], { poll: "20 millis" }).pipe(Layer.provide(Layer.fresh(around))))
      const until = (status: string) =>
        Effect.gen(function*() {
          while ((yield* agent.poll("r1")).status !== status) yield* Effect.sleep("20 millis")
        })
      try {
        await Effect.runPromise(process(Effect.andThen(agent.start("r1", "Rome"), until("waiting"))))
        const client = Durable.layerClient([agent]).pipe(Layer.provide(Layer.fresh(store)))
        assert.isTrue(await Effect.runPromise(Effect.provide(agent.cancel("r1"), client)))
        await Effect.runPromise(process(until("cancelled")))
        assert.deepEqual(log, ["book 1A é\u0000", "cancel b-1A é\u0000"])
        assert.deepEqual(audit.filter((one) => one.includes("compensated")), ["compensated"])
      } finally {
        await close()
      }
    })
  }
})
