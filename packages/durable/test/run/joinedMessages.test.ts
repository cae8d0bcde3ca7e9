/** Joined messages of a durable run: a sender that hears of it finds its message in the transcript. */
import { assert, describe, it } from "@effect/vitest"
import { Agent, Recovery, Runs, Tool } from "@recourse/core"
import { Durable, RunStore } from "@recourse/durable"
import { ScriptedModel, VirtualTime } from "@recourse/testing"
import { Effect, Exit, Layer, Schema, Stream } from "effect"

const slow = Tool.make("slow", {
  success: Schema.Null,
  effects: "read",
  execute: () => Effect.as(Effect.sleep("10 seconds"), null)
})
const clerkOf = (options: { readonly version: string; readonly previousVersions?: Record<string, "stop"> }) =>
  Durable.make(Agent.make("clerk", { tools: [slow], defaults: { onError: Recovery.keepGoing } }), options)
const clerk = clerkOf({ version: "1" })

const model = () =>
  ScriptedModel.layer(({ prompt }) =>
    prompt.content.some(({ role }) => role === "tool") ? ScriptedModel.text("Done.") : ScriptedModel.call("slow", {})
  )

const texts = ["First.", "Second.", "Third."]

/** Sends three messages at once while the run executes. Returns the texts that have joined and those of the transcript. */
const sendAll = (during: (runs: Runs.RunsService) => Effect.Effect<unknown, unknown>) =>
  Effect.gen(function*() {
    const runs = yield* Runs.Runs
    yield* runs.start({ agent: "clerk", input: "Hello", runId: "r1" })
    yield* Effect.sleep("1 second")
    const [sent] = yield* Effect.all([
      Effect.forEach(texts, (text) => Effect.exit(runs.addMessage!("r1", { id: text, content: text })), {
        concurrency: "unbounded"
      }),
      during(runs)
    ], { concurrency: 2 })
    yield* runs.wait("r1")
    const events = yield* Stream.runCollect(runs.events("r1"))
    const end = JSON.stringify(events.findLast(({ event }) => event._tag === "RunFinished"))
    return {
      joined: texts.filter((_, n) => Exit.isSuccess(sent[n]!) && sent[n].value),
      refused: texts.filter((_, n) => Exit.isSuccess(sent[n]!) && !sent[n].value),
      said: texts.filter((text) => end.includes(`"text":"${text}"`))
    }
  })

type Sent = Effect.Success<ReturnType<typeof sendAll>>

const check = ({ joined, refused, said }: Sent, about: string): void => {
  assert.deepStrictEqual(joined.filter((text) => !said.includes(text)), [], `lost ${about}`)
  assert.deepStrictEqual(refused.filter((text) => said.includes(text)), [], `denied ${about}`)
}

/** A store in memory with other operations. */
const storeWith = (change: (store: RunStore.Store) => Partial<RunStore.Store>) =>
  Layer.effect(RunStore.RunStore, Effect.map(RunStore.RunStore, (store) => ({ ...store, ...change(store) }))).pipe(
    Layer.provide(RunStore.layerMemory)
  )

describe("a message that has joined a durable run", () => {
  it.live("is in its transcript, whichever read of the inbox fails", () =>
    Effect.gen(function*() {
      const gone = Effect.fail(new RunStore.RunStoreError({ operation: "inbox", reason: "gone" }))
      let joined = 0
      for (const operation of ["signal", "signalled"] as const) {
        for (let at = 1; at <= 12; at++) {
          for (const isBehind of [false, true]) {
            let operations = 0
            const failing = <A>(effect: Effect.Effect<A, RunStore.RunStoreError>) =>
              Effect.suspend(() => ++operations !== at ? effect : isBehind ? Effect.andThen(effect, gone) : gone)
            const store = storeWith((store) => ({
              [operation]: (...args: Parameters<RunStore.Store["signal"]>) =>
                failing<unknown>((store[operation] as RunStore.Store["signal"])(...args))
            }))
            const { exit } = yield* VirtualTime.run(
              sendAll(() => Effect.void).pipe(
                Effect.provide(Durable.layer([clerk]).pipe(Layer.provide([model(), store])))
              )
            )
            const sent = yield* exit
            check(sent, `at ${operation} ${at}`)
            joined += sent.joined.length
          }
        }
      }
      assert.isAbove(joined, 60)
    }))

  it.live("is in its transcript, whenever the run is cancelled", () =>
    Effect.gen(function*() {
      const seen = new Set<number>()
      for (let tenths = 0; tenths <= 12; tenths++) {
        const store = storeWith((store) => ({
          signal: (...args) => Effect.delay(store.signal(...args), "100 millis"),
          signalled: (...args) => Effect.delay(store.signalled(...args), "100 millis")
        }))
        const { exit } = yield* VirtualTime.run(
          sendAll((runs) => Effect.delay(runs.cancel("r1"), 8900 + tenths * 100)).pipe(
            Effect.provide(Durable.layer([clerk]).pipe(Layer.provide([model(), store])))
          )
        )
        const sent = yield* exit
        check(sent, `${tenths} tenths`)
        seen.add(sent.joined.length)
      }
      assert.isTrue(seen.has(0))
      assert.isAbove(seen.size, 1)
    }))

  it.live("is in its transcript, if its process dies before it is recorded", () =>
    Effect.gen(function*() {
      const others = [clerk, clerkOf({ version: "2", previousVersions: { "1": "stop" } })]
      for (const [n, other] of others.entries()) {
        const shared = Layer.succeedContext(
          Effect.runSync(Effect.scoped(Layer.build(Layer.fresh(RunStore.layerMemory))))
        )
        let isDead = false
        const never = Effect.never as Effect.Effect<never>
        const dying = Layer.effect(
          RunStore.RunStore,
          Effect.map(RunStore.RunStore, (store): RunStore.Store => ({
            ...store,
            append: (steps) =>
              Effect.suspend(() => {
                isDead ||= steps.some(({ kind }) => kind === "wait")
                return isDead ? never : store.append(steps)
              }),
            take: (wanted) => Effect.suspend(() => isDead ? never : store.take(wanted)),
            settle: (hold, leaving) => Effect.suspend(() => isDead ? never : store.settle(hold, leaving))
          }))
        ).pipe(Layer.provide(shared))
        const program = Effect.gen(function*() {
          yield* Layer.build(Durable.layer([clerk], { grace: 1 }).pipe(Layer.provide([model(), dying])))
          return yield* sendAll((runs) =>
            Effect.gen(function*() {
              yield* Effect.sleep("20 seconds")
              assert.isTrue(isDead)
              if (other === clerk) yield* runs.cancel("r1")
              yield* Layer.build(Layer.fresh(Durable.layer([other])).pipe(Layer.provide([model(), shared])))
              yield* Effect.sleep("1 minute")
            }).pipe(Effect.scoped)
          ).pipe(Effect.provide(Durable.layerClient([clerk]).pipe(Layer.provide(shared))))
        })
        const { exit } = yield* VirtualTime.run(Effect.scoped(program))
        const sent = yield* exit
        check(sent, `of case ${n}`)
        assert.isAbove(sent.joined.length, 0)
      }
    }))
})
