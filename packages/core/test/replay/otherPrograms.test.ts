/**
 * A run with another program in its second execution: for any difference it continues lawfully or ends with a named
 * error. It never hangs, starts no write twice, requests no recorded answer again, and reports no started call as not
 * done.
 */
import { assert, describe, it } from "@effect/vitest"
import { Drive, ScriptedModel } from "@recourse/testing"
import { Cause, Clock, Effect, Exit, Layer, Random, Schedule, Schema } from "effect"
import { Agent, IdempotencyLedger, Journal, Policy, Recovery, Skill, Tool, ToolCall } from "@recourse/core"
import { type CutAt, cuts, journalOf } from "../support/interruptedRuns.ts"

/** External effects. */
const worldOf = () => ({
  writes: [] as Array<{ readonly life: number; readonly what: string; readonly key: string | undefined }>,
  asked: [] as Array<{ readonly life: number; readonly by: string }>
})

/** The world in one execution. */
interface Here {
  /** 0 or 1. */
  readonly life: number
  readonly world: ReturnType<typeof worldOf>
}

type AnyAgent = Agent.Agent<string, string, unknown, never>
type Inner = Effect.Effect<string, never, ToolCall.ToolCall>

const Seat = Schema.Struct({ seat: Schema.String })

/** A write that takes a moment. */
const write = ({ life, world }: Here, name: string, more?: object): Tool.Any =>
  Tool.make(name, {
    parameters: Seat,
    success: Schema.String,
    effects: "write",
    execute: (params: object) =>
      Effect.flatMap(ToolCall.ToolCall, ({ idempotencyKey: key }) =>
        Effect.andThen(
          Effect.sync(() => world.writes.push({ life, what: `${name} ${JSON.stringify(params)}`, key })),
          Effect.as(Effect.sleep("100 millis"), "booked")
        )),
    ...more
  } as never) as never

const keyed = { idempotency: true }

const read = (name: string): Tool.Any =>
  Tool.make(name, { success: Schema.String, effects: "read", execute: () => Effect.succeed("free") }) as never

const agent = (tools: ReadonlyArray<Tool.Any>, more?: object): AnyAgent =>
  Agent.make("main", { tools, defaults: { onError: Recovery.keepGoing }, ...more } as never) as never

/** Calls a tool of its own making. */
const within = (tool: Tool.Any, id: string, args: unknown) =>
  Effect.provideService(
    (tool as never as { readonly call: Inner }).call,
    ToolCall.ToolCall,
    ToolCall.make({ id, arguments: args })
  ) as Inner

/** A tool that does something with other tools. */
const bundle = (execute: () => Effect.Effect<unknown, unknown, ToolCall.ToolCall>, more?: object): Tool.Any =>
  Tool.make("bundle", {
    parameters: Seat,
    success: Schema.String,
    effects: "idempotent",
    execute: () => Effect.as(execute(), "bundled"),
    ...more
  } as never) as never

const clerk = (name: string, tool: Tool.Any, instructions: string): Tool.Any =>
  Agent.make(name, { instructions, input: Seat, tools: [tool], defaults: { onError: Recovery.keepGoing } } as never)
    .pipe(Agent.asTool("clerk", { description: "Books", parameters: Seat, success: Schema.String }) as never)

type Turns = Readonly<Record<string, ReadonlyArray<ScriptedModel.Turn>>>

const call = (name: string, params: object, id: string) => ScriptedModel.call(name, params as never, { id })

const book = [call("book", { seat: "1A" }, "c1"), ScriptedModel.text("done")]
const bundled = [call("bundle", { seat: "1A" }, "c1"), ScriptedModel.text("done")]

interface Case {
  readonly make: (here: Here) => AnyAgent
  /** By the first word of the instructions; those without are `main`. */
  readonly turns: Turns
  /** Ends of the second execution other than with its output. Default: none. */
  readonly ends?: ReadonlyArray<string>
  /** The second program does not repeat the write of the first one: it makes another call, or none. */
  readonly other?: true
}

const anyway = { times: 2, schedule: Schedule.spaced("2 seconds"), while: () => true } as never

const triedAgain = (tool: Tool.Any): Tool.Any =>
  (tool as never as { pipe: (f: unknown) => Tool.Any }).pipe(Tool.onError(Recovery.retry(anyway) as never))

