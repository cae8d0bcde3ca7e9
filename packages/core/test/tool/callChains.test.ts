/**
 * Chains of calls: tools that call tools, three deep, with random effects, keys, approvals, recoveries and outcomes at
 * each depth. People are asked and decide, and one of the executions is interrupted at a random operation. Counted:
 * completed calls, questions, and taken keys.
 */
import { assert, describe, it } from "@effect/vitest"
import { ScriptedModel, VirtualTime } from "@recourse/testing"
import { Cause, Effect, Exit, Layer, Redacted, Schema } from "effect"
import { Agent, AgentEvent, Approval, ErrorProjection, Recovery, Tool, ToolCall } from "@recourse/core"
import { Down, random } from "../support/kit.ts"
import { seed } from "../support/operations.ts"
import { slowTexts } from "../support/slowTexts.ts"

const chains = Number(process.env["RECOURSE_CHAINS"] ?? 100)

/** Chains that did not keep it once. */
const once = [1406]

class Declined extends Schema.TaggedError<Declined>()(
  "Declined",
  {},
  ErrorProjection.declare({ code: "upstream_error", model: "Closed.", outcome: "not_done" })
) {}

type Call = Effect.Effect<string, unknown, ToolCall.ToolCall>
type Named = Tool.Any & { readonly call: Call }

/** Recovery of a tool's calls. `spare` is another tool. */
const recoveries: Readonly<Record<string, (call: Call, spare: Call) => Call>> = {
  none: (call) => call,
  retry: (call) => Recovery.retry({ times: 2 })(call as never) as Call,
  effectRetry: (call) => Effect.retry(call, { times: 1 }),
  race: (call) => Effect.race(call, call),
  raceFirst: (call) => Effect.raceFirst(call, call),
  all: (call) => Effect.map(Effect.all([call, call], { concurrency: 2 }), ([first]) => first),
  timeout: (call) => Effect.timeout(call, "1 second"),
  timeoutRetry: (call) => Effect.retry(Effect.timeout(call, "1 second"), { times: 1 }),
  repeat: (call) => Effect.repeat(call, { times: 1 }),
  fallback: (call, spare) =>
    Recovery.fallback(["ExecutionError", "Timeout"] as never, spare as never)(call as never) as Call,
  catchTag: (call, spare) =>
    Effect.catchTag(
      call as Effect.Effect<string, Down, ToolCall.ToolCall>,
      "ExecutionError" as never,
      () => spare
    ) as Call
}

const kinds = ["read", "idempotent", "write"] as const
const keys = ["none", "none", "call", "order"] as const
const outcomes = ["ok", "ok", "slow", "declined", "lost", "dies", "hangs"] as const

interface Level {
  readonly kind: (typeof kinds)[number]
  readonly key: (typeof keys)[number]
  readonly asks: boolean
  readonly recovery: string
  /** Outcomes of its executions, in turn; later ones succeed. */
  readonly outcomes: ReadonlyArray<(typeof outcomes)[number]>
  /** True if it does its own work before it calls the inner tool. */
  readonly isFirst: boolean
  /** Caller of the inner tool: itself, or an agent that it runs. */
  readonly by: "itself" | "an agent"
}

interface Plan {
  /** From the outermost. */
  readonly levels: ReadonlyArray<Level>
  readonly cut: { readonly life: number; readonly at: number } | undefined
  readonly order: number
}

const names = ["outer", "middle", "inner", "spare"] as const
type Name = (typeof names)[number]

const draw = (seed: number): Plan => {
  const next = random(seed * 104_729 + 7)
  const one = <A>(items: ReadonlyArray<A>): A => items[Math.floor(next() * items.length)]!
  const level = (): Level => ({
    kind: one(kinds),
    key: one(keys),
    asks: next() < 0.35,
    recovery: one(Object.keys(recoveries)),
    outcomes: next() < 0.5 ? [] : Array.from({ length: 1 + Math.floor(next() * 2) }, () => one(outcomes)),
    isFirst: next() < 0.5,
    by: next() < 0.12 ? "an agent" : "itself"
  })
  return {
    levels: [level(), level(), level()],
    cut: next() < 0.4 ? { life: Math.floor(next() * 3), at: 100 + Math.floor(next() * 500) } : undefined,
    order: seed
  }
}

class World {
  readonly began: Record<Name, number> = { outer: 0, middle: 0, inner: 0, spare: 0 }
  readonly declined: Record<Name, number> = { outer: 0, middle: 0, inner: 0, spare: 0 }
  readonly keys: Record<Name, Set<string | undefined>> = {
    outer: new Set(),
    middle: new Set(),
    inner: new Set(),
    spare: new Set()
  }
  readonly approved = new Set<string>()
  readonly unapproved: Array<string> = []
  /** The questions to people, with the number of started writes around them. */
  readonly asked: Array<string> = []
}

