/** A write within a call, a kill in the write, and a second kill at each record of the execution that compensates: people learn of the write. */
import { assert, describe, it } from "@effect/vitest"
import { ScriptedModel } from "@recourse/testing"
import { Deferred, Effect, Fiber, Layer, Schema as S } from "effect"
import type { Schema } from "effect"
import { KeyValueStore } from "effect/persistence"
import { Agent, IdempotencyLedger, Journal, Tool, ToolCall } from "@recourse/core"

const Order = S.Struct({ order: S.String })

/** Kinds of keys that the write within the call can have. */
const keys = {
  "own key": { key: ({ order }: typeof Order.Type) => order },
  "default key": true,
  "no key": undefined
} as const

interface Cut {
  /** The record at which the process is killed; left out: within the write. */
  readonly record?: number
  /** True if the record is kept. */
  readonly isKept?: boolean
}

/** The store, the world and the people of one run, over all its executions. */
const scene = (idempotency: unknown) => {
  const stored = new Map<string, Schema.Json>()
  const world: Array<string> = []
  const reported: Array<string> = []

  /** One execution, killed as `cut` says, or run to its end. */
  const execution = (nth: number, cut: Cut | undefined) =>
    Effect.gen(function*() {
      const killed = yield* Deferred.make<void>()
      let isDead = false
      const die = Effect.suspend(() => {
        isDead = true
        return Effect.andThen(Deferred.succeed(killed, undefined), Effect.never)
      })
      const alive = Effect.suspend(() => isDead ? Effect.never : Effect.void)
      const pay = Tool.make("pay", {
        parameters: Order,
        success: S.String,
        effects: "write",
        ...(idempotency === undefined ? undefined : { idempotency }),
        execute: () =>
          Effect.andThen(
            alive,
            Effect.suspend(() => {
              world.push("paid")
              return cut !== undefined && cut.record === undefined ? die : Effect.succeed("ok")
            })
          ),
        compensate: () => Effect.andThen(alive, Effect.sync(() => void world.push("compensated")))
      } as never) as unknown as Tool.Any & { readonly call: Effect.Effect<string, unknown, ToolCall.ToolCall> }
      const outer = Tool.make("do", {
        success: S.String,
        effects: "write",
        execute: () =>
          Effect.flatMap(ToolCall.ToolCall, (call) =>
            Effect.provideService(pay.call, ToolCall.ToolCall, { ...call, arguments: { order: "7" } }))
      } as never) as unknown as Tool.Any
      const earlier = new Map(stored)
      let records = 0
      const journal: Journal.Journal = {
        runId: "r",
        isResumed: nth > 0,
        elapsedBefore: 0,
        find: (kind, key) =>
          earlier.get(`${kind} ${key}`),
        entries: (kind) =>
          [...earlier].flatMap(([key, value]) =>
            key.startsWith(`${kind} `) ? [[key.slice(kind.length + 1), value] as const] : []
          ),
        claim: (entry) => entry.slice(0, 32),
        record: (kind, key, value) =>
          Effect.suspend(() => {
            if (isDead) return Effect.never
            const isCut = ++records === cut?.record
            if (!isCut || cut?.isKept === true) stored.set(`${kind} ${key}`, JSON.parse(JSON.stringify(value)))
            return isCut ? die : Effect.void
          })
      }
      const agent = Agent.make("a", {
        tools: [outer, pay],
        compensation: {
          tools: [pay],
          report: (left: ReadonlyArray<{ readonly tool: string }>) =>
            Effect.andThen(alive, Effect.sync(() => void reported.push(...left.map(({ tool }) => tool))))
        }
      } as never) as unknown as Agent.Agent<string, string, unknown, ScriptedModel.ScriptedModel>
      const fiber = yield* Effect.forkDetach(
        agent.report("go", { runId: "r" }).pipe(
          Effect.provideService(Journal.CurrentJournal, journal),
          // A process has a ledger of its own, on the store that all share.
          Effect.provide(Layer.fresh(IdempotencyLedger.layerKeyValueStore())),
          Effect.provide(ScriptedModel.layer(({ prompt }) =>
            prompt.content.some(({ role }) => role === "tool")
              ? ScriptedModel.failure("InvalidRequestError")
              : ScriptedModel.call("do", {}, { id: "c" })
          ))
        )
      )
      yield* Effect.raceFirst(Fiber.await(fiber), Deferred.await(killed))
      // A killed process runs no finalizer: `alive` and the journal have its state.
      return records
    })
  return { execution, reported, world }
}

describe("a write that was killed within a call", () => {
  for (const [name, idempotency] of Object.entries(keys)) {
    it.effect(`is compensated or reported after a second kill at any record, ${name}`, () =>
      Effect.gen(function*() {
        let last = 1
        for (let record = 1; record <= last; record++) {
          for (const isKept of [true, false]) {
            const { execution, reported, world } = scene(idempotency)
            yield* Effect.gen(function*() {
              yield* execution(0, {})
              last = Math.max(last, yield* execution(1, { record, isKept }))
              yield* execution(2, undefined)
            }).pipe(Effect.provide(KeyValueStore.layerMemory))
            assert.isTrue(
              reported.length > 0 || world.includes("compensated"),
              `record ${record}, kept: ${isKept}: ${world}`
            )
          }
          if (record === last) last++
          if (record > 12) break
        }
        assert.isAbove(last, 4)
      }))
  }
})
