/**
 * Compensation after an interruption: a run that is interrupted at any entry of its journal, and then cancelled or
 * failed in its next execution, compensates each completed write once, and reports each unknown one.
 */
import { assert, describe, it } from "@effect/vitest"
import { Drive, ScriptedModel } from "@recourse/testing"
import { Data, Effect, Layer, Schema } from "effect"
import {
  Agent,
  type AgentEvent,
  ErrorProjection,
  IdempotencyLedger,
  Journal,
  Recovery,
  Tool,
  ToolCall
} from "@recourse/core"
import { collect } from "../support/kit.ts"
import { isChosen } from "../support/operations.ts"

class Cut extends Data.TaggedError("Cut") {}

class Full extends Schema.TaggedError<Full>()(
  "Full",
  {},
  ErrorProjection.declare({ code: "not_found", model: "Full.", outcome: "not_done" })
) {}

interface CutAt {
  readonly at: number
  readonly behind: boolean
}

/** External effects, and the journal's content, over all executions. */
const worldOf = () => {
  const kept = new Map<string, Schema.Json>()
  const world = {
    kept,
    there: [] as Array<string>,
    undone: [] as Array<string>,
    rows: [] as Array<string>,
    killIn: "",
    isKilled: false
  }
  let begun = 0
  const life = (cut: CutAt | undefined, isCancelled: boolean): Journal.Journal => {
    Object.assign(world, { rows: [], isKilled: false })
    const earlier = new Map(kept)
    const recorded = new Set<string>()
    let records = 0
    const write = (kind: string, key: string, value: Schema.Json): boolean => {
      assert.isFalse(recorded.has(`${kind} ${key}`), key)
      recorded.add(`${kind} ${key}`)
      records++
      const isCut = world.isKilled || (cut !== undefined && records >= cut.at)
      if (!isCut || (records === cut?.at && cut.behind)) {
        kept.set(`${kind} ${key}`, JSON.parse(JSON.stringify(value)) as Schema.Json)
      }
      return isCut
    }
    return {
      runId: "r",
      isResumed: begun++ > 0,
      isCancelled: () => isCancelled,
      elapsedBefore: 0,
      find: (kind, key) => earlier.get(`${kind} ${key}`),
      entries: (kind) =>
        [...earlier].flatMap(([key, value]) =>
          key.startsWith(`${kind} `) ? [[key.slice(kind.length + 1), value] as const] : []
        ),
      record: (kind, key, value) => Effect.suspend(() => write(kind, key, value) ? Effect.die(new Cut()) : Effect.void),
      claim: (entry) => entry.slice(0, 32),
      transaction: (effect, { onFate, recordOf }) =>
        Effect.gen(function*() {
          const value = yield* effect
          const row = yield* Effect.orDie(recordOf(value))
          const isCut = write(row.kind, row.key, row.value)
          if (isCut && !kept.has(`${row.kind} ${row.key}`)) return yield* Effect.die(new Cut())
          world.there.push(...world.rows.splice(0))
          onFate("done")
          return isCut ? yield* Effect.die(new Cut()) : value
        })
    }
  }
  return { world, life }
}

type World = ReturnType<typeof worldOf>["world"]

/** Writes a name into the world, and dies there if configured. */
const writes = (world: World, name: string, into = world.there): Effect.Effect<string> =>
  Effect.suspend(() => {
    into.push(name)
    if (world.killIn !== name) return Effect.succeed(`${name} is there`)
    Object.assign(world, { killIn: "", isKilled: true })
    return Effect.die(new Cut())
  })

/** A tool that writes its own name into the world, and takes it out again. */
const tool = (world: World, name: string, more: Record<string, unknown> = {}) =>
  Tool.make(name, {
    success: Schema.String,
    effects: "write",
    execute: () => writes(world, name),
    compensate: (_: unknown, said: string) =>
      Effect.sync(() => {
        assert.strictEqual(said, `${name} is there`)
        world.undone.push(name)
      }),
    ...more
  } as never) as never as Tool.Tool<string, never, never, never, never>

const made = (call: Effect.Effect<string, unknown, ToolCall.ToolCall>, id: string) =>
  Effect.provideService(call, ToolCall.ToolCall, ToolCall.make({ id, arguments: {} }))

const Q = Schema.Struct({ q: Schema.String })

