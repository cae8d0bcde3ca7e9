/** A clerk that refunds with an approval, and a desk that calls the clerk. */

import { assert } from "@effect/vitest"
import { ScriptedModel } from "@recourse/testing"
import { Effect, Layer, Redacted, Schema } from "effect"
import { Agent, Approval, Recovery } from "@recourse/core"
import { Note, Refund } from "./refundTools.ts"

export const key = Approval.layerKey(Redacted.make("0123456789abcdef0123456789abcdef"))

export type Turns = readonly [ScriptedModel.Turn, ...ReadonlyArray<ScriptedModel.Turn>]

const { call, calls, text } = ScriptedModel

export const system = ({ prompt }: ScriptedModel.Request): string => {
  const first = prompt.content[0]
  return first?.role === "system" ? first.content : ""
}

/** The models of all agents: each one's next turn follows from its own conversation, in any process. */
export const model = (turns: Readonly<Record<string, Turns>>) =>
  ScriptedModel.layer((request, index) => ScriptedModel.steps(turns[nameOf(request)]!)(request, index))

/** The agent's name, and for clerks the task that they are given. */
export const nameOf = (request: ScriptedModel.Request): string => {
  if (system(request) !== "clerk") return system(request)
  const user = JSON.stringify(request.prompt.content.find(({ role }) => role === "user")?.content)
  return /task \w+/.exec(user)?.[0] ?? "clerk"
}

export const clerk = (log: Array<string>) =>
  Agent.make("clerk", {
    instructions: "clerk",
    input: Schema.Struct({ task: Schema.String }),
    tools: [Note(log), Refund(log)],
    defaults: { onError: Recovery.standard },
    approval: { timeToLive: "1 hour" }
  })

export const asks = {
  description: "Asks a clerk",
  parameters: Schema.Struct({ task: Schema.String }),
  success: Schema.String,
  effects: "write"
} as const

export const Ask = (log: Array<string>) => clerk(log).pipe(Agent.asTool("ask_clerk", asks))

/** A fresh agent value, like in another process. */
export const desk = (log: Array<string>) =>
  Agent.make("desk", {
    instructions: "desk",
    tools: [Ask(log), Note(log)],
    defaults: { onError: Recovery.standard }
  })

export const refund = (order: string, amount: number, id = "r") => call("refund", { order, amount }, { id })

export const ask = (task: string, id: string) => ({ name: "ask_clerk", params: { task: `task ${task}` }, id })

export const one: Readonly<Record<string, Turns>> = {
  desk: [calls([ask("A", "a"), { name: "note", params: { text: "sibling" }, id: "n" }]), text("all done")],
  "task A": [
    calls([
      { name: "note", params: { text: "first" }, id: "n1" },
      { name: "refund", params: { order: "A", amount: 500 }, id: "r" }
    ]),
    text("refunded A")
  ]
}

/** Runs with a fresh agent and a fresh model; returns the exit of the run, and the models' requests. */
export const process = <A, E, R>(
  turns: Readonly<Record<string, Turns>>,
  run: Effect.Effect<A, E, R>
) =>
  Effect.gen(function*() {
    const outcome = yield* run
    const requests = yield* (yield* ScriptedModel.ScriptedModel).requests
    return { outcome, requests, of: (name: string) => requests.filter((request) => nameOf(request) === name) }
  }).pipe(Effect.provide(Layer.merge(key, model(turns))))

export const paused = (outcome: Approval.Outcome<unknown>): Approval.Paused => {
  assert.strictEqual(outcome._tag, "Paused")
  return outcome as Approval.Paused
}

/** JSON and back, as if the snapshot had been stored. */
export const stored = (snapshot: Approval.Snapshot): Approval.Snapshot => JSON.parse(JSON.stringify(snapshot))

/** Resumes a run by approving the first waiting call. */
export const approved = ({ pending, snapshot }: Approval.Paused) =>
  [stored(snapshot), [Approval.approve(pending[0]!)]] as const

export const ids = ({ pending }: Approval.Paused) => pending.map(({ callId }) => callId)

export const started = (turns: Readonly<Record<string, Turns>>, log: Array<string>) =>
  Effect.map(process(turns, desk(log).start("go")), ({ outcome }) => paused(outcome))

export const done = new Approval.Completed<string>({ output: "all done" })