/** The tools of a plan: the outermost. */
const toolOf = ({ levels }: Plan, world: World): Named => {
  const make = (
    name: Name,
    { asks, by, isFirst, key, kind, outcomes: ends, recovery }: Level,
    within: Named | undefined,
    spare: Named | undefined
  ): Named => {
    const executed = (outcome: (typeof outcomes)[number]): Call =>
      Effect.flatMap(ToolCall.ToolCall, ({ idempotencyKey }) => {
        world.keys[name].add(idempotencyKey)
        const own = Effect.gen(function*() {
          yield* Effect.yieldNow
          if (outcome === "slow") yield* Effect.sleep("800 millis")
          if (outcome === "declined") return yield* new Declined()
          if (outcome === "lost") return yield* new Down()
          if (outcome === "dies") return yield* Effect.die("bug")
          if (outcome === "hangs") return yield* Effect.never
          return name
        })
        const called: Call = within === undefined
          ? Effect.succeed("")
          : by === "itself"
          ? within.call
          : Effect.map(
            (Agent.make(
              "helper",
              { instructions: `helper ${within.name}`, tools: [within] } as never
            ) as never as Agent.Agent<
              string,
              string,
              unknown,
              never
            >).run("go"),
            String
          ) as Call
        return Effect.onExit(
          isFirst
            ? Effect.flatMap(own, (text) => Effect.map(called, (inner) => `${text} ${inner}`))
            : Effect.flatMap(called, (inner) => Effect.map(own, (text) => `${text} ${inner}`)),
          (exit) =>
            Effect.sync(() => {
              if (Exit.isFailure(exit) && Cause.squash(exit.cause) instanceof Declined) world.declined[name]++
            })
        )
      })
    return Tool.make(name, {
      parameters: Schema.Struct({ order: Schema.String }),
      success: Schema.String,
      failure: Declined,
      effects: kind,
      timeout: "5 seconds",
      mayRequestApproval: true,
      needsApproval: asks,
      ...(key === "none"
        ? undefined
        : { idempotency: key === "call" ? true : { key: ({ order }: { readonly order: string }) => order } }),
      execute: () => {
        if (asks && !world.approved.has(name)) world.unapproved.push(name)
        return executed(ends[world.began[name]++] ?? "ok")
      }
    } as never).pipe(
      Tool.onError(
        ((call: Call) => recoveries[recovery]!(call, spare === undefined ? call : spare.call)) as never
      )
    ) as never as Named
  }
  const [outer, middle, inner] = levels as readonly [Level, Level, Level]
  const spare = make(
    "spare",
    { ...inner, asks: false, recovery: "none", outcomes: [], key: "none" },
    undefined,
    undefined
  )
  return make("outer", outer, make("middle", middle, make("inner", inner, undefined, spare), spare), spare)
}

type Lead = Agent.Agent<string, string, unknown, never> & Agent.Resumable<string, string, unknown, never, never>

const model = ScriptedModel.layer(({ prompt }) => {
  const system = prompt.content.find(({ role }) => role === "system")?.content
  if (prompt.content.at(-1)?.role === "tool") return ScriptedModel.text("done")
  return ScriptedModel.call(typeof system === "string" ? system.replace("helper ", "") : "outer", { order: "a" }, {
    id: "c"
  })
})

const play = (plan: Plan) =>
  Effect.gen(function*() {
    const world = new World()
    const store = slowTexts(plan.order)
    const events: Array<AgentEvent.AgentEvent> = []
    const layer = Layer.mergeAll(
      model,
      store.layer,
      Approval.layerKey(Redacted.make("0123456789abcdef0123456789abcdef")),
      Layer.succeed(Approval.Resumptions, { claim: () => Effect.succeed(true) } as never),
      AgentEvent.listen((event) => Effect.sync(() => void events.push(event)))
    )
    const lead = () =>
      Agent.make("lead", {
        tools: [toolOf(plan, world)],
        defaults: { onError: Recovery.keepGoing },
        budget: { duration: "1 minute" }
      } as never) as never as Lead
    const ends: Array<VirtualTime.Ended<Approval.Outcome<string>, unknown>> = []
    let elapsed = 0
    const live = (run: Effect.Effect<Approval.Outcome<string>, unknown>) =>
      Effect.map(
        VirtualTime.run(Effect.provide(run, layer) as typeof run, {
          order: plan.order,
          startAt: elapsed,
          ...(plan.cut?.life === ends.length ? { interruptAt: plan.cut.at } : undefined)
        }),
        (ended) => {
          elapsed += ended.elapsed
          ends.push(ended)
          return ended.exit
        }
      )
    let exit = yield* live(lead().start("go"))
    for (let n = 0; n < 6 && Exit.isSuccess(exit) && exit.value instanceof Approval.Paused; n++) {
      const { pending, snapshot } = exit.value
      for (const { callId, tool } of pending) {
        world.asked.push(callId)
        world.approved.add(tool)
      }
      const kept = JSON.parse(JSON.stringify(snapshot)) as unknown
      const resumed = () => lead().resume(kept, pending.map((call) => Approval.approve(call)))
      const before = ends.length
      const begun = JSON.stringify(world.began)
      exit = yield* live(resumed())
      // Interrupted before any execution: it is resumed again.
      const isCut = plan.cut?.life === before && Exit.isFailure(exit) && Cause.hasInterrupts(exit.cause)
      if (isCut && JSON.stringify(world.began) === begun) exit = yield* live(resumed())
    }
    return { ends, entries: store.entries(), events, exit, world }
  })