/** Writes of every kind: the model calls them, other tools do, and an agent that is a tool. */
const toolsOf = (world: World) => {
  const [booked, paid] = [tool(world, "tripBook"), tool(world, "tripPay", { idempotency: true })]
  const inner = Agent.make("inner", {
    instructions: "inner",
    input: Q,
    tools: [tool(world, "innerBook")],
    defaults: { onError: Recovery.keepGoing }
  } as never).pipe(
    Agent.asTool("ask", { description: "Asks", parameters: Q, success: Schema.String }) as never
  ) as never as Tool.Any
  return [
    tool(world, "book"),
    tool(world, "pay", { idempotency: true }),
    tool(world, "order", {
      idempotency: {
        key: () => "order-1",
        reconcile: () =>
          Effect.succeed(
            world.there.includes("order")
              ? { _tag: "Completed", result: "order is there" }
              : { _tag: "NotStarted" }
          )
      }
    }),
    tool(world, "put", { effects: "idempotent" }),
    Tool.make("trip", {
      success: Schema.String,
      effects: "read",
      execute: () => Effect.as(Effect.andThen(made(booked.call, "x"), made(paid.call, "y")), "both") as never
    }),
    inner,
    tool(world, "seat", {
      transaction: true,
      execute: () => Effect.suspend(() => writes(world, "seat", world.rows))
    }),
    tool(world, "late", {
      timeout: "1 second",
      execute: () => Effect.andThen(writes(world, "late"), Effect.never)
    }),
    tool(world, "full", { failure: Full, execute: () => Effect.fail(new Full()) }),
    Tool.make("fail", { effects: "read", execute: () => Effect.die("no") }),
    // In another execution, the agent's tools compensate a tool's inner call.
    booked,
    paid
  ] as ReadonlyArray<Tool.Any>
}

const order = ["book", "pay", "order", "put", "trip", "ask", "seat", "late", "full"]
const all = ["book", "pay", "order", "put", "tripBook", "tripPay", "innerBook", "seat", "late"]

/** Events of an execution's writes: compensated ones, and uncompensated ones. */
const reportOf = (events: ReadonlyArray<AgentEvent.AgentEvent>) =>
  events.flatMap((event) =>
    event._tag === "ToolCompensated"
      ? [[event.tool, event.outcome, event.because].filter((part) => part !== undefined).join(" ")]
      : []
  )

const program = () => {
  const { life, world } = worldOf()
  const agent = Agent.make("clerk", {
    tools: toolsOf(world),
    defaults: { onError: Recovery.keepGoing },
    compensation: {}
  } as never) as never as Agent.Agent<string, string, unknown, never>
  const model = ScriptedModel.layer(({ prompt }) => {
    const turn = prompt.content.filter(({ role }) => role === "assistant").length
    if (prompt.content[0]?.role === "system") {
      return turn === 0 ? ScriptedModel.call("innerBook", {}, { id: "i" }) : ScriptedModel.text("asked")
    }
    return ScriptedModel.call(order[turn] ?? "fail", order[turn] === "ask" ? { q: "?" } : {}, { id: `c${turn}` })
  })
  const live = (cut?: CutAt, isCancelled = false) =>
    Effect.suspend(() => {
      const { events, layer } = collect()
      return Drive.drive(
        agent.report("go", { runId: "r" }).pipe(
          Effect.provideService(Journal.CurrentJournal, life(cut, isCancelled)),
          Effect.provide(layer),
          Effect.exit,
          Effect.map((exit) => ({ exit, told: reportOf(events) }))
        ),
        { step: "1 second" }
      )
    })
  return { world, live, layer: Layer.merge(model, Layer.fresh(IdempotencyLedger.layerMemory)) }
}

const lives = <A>(use: (lives: Omit<ReturnType<typeof program>, "layer">) => Effect.Effect<A>) =>
  Effect.suspend(() => {
    const { layer, ...all } = program()
    return use(all).pipe(Effect.provide(layer))
  })

/** Compensations of these are repeatable. */
const repeatable = new Set(["pay", "order", "put", "tripPay"])

/** Journal entries with a write's outcome. */
const outcomeOf = (name: string): ReadonlyArray<string> =>
  name.startsWith("trip")
    ? [`:${name}/`, "call /c4"]
    : name === "innerBook"
    ? ["inner#1/i", "call /c5"]
    : name === "seat"
    ? [":seat/", "call /c6"]
    : [`call /c${order.indexOf(name)}`]

const has = ({ kept }: World, ...parts: ReadonlyArray<string>): boolean =>
  [...kept.keys()].some((key) => parts.every((part) => key.includes(part)))

/** The started writes of interrupted executions with an unknown outcome. Those with a key are repeated. */
const lostIn = (world: World): ReadonlyArray<string> =>
  ["book", "tripBook", "innerBook", "full"].filter((name) =>
    has(world, `write r/`, `:${name}/`) &&
    !outcomeOf(name).some((part) =>
      has(world, part.includes("call") ? "" : part.startsWith(":") ? "child " : "call ", part)
    )
  )

