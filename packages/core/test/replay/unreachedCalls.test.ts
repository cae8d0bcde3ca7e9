/**
 * A run that ends earlier in its second execution than in the first, because of a call in parallel to a possibly
 * started one: that one is reported as not done only if that is known.
 */
import { assert, describe, it } from "@effect/vitest"
import { Drive, ScriptedModel } from "@recourse/testing"
import { Effect, Exit, Layer } from "effect"
import { Agent, IdempotencyLedger, Journal, Policy, Recovery, Tool } from "@recourse/core"
import { type CutAt, cuts, journalOf } from "../support/interruptedRuns.ts"
import { collect } from "../support/kit.ts"
import { type AnyTool, clerkOf, toolOf } from "../support/looseTools.ts"

/** Ways of the call. */
const ways: Readonly<Record<string, (pay: (more: object) => AnyTool) => AnyTool>> = {
  "a write": (pay) => pay({ effects: "write" }),
  "a write with a key": (pay) => pay({ effects: "write", idempotency: true }),
  "a write that may be repeated": (pay) => pay({ effects: "idempotent" }),
  "a tool that does not say": (pay) => pay({}),
  "a tool that calls a write": (pay) =>
    toolOf("outer", { effects: "read", execute: () => pay({ effects: "write" }).call }).pipe(
      Tool.onError(Recovery.escalate("ExecutionError") as never)
    ) as never,
  "a tool that calls an agent that writes": (pay) =>
    toolOf("outer", { effects: "read", execute: () => clerkOf("clerk", pay({ effects: "write" })).call }).pipe(
      Tool.onError(Recovery.escalate("ExecutionError") as never)
    ) as never,
  "a tool that calls a write with a key": (pay) =>
    toolOf("outer", { effects: "read", execute: () => pay({ effects: "write", idempotency: true }).call }).pipe(
      Tool.onError(Recovery.escalate("ExecutionError") as never)
    ) as never,
  "a tool that calls a write that may be repeated": (pay) =>
    toolOf("outer", { effects: "read", execute: () => pay({ effects: "idempotent" }).call }).pipe(
      Tool.onError(Recovery.escalate("ExecutionError") as never)
    ) as never,
  "a tool that calls an agent that writes under a key": (pay) =>
    toolOf("outer", {
      effects: "read",
      execute: () => clerkOf("clerk", pay({ effects: "write", idempotency: true })).call
    }).pipe(
      Tool.onError(Recovery.escalate("ExecutionError") as never)
    ) as never,
  "an agent that writes": (pay) => clerkOf("outer", pay({ effects: "write" })),
  "an agent that writes under a key": (pay) => clerkOf("outer", pay({ effects: "write", idempotency: true })),
  "an agent with an agent that writes under a key": (pay) =>
    clerkOf("outer", clerkOf("inner", pay({ effects: "write", idempotency: true })))
}

/** When the call that ends the run does so. */
const places = ["behind the call that ends the run", "before the call that ends the run", "while a policy looks at it"]

/** State shared by the two executions. */
interface World {
  /** The executions that paid. */
  readonly paid: Array<number>
  /** The first execution ends like the second one. */
  readonly isHasty?: boolean
}

/** A tool that is slow in the first execution, and fails in the next. */
const breaksIn = (life: number, { isHasty }: World): AnyTool =>
  toolOf("breaks", {
    effects: "read",
    execute: () =>
      life === 0 && isHasty !== true ? Effect.as(Effect.sleep("10 seconds"), "well") : Effect.fail("broken")
  })

const payIn = (life: number, { paid }: World) => (more: object): AnyTool =>
  toolOf("pay", {
    execute: () => Effect.andThen(Effect.sync(() => paid.push(life)), Effect.as(Effect.sleep("1 second"), "paid")),
    ...more
  })

/** A run of the tools, whose model calls the named ones at once: its reports of each call, and its executions. */
const live = (
  tools: ReadonlyArray<AnyTool>,
  names: ReadonlyArray<string>,
  journal: Journal.Journal | undefined,
  more?: object
) => {
  const { events, layer } = collect()
  const agent = Agent.make("main", { tools, ...more } as never)
  return Drive.drive(
    Effect.map(agent.report("go", { runId: "run_1" }) as Effect.Effect<never>, (report: {
      readonly exit: Exit.Exit<unknown, unknown>
      readonly executed: ReadonlyArray<{ readonly callId: string }>
    }) => ({
      ...report,
      told: (name: string) =>
        events.flatMap((event) =>
          event._tag === "ToolResult" && event.callId === `c ${name}` ? [event.code ?? "ok"] : []
        )
    })).pipe(
      Effect.provide([
        ScriptedModel.layer(({ prompt, tools }) =>
          prompt.content.some(({ role }) => role === "tool")
            ? ScriptedModel.text("done")
            : tools.includes("breaks")
            ? ScriptedModel.calls(names.map((name) => ({ name, params: {}, id: `c ${name}` })))
            : ScriptedModel.call(tools[0]!, {}, { id: `p ${tools[0]}` })
        ),
        layer,
        Layer.fresh(IdempotencyLedger.layerMemory)
      ]),
      Effect.provideService(Journal.CurrentJournal, journal)
    )
  )
}

/** A policy that takes its time to let a tool on. */
const slow = (name: string) =>
  Policy.make("slow", () => Effect.as(Effect.sleep("1 second"), Policy.allow)).pipe(Policy.forTools(name))

