/**
 * Calls made twice at once: a call is raced with itself, at each possible place of a program, in random orders of
 * fibers. A write starts once. A key is free if and only if no execution started under it, and it is claimed as long as
 * an execution runs under it.
 */
import { assert, describe, it } from "@effect/vitest"
import { ScriptedModel, VirtualTime } from "@recourse/testing"
import { Cause, Effect, Exit, Layer, Redacted, Schedule, Schema } from "effect"
import { KeyValueStore } from "effect/persistence"
import {
  Agent,
  AgentEvent,
  Approval,
  ErrorProjection,
  IdempotencyLedger,
  Reconciliation,
  Recovery,
  Tool,
  ToolCall,
  ToolError
} from "@recourse/core"
import { by, Down, random } from "../support/kit.ts"
import { slowTexts } from "../support/slowTexts.ts"

const orders = Number(process.env["RECOURSE_ORDERS"] ?? 24)

class Declined extends Schema.TaggedError<Declined>()(
  "Declined",
  {},
  ErrorProjection.declare({ code: "upstream_error", model: "Closed.", outcome: "not_done" })
) {}

type Call = Effect.Effect<string, unknown, ToolCall.ToolCall>

/** Ways to make a call twice at once. */
const ways: Readonly<Record<string, (call: Call) => Call>> = {
  race: (call) => Effect.race(call, call),
  raceFirst: (call) => Effect.raceFirst(call, call),
  both: (call) => Effect.map(Effect.all([call, call], { concurrency: 2 }), ([first]) => first),
  "retried, and raced": (call) => Effect.race(Effect.retry(call, { times: 1 }), call),
  "raced, and retried": (call) => Effect.retry(Effect.race(call, call), { times: 1 }),
  "one is late": (call) => Effect.raceFirst(Effect.timeout(call, "1 second"), Effect.delay(call, "500 millis"))
}

const places = ["the tool within", "the executor around", "the tool around", "two tools around", "the agent"] as const
const kinds = ["read", "idempotent", "write"] as const
const keys = ["none", "call", "order"] as const
/** Outcomes of the inner tool's executions, in turn; later ones succeed. */
const outcomes = ["ok", "slow", "declined", "lost", "dies", "hangs"] as const

interface Case {
  readonly way: string
  readonly place: (typeof places)[number]
  readonly kind: (typeof kinds)[number]
  readonly key: (typeof keys)[number]
  readonly outcomes: ReadonlyArray<(typeof outcomes)[number]>
  readonly asks: boolean
  /** The inner tool replaces a read with a key, which fails. */
  readonly standsIn: boolean
  /** The operation at which the run is interrupted. */
  readonly interruptAt: number | undefined
  readonly order: number
}

const draw = (seed: number): Omit<Case, "way" | "place"> => {
  const next = random(seed * 7919 + 13)
  const one = <A>(items: ReadonlyArray<A>): A => items[Math.floor(next() * items.length)]!
  return {
    kind: one(kinds),
    key: one(keys),
    outcomes: Array.from({ length: Math.floor(next() * 3) }, () => one(outcomes)),
    asks: next() < 0.4,
    interruptAt: next() < 0.5 ? 200 + Math.floor(next() * 300) : undefined,
    standsIn: next() < 0.4,
    order: seed
  }
}

