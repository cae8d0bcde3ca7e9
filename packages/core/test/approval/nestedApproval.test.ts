import { assert, describe, it } from "@effect/vitest"
import { ScriptedModel, VirtualTime } from "@recourse/testing"
import { Effect, Exit, Layer, Option, Redacted, Schema, Stream } from "effect"
import { LanguageModel } from "effect/ai"
import { TestClock } from "effect/testing"
import {
  Agent,
  AiToolkit,
  Approval,
  Audit,
  IdempotencyLedger,
  Policy,
  Recovery,
  type RunRecord,
  Tool
} from "@recourse/core"
import { by, collect, lastResults } from "../support/kit.ts"
import { book, boss, type Log, pay, tool, type Waits } from "../support/bookings.ts"
import { Note, Refund } from "../support/refundTools.ts"

const key = Approval.layerKey(Redacted.make("0123456789abcdef0123456789abcdef"))

type Turns = readonly [ScriptedModel.Turn, ...ReadonlyArray<ScriptedModel.Turn>]

const { call, calls, text } = ScriptedModel

const system = ({ prompt }: ScriptedModel.Request): string => {
  const first = prompt.content[0]
  return first?.role === "system" ? first.content : ""
}

/** The models of all agents: each one's next turn follows from its own conversation, in any process. */
const model = (turns: Readonly<Record<string, Turns>>) =>
  ScriptedModel.layer((request, index) => ScriptedModel.steps(turns[nameOf(request)]!)(request, index))

/** The agent's name, and for clerks the task that they are given. */
const nameOf = (request: ScriptedModel.Request): string => {
  if (system(request) !== "clerk") return system(request)
  const user = JSON.stringify(request.prompt.content.find(({ role }) => role === "user")?.content)
  return /task \w+/.exec(user)?.[0] ?? "clerk"
}

const clerk = (log: Array<string>) =>
  Agent.make("clerk", {
    instructions: "clerk",
    input: Schema.Struct({ task: Schema.String }),
    tools: [Note(log), Refund(log)],
    defaults: { onError: Recovery.standard },
    approval: { timeToLive: "1 hour" }
  })

const asks = {
  description: "Asks a clerk",
  parameters: Schema.Struct({ task: Schema.String }),
  success: Schema.String,
  effects: "write"
} as const

const Ask = (log: Array<string>) => clerk(log).pipe(Agent.asTool("ask_clerk", asks))

/** A fresh agent value, like in another process. */
const desk = (log: Array<string>) =>
  Agent.make("desk", {
    instructions: "desk",
    tools: [Ask(log), Note(log)],
    defaults: { onError: Recovery.standard }
  })

const refund = (order: string, amount: number, id = "r") => call("refund", { order, amount }, { id })

const ask = (task: string, id: string) => ({ name: "ask_clerk", params: { task: `task ${task}` }, id })