const tools: Readonly<Record<string, Case>> = {
  "a tool is added": {
    make: (here) => agent([write(here, "book"), ...(here.life === 0 ? [] : [read("look")])]),
    turns: { main: book }
  },
  "a read is removed": {
    make: (here) => agent(here.life === 0 ? [read("book")] : []),
    turns: { main: book }
  },
  "a write is removed": {
    make: (here) => agent(here.life === 0 ? [write(here, "book")] : [read("look")]),
    turns: { main: book }
  },
  "a keyed write is removed": {
    make: (here) => agent(here.life === 0 ? [write(here, "book", keyed)] : [read("look")]),
    turns: { main: book }
  },
  "a tool is renamed": {
    make: (here) => agent([write(here, here.life === 0 ? "book" : "reserve")]),
    turns: { main: book }
  },
  "the tools stand in another order": {
    make: (here) => {
      const all = [write(here, "book"), read("look")]
      return agent(here.life === 0 ? all : all.toReversed())
    },
    turns: { main: book }
  },
  "a write takes other parameters": {
    make: (here) =>
      agent([
        write(here, "book", here.life === 0 ? {} : { parameters: Schema.Struct({ place: Schema.Int }) })
      ]),
    turns: { main: book }
  },
  "a keyed write takes other parameters": {
    make: (here) =>
      agent([
        write(here, "book", {
          ...keyed,
          ...(here.life === 0 ? {} : { parameters: Schema.Struct({ place: Schema.Int }) })
        })
      ]),
    turns: { main: book }
  },
  "a write reads its arguments otherwise": {
    make: (here) =>
      agent([
        write(
          here,
          "book",
          here.life === 0
            ? keyed
            : { ...keyed, parameters: Schema.Struct({ seat: Schema.String, row: Schema.optionalKey(Schema.Int) }) }
        )
      ]),
    turns: { main: book }
  },
  "a write answers otherwise": {
    make: (here) => agent([write(here, "book", here.life === 0 ? {} : { success: Schema.Int })]),
    turns: { main: book },
    ends: ["InvalidResult"]
  },
  "a keyed write answers otherwise": {
    make: (here) => agent([write(here, "book", { ...keyed, ...(here.life === 0 ? {} : { success: Schema.Int }) })]),
    turns: { main: book },
    ends: ["InvalidResult"]
  },
  "a write loses its key": {
    make: (here) => agent([write(here, "book", here.life === 0 ? keyed : {})]),
    turns: { main: book }
  },
  "a write gets a key": {
    make: (here) => agent([write(here, "book", here.life === 0 ? {} : keyed)]),
    turns: { main: book }
  },
  "a write becomes a read": {
    make: (here) => agent([write(here, "book", here.life === 0 ? {} : { effects: "read" })]),
    turns: { main: book }
  },
  "a keyed write becomes a read": {
    make: (here) => agent([write(here, "book", here.life === 0 ? keyed : { effects: "read" })]),
    turns: { main: book }
  },
  "a key is drawn": {
    make: (here) => agent([write(here, "book", { idempotency: { key: () => `life ${here.life}` } })]),
    turns: { main: book }
  },
  "a key is drawn, and what failed is tried again whatever it was": {
    make: (here) => agent([triedAgain(write(here, "book", { idempotency: { key: () => `life ${here.life}` } }))]),
    turns: { main: book }
  },
  "a write is denied": {
    make: (here) => agent([write(here, "book")], here.life === 0 ? {} : { policies: [deny] }),
    turns: { main: book }
  },
  "a keyed write is denied": {
    make: (here) => agent([write(here, "book", keyed)], here.life === 0 ? {} : { policies: [deny] }),
    turns: { main: book }
  },
  "a write is not offered": {
    make: (here) =>
      agent([write(here, "book"), read("look")], {
        prepareTurn: () => ({ tools: here.life === 0 ? ["book"] : ["look"] })
      }),
    turns: { main: book }
  },
  "a keyed write is not offered": {
    make: (here) =>
      agent([write(here, "book", keyed), read("look")], {
        prepareTurn: () => ({ tools: here.life === 0 ? ["book"] : ["look"] })
      }),
    turns: { main: book }
  },
  "a tool is an agent": {
    make: (here) =>
      agent([
        here.life === 0 ? write(here, "clerk") : clerk("clerk", write(here, "book"), "clerk")
      ]),
    turns: { main: [call("clerk", { seat: "1A" }, "c1"), ScriptedModel.text("done")], clerk: book },
    other: true
  },
  "an agent is a tool": {
    make: (here) =>
      agent([
        here.life === 1 ? write(here, "clerk") : clerk("clerk", write(here, "book"), "clerk")
      ]),
    turns: { main: [call("clerk", { seat: "1A" }, "c1"), ScriptedModel.text("done")], clerk: book },
    other: true
  }
}