describe("a started call of an earlier execution, unreached in a failing run", () => {
  for (const [name, wayOf] of Object.entries(ways)) {
    for (const place of places) {
      it.effect(`${name}, ${place}`, () =>
        Effect.gen(function*() {
          let unknown = 0
          for (const cut of cuts(6)) {
            const world: World = { paid: [] }
            const { life } = journalOf()
            const lived = (number: number) => {
              const tool = wayOf(payIn(number, world))
              const names = place === places[0] ? ["breaks", tool.name] : [tool.name, "breaks"]
              const { journal } = life(number === 0 ? cut : undefined)
              const policies = number === 1 && place === places[2] ? [slow(tool.name)] : []
              return Effect.map(
                live([breaksIn(number, world), tool], names, journal, { policies }),
                ({ executed, exit, told }) => ({ executed, exit, told: told(tool.name) })
              )
            }
            yield* lived(0)
            const before = world.paid.length
            const { executed, exit, told } = yield* lived(1)
            // The first execution completed both calls.
            if (Exit.isSuccess(exit)) continue
            if (before > 0) assert.notInclude(told, "not_run", cut.about)
            if (told.includes("outcome_unknown")) unknown++
            const ids = executed.map(({ callId }) => callId)
            assert.deepStrictEqual(ids, [...new Set(ids)], cut.about)
          }
          assert.isAbove(unknown, 0)
        }))
    }
  }
})

describe("a call that no execution started, in a failing run", () => {
  const idempotent = { effects: "idempotent" }
  /**
   * The first execution is interrupted when it has the model's answer, before a call starts; the second one does not
   * reach the call.
   */
  const lives = (
    toolIn: (life: number, world: World) => AnyTool | undefined,
    { cut = { at: 1, behind: true }, first, name = "pay" }: {
      readonly cut?: CutAt
      readonly first?: object
      readonly name?: string
    } = {}
  ) =>
    Effect.gen(function*() {
      const world: World = { paid: [] }
      const { life } = journalOf()
      const lived = (number: number, more: object) => {
        const tool = toolIn(number, world)
        const tools = [breaksIn(number, world), ...tool === undefined ? [] : [tool]]
        return live(tools, ["breaks", name], life(number === 0 ? cut : undefined).journal, more)
      }
      yield* lived(0, { policies: [slow(name)], ...first })
      const { told } = yield* lived(1, { concurrency: 1 })
      return told(name)
    })

  it.effect("a read", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* lives((life, world) => payIn(life, world)({ effects: "read" })), ["not_run"])
    }))

  it.effect("a write", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* lives((life, world) => payIn(life, world)({ effects: "write" })), ["not_run"])
    }))

  it.effect("a tool that is there no more", () =>
    Effect.gen(function*() {
      const tool = (life: number, world: World) => life === 0 ? payIn(life, world)({ effects: "write" }) : undefined
      assert.deepStrictEqual(yield* lives(tool), ["not_run"])
    }))

  it.effect("an agent whose model was not asked", () =>
    Effect.gen(function*() {
      const tool = (life: number, world: World) => clerkOf("outer", payIn(life, world)({ effects: "write" }))
      assert.deepStrictEqual(yield* lives(tool, { name: "outer" }), ["not_run"])
    }))

  it.effect("an agent that reads, though its model was asked", () =>
    Effect.gen(function*() {
      const tool = (life: number, world: World) =>
        clerkOf("outer", payIn(life, world)({ effects: "read" }), { effects: "read" })
      const read = { cut: { at: 2, behind: true }, first: {}, name: "outer" }
      assert.deepStrictEqual(yield* lives(tool, read), ["not_run"])
    }))

  it.effect("is reported as not done, for an answer of this execution", () =>
    Effect.gen(function*() {
      const tool = (life: number, world: World) => payIn(life, world)(idempotent)
      assert.deepStrictEqual(yield* lives(tool), ["not_run"])
      assert.deepStrictEqual(yield* lives(tool, { cut: { at: 1, behind: false } }), ["not_run"])
      assert.deepStrictEqual(yield* lives(tool, { cut: { at: 2, behind: true }, first: {} }), ["outcome_unknown"])
    }))

  it.effect("but not a read within which an idempotent write was interrupted", () =>
    Effect.gen(function*() {
      const world: World = { paid: [] }
      const breaks = toolOf("breaks", {
        effects: "read",
        execute: () => Effect.delay(Effect.fail("broken"), "1 millis")
      })
      for (const way of ["a tool that calls a write that may be repeated", "a tool that calls a write"]) {
        const tool = ways[way]!(payIn(0, world))
        const { told } = yield* live([breaks, tool], ["breaks", "outer"], undefined)
        assert.deepStrictEqual(told("outer"), ["outcome_unknown"], way)
      }
    }))

  it.effect("is reported as not done in a first execution, journaled or not", () =>
    Effect.gen(function*() {
      const world: World = { paid: [], isHasty: true }
      for (const journal of [() => journalOf().life().journal, () => undefined]) {
        const tools = [breaksIn(0, world), payIn(0, world)(idempotent)]
        const { told } = yield* live(tools, ["breaks", "pay"], journal(), { concurrency: 1 })
        assert.deepStrictEqual(told("pay"), ["not_run"])
        const other = yield* live(tools, ["gone"], journal())
        assert.deepStrictEqual(other.told("gone"), ["tool_not_found"])
      }
    }))
})
