/**
 * Forms of random programs: the composition around an agent with tools, the person who is asked about waiting calls,
 * and the outer compensation.
 */
import { Clock, Data, Effect, Schema } from "effect"
import { Prompt } from "effect/ai"
import { Agent, Approval, Recovery } from "@recourse/core"
import { Approver } from "../faults/approver.ts"
import type { Asked } from "./asked.ts"
import type { Program } from "./program.ts"

/** An agent of a program, whatever it takes and answers. */
export type Composed = Agent.Agent<unknown, unknown, unknown, never>

/** The agents with tools: the one that each program has, and the other one of some forms. */
export const clerk = "clerk"
export const partner = "partner"

/** The agent that has the clerk as its tool. */
export const desk = "desk"

/** The budget of every agent of a program. */
export const budget = { turns: 8, toolCalls: 24, retriesPerTool: 4, fixes: 3, duration: "60 seconds" } as const

/** No decision. */
class Undecided extends Data.TaggedError("Undecided") {}

/** The function in the place of an agent has failed. */
class Unable extends Data.TaggedError("Unable") {}

/** Compensation of agents, if they have one. */
export const compensation = (undoes: boolean) => undoes ? { compensation: { timeout: "1 second" as const } } : undefined

const ask = (onAsked: (asked: Asked) => void) =>
  Effect.fnUntraced(function*(call: Approval.PendingCall) {
    const { decide } = yield* Approver
    const start = yield* Clock.currentTimeMillis
    const decisions = yield* decide([call])
    const decidedAt = yield* Clock.currentTimeMillis
    onAsked({ pending: [call], decisions, waited: decidedAt - start, decidedAt })
    const [decision] = decisions
    return decision ?? (yield* new Undecided())
  })

/** Selects one of two agents for the next message: in turn. */
const isOdd = (input: unknown): boolean =>
  Prompt.isPrompt(input) && input.content.filter(({ role }) => role === "user").length % 2 === 0

const deskOf = (program: Program, agent: Composed, prompt: (input: unknown) => unknown): unknown =>
  Agent.make(desk, {
    instructions: desk,
    input: Schema.Unknown,
    prompt,
    tools: [
      Agent.asTool("ask", { description: "Asks", parameters: Schema.Struct({}), success: Schema.String } as never)(
        agent as never
      )
    ] as never,
    defaults: { onError: Recovery.standard },
    ...compensation(program.undoesAround),
    concurrency: program.concurrency === 3 ? 2 : 1,
    budget: { ...budget, turns: 24, toolCalls: 60, duration: "120 seconds" }
  } as never)

/** The other agent of a form with two. */
const otherOf = ({ beside: neighbour }: Program, agent: Composed, works: () => Composed): Composed => {
  switch (neighbour) {
    case "same":
      return agent
    case "works":
      return works()
    case "answers":
      return Agent.fromFunction(partner, () => Effect.delay(Effect.succeed("done"), "1 second"))
    case "fails":
      return Agent.fromFunction(partner, () => Effect.delay(Effect.fail(new Unable()), "1 second"))
  }
}

const together = (program: Program, agent: Composed, other: Composed, prompt: (input: unknown) => unknown): unknown => {
  switch (program.form) {
    case "alone":
      return agent
    case "tool":
      return deskOf(program, agent, prompt)
    case "twice":
      return agent.pipe(Agent.andThen(other as never))
    case "hand":
      return Agent.fromFunction("hand", (input: unknown) => Effect.andThen(agent.run(input), agent.run(input)))
    case "all":
      return Agent.all("all", [agent, other])
    case "race":
      return Agent.firstOf("race", [agent, other])
    case "branch":
      return Agent.branch("branch", isOdd, { onTrue: other, onFalse: agent } as never)
    case "route":
      return Agent.route(
        "route",
        Agent.fromFunction(
          "chooser",
          (input: unknown) => Effect.as(Effect.yieldNow, isOdd(input) ? "other" as const : "first" as const)
        ),
        { first: agent, other } as never
      )
  }
}

/** Puts an agent together as the program says. `works` is the other agent with tools; `prompt` is how the desk reads its input. */
export const composed = (
  program: Program,
  agent: Composed,
  works: () => Composed,
  prompt: (input: unknown) => unknown,
  onAsked: (asked: Asked) => void
): Composed => {
  const { asks, form, undoesAround } = program
  const asking = (agent: Composed) => agent.pipe(Approval.interactive(ask(onAsked)) as never) as Composed
  // A function cannot ask a person: its agents stop within it.
  const isWithin = asks === "within" || (asks === "around" && form === "hand")
  const first = isWithin ? asking(agent) : agent
  const other = otherOf(program, first, () => isWithin ? asking(works()) : works())
  const whole = together(program, first, other, prompt) as Composed
  const compensated = undoesAround && form !== "tool"
    ? whole.pipe(Agent.compensated({ timeout: "1 second" }) as never) as Composed
    : whole
  return asks === "around" && !isWithin ? asking(compensated) : compensated
}