const deny = Policy.make("closed", () => Effect.succeed(Policy.deny("closed")))

const programs: Readonly<Record<string, Case>> = {
  "instructions say the time": {
    make: (here) =>
      agent([write(here, "book")], {
        instructions: () => Effect.map(Clock.currentTimeMillis, (now) => `main, at ${now} in life ${here.life}`)
      }),
    turns: { main: book }
  },
  "a prompt says the time": {
    make: (here) => agent([write(here, "book")], { prompt: () => [{ role: "user", content: `life ${here.life}` }] }),
    turns: { main: book },
    ends: ["NonDeterminismError"]
  },
  "a prompt is drawn in another order": {
    make: (here) => {
      const facts = { a: 1, b: { c: 2, d: 3 } }
      const other = { b: { d: 3, c: 2 }, a: 1 }
      return agent([write(here, "book")], {
        prompt: () => [{
          role: "user",
          content: [{ type: "text", text: "go", options: { facts: here.life === 0 ? facts : other } }]
        }]
      })
    },
    turns: { main: book }
  },
  "a tool makes its calls in another order": {
    make: (here) => {
      const inner = write(here, "book")
      const all = [within(inner, "a", { seat: "1A" }), within(inner, "b", { seat: "2B" })]
      return agent([
        bundle(() => Effect.forEach(here.life === 0 ? all : all.toReversed(), (one) => one, { discard: true }))
      ])
    },
    turns: { main: bundled }
  },
  "a tool makes its calls at once that it made one by one": {
    make: (here) => {
      const inner = write(here, "book")
      const all = [within(inner, "a", { seat: "1A" }), within(inner, "b", { seat: "2B" })]
      return agent([
        bundle(() =>
          Effect.forEach(all, (one) => one, { discard: true, concurrency: here.life === 0 ? 1 : "unbounded" })
        )
      ])
    },
    turns: { main: bundled }
  },
  "a tool makes its calls with keys in another order, and with random pauses": {
    make: (here) => {
      const inner = write(here, "book", keyed)
      const all = ["1A", "2B", "3C"].map((seat) => within(inner, seat, { seat }))
      const pause = Effect.flatMap(Random.nextIntBetween(0, 200), (n) => Effect.sleep(n))
      return agent([
        bundle(() =>
          Effect.forEach(here.life === 0 ? all : all.toReversed(), (one) => Effect.andThen(pause, one), {
            discard: true,
            concurrency: 2
          })
        )
      ])
    },
    turns: { main: bundled }
  },
  "a tool makes a call with other arguments": {
    make: (here) => {
      const inner = write(here, "book")
      return agent([bundle(() => within(inner, "a", { seat: here.life === 0 ? "1A" : "2B" }))])
    },
    turns: { main: bundled },
    other: true
  },
  "a tool makes a call of another tool": {
    make: (here) => agent([bundle(() => within(write(here, here.life === 0 ? "book" : "hold"), "a", { seat: "1A" }))]),
    turns: { main: bundled },
    other: true
  },
  "a tool makes a call no more": {
    make: (here) =>
      agent([bundle(() => here.life === 0 ? within(write(here, "book"), "a", { seat: "1A" }) : Effect.void)]),
    turns: { main: bundled },
    other: true
  },
  "a tool makes a call no more, and fails": {
    make: (here) =>
      agent([
        bundle(() => here.life === 0 ? within(write(here, "book"), "a", { seat: "1A" }) : Effect.fail("broken"), {
          effects: "read"
        })
      ]),
    turns: { main: bundled },
    other: true
  },
  "a write that a tool makes gets a key": {
    make: (here) => {
      const inner = write(here, "book", here.life === 0 ? {} : keyed)
      return agent([bundle(() => within(inner, "a", { seat: "1A" }))])
    },
    turns: { main: bundled }
  },
  "a write that a tool makes gets a key, and is tried again whatever it failed with": {
    make: (here) => {
      const inner = write(here, "book", here.life === 0 ? {} : keyed)
      return agent([bundle(() => Recovery.retry(anyway)(within(inner, "a", { seat: "1A" })))])
    },
    turns: { main: bundled }
  },
  "a write that a tool makes becomes a read": {
    make: (here) => {
      const inner = write(here, "book", here.life === 0 ? {} : { effects: "read" })
      return agent([bundle(() => within(inner, "a", { seat: "1A" }))])
    },
    turns: { main: bundled }
  },
  "a tool makes a keyed call no more": {
    make: (here) =>
      agent([bundle(() => here.life === 0 ? within(write(here, "book", keyed), "a", { seat: "1A" }) : Effect.void)]),
    turns: { main: bundled }
  },
  "a tool runs another agent": {
    make: (here) => {
      const inner = Agent.make(here.life === 0 ? "one" : "other", {
        instructions: here.life === 0 ? "one" : "other",
        tools: [write(here, "book")],
        defaults: { onError: Recovery.keepGoing }
      } as never) as never as AnyAgent
      return agent([bundle(() => inner.run("go"))])
    },
    turns: { main: bundled, one: book, other: book },
    other: true
  },
  "a tool calls an agent no more": {
    make: (here) => {
      const inner = clerk("clerk", write(here, "book"), "clerk")
      return agent([bundle(() => here.life === 0 ? within(inner, "a", { seat: "1A" }) : Effect.void)])
    },
    turns: { main: bundled, clerk: book },
    other: true
  },
  "a tool makes a call no more, beside an agent that undoes what it did": {
    make: (here) => {
      const inner = write(here, "book", { compensate: () => Effect.void })
      const rush = Tool.make("rush", {
        parameters: Seat,
        success: Schema.String,
        effects: "read",
        execute: () => here.life === 0 ? Effect.as(Effect.sleep("1 second"), "well") : Effect.fail("broken")
      } as never)
      const hasty = Agent.make(
        "clerk",
        { instructions: "clerk", input: Seat, tools: [rush], compensation: {} } as never
      )
        .pipe(Agent.asTool("clerk", { description: "Books", parameters: Seat, success: Schema.String }) as never)
      return agent([
        bundle(() => here.life === 0 ? within(inner, "a", { seat: "1A" }) : Effect.sleep("1 second")),
        hasty as never
      ], { compensation: {} })
    },
    turns: {
      main: [
        ScriptedModel.calls([
          { name: "bundle", params: { seat: "1A" }, id: "c1" },
          { name: "clerk", params: { seat: "1A" }, id: "c2" }
        ]),
        ScriptedModel.text("done")
      ],
      clerk: [call("rush", { seat: "1A" }, "r"), ScriptedModel.text("done")]
    },
    other: true
  },
  "a tool runs its agents at once, which begin in another order": {
    make: (here) => {
      const inner = Agent.make("one", {
        instructions: "one",
        tools: [write(here, "book")],
        defaults: { onError: Recovery.keepGoing }
      } as never) as never as AnyAgent
      const all = ["first", "second"].map((input, at) =>
        Effect.delay(inner.run(`the ${input} ${at + 1}A`), (here.life === 0 ? at : 1 - at) * 50)
      )
      return agent([bundle(() => Effect.all(all, { concurrency: "unbounded" }))])
    },
    turns: { main: bundled, one: book },
    ends: ["NonDeterminismError"]
  },
  "a nested agent has another prompt": {
    make: (here) => {
      const inner = Agent.make("one", {
        instructions: "one",
        tools: [write(here, "book")],
        prompt: () => [{ role: "user", content: `life ${here.life}` }],
        defaults: { onError: Recovery.keepGoing }
      } as never) as never as AnyAgent
      return agent([bundle(() => inner.run("go"))])
    },
    turns: { main: bundled, one: book },
    ends: ["NonDeterminismError"]
  },
  "a fixer is asked otherwise": {
    make: (here) => {
      const fixer = Agent.make("fixer", {
        instructions: "fixer",
        input: Recovery.FixRequest,
        prompt: () => [{ role: "user", content: `fix it in life ${here.life}` }]
      } as never) as never as AnyAgent
      const inner = write(here, "book", { parameters: Schema.Struct({ seat: Schema.Literal("1A") }) })
      return agent([
        (inner as never as { pipe: (f: unknown) => Tool.Any }).pipe(
          Tool.onError(
            ((one: never) => (one as Inner).pipe(Recovery.fix("InvalidArgs", fixer as never) as never)) as never
          )
        )
      ])
    },
    turns: {
      main: [call("book", { seat: "9Z" }, "c1"), ScriptedModel.text("done")],
      fixer: [ScriptedModel.text(JSON.stringify({ seat: "1A" }))]
    },
    ends: ["NonDeterminismError"]
  },
  "a fixer answers otherwise": {
    make: (here) => {
      const inner = write(here, "book", { parameters: Schema.Struct({ seat: Schema.Literals(["1A", "2B"]) }) })
      return agent([
        (inner as never as { pipe: (f: unknown) => Tool.Any }).pipe(
          Tool.onError(
            ((one: never) =>
              (one as Inner).pipe(
                Recovery.fix(
                  "InvalidArgs",
                  Agent.fromFunction("f", () => Effect.succeed(`{"seat":"${here.life === 0 ? "1A" : "2B"}"}`)) as never
                ) as never
              )) as never
          )
        )
      ])
    },
    turns: { main: [call("book", { seat: "9Z" }, "c1"), ScriptedModel.text("done")] }
  },
  "calls run one by one that ran at once": {
    make: (here) =>
      agent([write(here, "book"), write(here, "hold", keyed)], { concurrency: here.life === 0 ? "unbounded" : 1 }),
    turns: {
      main: [
        ScriptedModel.calls([
          { name: "book", params: { seat: "1A" }, id: "c1" },
          { name: "hold", params: { seat: "1A" }, id: "c2" },
          { name: "book", params: { seat: "2B" }, id: "c3" }
        ]),
        ScriptedModel.text("done")
      ]
    }
  },
  "recovery tries again no more": {
    make: (here) => {
      const inner = write(here, "book", {
        execute: () =>
          Effect.flatMap(ToolCall.ToolCall, ({ attempt, idempotencyKey: key }) =>
            Effect.suspend(() => {
              here.world.writes.push({ life: here.life, what: `book ${attempt}`, key })
              return attempt === 1 ? Effect.fail("down") : Effect.succeed("booked")
            })),
        ...keyed
      })
      return agent([
        here.life === 1 ? inner : triedAgain(inner)
      ])
    },
    turns: { main: book }
  },
  "the output is to be another one": {
    make: (here) => agent([write(here, "book")], here.life === 0 ? {} : { output: Schema.Int }),
    turns: { main: [...book, ScriptedModel.text("7")] },
    ends: ["InvalidOutput"]
  },
  "a skill is chosen by chance": {
    make: (here) => {
      const skill = (name: string, tool: Tool.Any) => ({ name, description: name, instructions: "main", tools: [tool] })
      return Agent.make("main", {
        skills: [skill("a", write(here, "book")), skill("b", read("look"))].map((one) =>
          Skill.make(one.name, one as never)
        ),
        skill: here.life === 0 ? "a" : "b",
        defaults: { onError: Recovery.keepGoing }
      } as never) as never
    },
    turns: { main: book },
    ends: ["NonDeterminismError"]
  }
}