const one: Readonly<Record<string, Turns>> = {
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
const process = <A, E, R>(
  turns: Readonly<Record<string, Turns>>,
  run: Effect.Effect<A, E, R>
) =>
  Effect.gen(function*() {
    const outcome = yield* run
    const requests = yield* (yield* ScriptedModel.ScriptedModel).requests
    return { outcome, requests, of: (name: string) => requests.filter((request) => nameOf(request) === name) }
  }).pipe(Effect.provide(Layer.merge(key, model(turns))))

const paused = (outcome: Approval.Outcome<unknown>): Approval.Paused => {
  assert.strictEqual(outcome._tag, "Paused")
  return outcome as Approval.Paused
}

/** JSON and back, as if the snapshot had been stored. */
const stored = (snapshot: Approval.Snapshot): Approval.Snapshot => JSON.parse(JSON.stringify(snapshot))

/** Resumes a run by approving the first waiting call. */
const approved = ({ pending, snapshot }: Approval.Paused) =>
  [stored(snapshot), [Approval.approve(pending[0]!)]] as const

const ids = ({ pending }: Approval.Paused) => pending.map(({ callId }) => callId)

const started = (turns: Readonly<Record<string, Turns>>, log: Array<string>) =>
  Effect.map(process(turns, desk(log).start("go")), ({ outcome }) => paused(outcome))

const resumed = (
  turns: Readonly<Record<string, Turns>>,
  log: Array<string>,
  snapshot: Approval.Snapshot,
  decisions: ReadonlyArray<Approval.Decision>
) => process(turns, desk(log).resume(stored(snapshot), decisions))

const done = new Approval.Completed<string>({ output: "all done" })

describe("an agent that is a tool", () => {
  it.effect("pauses the outer run, which resumes when approved without repetitions", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const pause = yield* started(one, log)
      assert.deepStrictEqual([...log].sort(), ["note first", "note sibling"])
      assert.deepStrictEqual(ids(pause), ["a/r"])
      const [pending] = pause.pending
      assert.deepStrictEqual([pending?.tool, pending?.arguments], ["refund", { order: "A", amount: 500 }])
      assert.deepStrictEqual(pause.snapshot.round?.nested?.map(({ arguments: args, callId }) => [callId, args]), [
        ["a", { task: "task A" }]
      ])

      const { of, outcome, requests } = yield* resumed(one, log, pause.snapshot, [Approval.approve(pending!)])
      assert.deepStrictEqual(outcome, done)
      assert.strictEqual(requests.length, 2)
      assert.deepStrictEqual(
        lastResults(of("task A")[0]!.prompt).map(({ id, result }) => [id, result]),
        [["n1", "noted"], ["r", { refunded: 500 }]]
      )
      assert.deepStrictEqual(
        lastResults(of("desk")[0]!.prompt).map(({ id, result }) => [id, result]),
        [["a", "refunded A"], ["n", "noted"]]
      )
      assert.deepStrictEqual([...log].sort(), ["note first", "note sibling", "refund A 500"])
    }))

  it.effect("its calls can be edited, rejected and answered", () =>
    Effect.gen(function*() {
      const results = (decide: (call: Approval.PendingCall) => Approval.Decision) =>
        Effect.gen(function*() {
          const log: Array<string> = []
          const pause = yield* started(one, log)
          const { of, outcome } = yield* resumed(one, log, pause.snapshot, [decide(pause.pending[0]!)])
          assert.deepStrictEqual(outcome, done)
          const result = lastResults(of("task A")[0]!.prompt).find(({ id }) => id === "r")
          return [result?.result, log.filter((line) => line.startsWith("refund"))] as const
        })
      assert.deepStrictEqual(
        yield* results((call) => Approval.edit(call, { order: "B", amount: 90 })),
        [{ refunded: 90 }, ["refund B 90"]]
      )
      assert.deepStrictEqual(
        yield* results((call) => Approval.respond(call, { refunded: 1 })),
        [{ refunded: 1 }, []]
      )
      const [rejected, log] = yield* results((call) => Approval.reject(call, "at most 100"))
      assert.include(JSON.stringify(rejected), "permission_denied")
      assert.include(JSON.stringify(rejected), "at most 100")
      assert.deepStrictEqual(log, [])
    }))

  it.effect("a decision that does not fit is refused before anything runs", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const pause = yield* started(one, log)
      const [pending] = pause.pending
      const refused = (decisions: ReadonlyArray<Approval.Decision>) =>
        Effect.map(Effect.flip(resumed(one, log, pause.snapshot, decisions)), (error) => {
          assert.strictEqual(error._tag, "DecisionRefused")
          return error._tag === "DecisionRefused" ? [error.callId, error.reason] : []
        })
      const approval = Approval.approve(pending!)
      assert.deepStrictEqual(yield* refused([Approval.respond(pending!, "no")]), ["a/r", "invalid_result"])
      assert.deepStrictEqual(yield* refused([{ ...approval, callId: "r" }]), ["r", "unknown_call"])
      assert.deepStrictEqual(yield* refused([{ ...approval, callId: "a" }]), ["a", "unknown_call"])
      assert.deepStrictEqual(yield* refused([{ ...approval, argumentsHash: "0" }]), ["a/r", "other_arguments"])
      assert.deepStrictEqual(yield* refused([approval, approval]), ["a/r", "twice"])
      assert.strictEqual((yield* resumed(one, log, pause.snapshot, [approval])).outcome._tag, "Completed")
    }))

  const two: Readonly<Record<string, Turns>> = {
    desk: [
      calls([ask("A", "a"), { name: "note", params: { text: "sibling" }, id: "n" }, ask("B", "b")]),
      text("all done")
    ],
    "task A": [refund("A", 500), text("refunded A")],
    "task B": [refund("B", 600), text("refunded B")]
  }

  it.effect("two wait next to an executed call; the undecided one stays pending", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const first = yield* started(two, log)
      assert.deepStrictEqual(ids(first), ["a/r", "b/r"])
      assert.deepStrictEqual(log, ["note sibling"])

      const { outcome, requests } = yield* resumed(two, log, first.snapshot, [Approval.approve(first.pending[1]!)])
      const second = paused(outcome)
      assert.deepStrictEqual(second.pending, [first.pending[0]!])
      assert.deepStrictEqual(second.snapshot.round?.nested, first.snapshot.round?.nested?.slice(0, 1))
      assert.deepStrictEqual(requests.map(nameOf), ["task B"])
      assert.deepStrictEqual(log, ["note sibling", "refund B 600"])

      const last = yield* resumed(two, log, second.snapshot, [Approval.approve(second.pending[0]!)])
      assert.deepStrictEqual(last.outcome, done)
      assert.deepStrictEqual(
        lastResults(last.of("desk")[0]!.prompt).map(({ id, result }) => [id, result]),
        [["a", "refunded A"], ["n", "noted"], ["b", "refunded B"]]
      )
      assert.deepStrictEqual(log, ["note sibling", "refund B 600", "refund A 500"])
    }))

  it.effect("two calls of one agent wait, decided one after the other", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const turns: Readonly<Record<string, Turns>> = {
        desk: [calls([ask("A", "a")]), text("all done")],
        "task A": [
          calls([
            { name: "refund", params: { order: "1", amount: 200 }, id: "r1" },
            { name: "refund", params: { order: "2", amount: 300 }, id: "r2" }
          ]),
          text("both")
        ]
      }
      const { events, layer } = collect()
      const records: Array<string> = []
      const audit = Audit.layer(({ callId, decision, path }) =>
        Effect.sync(() => records.push(`${decision} ${path.join(".")} ${callId}`))
      )
      const watched = Layer.merge(layer, audit)
      const first = yield* started(turns, log).pipe(Effect.provide(watched))
      assert.deepStrictEqual(ids(first), ["a/r1", "a/r2"])
      const again = yield* resumed(turns, log, first.snapshot, [
        Approval.approve(first.pending[0]!)
      ]).pipe(Effect.provide(watched))
      const second = paused(again.outcome)
      assert.deepStrictEqual(second.pending, [first.pending[1]!])
      assert.strictEqual(again.requests.length, 0)
      const last = yield* resumed(turns, log, second.snapshot, [
        Approval.approve(second.pending[0]!)
      ]).pipe(Effect.provide(watched))
      assert.deepStrictEqual(last.outcome, done)
      assert.deepStrictEqual(log, ["refund 1 200", "refund 2 300"])

      // Each was asked for, recorded and answered once, by the agent that it is a call of.
      const asked = events.flatMap((event) => event._tag === "ApprovalRequested" ? [event] : [])
      assert.deepStrictEqual(asked.map(({ callId, path }) => `${path.join(".")} ${callId}`).sort(), [
        "desk.clerk r1",
        "desk.clerk r2"
      ])
      assert.deepStrictEqual(records.slice(0, 2).sort(), [
        "approval_requested desk.clerk r1",
        "approval_requested desk.clerk r2"
      ])
      assert.deepStrictEqual(records.slice(2), ["approved desk.clerk r1", "approved desk.clerk r2"])
      const results = events.flatMap((event) => event._tag === "ToolResult" ? [event.callId] : [])
      assert.deepStrictEqual(results, ["r1", "r2", "a"])
    }))

  it.effect("may pause again and again", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const turns: Readonly<Record<string, Turns>> = {
        desk: [calls([ask("A", "a")]), text("all done")],
        "task A": [refund("1", 200, "r1"), refund("2", 300, "r2"), text("both")]
      }
      const first = yield* started(turns, log)
      const second = paused((yield* resumed(turns, log, first.snapshot, [Approval.approve(first.pending[0]!)])).outcome)
      assert.deepStrictEqual([ids(first), ids(second)], [["a/r1"], ["a/r2"]])
      assert.deepStrictEqual(log, ["refund 1 200"])
      const { outcome } = yield* resumed(turns, log, second.snapshot, [Approval.approve(second.pending[0]!)])
      assert.deepStrictEqual(outcome, done)
      assert.deepStrictEqual(log, ["refund 1 200", "refund 2 300"])
    }))

  it.effect("an approval that comes too late asks again", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const first = yield* started(one, log)
      yield* TestClock.adjust("61 minutes")
      const late = yield* resumed(one, log, first.snapshot, [Approval.approve(first.pending[0]!)])
      const second = paused(late.outcome)
      assert.deepStrictEqual(second.pending.map(({ callId, code }) => [callId, code]), [["a/r", "approval_expired"]])
      assert.strictEqual(late.requests.length, 0)
      assert.notInclude(log, "refund A 500")
      const { outcome } = yield* resumed(one, log, second.snapshot, [Approval.approve(second.pending[0]!)])
      assert.deepStrictEqual(outcome, done)
      assert.include(log, "refund A 500")
    }))

  it.effect("pauses through two levels", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const nested = () =>
        Agent.make("desk", {
          instructions: "desk",
          input: Schema.Struct({ what: Schema.String }),
          tools: [Ask(log), Note(log)],
          defaults: { onError: Recovery.standard }
        }).pipe(
          Agent.asTool("ask_desk", {
            description: "Asks",
            parameters: Schema.Struct({ what: Schema.String }),
            success: Schema.String
          })
        )
      const top = () =>
        Agent.make("boss", { instructions: "boss", tools: [nested()], defaults: { onError: Recovery.standard } })
      const turns: Readonly<Record<string, Turns>> = {
        ...two,
        boss: [call("ask_desk", { what: "it" }, { id: "d" }), text("well")]
      }
      const first = paused((yield* process(turns, top().start("go"))).outcome)
      assert.deepStrictEqual(ids(first), ["d/a/r", "d/b/r"])
      const [a, b] = first.pending
      const invalid = yield* Effect.flip(
        process(turns, top().resume(stored(first.snapshot), [Approval.approve(a!), Approval.respond(b!, "no")]))
      )
      assert.deepStrictEqual(
        invalid._tag === "DecisionRefused" ? [invalid.callId, invalid.reason] : invalid._tag,
        ["d/b/r", "invalid_result"]
      )
      assert.deepStrictEqual(log, ["note sibling"])
      const second = paused(
        (yield* process(turns, top().resume(stored(first.snapshot), [Approval.approve(a!)]))).outcome
      )
      assert.deepStrictEqual(ids(second), ["d/b/r"])
      const last = yield* process(
        turns,
        top().resume(stored(second.snapshot), [Approval.reject(second.pending[0]!, "no")])
      )
      assert.deepStrictEqual(last.outcome, new Approval.Completed({ output: "well" }))
      assert.deepStrictEqual(log, ["note sibling", "refund A 500"])
      assert.deepStrictEqual(lastResults(last.of("boss")[0]!.prompt).map(({ result }) => result), ["all done"])
    }))

  it.effect("counts in the account of the run around it once", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const pause = yield* started(one, log)
      const { budget, executed, usage } = pause.snapshot
      // One turn of each agent; the tool's call, the sibling's and the note.
      assert.deepStrictEqual([usage["turns"], usage["toolCalls"]], [2, 3])
      assert.deepStrictEqual([budget.used["turns"], budget.used["toolCalls"]], [2, 3])
      assert.strictEqual(executed.length, 3)
      let record: RunRecord.RunRecord | undefined
      const { outcome } = yield* process(
        one,
        desk(log).proceed(
          { snapshot: stored(pause.snapshot), decisions: [Approval.approve(pause.pending[0]!)] },
          {
            streaming: false,
            onRecord: (ended) => {
              record = ended()
            }
          }
        )
      )
      assert.deepStrictEqual(outcome, done)
      assert.deepStrictEqual([record?.usage.turns, record?.usage.toolCalls], [4, 4])
      assert.deepStrictEqual(record?.executed.map(({ outcome, tool }) => `${tool} ${outcome}`).sort(), [
        "ask_clerk success",
        "note success",
        "note success",
        "refund success"
      ])
      // A cap of the exact need holds, and one less does not.
      const capped = (toolCalls: number) =>
        Effect.gen(function*() {
          const log: Array<string> = []
          const agent = () =>
            Agent.make("desk", {
              instructions: "desk",
              tools: [Ask(log), Note(log)],
              defaults: { onError: Recovery.standard },
              budget: { turns: 4, toolCalls }
            })
          const pause = paused((yield* process(one, agent().start("go"))).outcome)
          const exit = yield* Effect.exit(process(one, agent().resume(...approved(pause))))
          return [Exit.isSuccess(exit), log.includes("refund A 500")]
        })
      assert.deepStrictEqual(yield* capped(4), [true, true])
      assert.deepStrictEqual(yield* capped(3), [false, false])
    }))

  it.effect("resumes streamed", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const pause = yield* started(one, log)
      const { outcome: events } = yield* process(
        one,
        Stream.runCollect(desk(log).resumeStream(...approved(pause)))
      )
      const texts = events.flatMap((event) =>
        event._tag === "TextDelta" ? [`${event.path.at(-1)}: ${event.delta}`] : []
      )
      assert.deepStrictEqual(texts, ["clerk: refunded ", "clerk: A", "desk: all ", "desk: done"])
      assert.strictEqual(events.filter((event) => event._tag === "ApprovalRequested").length, 0)
    }))

  it.effect("refuses a snapshot changed inside, of a changed agent, or used", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const pause = yield* started(one, log)
      const approval = [Approval.approve(pause.pending[0]!)]
      const changed: unknown = JSON.parse(JSON.stringify(pause.snapshot).replaceAll("\"amount\":500", "\"amount\":501"))
      const refused = (snapshot: unknown, agent = desk(log)) =>
        Effect.map(
          Effect.flip(process(one, agent.resume(snapshot, approval))),
          (error) => error._tag === "SnapshotRefused" ? [error.agent, error.reason] : error._tag
        )
      assert.deepStrictEqual(yield* refused(changed), ["desk", "tampered"])

      const other = Agent.make("clerk", {
        instructions: "clerk",
        input: Schema.Struct({ task: Schema.String }),
        tools: [Note(log)],
        defaults: { onError: Recovery.standard }
      }).pipe(Agent.asTool("ask_clerk", asks))
      const otherDesk = Agent.make("desk", {
        instructions: "desk",
        tools: [other, Note(log)],
        defaults: { onError: Recovery.standard }
      })
      assert.deepStrictEqual(yield* refused(pause.snapshot, otherDesk), ["clerk", "tools_changed"])
      assert.notInclude(log, "refund A 500")

      // The agent was resumed on its own: the call is not made a second time.
      const inner = pause.snapshot.round?.nested?.[0]?.snapshot
      const { callId, ...rest } = approval[0]!
      assert.strictEqual(callId, "a/r")
      const alone = yield* process(one, clerk(log).resume(inner, [{ ...rest, callId: "r" }]))
      assert.deepStrictEqual(alone.outcome, new Approval.Completed({ output: "refunded A" }))
      assert.deepStrictEqual(yield* refused(pause.snapshot), ["clerk", "used"])
      assert.deepStrictEqual(log.filter((line) => line.startsWith("refund")), ["refund A 500"])
    }))

  it.effect("no recovery sees that it waits, or begins it again", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      let seen = 0
      const agent = () =>
        Agent.make("desk", {
          instructions: "desk",
          tools: [
            Ask(log).pipe(
              Tool.onError((call) =>
                Effect.catchCause(Effect.retry(call, { times: 3 }), () => Effect.sync(() => (seen++, "swallowed")))
              )
            ),
            Note(log)
          ],
          defaults: { onError: Recovery.standard }
        })
      const first = yield* process(one, agent().start("go"))
      const pause = paused(first.outcome)
      assert.deepStrictEqual(ids(pause), ["a/r"])
      assert.strictEqual(first.of("task A").length, 1)
      const { of, outcome } = yield* process(one, agent().resume(...approved(pause)))
      assert.deepStrictEqual(outcome, done)
      assert.deepStrictEqual(lastResults(of("desk")[0]!.prompt)[0]?.result, "refunded A")
      // `catchCause` runs, but its answer is not the call's result.
      assert.isAtMost(seen, 1)
    }))

  it.effect("its own approval is asked for once", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const agent = () =>
        Agent.make("desk", {
          instructions: "desk",
          tools: [Ask(log), Note(log)],
          policies: [
            Policy.make("ask", () => Policy.requireApproval("the desk asks"), { mayRequestApproval: true }).pipe(
              Policy.forTools("ask_clerk")
            )
          ],
          defaults: { onError: Recovery.standard }
        })
      const { events, layer } = collect()
      const run = <A, E, R>(effect: Effect.Effect<A, E, R>) => process(one, effect).pipe(Effect.provide(layer))
      const first = paused((yield* run(agent().start("go"))).outcome)
      assert.deepStrictEqual(ids(first), ["a"])
      const second = paused((yield* run(agent().resume(...approved(first)))).outcome)
      assert.deepStrictEqual(ids(second), ["a/r"])
      const { outcome } = yield* run(agent().resume(...approved(second)))
      assert.deepStrictEqual(outcome, done)
      assert.deepStrictEqual(
        events.flatMap((event) => event._tag === "ApprovalRequested" ? [event.callId] : []),
        ["a", "r"]
      )
    }))

  it.effect("resumes with a fixer's arguments if they were the call's", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const fixer = Agent.fromFunction("fixer", () => Effect.succeed("{\"task\":\"task A\"}"))
      const agent = () =>
        Agent.make("desk", {
          instructions: "desk",
          tools: [Ask(log).pipe(Tool.onError(Recovery.fix("InvalidArgs", fixer)))],
          defaults: { onError: Recovery.standard }
        })
      const turns: Readonly<Record<string, Turns>> = {
        ...one,
        desk: [call("ask_clerk", { tusk: "A" }, { id: "a" }), text("all done")]
      }
      const pause = paused((yield* process(turns, agent().start("go"))).outcome)
      assert.deepStrictEqual(pause.snapshot.round?.nested?.map(({ arguments: args, fixedBy }) => [args, fixedBy]), [
        [{ task: "task A" }, "fixer"]
      ])
      const { of, outcome } = yield* process(turns, agent().resume(...approved(pause)))
      assert.deepStrictEqual(outcome, done)
      const { prompt } = of("desk")[0]!
      assert.deepStrictEqual(lastResults(prompt).map(({ result }) => result), ["refunded A"])
      assert.include(JSON.stringify(prompt), "\"by\":\"fixer\"")
    }))

  it.effect("holds no idempotency key while it waits", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const agent = () =>
        Agent.make("desk", {
          instructions: "desk",
          tools: [Ask(log).pipe(Tool.onError(Recovery.idempotent())), Note(log)],
          defaults: { onError: Recovery.standard }
        })
      const outcome = yield* Effect.gen(function*() {
        const pause = paused((yield* process(one, agent().start("go"))).outcome)
        return (yield* process(one, agent().resume(...approved(pause)))).outcome
      }).pipe(Effect.provide(IdempotencyLedger.layerMemory))
      assert.deepStrictEqual(outcome, done)
      assert.deepStrictEqual(log.filter((line) => line.startsWith("refund")), ["refund A 500"])
    }))

  it.effect("works with a model and a key of its own", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const agent = () =>
        Agent.make("desk", {
          instructions: "desk",
          tools: [
            clerk(log).pipe(
              Agent.provide(Layer.merge(model(one), Approval.layerKey(Redacted.make("x".repeat(32))))),
              Agent.asTool("ask_clerk", asks)
            ),
            Note(log)
          ],
          defaults: { onError: Recovery.standard }
        })
      const first = yield* process(one, agent().start("go"))
      assert.deepStrictEqual(first.requests.map(nameOf), ["desk"])
      const pause = paused(first.outcome)
      const { outcome, requests } = yield* process(one, agent().resume(...approved(pause)))
      assert.deepStrictEqual([outcome, requests.map(nameOf)], [done, ["desk"]])
      assert.include(log, "refund A 500")
    }))

  it.effect("a call's id is never confused with an inner call's", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const agent = () =>
        Agent.make("desk", {
          instructions: "desk",
          tools: [Ask(log), Refund(log)],
          defaults: { onError: Recovery.standard }
        })
      const turns: Readonly<Record<string, Turns>> = {
        desk: [
          calls([ask("A", "a"), { name: "refund", params: { order: "A", amount: 500 }, id: "a/r" }]),
          text("all done")
        ],
        "task A": [refund("A", 500), text("refunded A")]
      }
      const pause = paused((yield* process(turns, agent().start("go"))).outcome)
      const [nested, own] = pause.pending
      assert.strictEqual(nested?.callId, "a/r")
      assert.strictEqual(own?.callId, "a_r")
      const second = paused(
        (yield* process(turns, agent().resume(stored(pause.snapshot), [Approval.approve(nested!)]))).outcome
      )
      assert.deepStrictEqual(second.pending, [own!])
      assert.deepStrictEqual(log, ["refund A 500"])
    }))

  it.effect("a failing sibling ends the run; waiting calls have a result", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const agent = Agent.make("desk", {
        instructions: "desk",
        tools: [
          Ask(log),
          Tool.make("boom", {
            execute: () => Effect.delay(Effect.fail("boom" as const), "1 second")
          })
        ]
      })
      const turns: Readonly<Record<string, Turns>> = {
        ...one,
        desk: [calls([ask("A", "a"), { name: "boom", params: {}, id: "x" }]), text("all done")]
      }
      const { events, layer } = collect()
      const ended = yield* VirtualTime.run(process(turns, agent.report("go")).pipe(Effect.provide(layer)))
      const { outcome: report } = yield* ended.exit
      assert.isTrue(Exit.isFailure(report.exit))
      // Whoever was shown the question learns that it is off.
      assert.deepStrictEqual(
        events.flatMap((event) =>
          event._tag === "ToolResult" ? [[event.path.join("."), event.callId, event.code]] : []
        ),
        [
          ["desk.clerk", "n1", undefined],
          ["desk.clerk", "r", "approval_required"],
          // The clerk has made a note before it came to wait.
          ["desk", "a", "outcome_unknown"],
          ["desk", "x", "execution_error"]
        ]
      )
      const results = lastResults(report.transcript)
      assert.deepStrictEqual(results.map(({ id }) => id), ["a", "x"])
      assert.include(JSON.stringify(results[0]), "outcome_unknown")
    }))
})