const judge = (
  { levels }: Plan,
  { ends, entries, events, exit, world }: Effect.Success<ReturnType<typeof play>>
): ReadonlyArray<string> => {
  // A tool decides about the questions of an agent that it runs itself: they may stay open.
  const asksItself = events.some((event) => event._tag === "AgentFinished" && event.outcome === "paused")
  const callsOf = (tag: "ToolCallStarted" | "ToolResult") =>
    new Set(
      events.flatMap((event) =>
        event._tag !== tag || (asksItself && event.path.length > 1) ? [] : [`${event.path.join("/")} ${event.callId}`]
      )
    )
  const timesOf = (tag: "ToolCallStarted" | "ToolResult", id: string) =>
    events.filter((event) => event._tag === tag && `${event.path.join("/")} ${event.callId}` === id).length
  const waits = Exit.isSuccess(exit) && exit.value instanceof Approval.Paused
  const pausedAt = events.findLastIndex((event) => event._tag === "RunFinished" && event.outcome === "paused")
  const isOff = waits || (pausedAt >= 0 && !events.slice(pausedAt).some(({ _tag }) => _tag === "ToolCallStarted"))
  const isCut = Exit.isFailure(exit) && Cause.hasInterrupts(exit.cause)
  const has = (tool: string) => entries.some((entry) => entry.tool === tool)
  return [
    ...ends.flatMap(({ fibers, stopped }, life) => [
      ...(stopped === undefined ? [] : [`life ${life} was ${stopped}`]),
      ...(fibers === 0 ? [] : [`life ${life} left ${fibers} fibers`])
    ]),
    ...(waits ? ["people are asked again and again"] : []),
    ...world.unapproved.map((tool) => `${tool} ran without an approval`),
    ...(new Set(world.asked).size === world.asked.length ? [] : [`asked twice: ${world.asked.join(", ")}`]),
    ...levels.flatMap(({ key, kind }, depth) => {
      const name = names[depth]!
      const began = world.began[name] - world.declined[name]
      // Each run of an agent has calls of its own.
      const runs = levels.slice(0, depth).reduce(
        (most, { by }, at) => by === "an agent" ? Math.max(most, world.began[names[at]!]) : most,
        1
      )
      const isAskedWithin = levels.slice(0, depth).some((around) =>
        around.kind === "write" || around.key !== "none" || around.by === "an agent"
      )
      return [
        ...(kind === "write" && key === "none" && began > runs
          ? [`${name}, a write without a key, began ${began} times`]
          : []),
        ...(key !== "none" && world.keys[name].size > runs ? [`${name} ran under ${world.keys[name].size} keys`] : []),
        ...(key === "none" && has(name) ? [`${name} has no key, and one is taken`] : []),
        ...(has(name) && world.began[name] === 0 ? [`${name} never began, and its key is taken`] : []),
        ...(key !== "none" && kind === "write" && began > 0 && !has(name)
          ? [`${name} began, and its key is free`]
          : []),
        ...(isAskedWithin && levels[depth]!.asks && world.approved.has(name) &&
            world.asked.some((id) => id.includes(name))
          ? [`${name} was asked about within a write, a key or an agent`]
          : [])
      ]
    }),
    ...entries.flatMap(({ leasedUntil, outcome, tool }) =>
      outcome === undefined && leasedUntil > ends.reduce((sum, { elapsed }) => sum + elapsed, 0)
        ? [`the lease of ${tool} is not over`]
        : []
    ),
    ...(isOff
      ? []
      : [...callsOf("ToolCallStarted")].filter((id) => !callsOf("ToolResult").has(id)).map((id) => `${id} has no end`)),
    ...[...callsOf("ToolResult")].filter((id) => timesOf("ToolResult", id) > timesOf("ToolCallStarted", id))
      .map((id) => `${id} has more results than starts`),
    ...(isCut || !isOff || waits ? [] : ["it ended, and waits"])
  ]
}

describe("a chain of calls", () => {
  it.effect(`keeps the rules of each call in ${chains} chains`, () =>
    Effect.gen(function*() {
      const seen = { began: 0, asked: 0, lives: 0 }
      for (const drawn of [...Array.from({ length: chains }, (_, n) => seed + n), ...once]) {
        const plan = draw(drawn)
        const played = yield* play(plan)
        seen.began += played.world.began.inner
        seen.asked += played.world.asked.length
        seen.lives += played.ends.length
        assert.deepStrictEqual(judge(plan, played), [], `${drawn}: ${JSON.stringify(plan)}`)
      }
      assert.isAbove(seen.began, chains / 4)
      assert.isAbove(seen.asked, chains / 10)
    }), 600_000)
})