/** Tools within which something is written that is not theirs. */
const around: Readonly<Record<string, { readonly name: string; readonly of: (here: Here) => Tool.Any }>> = {
  "a tool that makes a call": {
    name: "bundle",
    of: (here) => bundle(() => within(write(here, "book"), "a", { seat: "1A" }))
  },
  "a tool that calls an agent": {
    name: "bundle",
    of: (here) => bundle(() => within(clerk("clerk", write(here, "book"), "clerk"), "a", { seat: "1A" }))
  },
  "a tool that calls an agent that writes under a key": {
    name: "bundle",
    of: (here) => bundle(() => within(clerk("clerk", write(here, "book", keyed), "clerk"), "a", { seat: "1A" }))
  },
  "an agent that writes": { name: "clerk", of: (here) => clerk("clerk", write(here, "book"), "clerk") },
  "an agent that writes under a key": {
    name: "clerk",
    of: (here) => clerk("clerk", write(here, "book", keyed), "clerk")
  }
}

const withoutThem: Readonly<Record<string, Case>> = Object.fromEntries(
  Object.entries(around).flatMap(([what, { name, of }]) => {
    const turns = { main: [call(name, { seat: "1A" }, "c1"), ScriptedModel.text("done")], clerk: book }
    const none = (make: Case["make"]): Case => ({ make, turns, other: true })
    return [
      [`${what} is removed`, none((here) => agent(here.life === 0 ? [of(here)] : [read("look")]))],
      [
        `${what} is not offered`,
        none((here) =>
          agent([of(here), read("look")], { prepareTurn: () => ({ tools: [here.life === 0 ? name : "look"] }) })
        )
      ],
      [`${what} is denied`, none((here) => agent([of(here)], here.life === 0 ? {} : { policies: [deny] }))]
    ]
  })
)