const play = (plan: Case) =>
  Effect.gen(function*() {
    const world = { began: 0, atOnce: 0, most: 0, done: 0, keys: new Set<string | undefined>(), declined: 0, within: 0 }
    const twice = ways[plan.way]!
    const at = (place: Case["place"]) => (call: Call): Call => plan.place === place ? twice(call) : call
    // Starts when the executor is called: before the first step of its effect.
    const execute = (outcome: (typeof outcomes)[number]) =>
      Effect.flatMap(ToolCall.ToolCall, ({ idempotencyKey }) => {
        world.keys.add(idempotencyKey)
        world.most = Math.max(world.most, ++world.atOnce)
        const perform = Effect.sync(() => `receipt ${++world.done}`)
        const answer = Effect.gen(function*() {
          yield* Effect.yieldNow
          switch (outcome) {
            case "ok":
              return yield* perform
            case "slow":
              return yield* Effect.delay(perform, "800 millis")
            case "declined":
              return yield* new Declined()
            case "lost":
              yield* perform
              return yield* new Down()
            case "dies":
              yield* perform
              return yield* Effect.die("bug")
            case "hangs":
              yield* perform
              return yield* Effect.never
          }
        })
        return Effect.onExit(answer, (exit) =>
          Effect.sync(() => {
            world.atOnce--
            if (Exit.isFailure(exit) && Cause.squash(exit.cause) instanceof Declined) world.declined++
          }))
      })
    const inner = Tool.make("inner", {
      parameters: Schema.Struct({ order: Schema.String }),
      success: Schema.String,
      failure: Declined,
      effects: plan.kind,
      timeout: "5 seconds",
      needsApproval: plan.asks,
      ...(plan.key === "none"
        ? undefined
        : { idempotency: plan.key === "call" ? true : { key: ({ order }: { readonly order: string }) => order } }),
      execute: () => execute(plan.outcomes[world.began++] ?? "ok")
    } as never).pipe(Tool.onError(at("the tool within") as never)) as never as { readonly call: Call }
    const around = (name: string, within: { readonly call: Call }, place: Case["place"], executor: Case["place"]) =>
      Tool.make(name, {
        parameters: Schema.Struct({ order: Schema.String }),
        success: Schema.String,
        effects: "read",
        mayRequestApproval: true,
        execute: () => {
          world.within++
          return at(executor)(within.call)
        }
      } as never).pipe(Tool.onError(at(place) as never)) as never as { readonly call: Call }
    const fails = Tool.make("fails", {
      parameters: Schema.Struct({ order: Schema.String }),
      success: Schema.String,
      effects: "read",
      idempotency: { key: ({ order }: { readonly order: string }) => `read ${order}` },
      execute: () => Effect.andThen(Effect.yieldNow, new Down())
    } as never).pipe(
      Tool.onError(Recovery.fallback("ExecutionError", inner.call as never) as never)
    ) as never as { readonly call: Call }
    const outer = around("outer", plan.standsIn ? fails : inner, "the tool around", "the executor around")
    const tool = plan.place === "two tools around"
      ? around("outmost", outer, "two tools around", "agent" as never)
      : outer
    const lead = Agent.make("lead", {
      tools: [tool],
      defaults: { onError: Recovery.keepGoing },
      ...(plan.place === "the agent"
        ? { tools: [(tool as never as Tool.Any).pipe(Tool.onError(twice as never) as never)] }
        : undefined),
      approval: { timeToLive: "1 hour" }
    } as never) as never as
      & Agent.Agent<string, unknown, unknown, never>
      & Agent.Resumable<string, unknown, unknown, never, never>
    const events: Array<AgentEvent.AgentEvent> = []
    const store = slowTexts(plan.order)
    const name = plan.place === "two tools around" ? "outmost" : "outer"
    const layer = Layer.mergeAll(
      store.layer,
      Approval.layerKey(Redacted.make("0123456789abcdef0123456789abcdef")),
      AgentEvent.listen((event) => Effect.sync(() => void events.push(event))),
      ScriptedModel.layer(ScriptedModel.steps([
        ScriptedModel.call(name, { order: "a" }, { id: "c" }),
        ScriptedModel.text("done")
      ]))
    )
    const run = Effect.gen(function*() {
      const first = yield* lead.run("go")
      return first instanceof Approval.Paused
        ? yield* lead.resume(first.snapshot, first.pending.map((call) => Approval.approve(call)))
        : first
    })
    const { interruptAt, order } = plan
    const ended = yield* VirtualTime.run(Effect.provide(run, layer) as Effect.Effect<unknown, unknown>, {
      interruptAt,
      order
    })
    return { ended, entries: store.entries(), events, world }
  })

