/** Durable runs of agents made of agents: one has booked, and the run resumes or ends without it. */
import { assert } from "@effect/vitest"
import { NodeSqliteClient } from "@recourse/sql"
import { ScriptedModel } from "@recourse/testing"
import { Context, Effect, Layer, Schema, type Scope } from "effect"
import { Prompt } from "effect/ai"
import { rmSync } from "node:fs"
import { join } from "node:path"
import { Agent, Recovery, Tool } from "@recourse/core"
import { Durable, RunStore } from "@recourse/durable"
import { databaseFolder } from "../../../../test/support/databaseFolder.ts"
import { book, type Travel, worldOf } from "./travel.ts"

export const stores = ["memory", "sqlite"] as const
type Kind = (typeof stores)[number]

/**
 * A store that outlives its processes: on SQLite each has a connection of its own, and one's open transaction is rolled
 * back.
 */
const storeOf = (kind: Kind) => {
  const using = (building: Effect.Effect<Context.Context<RunStore.RunStore>, never, Scope.Scope>) =>
  <A, E>(
    use: (store: RunStore.Store) => Effect.Effect<A, E>
  ) => Effect.scoped(Effect.flatMap(building, (context) => use(Context.get(context, RunStore.RunStore))))
  if (kind === "memory") {
    const memory = Effect.runSync(Effect.scoped(Layer.build(Layer.fresh(RunStore.layerMemory))))
    return { remove: () => {}, with: using(Effect.succeed(memory)) }
  }
  const directory = databaseFolder()
  const filename = join(directory, "runs.db")
  const sql = RunStore.layerSql().pipe(Layer.provide(NodeSqliteClient.layer({ filename })), Layer.orDie)
  return {
    remove: () => rmSync(directory, { recursive: true, force: true }),
    with: using(Layer.build(Layer.fresh(sql)))
  }
}

/** State of the booking agent when it is abandoned. */
export type Left = "at work" | "waiting"

const { call, calls, text } = ScriptedModel
const described = { description: "Does it", parameters: Schema.Struct({}), success: Schema.String } as const

/** Ways of the run to resume, or end, without it. */
export const compositions = {
  "a sibling of Agent.all fails": { ended: "failed" },
  "another one wins Agent.firstOf": { ended: "completed" },
  "a sibling before it fails, at once in the next life": { ended: "failed" },
  "another one before it wins, at once in the next life": { ended: "completed" },
  "a call beside its tool ends the run": { ended: "failed" },
  "a call beside the tool of an agent around it ends the run": { ended: "failed" },
  "a sibling of Agent.all around it fails": { ended: "failed" },
  "another one wins Agent.firstOf within a tool": { ended: "completed" },
  "a sibling fails, and a conversation was given to it": { ended: "failed" }
} as const
export type Composition = keyof typeof compositions

