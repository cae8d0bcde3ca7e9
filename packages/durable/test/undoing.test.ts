/** Runs that are cancelled while nobody runs them are undone: each effect once, under its key; and what is not is told. */
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Exit, Layer, Logger, Schema } from "effect"
import {
  Agent,
  Approval,
  Audit,
  ErrorProjection,
  IdempotencyLedger,
  Recovery,
  type Runs,
  Tool,
  ToolCall
} from "@recourse/core"
import { Durable, RunStore } from "@recourse/durable"
import { ScriptedModel, VirtualTime } from "@recourse/testing"
import { type Fault, faulty } from "./faultyStore.ts"
import { ledgerStore } from "./ledger.ts"

interface Undone {
  readonly what: string
  readonly key: string | undefined
}

/** What was done in the world outside, over all processes. */
const outside = () => ({
  done: [] as Array<string>,
  undone: [] as Array<Undone>,
  paid: 0,
  asked: 0,
  /** The last message of each request to a model. */
  told: [] as Array<string>,
  reported: [] as Array<string>,
  audit: [] as Array<string>
})
type Outside = ReturnType<typeof outside>

class SoldOut extends Schema.TaggedError<SoldOut>()(
  "SoldOut",
  {},
  ErrorProjection.declare({ model: "Sold out.", outcome: "not_done" })
) {}

const place = { parameters: Schema.Struct({ place: Schema.String }), success: Schema.Struct({ id: Schema.String }) }

const book = <const Name extends string, const More extends object>(world: Outside, name: Name, more: More) =>
  Tool.make(name, {
    ...place,
    effects: "write",
    execute: ({ place }) =>
      Effect.sync(() => world.done.push(`${name} ${place}`)).pipe(
        Effect.andThen(Effect.sleep("30 millis")),
        Effect.as({ id: `${name}-${place}` })
      ),
    compensate: (_arguments, { id }) =>
      Effect.flatMap(ToolCall.ToolCall, ({ idempotencyKey }) =>
        Effect.andThen(
          Effect.sync(() => world.undone.push({ what: id, key: idempotencyKey })),
          Effect.sleep("30 millis")
        )),
    ...more
  })

/** An agent that books three things, one of them by an agent of its own that waits as well, and pays with an approval. */
const travel = (
  world: Outside,
  options: { readonly compensation?: Agent.CompensationOptions<never> | null | undefined } = {},
  approvals?: { readonly expired: "reject" }
) => {
  const Flight = book(world, "flight", {})
  const Hotel = book(world, "hotel", { idempotency: true })
  const Car = book(world, "car", {})
  const Sign = Tool.make("sign", {
    effects: "write",
    needsApproval: true,
    execute: () => Effect.sync(() => void world.paid++)
  })
  const Pay = Tool.make("pay", {
    success: Schema.String,
    effects: "write",
    needsApproval: true,
    execute: () => Effect.sync(() => (world.paid++, "paid"))
  })
  const report: NonNullable<Agent.CompensationOptions<never>["report"]> = (left) =>
    Effect.sync(() => {
      for (const { because, callId, tool } of left) world.reported.push(`${tool} ${callId} ${because}`)
    })
  const compensation = options.compensation === null ? undefined : { report, ...options.compensation }
  const Request = Schema.Struct({ text: Schema.String })
  const clerk = Agent.make("clerk", {
    input: Request,
    tools: [Car, Sign],
    defaults: { onError: Recovery.keepGoing },
    ...(options.compensation === null ? { compensation: { report } } : undefined)
  })
  return Durable.make(
    Agent.make("travel", {
      tools: [
        Flight,
        Hotel,
        Pay,
        clerk.pipe(Agent.asTool("clerk", { description: "Rents", parameters: Request, success: Schema.String }))
      ],
      defaults: { onError: Recovery.keepGoing },
      approval: { timeToLive: "24 hours" },
      compensation
    }),
    approvals && { approvals }
  )
}

type Script = "pay" | "clerk" | "slow"

