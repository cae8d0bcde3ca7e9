/** Changes of an agent's program between two executions. */

import { ScriptedModel } from "@recourse/testing"
import { Clock, Effect, Random, Schema } from "effect"
import { Agent, Recovery, Skill, Tool, ToolCall } from "@recourse/core"
import {
  agent,
  type AnyAgent,
  anyway,
  book,
  bundle,
  call,
  type Case,
  clerk,
  type Inner,
  keyed,
  read,
  Seat,
  triedAgain,
  within,
  write
} from "./programChange.ts"

export const bundled = [call("bundle", { seat: "1A" }, "c1"), ScriptedModel.text("done")]

export const programs: Readonly<Record<string, Case>> = {
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
  "the store has lost an answer, and the model answers otherwise": {
    make: () => agent([read("look")]),
    turns: { main: [call("look", { seat: "1A" }, "c1"), ScriptedModel.text("done")] },
    laterTurns: { main: [call("look", { seat: "2B" }, "c1"), ScriptedModel.text("done")] },
    lost: "model /1",
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
    turns: { main: bundled, one: book }
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
    turns: { main: book }
  }
}