/** Expected events of the run's compensation, the newest first. */
const expected = (world: World, isCancelled: boolean, lost: ReadonlyArray<string>): ReadonlyArray<string> =>
  [...all, "full"].toReversed().flatMap((name) => {
    const isKnown = outcomeOf(name).some((part) =>
      has(world, part.startsWith("call") ? "" : part.startsWith(":") ? "child " : "call ", part)
    )
    const hasStarted = ["write r/", "compensation may "].some((kind) => has(world, kind, `:${name}/`))
    const unknown = [`${name} not_undone unknown`]
    if (has(world, "compensation told ", `:${name}/`)) return []
    if (has(world, "compensation r/", `:${name}/`)) {
      return name === "late" || lost.includes(name)
        ? unknown
        : [`${name} undone`]
    }
    if (has(world, "compensation begun ", `:${name}/`)) {
      return repeatable.has(name) ? [`${name} undone`] : [`${name} not_undone timeout`]
    }
    if (lost.includes(name)) return unknown
    if (name === "full" || (isCancelled && !hasStarted)) return []
    if (name === "late") return unknown
    if (isKnown) return [`${name} undone`]
    if (!isCancelled) return name === "tripPay" && lost.includes("tripBook") ? [] : [`${name} undone`]
    if (name === "seat") return []
    if (name === "order") return [world.there.includes(name) ? "order undone" : "order not_happened"]
    return unknown
  })

const times = (names: ReadonlyArray<string>, name: string): number => names.filter((one) => one === name).length

/** The last execution, and its events. */
const endsWell = (
  { live, world }: Pick<ReturnType<typeof program>, "live" | "world">,
  isCancelled: boolean,
  lost: ReadonlyArray<string>,
  about: string
) =>
  Effect.gen(function*() {
    const before = [...world.there]
    const wanted = expected(world, isCancelled, lost)
    const { told } = yield* live(undefined, isCancelled)
    assert.deepStrictEqual(told, wanted, about)
    if (isCancelled) assert.deepStrictEqual(world.there, before, about)
    for (const name of all) {
      // A repeatable call may run twice.
      if (name !== "put" && !name.endsWith("ay")) assert.isAtMost(times(world.there, name), 1, `${name} ${about}`)
      if (!repeatable.has(name)) assert.isAtMost(times(world.undone, name), 1, `${name} ${about}`)
      const isToldUndone = told.includes(`${name} undone`) && !has(world, "compensation r/", `:${name}/`)
      if (isToldUndone) assert.include(world.undone, name, about)
    }
    assert.deepStrictEqual((yield* live(undefined, isCancelled)).told, [], `again, ${about}`)
  })

/** Number of entries of an uninterrupted run. */
const size = 63

describe("a run with compensations", () => {
  it.effect("in its only execution: compensates all writes, the newest first", () =>
    lives(({ live, world }) =>
      Effect.gen(function*() {
        const { told } = yield* live()
        assert.deepStrictEqual(told, [
          "late not_undone unknown",
          ...all.slice(0, -1).toReversed().map((name) => `${name} undone`)
        ])
        assert.deepStrictEqual([world.there, world.undone], [all, all.slice(0, -1).toReversed()])
        assert.strictEqual(world.kept.size, size)
      })
    ))

  for (const name of all) {
    for (const how of ["cancelled", "failing", "cut off again"] as const) {
      it.effect(`behind the end of its process in ${name}, ${how}`, () =>
        lives(({ live, world }) =>
          Effect.gen(function*() {
            world.killIn = name
            yield* live()
            const lost = lostIn(world)
            if (how === "cut off again") yield* live({ at: 4, behind: true })
            yield* endsWell({ live, world }, how !== "failing", [
              ...lost,
              ...how === "cut off again" ? lostIn(world) : []
            ], how)
          })
        ))
    }
  }

  const cuts = Array.from({ length: size }, (_, index) => index + 1)
  for (let from = 0; from < size; from += 2) {
    // Behind these, the run is being compensated already, for any reason.
    for (const how of from < 40 ? ["cancelled", "failing", "cut off again"] as const : ["cancelled"] as const) {
      it.effect(`behind a cut at record ${from + 1} or the next, ${how}`, () =>
        Effect.forEach(
          cuts.slice(from, from + 2),
          (at) =>
            Effect.forEach(
              [false, true].filter((behind) => isChosen(at, Number(behind))),
              (behind) =>
                lives(({ live, world }) =>
                  Effect.gen(function*() {
                    const about = `${how} ${behind ? "behind" : "before"} record ${at}`
                    yield* live({ at, behind })
                    const lost = lostIn(world)
                    if (how === "cut off again") yield* live({ at: 4, behind: true })
                    yield* endsWell(
                      { live, world },
                      how !== "failing",
                      how === "cut off again" ? [...lost, ...lostIn(world)] : lost,
                      about
                    )
                  })
                )
            ),
          { discard: true }
        ))
    }
  }
})