const model = (world: Outside, script: Script) =>
  ScriptedModel.layer(({ prompt, tools }) => {
    world.asked++
    world.told.push(JSON.stringify(prompt.content.at(-1)))
    const turn = prompt.content.filter(({ role }) => role === "assistant").length
    const isClerk = tools.length === 2
    const turns = isClerk
      ? [
        ScriptedModel.call("car", { place: "Rome" }, { id: "k1" }),
        ScriptedModel.call("sign", {}, { id: "k2" }),
        ScriptedModel.text("rented")
      ]
      : [
        ScriptedModel.calls([
          { name: "flight", params: { place: "Rome" }, id: "c1" },
          { name: "hotel", params: { place: "Rome" }, id: "c2" }
        ]),
        script === "pay"
          ? ScriptedModel.call("pay", {}, { id: "c3" })
          : ScriptedModel.call("clerk", { text: "a car" }, { id: "c3" }),
        ScriptedModel.text("done")
      ]
    return ScriptedModel.delay("30 millis", turns[turn] ?? ScriptedModel.text("?"))
  })

const worldOf = (script: Script, store: Layer.Layer<RunStore.RunStore> = RunStore.layerMemory) => {
  const world = outside()
  const kept = Effect.runSync(Effect.scoped(Layer.build(Layer.fresh(store))))
  const entries = ledgerStore()
  const around = Layer.mergeAll(
    Layer.succeedContext(kept),
    Layer.suspend(() => IdempotencyLedger.layer(entries)),
    model(world, script),
    Audit.layer((record) =>
      Effect.sync(() => {
        if (record.decision.includes("compensated")) {
          world.audit.push(`${record.tool} ${record.decision} ${record.reason ?? ""}`.trim())
        }
      })
    )
  )
  return { world, around, store: Context.get(kept, RunStore.RunStore) }
}

type Travel = ReturnType<typeof travel>

/** Whoever has the store, without an agent that runs. */
const client = <A, E>({ around }: ReturnType<typeof worldOf>, agent: Travel, effect: Effect.Effect<A, E, Runs.Runs>) =>
  Effect.provide(effect, Durable.layerClient([agent]).pipe(Layer.provide(around)))

const runner = <A, E>(
  { around, store }: ReturnType<typeof worldOf>,
  agent: Travel,
  effect: Effect.Effect<A, E, Runs.Runs>,
  faults: ReadonlyArray<Fault> = []
) =>
  Effect.provide(
    effect,
    Durable.layer([agent], { grace: 1 }).pipe(
      Layer.provide(Layer.succeed(RunStore.RunStore, faulty(store, faults))),
      Layer.provide(around)
    )
  ).pipe(Effect.provide(Logger.layer([])))

const untilWaiting = (agent: Travel) =>
  Effect.gen(function*() {
    yield* agent.start("r1", "Rome")
    while ((yield* agent.poll("r1")).status !== "waiting") yield* Effect.sleep("20 millis")
  })

const untilEnded = (agent: Travel) =>
  Effect.gen(function*() {
    for (;;) {
      const info = yield* agent.poll("r1")
      if (info.status !== "queued" && info.status !== "running" && info.status !== "waiting") return info
      yield* Effect.sleep("20 millis")
    }
  })

const whats = ({ undone }: Outside) => undone.map(({ what }) => what)