/** A world with the agent, and how often the failure has come. */
export const made = (composition: Composition, left: Left, store: Kind, heals = false) => {
  const all = worldOf("pay")
  const { world } = all
  const failures = { times: 0 }
  const report = (who: string): NonNullable<Agent.CompensationOptions<never>["report"]> => (leftOver) =>
    Effect.sync(() => {
      for (const { because, callId, tool } of leftOver) world.reported.push(`${tool} ${callId} ${because} ${who}`)
    })
  const Flight = book(world, "flight", {})
  const Hotel = book(world, "hotel", { idempotency: true })
  const Slow = Tool.make("slow", {
    success: Schema.String,
    effects: "read",
    execute: () => Effect.as(Effect.sleep("5 seconds"), "slow")
  })
  const Pay = Tool.make("pay", {
    success: Schema.String,
    effects: "write",
    needsApproval: true,
    execute: () => Effect.sync(() => (world.paid++, "paid"))
  })
  const Boom = Tool.make("boom", {
    success: Schema.String,
    effects: "read",
    execute: () =>
      Effect.delay(
        Effect.suspend(() => ++failures.times > 1 && heals ? Effect.succeed("well") : Effect.fail("no" as const)),
        "1 second"
      )
  })
  const standard = { defaults: { onError: Recovery.standard } } as const
  const losing = {
    ...standard,
    instructions: "loser",
    tools: [Flight, Hotel, Slow, Pay],
    compensation: { report: report("loser") }
  } as const
  const loser = Agent.make("loser", { ...losing, input: Schema.Unknown })
  const talks = { input: Prompt.Prompt, prompt: (said: Prompt.Prompt) => said }
  const given = Agent.handoff("given", {
    start: "triage",
    agents: {
      triage: Agent.make("triage", {
        ...talks,
        ...standard,
        instructions: "triage",
        tools: [Agent.handoffTo("loser", { description: "Loses" })]
      }) as never,
      loser: Agent.make("loser", { ...losing, ...talks }) as never
    }
  }) as Agent.Agent<Prompt.Prompt, unknown>
  const boss = (name: string, tools: ReadonlyArray<unknown>) =>
    Agent.make(name, { ...standard, instructions: name, input: Schema.Unknown, tools: tools as never }) as never
  const tool = (agent: unknown, name: string) =>
    (agent as Agent.Agent<unknown, string>).pipe(Agent.asTool(name, described)) as never
  const fails = boss("fails", [Boom])
  const wins = Agent.fromFunction("wins", (_: unknown) => Effect.delay(Effect.succeed("won"), "1 second")) as never
  const a = loser as never
  let lives = 0
  const soon = <A, E>(name: string, effect: Effect.Effect<A, E>) =>
    Agent.fromFunction(
      name,
      (_: unknown) => Effect.suspend(() => lives++ === 0 ? Effect.delay(effect, "1 second") : effect)
    ) as never
  const agents: Record<Composition, () => unknown> = {
    "a sibling of Agent.all fails": () => Agent.all("w", [a, fails]),
    "another one wins Agent.firstOf": () => Agent.firstOf("w", [a, wins]),
    "a sibling before it fails, at once in the next life": () =>
      Agent.all("w", [soon("f", Effect.fail(new Error("no"))), a]),
    "another one before it wins, at once in the next life": () =>
      Agent.firstOf("w", [soon("s", Effect.succeed("won")), a]),
    "a call beside its tool ends the run": () => boss("both", [tool(a, "a"), Boom]),
    "a call beside the tool of an agent around it ends the run": () =>
      boss("both", [tool(boss("mid", [tool(a, "a")]), "a"), Boom]),
    "a sibling of Agent.all around it fails": () => Agent.all("v", [Agent.all("w", [a]) as never, fails]),
    "another one wins Agent.firstOf within a tool": () => boss("one", [tool(Agent.firstOf("w", [a, wins]), "a")]),
    "a sibling fails, and a conversation was given to it": () =>
      Agent.all("w", [
        Agent.fromFunction("ask", (_: unknown) => Effect.succeed(Prompt.make("Go"))).pipe(
          Agent.andThen(given)
        ) as never,
        fails
      ])
  }
  const turns: Record<string, ReadonlyArray<ScriptedModel.Turn>> = {
    loser: [
      calls([{ name: "flight", params: { place: "Rome" }, id: "f" }, {
        name: "hotel",
        params: { place: "Rome" },
        id: "h"
      }]),
      left === "waiting" ? call("pay", {}, { id: "p" }) : call("slow", {}, { id: "s" }),
      text("lost")
    ],
    triage: [call("transfer_to_loser", {}, { id: "t" })],
    fails: [call("boom", {}, { id: "boom" }), text("well")],
    both: [calls([{ name: "a", params: {}, id: "a" }, { name: "boom", params: {}, id: "boom" }]), text("both")],
    mid: [call("a", {}, { id: "ma" }), text("mid")],
    one: [call("a", {}, { id: "a" }), text("one")]
  }
  const model = ScriptedModel.layer(({ prompt }) => {
    world.asked++
    const [first] = prompt.content
    const name = first?.role === "system" ? first.content.split("\n")[0]! : ""
    const turn = prompt.content.filter(({ role }) => role === "assistant").length
    return ScriptedModel.delay("30 millis", turns[name]?.[turn] ?? text("?"))
  })
  const agent = Durable.make(
    agents[composition]() as Agent.Agent<string, unknown, never, never>,
    { output: Schema.Unknown } as never
  ) as unknown as Travel
  const kept = storeOf(store)
  const around = Layer.merge(all.around, model)
  return {
    agent,
    world,
    failures,
    remove: kept.remove,
    /** A process that has the store. */
    within: <A, E>(use: (all: ReturnType<typeof worldOf>) => Effect.Effect<A, E>) =>
      kept.with((store) => use({ world, store, around: Layer.merge(around, Layer.succeed(RunStore.RunStore, store)) }))
  }
}

/** Reports of it: in the events, and in the audit. */
export const reportOf = ({ within }: ReturnType<typeof made>) =>
  within(({ store }) =>
    Effect.map(store.events("r1", 0), (events) =>
      events.flatMap(({ event }) => {
        const { _tag, callId, outcome } = event as Record<string, string>
        return _tag === "ToolCompensated" ? [`${callId} ${outcome}`] : []
      }))
  )

/** State of a booking that the run has lost: compensated once, or reported to a person; never compensated twice. */
export const lost = ({ world }: ReturnType<typeof made>, told: ReadonlyArray<string>, about: string) => {
  assert.strictEqual(world.paid, 0, about)
  for (const [name, id] of [["flight", "f"], ["hotel", "h"]] as const) {
    const done = world.done.filter((one) => one.startsWith(name)).length
    const undoings = world.undone.filter(({ what }) => what.startsWith(name))
    const isReported = world.reported.some((one) => one.startsWith(name)) ||
      told.some((one) => one.endsWith(`${id} not_undone`))
    const where = `${about}: ${name} done ${done}, undone ${undoings.length}, ${
      JSON.stringify([world.reported, told, world.audit])
    }`
    if (done === 0) assert.deepEqual(undoings, [], where)
    else assert.isTrue(isReported || undoings.length > 0, where)
    if (undoings.length > 0) {
      assert.isTrue(told.some((one) => one.includes(`${id} `)), `${where}: no event`)
      assert.isTrue(world.audit.some((one) => one.startsWith(name)), `${where}: no audit`)
    }
    if (name === "flight") {
      assert.isAtMost(done, 1, where)
      assert.isAtMost(undoings.length, 1, where)
    }
    assert.isAtMost(new Set(undoings.map(({ key }) => key)).size, 1, where)
  }
}