const live = (world: ReturnType<typeof worldOf>, one: Case, life: number, journal: Journal.Journal) => {
  const model = ScriptedModel.layer(({ prompt }) => {
    const system = prompt.content.find(({ role }) => role === "system")?.content
    const by = typeof system === "string" ? system.split(/\W/, 1)[0]! : "main"
    const turn = prompt.content.filter(({ role }) => role === "assistant").length
    world.asked.push({ life, by: `${by} ${turn + 1}` })
    const asked = JSON.stringify(prompt.content).match(/the (?:first|second) (\d+A)/)?.[1]
    if (asked !== undefined && turn === 0) return call("book", { seat: asked }, "c1")
    return one.turns[by]?.[turn] ?? ScriptedModel.text(`no turn ${turn} of ${by}`)
  })
  return Drive.drive(
    one.make({ life, world }).report("go", { runId: "run_1" }).pipe(
      Effect.provideService(Journal.CurrentJournal, journal),
      Effect.provide(model)
    ),
    { step: "50 millis", max: 400 }
  )
}

const nameOf = (exit: Exit.Exit<unknown, unknown>): string => {
  if (Exit.isSuccess(exit)) return "done"
  const reason = exit.cause.reasons.find((reason) => !Cause.isInterruptReason(reason))
  if (reason === undefined) return "interrupted"
  if (Cause.isFailReason(reason)) return (reason.error as { readonly _tag: string })._tag
  return reason.defect instanceof Journal.NonDeterminismError
    ? "NonDeterminismError"
    : `defect: ${String(reason.defect)}`
}