describe("a durable run that is cancelled while it waits for an approval", () => {
  for (const by of ["its own process", "another process"]) {
    it.live(`is undone: by ${by}`, () =>
      Effect.gen(function*() {
        const all = worldOf("pay")
        const agent = travel(all.world)
        if (by === "its own process") {
          const { exit } = yield* VirtualTime.run(runner(
            all,
            agent,
            Effect.gen(function*() {
              yield* untilWaiting(agent)
              const asked = all.world.asked
              assert.isTrue(yield* agent.cancel("r1"))
              const info = yield* Effect.timeout(untilEnded(agent), "1 second")
              assert.strictEqual(info.status, "cancelled")
              assert.strictEqual(all.world.asked, asked)
            })
          ))
          assert.deepEqual(exit, Exit.void)
        } else {
          yield* VirtualTime.run(runner(all, agent, untilWaiting(agent)))
          assert.isTrue(yield* client(all, agent, agent.cancel("r1")))
          // Nobody lives who could undo it; decisions come too late.
          const info = yield* client(all, agent, agent.poll("r1"))
          assert.strictEqual(info.status, "queued")
          const [call] = (yield* all.store.get("r1"))!.pending as unknown as ReadonlyArray<Approval.PendingCall>
          const late = yield* Effect.flip(client(all, agent, agent.decide("r1", [Approval.approve(call!)])))
          assert.strictEqual(late._tag, "DecisionRefused")
          const { exit } = yield* VirtualTime.run(runner(all, agent, Effect.timeout(untilEnded(agent), "1 second")))
          assert.strictEqual(Exit.isSuccess(exit) && exit.value.status, "cancelled")
        }
        assert.deepEqual(all.world.done, ["flight Rome", "hotel Rome"])
        assert.deepEqual(whats(all.world), ["hotel-Rome", "flight-Rome"])
        assert.strictEqual(all.world.paid, 0)
        assert.deepEqual(all.world.audit, ["hotel compensated", "flight compensated"])
        assert.deepEqual(all.world.reported, [])
        const events = yield* all.store.events("r1", 0)
        assert.deepEqual(
          events.flatMap(({ event }) => {
            const { _tag, outcome, tool } = event as Record<string, string>
            return _tag === "ToolCompensated"
              ? [`${tool} ${outcome}`]
              : _tag === "RunFinished"
              ? [`${_tag} ${outcome}`]
              : []
          }),
          ["RunFinished paused", "hotel undone", "flight undone", "RunFinished interrupted"]
        )
        // Whoever reads what was said on learns it.
        assert.include(JSON.stringify(events.at(-1)), "undone")
      }))
  }

  it.live("undoes what an agent within has done that waits: its own, or that of the agent around it", () =>
    Effect.gen(function*() {
      for (const compensation of [undefined, null] as const) {
        const all = worldOf("clerk")
        const agent = travel(all.world, { compensation })
        yield* VirtualTime.run(runner(all, agent, untilWaiting(agent)))
        yield* client(all, agent, agent.cancel("r1"))
        const { exit } = yield* VirtualTime.run(runner(all, agent, untilEnded(agent)))
        assert.strictEqual(Exit.isSuccess(exit) && exit.value.status, "cancelled")
        assert.deepEqual(
          whats(all.world),
          compensation === null ? ["car-Rome"] : ["car-Rome", "hotel-Rome", "flight-Rome"]
        )
      }
    }))

  it.live("ends at once where it has done nothing that could be undone, and undoes nothing where it is not to", () =>
    Effect.gen(function*() {
      const all = worldOf("pay")
      const agent = travel(all.world, { compensation: { after: ["failure"] } })
      yield* VirtualTime.run(runner(all, agent, untilWaiting(agent)))
      yield* client(all, agent, agent.cancel("r1"))
      const { exit } = yield* VirtualTime.run(runner(all, agent, untilEnded(agent)))
      assert.strictEqual(Exit.isSuccess(exit) && exit.value.status, "cancelled")
      assert.deepEqual(all.world.undone, [])
      const other = worldOf("pay")
      const plain = travel(other.world, { compensation: null })
      yield* VirtualTime.run(runner(other, plain, untilWaiting(plain)))
      yield* client(other, plain, plain.cancel("r1"))
      assert.strictEqual((yield* client(other, plain, plain.poll("r1"))).status, "cancelled")
    }))
})

/** Each effect is undone once, or a person is told that nobody knows; and the audit says which. */
const laws = ({ audit, done, paid, reported, undone }: Outside, about: string) => {
  assert.strictEqual(paid, 0, about)
  for (const tool of ["flight", "hotel", "car"]) {
    const isDone = done.some((one) => one.startsWith(tool))
    const undoings = undone.filter(({ what }) => what.startsWith(tool))
    const isReported = reported.some((one) => one.startsWith(tool))
    const isAudited = audit.some((one) => one.startsWith(tool))
    if (!isDone) assert.deepEqual(undoings, [], about)
    else assert.isTrue(isReported || undoings.length > 0, `${about}: ${tool} is neither undone nor told of`)
    if (isDone) assert.isTrue(isAudited, `${about}: ${tool} is not in the audit`)
    assert.isAtMost(new Set(undoings.map(({ key }) => key)).size, 1, about)
    // What has no key is undone once at most.
    if (tool !== "hotel") assert.isAtMost(undoings.length, 1, about)
  }
}

