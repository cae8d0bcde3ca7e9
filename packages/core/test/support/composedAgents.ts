/** Agents made of agents that wait, and their resumptions. */

import { ScriptedModel } from "@recourse/testing"
import { Effect, Redacted, Schema } from "effect"
import { Prompt } from "effect/ai"
import { Agent, Approval, Recovery } from "@recourse/core"
import { collect } from "./kit.ts"
import { Note, Refund } from "./refundTools.ts"

export const key = Approval.layerKey(Redacted.make("0123456789abcdef0123456789abcdef"))

const { call, text } = ScriptedModel

export type Turns = readonly [ScriptedModel.Turn, ...ReadonlyArray<ScriptedModel.Turn>]

/** Each agent's model goes by the agent's own instructions and conversation, in whatever process it is. */
export const models = (turns: Readonly<Record<string, Turns>>) =>
  ScriptedModel.layer((request, index) => {
    const [first] = request.prompt.content
    const [name] = first?.role === "system" ? first.content.split("\n") : []
    const user = JSON.stringify(request.prompt.content.find(({ role }) => role === "user")?.content)
    const said = Object.keys(turns).find((key) => key === name || (key.startsWith(`${name} `) && user.includes(key)))
    return ScriptedModel.steps(turns[said!]!)(request, index)
  })

export const refund = (order: string, amount = 500) => call("refund", { order, amount }, { id: "r" })

/** An agent with a log of its tools' calls. */
export const clerk = (log: Array<string>, name = "clerk") =>
  Agent.make(name, {
    instructions: name,
    tools: [Note(log), Refund(log)],
    defaults: { onError: Recovery.standard }
  })

export type Composed =
  & Agent.Agent<string, unknown, unknown, never>
  & Agent.Resumable<string, unknown, unknown, never, never>

export interface Case {
  readonly agent: (log: Array<string>) => unknown
  readonly turns: Readonly<Record<string, Turns>>
  readonly output: unknown
  readonly log: ReadonlyArray<string>
  /** The calls that wait, pause by pause. */
  readonly pending: ReadonlyArray<ReadonlyArray<string>>
}

export const fn = <A, B>(name: string, f: (a: A) => B) => Agent.fromFunction(name, (a: A) => Effect.sync(() => f(a)))

export const pays: Turns = [call("note", { text: "begin" }, { id: "n" }), refund("A"), text("paid")]