const judge = (
  plan: Case,
  { ended, entries: all, events, world }: Effect.Success<ReturnType<typeof play>>
): ReadonlyArray<string> => {
  const { declined } = world
  const entries = all.filter(({ tool }) => tool === "inner")
  const callsOf = (tag: "ToolCallStarted" | "ToolResult") =>
    new Set(events.flatMap((event) => event._tag === tag ? [event.callId] : []))
  // Two calls of an executor are two calls.
  const isOne = plan.place !== "the executor around"
  const runs = (tag: AgentEvent.AgentEvent["_tag"]) => events.filter(({ _tag }) => _tag === tag).length
  const pausedAt = events.findLastIndex((event) => event._tag === "RunFinished" && event.outcome === "paused")
  const waits = pausedAt >= 0 && !events.slice(pausedAt).some(({ _tag }) => _tag === "ToolCallStarted")
  const defects = Exit.isFailure(ended.exit) ? ended.exit.cause.reasons.filter(Cause.isDieReason) : []
  const died = defects.length > 0 &&
    !defects.some(({ defect }) =>
      defect === "bug" || (defect instanceof ToolError.ExecutorDefect && defect.reason === "bug")
    )
  return [
    ...(ended.stopped === undefined ? [] : [`it was ${ended.stopped}`]),
    ...(ended.fibers === 0 ? [] : [`${ended.fibers} fibers are left`]),
    ...(died ? [`it died of ${String(defects[0]?.defect)}`] : []),
    ...(plan.kind === "write" && plan.key === "none" && isOne && world.began - declined > 1
      ? [`a write without a key began ${world.began} times`]
      : []),
    ...(plan.key === "none" || !isOne || world.keys.size <= 1 ? [] : [`one call has ${world.keys.size} keys`]),
    ...(entries.length > 0 && world.began === 0 ? ["nothing began, and the key is taken"] : []),
    ...(plan.key !== "none" && plan.kind === "write" && world.began > declined && entries.length === 0
      ? ["it began, and the key is free"]
      : []),
    ...(plan.interruptAt === undefined && world.began > 0 && world.began === declined && entries.length > 0
      ? ["it was declined, and the key is taken"]
      : []),
    ...(all.some(({ leasedUntil, outcome }) => outcome === undefined && leasedUntil > ended.elapsed)
      ? ["it is over, and its lease is not"]
      : []),
    ...(waits
      ? []
      : [...callsOf("ToolCallStarted")].filter((id) => !callsOf("ToolResult").has(id)).map((id) => `${id} has no end`)),
    ...(runs("RunStarted") === runs("RunFinished") ? [] : ["a run has no end"])
  ]
}

describe("a call that is made twice at once", () => {
  for (const place of places) {
    it.effect(`by ${place}`, () =>
      Effect.gen(function*() {
        let began = 0
        for (const way of Object.keys(ways)) {
          for (let seed = 1; seed <= orders; seed++) {
            const plan: Case = { way, place, ...draw(seed) }
            const played = yield* play(plan)
            began += played.world.began
            assert.deepStrictEqual(judge(plan, played), [], JSON.stringify(plan))
          }
        }
        assert.isAbove(began, 0)
      }), 600_000)
  }
})

it.effect("a key reclaimed by its former call behaves like the first claim", () =>
  Effect.gen(function*() {
    for (const hasReconcile of [true, false]) {
      const world = { began: 0, atOnce: 0, most: 0 }
      const pay = Tool.make("pay", {
        parameters: Schema.Struct({ order: Schema.String }),
        success: Schema.String,
        effects: "write",
        idempotency: {
          key: ({ order }) => order,
          ...(hasReconcile ? { reconcile: () => Effect.succeed(Reconciliation.notStarted) } : undefined)
        },
        execute: () =>
          Effect.suspend(() => {
            world.most = Math.max(world.most, ++world.atOnce)
            const answer = ++world.began === 1
              ? Effect.fail(new Down())
              : Effect.delay(Effect.succeed("paid"), "10 seconds")
            return Effect.ensuring(answer, Effect.sync(() => world.atOnce--))
          })
      })
      const outer = Tool.make("outer", {
        success: Schema.String,
        effects: "read",
        execute: () =>
          pay.call.pipe(
            Effect.provideService(ToolCall.ToolCall, ToolCall.make({ id: "x", arguments: { order: "a" } })),
            Effect.retry({ times: 1, schedule: Schedule.spaced("2 seconds") })
          )
      })
      const first = Agent.make("first", { tools: [outer], defaults: { onError: Recovery.keepGoing } } as never)
      const run = (first as never as Agent.Agent<string, string, unknown, never>).run("go").pipe(
        Effect.provide(
          ScriptedModel.layer(ScriptedModel.steps([ScriptedModel.call("outer", {}), ScriptedModel.text("done")]))
        )
      )
      const other = Effect.delay(Effect.exit(pay.call.pipe(by({ order: "a" }, "other"))), "5 seconds")
      const ended = yield* VirtualTime.run(
        Effect.all([run, other], { concurrency: 2 }).pipe(
          Effect.provide(Layer.fresh(IdempotencyLedger.layerKeyValueStore())),
          Effect.provide(Layer.fresh(KeyValueStore.layerMemory))
        ) as Effect.Effect<readonly [unknown, Exit.Exit<string, unknown>], unknown>
      )
      assert.deepStrictEqual([ended.stopped, world.most, world.began], [undefined, 1, 2])
      assert.isTrue(Exit.isSuccess(ended.exit) && Exit.isSuccess(ended.exit.value[1]))
    }
  }))