describe("a durable run that is cancelled between its lives", () => {
  for (const script of ["pay", "clerk"] as const) {
    it.live(`is undone, wherever its process was killed: ${script}`, () =>
      Effect.gen(function*() {
        const first = worldOf(script)
        const whole = yield* VirtualTime.run(runner(first, travel(first.world), untilWaiting(travel(first.world))))
        let undone = 0
        for (let killAt = 40; killAt < whole.operations; killAt += 37) {
          const all = worldOf(script)
          const agent = travel(all.world)
          yield* VirtualTime.run(runner(all, agent, untilWaiting(agent)), { killAt })
          if ((yield* all.store.get("r1")) === undefined) continue
          const asked = all.world.asked
          yield* VirtualTime.run(client(all, agent, agent.cancel("r1")), { startAt: 60_000 })
          const last = yield* VirtualTime.run(runner(all, agent, untilEnded(agent)), { startAt: 61_000, identity: 1 })
          const about = `killed at ${killAt}`
          assert.strictEqual(Exit.isSuccess(last.exit) && last.exit.value.status, "cancelled", about)
          assert.isBelow(last.elapsed, 1000, about)
          // Nothing is begun any more.
          assert.strictEqual(all.world.asked, asked, about)
          laws(all.world, about)
          undone += all.world.undone.length
        }
        assert.isAbove(undone, 5)
      }), 120_000)
  }

  for (const key of [false, true]) {
    for (const ends of ["is cancelled", "fails"] as const) {
      it.live(
        `knows what a tool had done within, that is not made again: it ${ends}${key ? ", under keys" : ""}`,
        () =>
          Effect.gen(function*() {
            let undone = 0
            const made = () => {
              const all = worldOf("pay")
              const Flight = book(all.world, "flight", key ? { idempotency: true } : {})
              const Refused = book(all.world, "car", {
                failure: SoldOut,
                execute: () => Effect.fail(new SoldOut())
              })
              const Bundle = Tool.make("bundle", {
                effects: "write",
                execute: () =>
                  Effect.gen(function*() {
                    const within = (tool: typeof Flight, id: string) =>
                      Effect.provideService(
                        tool.call,
                        ToolCall.ToolCall,
                        ToolCall.make({ id, arguments: { place: "Rome" } })
                      )
                    yield* Effect.exit(within(Refused as never, "r"))
                    yield* within(Flight, "f")
                    yield* Effect.sleep("2 seconds")
                  })
              })
              const agent = Durable.make(
                Agent.make("travel", {
                  tools: [Bundle],
                  compensation: {
                    tools: [Flight, Refused] as never,
                    report: (left) =>
                      Effect.sync(() => {
                        for (const { because, callId, tool } of left) {
                          all.world.reported.push(`${tool} ${callId} ${because}`)
                        }
                      })
                  }
                })
              ) as unknown as Travel
              const turns = ScriptedModel.layer(({ prompt }) =>
                prompt.content.length > 1 ? ScriptedModel.text("done") : ScriptedModel.call("bundle", {}, { id: "b" })
              )
              return { agent, all: { ...all, around: Layer.merge(all.around, turns) } }
            }
            const first = made()
            const started = Effect.andThen(first.agent.start("r1", "Rome"), untilEnded(first.agent))
            const whole = yield* VirtualTime.run(runner(first.all, first.agent, started))
            assert.strictEqual(Exit.isSuccess(whole.exit) && whole.exit.value.status, "completed")
            for (let killAt = 40; killAt < whole.operations; killAt += 41) {
              const { agent, all } = made()
              const start = Effect.andThen(agent.start("r1", "Rome"), untilEnded(agent))
              yield* VirtualTime.run(runner(all, agent, start), { killAt })
              const stored = yield* all.store.get("r1")
              if (stored === undefined || stored.status === "completed") continue
              if (ends === "is cancelled") {
                yield* VirtualTime.run(client(all, agent, agent.cancel("r1")), { startAt: 60_000 })
              }
              const last = yield* VirtualTime.run(runner(all, agent, untilEnded(agent)), {
                startAt: 61_000,
                identity: 1
              })
              const about = `killed at ${killAt}`
              if (Exit.isSuccess(last.exit) && last.exit.value.status === "completed") continue
              assert.strictEqual(
                Exit.isSuccess(last.exit) && last.exit.value.status,
                ends === "fails" ? "failed" : "cancelled",
                about
              )
              laws(all.world, about)
              // What is known not to have happened is nothing to look at.
              if (all.world.done.length > 0) {
                assert.isFalse(all.world.reported.some((one) => one.startsWith("car")), about)
              }
              undone += all.world.undone.length
            }
            assert.isAbove(undone, 0)
          }),
        120_000
      )
    }
  }

  it.live("is undone once, wherever the process is killed that undoes it", () =>
    Effect.gen(function*() {
      for (const script of ["pay", "clerk"] as const) {
        const start = () =>
          Effect.gen(function*() {
            const all = worldOf(script)
            const agent = travel(all.world)
            yield* VirtualTime.run(runner(all, agent, untilWaiting(agent)))
            yield* VirtualTime.run(client(all, agent, agent.cancel("r1")), { startAt: 30_000 })
            return { agent, all }
          })
        const whole = yield* start()
        const { operations } = yield* VirtualTime.run(runner(whole.all, whole.agent, untilEnded(whole.agent)), {
          startAt: 60_000
        })
        for (let killAt = 10; killAt < operations; killAt += 19) {
          const { agent, all } = yield* start()
          yield* VirtualTime.run(runner(all, agent, untilEnded(agent)), { startAt: 60_000, killAt })
          const between = whats(all.world)
          const last = yield* VirtualTime.run(runner(all, agent, untilEnded(agent)), { startAt: 120_000, identity: 1 })
          const about = `${script} killed at ${killAt}, ${between}`
          assert.strictEqual(Exit.isSuccess(last.exit) && last.exit.value.status, "cancelled", about)
          laws(all.world, about)
        }
      }
    }), 120_000)
})