export const cases: Readonly<Record<string, Case>> = {
  "andThen, in the second step": {
    agent: (log) =>
      clerk(log, "first").pipe(Agent.andThen(clerk(log)), Agent.andThen(fn("end", (s: string) => `${s}!`))),
    turns: { first: [call("note", { text: "one" }), text("go")], clerk: pays },
    output: "paid!",
    log: ["note one", "note begin", "refund A 500"],
    pending: [["first > clerk/clerk/r"]]
  },
  "all, in two at once": {
    agent: (log) => Agent.all("all", [clerk(log, "a"), clerk(log, "b"), clerk(log, "c")]),
    turns: {
      a: [refund("A"), text("a")],
      b: [call("note", { text: "b" }), text("b")],
      c: [refund("C"), refund("D"), text("c")]
    },
    output: ["a", "b", "c"],
    log: ["note b", "refund A 500", "refund C 500", "refund D 500"],
    pending: [["a/r", "c/r"], ["c/r_2"]]
  },
  "branch": {
    agent: (log) =>
      Agent.branch("size", (s: string) => s.length > 1, { onTrue: clerk(log), onFalse: fn("no", () => 0) }),
    turns: { clerk: pays },
    output: "paid",
    log: ["note begin", "refund A 500"],
    pending: [["clerk/r"]]
  },
  "route": {
    agent: (log) =>
      Agent.route("to", (_: string) => Effect.sync(() => (log.push("chosen"), "x" as const)), { x: clerk(log) }),
    turns: { clerk: pays },
    output: "paid",
    log: ["chosen", "note begin", "refund A 500"],
    pending: [["clerk/r"]]
  },
  "loopUntil, in the second round": {
    agent: (log) =>
      clerk(log).pipe(
        Agent.loopUntil((out) => Effect.sync(() => (log.push(`judged ${out}`), out === "clerk three")), { times: 9 })
      ),
    turns: {
      "clerk one": [call("note", { text: "1" }), text("clerk two")],
      "clerk two": [refund("A"), text("clerk three")]
    },
    output: "clerk three",
    log: ["note 1", "judged clerk two", "refund A 500", "judged clerk three"],
    pending: [["clerk#2/r"]]
  },
  "revise, with a judge that has state": {
    agent: (log) =>
      Agent.revise(clerk(log), {
        times: 9,
        judge: (out) =>
          Effect.sync(() => (log.push(`judged ${out}`),
            log.filter((line) => line.startsWith("judged")).length < 3
              ? out
              : undefined)
          )
      }),
    turns: {
      "clerk one": [call("note", { text: "1" }), text("clerk two")],
      "clerk two": [refund("A"), text("clerk two")]
    },
    output: "clerk two",
    log: ["note 1", "judged clerk two", "refund A 500", "judged clerk two", "refund A 500", "judged clerk two"],
    pending: [["clerk#2/r"], ["clerk#3/r"]]
  },
  "agents that decide, in route, loopUntil and revise": {
    agent: (log) => {
      const judge = <S extends Schema.Top, In extends Schema.Top>(name: string, output: S, input: In) =>
        Agent.make(name, {
          instructions: name,
          input,
          output,
          tools: [Refund(log)],
          defaults: { onError: Recovery.standard }
        })
      return Agent.route("to", judge("router", Schema.Literals(["x", "y"]), Schema.String), {
        x: Agent.revise(clerk(log), {
          times: 3,
          judge: judge("critic", Schema.UndefinedOr(Schema.String), Schema.Unknown)
        }),
        y: clerk(log, "never")
      }).pipe(Agent.loopUntil(judge("until", Schema.Boolean, Schema.Unknown), { times: 2 }))
    },
    turns: {
      router: [refund("R"), text("\"x\"")],
      clerk: [refund("A"), text("written")],
      critic: [refund("C"), text("\"clerk again\"")],
      until: [refund("U"), text("true")]
    },
    output: "written",
    log: ["R", "A", "C", "A", "C", "A", "U"].map((order) => `refund ${order} 500`),
    pending: [
      ["to/router/r"],
      ["to/clerk revised/clerk/r"],
      ["to/clerk revised/critic/r"],
      ["to/clerk revised/clerk#2/r"],
      ["to/clerk revised/critic#2/r"],
      ["to/clerk revised/clerk#3/r"],
      ["until/r"]
    ]
  },
  "bestOf, in a run and in the judge": {
    agent: (log) => {
      let n = 0
      const some = fn("some", (_: string) => `draft ${n++}`).pipe(Agent.andThen(clerk(log)))
      const judge = Agent.make("judge", {
        instructions: "judge",
        input: Schema.Struct({ input: Schema.String, answers: Schema.Array(Schema.String) }),
        output: Schema.Int,
        tools: [Refund(log)],
        defaults: { onError: Recovery.standard }
      })
      return Agent.bestOf(some, { n: 2, judge })
    },
    turns: { clerk: [refund("A"), text("done")], judge: [refund("J"), text("1")] },
    output: "done",
    log: ["refund A 500", "refund A 500", "refund J 500"],
    pending: [["some > clerk/clerk/r", "some > clerk#2/clerk/r"], ["judge/r"]]
  },
  "vote": {
    agent: (log) => clerk(log).pipe(Agent.vote(3)),
    turns: { clerk: [refund("A"), text("yes")] },
    output: "yes",
    log: ["refund A 500", "refund A 500", "refund A 500"],
    pending: [["clerk/r", "clerk#2/r", "clerk#3/r"]]
  },
  "firstOf, where the others fail": {
    agent: (log) => Agent.firstOf("any", [Agent.fromFunction("down", (_: string) => Effect.fail("down")), clerk(log)]),
    turns: { clerk: [refund("A"), text("yes")] },
    output: "yes",
    log: ["refund A 500"],
    pending: [["clerk/r"]]
  },
  "handoff, behind a transfer": {
    agent: (log) => {
      const talks = { input: Prompt.Prompt, prompt: (said: Prompt.Prompt) => said }
      const triage = Agent.make("triage", {
        ...talks,
        instructions: "triage",
        tools: [Agent.handoffTo("desk", { description: "" }), Note(log)],
        defaults: { onError: Recovery.standard }
      })
      const desk = Agent.make("desk", {
        ...talks,
        instructions: "desk",
        tools: [Refund(log), Agent.handoffTo("triage", { description: "" })],
        defaults: { onError: Recovery.standard }
      })
      const both = Agent.handoff("support", { start: "triage", agents: { triage, desk } })
      return Agent.andThen(fn("say", (said: string) => Prompt.make(said)), both)
    },
    turns: {
      triage: [call("note", { text: "t" }), call("transfer_to_desk", { note: "it is urgent" }), text("triage ends")],
      // It reads the note, which was the first turn.
      desk: [text("never"), refund("A"), text("desk ends")]
    },
    output: "desk ends",
    log: ["note t", "refund A 500"],
    pending: [["support/desk/r"]]
  }
}

export const stored = <A>(value: A): A => JSON.parse(JSON.stringify(value))

/**
 * Starts an agent, approves pending calls until there are none, and returns the events. `fresh`: each execution has a
 * new agent and a new model.
 */
export const play = ({ agent, turns }: Pick<Case, "agent" | "turns">, input = "clerk one") =>
  Effect.gen(function*() {
    const log: Array<string> = []
    const { events, layer } = collect()
    const life = <A, E>(f: (agent: Composed) => Effect.Effect<A, E>) =>
      Effect.suspend(() => f(agent(log) as never)).pipe(Effect.provide([models(turns), key, layer]))
    let outcome = yield* life((agent) => agent.start(input))
    const pending: Array<ReadonlyArray<string>> = []
    while (outcome._tag === "Paused") {
      const { pending: waiting, snapshot } = outcome
      pending.push(waiting.map(({ callId }) => callId))
      outcome = yield* life((agent) => agent.resume(stored(snapshot), waiting.map((call) => Approval.approve(call))))
    }
    return { output: outcome.output, log, pending, events }
  })