describe("a call that waits for an agent", () => {
  it.effect("may still be denied; its inner calls are withdrawn then", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      let closed = false
      const agent = () =>
        Agent.make("desk", {
          instructions: "desk",
          tools: [Ask(log), Note(log)],
          policies: [Policy.make("closed", () => closed ? Policy.deny("closed by now") : Policy.allow)],
          defaults: { onError: Recovery.standard }
        })
      const pause = paused((yield* process(one, agent().start("go"))).outcome)
      closed = true
      const { events, layer } = collect()
      const { of, outcome } = yield* process(one, agent().resume(...approved(pause))).pipe(
        Effect.provide(layer)
      )
      assert.deepStrictEqual(outcome, done)
      // The clerk has made a note before it came to wait: that is not called denied.
      assert.include(JSON.stringify(lastResults(of("desk")[0]!.prompt)[0]), "outcome_unknown")
      assert.notInclude(log, "refund A 500")
      assert.deepStrictEqual(
        events.flatMap((event) => event._tag === "ToolResult" ? [[event.path.join("."), event.callId]] : []),
        [["desk.clerk", "r"], ["desk", "a"]]
      )
    }))
})

describe("elsewhere, an agent that waits fails", () => {
  it.effect("run by hand within a tool, and by a function", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const byHand = Tool.make("ask_clerk", {
        parameters: asks.parameters,
        success: Schema.String,
        execute: (params) => clerk(log).run(params)
      })
      const composed = Agent.fromFunction("by hand", (task: { readonly task: string }) => clerk(log).run(task)).pipe(
        Agent.asTool("ask_clerk", asks)
      )
      for (const [tool, tag] of [[byHand, "ExecutionError"], [composed, "OutcomeUnknown"]] as const) {
        const agent = Agent.make("desk", { instructions: "desk", tools: [tool, Note(log)] })
        const exit = yield* Effect.exit(process(one, agent.run("go")))
        const error = Option.getOrThrow(Exit.findErrorOption(exit))
        assert.strictEqual(error._tag, tag)
        assert.propertyVal((error as { readonly reason?: unknown }).reason, "_tag", "ApprovalRequired")
      }
      assert.notInclude(log, "refund A 500")
    }))

  it.effect("called by or instead of another tool: that call is denied", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const parameters = { parameters: asks.parameters, success: Schema.String } as const
      const other = clerk(log).pipe(Agent.asTool("other", { ...asks, effects: "read" }))
      const within = Tool.make("ask_clerk", {
        ...parameters,
        execute: () => Effect.catchCause(other.call, () => Effect.succeed("swallowed"))
      })
      const inPlace = Tool.make("ask_clerk", { ...parameters, execute: () => Effect.fail("down" as const) }).pipe(
        Tool.onError(Recovery.fallback("ExecutionError", other.call))
      )
      for (const tool of [within, inPlace]) {
        const { events, layer } = collect()
        const agent = Agent.make("desk", { instructions: "desk", tools: [tool, Note(log)] })
        const { of, outcome } = yield* process(one, agent.run("go")).pipe(Effect.provide(layer))
        assert.strictEqual(outcome, "all done")
        // The clerk has written a note before: a denied call would mean that no call was executed.
        assert.include(JSON.stringify(lastResults(of("desk")[1]!.prompt)[0]), "outcome_unknown")
        const results = events.flatMap((event) =>
          event._tag === "ToolResult" && event.path.length === 2 ? [event.callId] : []
        )
        assert.deepStrictEqual(results, ["n1", "r"])
      }
      assert.notInclude(log, "refund A 500")
    }))

  it.effect("started by hand without a run asks by its own calls' ids", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const { events, layer } = collect()
      const { outcome } = yield* process(
        one,
        clerk(log).start({ task: "task A" }).pipe(by({}, "hand"), Effect.provide(layer))
      )
      assert.strictEqual(outcome._tag, "Paused")
      assert.deepStrictEqual(
        events.flatMap((event) => event._tag === "ApprovalRequested" ? [event.pendingCallId] : []),
        outcome._tag === "Paused" ? outcome.pending.map(({ callId }) => callId) : []
      )
    }))

  it.effect("rejected: its model reads of compensations, also by the outer agent", () =>
    Effect.gen(function*() {
      const told = (own: object, around: object) =>
        Effect.gen(function*() {
          const tools = (log: Log) => [book(log), pay(log)]
          const inner = (log: Log) => boss(tools(log), { instructions: "a", ...own })
          const outer = boss([tool(inner([]), "a")], around) as unknown as Waits
          yield* Effect.exit(
            Effect.flatMap(outer.start({}, { runId: "r" }), (paused) =>
              paused._tag === "Paused"
                ? outer.resume(paused.snapshot, paused.pending.map((one) => Approval.reject(one, "no")))
                : assert.fail("it waits"))
          )
          const requests = yield* (yield* ScriptedModel.ScriptedModel).requests
          const results = requests.flatMap(({ prompt }) => lastResults(prompt)).filter(({ id }) => id === "p")
          return JSON.stringify(results.map(({ result }) => result))
        }).pipe(
          Effect.provide([
            model({
              boss: [call("a", {}, { id: "a" }), text("done")],
              a: [call("book", {}, { id: "b" }), call("pay", {}, { id: "p" }), text("refused")]
            }),
            key
          ])
        )
      const compensation = { after: ["rejection"] }
      const own = yield* told({ compensation }, {})
      assert.strictEqual(yield* told({}, { compensation }), own)
      assert.notStrictEqual(yield* told({}, {}), own)
      assert.notStrictEqual(yield* told({}, { compensation: { after: ["failure"] } }), own)
    }))

  it.effect("called by hand it fails", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const { outcome } = yield* process(one, Effect.flip(Ask(log).call.pipe(by({ task: "task A" }))))
      assert.strictEqual(outcome._tag, "NotApproved")
      assert.notInclude(log, "refund A 500")
    }))

  it.effect("in a toolkit of `effect/ai` its call is not allowed", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const toolkit = AiToolkit.toToolkit([Ask(log)], { defaults: { onError: Recovery.standard } })
      const script: Readonly<Record<string, Turns>> = {
        "": [call("ask_clerk", { task: "task A" }, { id: "a" })],
        "task A": one["task A"]!
      }
      const { outcome } = yield* process(script, LanguageModel.generateText({ prompt: "go", toolkit }))
      assert.include(JSON.stringify(outcome.toolResults.map(({ result }) => result)), "permission_denied")
      assert.notInclude(log, "refund A 500")
    }))
})