describe("a durable run that is undone", () => {
  it.live(
    "is so once, where the store fails, dies, loses an answer, freezes, is late or out of reach at each operation",
    () =>
      Effect.gen(function*() {
        for (const fault of ["fails", "dies", "lost", "frozen", "gone", "slow"] as const) {
          for (let at = 1; at <= 16; at++) {
            const all = worldOf("clerk")
            const agent = travel(all.world)
            yield* VirtualTime.run(runner(all, agent, untilWaiting(agent)))
            yield* VirtualTime.run(client(all, agent, agent.cancel("r1")), { startAt: 30_000 })
            const ended = yield* VirtualTime.runAll([
              { effect: runner(all, agent, untilEnded(agent), [{ at, fault }]) },
              { effect: runner(all, agent, untilEnded(agent)), identity: 1 }
            ], { order: at, startAt: 60_000 })
            const about = `${fault} at ${at}`
            for (const { exit } of ended) {
              assert.strictEqual(Exit.isSuccess(exit) && exit.value.status, "cancelled", about)
            }
            laws(all.world, about)
          }
        }
      }),
    120_000
  )

  for (const how of ["refuses", "does not decide in time"] as const) {
    it.live(
      `as a person ${how}: what was done before, once, wherever a process is killed`,
      () =>
        Effect.gen(function*() {
          const start = () =>
            Effect.gen(function*() {
              const all = worldOf("pay")
              const agent = travel(all.world, {}, how === "refuses" ? undefined : { expired: "reject" })
              yield* VirtualTime.run(runner(all, agent, untilWaiting(agent)))
              if (how === "refuses") {
                const [call] = (yield* all.store.get("r1"))!.pending as unknown as ReadonlyArray<Approval.PendingCall>
                yield* VirtualTime.run(client(all, agent, agent.decide("r1", [Approval.reject(call!, "Too dear.")])), {
                  startAt: 30_000
                })
              }
              return { agent, all }
            })
          const at = how === "refuses" ? 60_000 : 25 * 3_600_000
          const whole = yield* start()
          const { exit, operations } = yield* VirtualTime.run(
            runner(whole.all, whole.agent, untilEnded(whole.agent)),
            { startAt: at }
          )
          assert.strictEqual(Exit.isSuccess(exit) && exit.value.status, "completed")
          assert.deepEqual(whats(whole.all.world), ["hotel-Rome", "flight-Rome"])
          assert.include(whole.all.world.told.at(-1), "undone")
          for (let killAt = 10; killAt < operations; killAt += 29) {
            const { agent, all } = yield* start()
            yield* VirtualTime.run(runner(all, agent, untilEnded(agent)), { startAt: at, killAt })
            const last = yield* VirtualTime.run(runner(all, agent, untilEnded(agent)), {
              startAt: at + 60_000,
              identity: 1
            })
            const about = `killed at ${killAt}`
            assert.strictEqual(Exit.isSuccess(last.exit) && last.exit.value.status, "completed", about)
            laws(all.world, about)
          }
        }),
      120_000
    )
  }
})
