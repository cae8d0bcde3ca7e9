/** Agents that book, wait and compensate, with their world, and its invariants. */
import { assert } from "@effect/vitest"
import { Context, Effect, Layer, Logger, Schema } from "effect"
import { Agent, Audit, ErrorProjection, IdempotencyLedger, Recovery, type Runs, Tool, ToolCall } from "@recourse/core"
import { Durable, RunStore } from "@recourse/durable"
import { ScriptedModel } from "@recourse/testing"
import { type Fault, faulty } from "./faultyStore.ts"
import { ledgerStore } from "../../../core/test/fixtures/sharedStore.ts"

export interface Undone {
  readonly what: string
  readonly key: string | undefined
}

/** External effects, over all processes. */
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

export class SoldOut extends Schema.TaggedError<SoldOut>()(
  "SoldOut",
  {},
  ErrorProjection.declare({ model: "Sold out.", outcome: "not_done" })
) {}

const place = { parameters: Schema.Struct({ place: Schema.String }), success: Schema.Struct({ id: Schema.String }) }

export const book = <const Name extends string, const More extends object>(world: Outside, name: Name, more: More) =>
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
export const travel = (
  world: Outside,
  options: { readonly compensation?: Agent.CompensationOptions<never> | null | undefined } = {},
  durable?: Pick<
    Durable.Options<typeof Schema.String, typeof Schema.String, typeof Schema.Never>,
    "approvals" | "previousVersions" | "version"
  >
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
    durable
  )
}

type Script = "pay" | "clerk" | "slow" | "done"

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
          : script === "done"
          ? ScriptedModel.text("done")
          : ScriptedModel.call("clerk", { text: "a car" }, { id: "c3" }),
        ScriptedModel.text("done")
      ]
    return ScriptedModel.delay("30 millis", turns[turn] ?? ScriptedModel.text("?"))
  })

export const worldOf = (script: Script, store: Layer.Layer<RunStore.RunStore> = RunStore.layerMemory) => {
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

export type Travel = ReturnType<typeof travel>

/** Whoever has the store, without an agent that runs. */
export const client = <A, E>(
  { around }: ReturnType<typeof worldOf>,
  agent: Travel,
  effect: Effect.Effect<A, E, Runs.Runs>
) => Effect.provide(effect, Durable.layerClient([agent]).pipe(Layer.provide(around)))

export const runner = <A, E>(
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

export const untilWaiting = (agent: Travel, runId = "r1") =>
  Effect.gen(function*() {
    yield* agent.start(runId, "Rome")
    while ((yield* agent.poll(runId)).status !== "waiting") yield* Effect.sleep("20 millis")
  })

export const untilEnded = (agent: Travel, runId = "r1") =>
  Effect.gen(function*() {
    for (;;) {
      const info = yield* agent.poll(runId)
      if (info.status !== "queued" && info.status !== "running" && info.status !== "waiting") return info
      yield* Effect.sleep("20 millis")
    }
  })

export const whats = ({ undone }: Outside) => undone.map(({ what }) => what)

/** Each effect is compensated once, or a person reads that it is unknown; and the audit names which. */
export const laws = ({ audit, done, paid, reported, undone }: Outside, about: string) => {
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
    // A keyless call is compensated once at most.
    if (tool !== "hotel") assert.isAtMost(undoings.length, 1, about)
  }
}
