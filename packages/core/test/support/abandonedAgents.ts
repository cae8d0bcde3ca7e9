/** Programs with a waiting agent that is abandoned. */
import { Effect, Schema } from "effect"
import { Agent, Approval, Tool, ToolCall } from "@recourse/core"
import {
  asking,
  Away,
  Boom,
  boss,
  both,
  byHand,
  call,
  fails,
  input,
  later,
  type models,
  Quick,
  Slow,
  standard,
  text,
  tool,
  type Waits
} from "./bookings.ts"

export interface Case {
  readonly agent: (a: Waits) => unknown
  readonly turns?: Parameters<typeof models>[0]
  /** True if the run is interrupted, after a second. */
  readonly isInterrupted?: boolean
  readonly isGood?: boolean
}

export const cases: Readonly<Record<string, Case>> = {
  "all: a sibling fails": { agent: (a) => Agent.all("w", [a, fails]) },
  "all: a sibling dies": { agent: (a) => Agent.all("w", [a, later(Effect.die("no"))]) },
  "all: the run is interrupted": {
    agent: (a) => Agent.all("w", [a, later(Effect.never)]),
    isInterrupted: true
  },
  "firstOf: another one answers": {
    agent: (a) => Agent.firstOf("w", [a, later(Effect.succeed("won"))]),
    isGood: true
  },
  "firstOf within all, whose sibling fails": {
    agent: (a) =>
      Agent.all("w", [Agent.firstOf("v", [a, later(Effect.fail(new Away()), "y")]), later(Effect.fail(new Away()))])
  },
  "andThen within all": {
    agent: (a) => Agent.all("w", [Agent.fromFunction("f", Effect.succeed<unknown>).pipe(Agent.andThen(a)), fails])
  },
  "an agent that is a tool, beside a call that ends the run": {
    agent: (a) => boss([tool(a, "a"), Boom]),
    turns: { boss: [both("a", "boom")] }
  },
  "an agent that is a tool, behind another call, within all": {
    agent: (a) => Agent.all("w", [boss([Quick, tool(a, "a")]), fails]),
    turns: { boss: [both("quick", "a")] }
  },
  "an agent that is a tool, within one that is a tool": {
    agent: (a) =>
      boss([
        tool(Agent.make("mid", { ...standard, instructions: "mid", input, tools: [tool(a, "a")] } as never), "mid"),
        Boom
      ]),
    turns: { boss: [both("mid", "boom")], mid: [call("a", {}, { id: "a" })] }
  },
  "all within an agent that is a tool": {
    agent: (a) => boss([tool(Agent.all("w", [a, later(Effect.succeed("x"))]), "w"), Boom]),
    turns: { boss: [both("w", "boom")] }
  },
  "an agent that is a tool, within all": {
    agent: (a) => Agent.all("w", [boss([tool(a, "a")]), fails]),
    turns: { boss: [call("a", {}, { id: "a" })] }
  },
  "a deadline ends the run": {
    agent: (a) => boss([tool(a, "a"), Slow], { budget: { duration: "3 seconds" } }),
    turns: { boss: [both("a", "slow")] }
  },
  "a deadline ends the step beside it": {
    agent: (a) => Agent.all("w", [a, boss([Slow], { budget: { duration: "3 seconds" } })]),
    turns: { boss: [call("slow", {}, { id: "slow" })] }
  },
  "the run is interrupted beside an agent that is a tool": {
    agent: (a) => boss([tool(a, "a"), Slow]),
    turns: { boss: [both("a", "slow")] },
    isInterrupted: true
  },
  "interactive, as a step: its question fails": {
    agent: (a) => Agent.all("w", [asking(a, () => Effect.fail(new Away()))])
  },
  "interactive, as a step: its question dies": {
    agent: (a) => Agent.all("w", [asking(a, () => Effect.die("away"))])
  },
  "interactive, as a step: the decision does not fit": {
    agent: (a) =>
      Agent.all("w", [
        asking(a, (pending) => Effect.succeed({ ...Approval.approve(pending), argumentsHash: "00" }))
      ])
  },
  "interactive, as a step: it is interrupted while it asks": {
    agent: (a) => Agent.all("w", [asking(a, () => Effect.never), fails])
  },
  "interactive, as a step: the run is interrupted while it asks": {
    agent: (a) => Agent.all("w", [asking(a, () => Effect.never)]),
    isInterrupted: true
  },
  "interactive, of agents in all: its question fails": {
    agent: (a) =>
      Agent.all("v", [
        asking(Agent.all("w", [a, later(Effect.succeed("x"))]), () => Effect.fail(new Away()))
      ])
  },
  "interactive, run by hand in a tool: its question fails": {
    agent: (a) => boss([byHand(asking(a, () => Effect.fail(new Away())))]),
    turns: { boss: [call("hand", {}, { id: "hand" })] }
  },
  "run by hand in a tool that another call cuts off": {
    agent: (a) =>
      boss([
        Tool.make("hand", {
          success: Schema.String,
          effects: "read",
          execute: () => Effect.as(Effect.andThen(Effect.exit(a.run({})), Effect.never), "never")
        })
      ]),
    turns: { boss: [call("hand", {}, { id: "hand" })] },
    isInterrupted: true
  },
  "an agent that is a tool, called by another tool": {
    agent: (a) => {
      const A = tool(a, "a")
      return boss([
        Tool.make("hand", {
          success: Schema.Unknown,
          effects: "read",
          execute: () => Effect.provideService(A.call, ToolCall.ToolCall, ToolCall.make({ id: "x", arguments: {} }))
        })
      ])
    },
    turns: { boss: [call("hand", {}, { id: "hand" }), text("It was denied.")] },
    isGood: true
  }
}