/** The model's final results of each call. */
const told = (report: { readonly transcript: { readonly content: ReadonlyArray<unknown> } }) =>
  new Map(
    (report.transcript.content as ReadonlyArray<{ readonly role: string; readonly content: ReadonlyArray<never> }>)
      .flatMap(({ content, role }) => role === "tool" ? content : [])
      .map((part: { readonly id: string; readonly result: { readonly code?: string } | null }) =>
        [part.id, part.result?.code] as const
      )
  )

describe("a run with another program in its second execution", () => {
  for (const [name, one] of [...Object.entries(tools), ...Object.entries(programs), ...Object.entries(withoutThem)]) {
    it.effect(`continues lawfully, or ends with a named error, where ${name}`, () =>
      Effect.gen(function*() {
        const play = (cut: CutAt | undefined) =>
          Effect.gen(function*() {
            const world = worldOf()
            const { kept, life } = journalOf()
            const ledger = Layer.succeedContext(yield* Layer.build(Layer.fresh(IdempotencyLedger.layerMemory)))
            const first = yield* Effect.provide(live(world, one, 0, life(cut).journal), ledger)
            if (cut === undefined) return { first, kept, world, last: first, recorded: [...kept.keys()] }
            const recorded = [...kept.keys()]
            const last = yield* Effect.provide(live(world, one, 1, life().journal), ledger)
            return { first, kept, last, recorded, world }
          }).pipe(Effect.scoped)
        const whole = yield* play(undefined)
        assert.deepStrictEqual(nameOf(whole.first.exit), "done", "the first program")
        for (const { about, ...cut } of cuts(whole.kept.size)) {
          const { last, recorded, world } = yield* play(cut)
          const end = nameOf(last.exit)
          assert.include(["done", ...(one.ends ?? [])], end, about)
          // No answer that is on record is asked for again.
          for (const { by, life } of world.asked) {
            const [who, turn] = by.split(" ")
            if (life === 1 && who === "main") assert.notInclude(recorded, `model /${turn}`, about)
          }
          const begun = world.writes.some(({ life }) => life === 0)
          const codes = end === "done" ? told(last) : new Map<string, string | undefined>()
          const [code] = codes.values()
          // Writes that the second program does not repeat are reported as unknown, and its other calls are not
          // reported alone.
          if (one.other === true) {
            if (begun && end === "done" && !recorded.includes("call /c1")) {
              assert.strictEqual(code, "outcome_unknown", about)
            }
            continue
          }
          // No write begins twice, but under its key.
          for (const [what, all] of Map.groupBy(world.writes, ({ what }) => what)) {
            if (all.length === 1) continue
            const keys = new Set(all.map(({ key }) => key))
            assert.isTrue(keys.size === 1 && !keys.has(undefined), `${about}: ${what} under ${[...keys].join(" and ")}`)
          }
          if (begun && codes.size === 1) assert.include([undefined, "outcome_unknown"], code, about)
          // An unstarted call is refused like without a journal.
        }
      }))
  }
})
