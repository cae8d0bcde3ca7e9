/**
 * Agents made of agents wait if one of them waits, and resume there: in the same process, and from the JSON of a
 * snapshot.
 */
import { assert, describe, it } from "@effect/vitest"
import { Replay, ScriptedModel } from "@recourse/testing"
import { Data, Effect, Exit, Option, Redacted, Schema, SchemaGetter } from "effect"
import { Prompt } from "effect/ai"
import { Agent, Approval, IdempotencyLedger, Recovery, Tool, ToolCall } from "@recourse/core"
import { collect } from "../support/kit.ts"
import { Note, Refund } from "../support/refundTools.ts"

const key = Approval.layerKey(Redacted.make("0123456789abcdef0123456789abcdef"))
const { call, calls, text } = ScriptedModel

type Turns = readonly [ScriptedModel.Turn, ...ReadonlyArray<ScriptedModel.Turn>]

/** Each agent's model goes by the agent's own instructions and conversation, in whatever process it is. */
const models = (turns: Readonly<Record<string, Turns>>) =>
  ScriptedModel.layer((request, index) => {
    const [first] = request.prompt.content
    const [name] = first?.role === "system" ? first.content.split("\n") : []
    const user = JSON.stringify(request.prompt.content.find(({ role }) => role === "user")?.content)
    const said = Object.keys(turns).find((key) => key === name || (key.startsWith(`${name} `) && user.includes(key)))
    return ScriptedModel.steps(turns[said!]!)(request, index)
  })

const refund = (order: string, amount = 500) => call("refund", { order, amount }, { id: "r" })

/** An agent with a log of its tools' calls. */
const clerk = (log: Array<string>, name = "clerk") =>
  Agent.make(name, {
    instructions: name,
    tools: [Note(log), Refund(log)],
    defaults: { onError: Recovery.standard }
  })

type Composed = Agent.Agent<string, unknown, unknown, never> & Agent.Resumable<string, unknown, unknown, never, never>

interface Case {
  readonly agent: (log: Array<string>) => unknown
  readonly turns: Readonly<Record<string, Turns>>
  readonly output: unknown
  readonly log: ReadonlyArray<string>
  /** The calls that wait, pause by pause. */
  readonly pending: ReadonlyArray<ReadonlyArray<string>>
}

const fn = <A, B>(name: string, f: (a: A) => B) => Agent.fromFunction(name, (a: A) => Effect.sync(() => f(a)))

const pays: Turns = [call("note", { text: "begin" }, { id: "n" }), refund("A"), text("paid")]

const cases: Readonly<Record<string, Case>> = {
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

const stored = <A>(value: A): A => JSON.parse(JSON.stringify(value))

/**
 * Starts an agent, approves pending calls until there are none, and returns the events. `fresh`: each execution has a
 * new agent and a new model.
 */
const play = ({ agent, turns }: Pick<Case, "agent" | "turns">, input = "clerk one") =>
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

describe("an agent made of agents waits, and resumes from its snapshot's JSON", () => {
  for (const [name, one] of Object.entries(cases)) {
    it.effect(name, () =>
      Effect.gen(function*() {
        const { log, output, pending } = yield* play(one)
        assert.deepStrictEqual(output, one.output)
        assert.deepStrictEqual(log.toSorted(), one.log.toSorted())
        assert.deepStrictEqual(pending, one.pending)
      }))

    it.effect(`${name}; interactive, in one process`, () =>
      Effect.gen(function*() {
        const log: Array<string> = []
        const asked: Array<string> = []
        const agent = (one.agent(log) as Composed).pipe(
          Approval.interactive((call) => Effect.sync(() => (asked.push(call.callId), Approval.approve(call))))
        )
        const output = yield* agent.run("clerk one").pipe(Effect.provide(models(one.turns)))
        assert.deepStrictEqual(output, one.output)
        assert.deepStrictEqual(log.toSorted(), one.log.toSorted())
        assert.deepStrictEqual(asked, one.pending.flat())
      }))

    it.effect(`${name}; recorded, and replayed without doing anything`, () =>
      Effect.gen(function*() {
        const decide = (pending: ReadonlyArray<Approval.PendingCall>) =>
          Effect.succeed(pending.map((call) => Approval.approve(call)))
        const log: Array<string> = []
        const tools = [Note(log), Refund(log)]
        const { exit, recording } = yield* Replay.record(one.agent(log) as Composed, "clerk one", { tools, decide })
          .pipe(
            Effect.provide([models(one.turns), key])
          )
        assert.deepStrictEqual(exit, Exit.succeed(one.output))
        assert.deepStrictEqual(log.toSorted(), one.log.toSorted())
        const json = yield* Effect.flatMap(Replay.stringify(recording), Replay.parse)
        const again: Array<string> = []
        const replayed = yield* Effect.provide(Replay.run(one.agent(again) as Composed, json, { tools }), key)
        assert.strictEqual(Option.match(replayed.difference, { onNone: () => "", onSome: Replay.print }), "")
        assert.deepStrictEqual(replayed.exit, exit)
        assert.deepStrictEqual(again.filter((line) => /^(note|refund)/.test(line)), [])
      }))
  }
})

const paused = (outcome: Approval.Outcome<unknown>): Approval.Paused => {
  assert.strictEqual(outcome._tag, "Paused")
  return outcome as Approval.Paused
}
const approved = ({ pending, snapshot }: Approval.Paused, ...ids: ReadonlyArray<string>) =>
  [
    stored(snapshot),
    pending.filter(({ callId }) => ids.length === 0 || ids.includes(callId)).map((call) => Approval.approve(call))
  ] as const

class Down extends Data.TaggedError("Down") {}
const slow = Agent.fromFunction("slow", (_: string): Effect.Effect<string, Down> =>
  Effect.gen(function*() {
    for (let n = 0; n < 2_000; n++) yield* Effect.yieldNow
    return yield* Effect.fail(new Down())
  }))
const down = Agent.fromFunction("down", (_: string): Effect.Effect<string, Down> => Effect.fail(new Down()))

describe("over the pause of an agent made of agents", () => {
  it.effect("`run` and `stream` fail with the whole snapshot, `report` has it", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const agent = clerk(log, "first").pipe(Agent.andThen(clerk(log)))
      const error = yield* Effect.flip(agent.run("x"))
      assert.strictEqual(error._tag, "ApprovalRequired")
      assert.strictEqual((error as Approval.ApprovalRequired).agent, "first > clerk")
      const { pending, snapshot } = error as Approval.ApprovalRequired
      const outcome = yield* agent.resume(stored(snapshot), pending.map((call) => Approval.approve(call)))
      assert.deepStrictEqual(outcome, new Approval.Completed<string>({ output: "paid" }))
      assert.deepStrictEqual(log, ["refund A 500"])
      const again = yield* Effect.flip(agent.resume(stored(snapshot), []))
      assert.propertyVal(again, "reason", "used")
    }).pipe(Effect.provide([key, models({ first: [text("go")], clerk: [refund("A"), text("paid")] })])))

  it.effect("continues usage, executions and run ids, with matched starts and ends", () =>
    Effect.gen(function*() {
      const { events } = yield* play(cases["loopUntil, in the second round"]!)
      const ids = events.flatMap((event) => event._tag === "AgentStarted" ? [event.agentRunId.split("/").slice(1)] : [])
      assert.deepStrictEqual(ids, [["clerk"], ["clerk#2"], ["clerk#2"]])
      const last = events.at(-1)
      assert.strictEqual(last?._tag, "RunFinished")
      if (last?._tag === "RunFinished") assert.deepInclude(last.usage, { turns: 4, toolCalls: 2 })
      assert.strictEqual(
        events.filter(({ _tag }) => _tag === "AgentStarted").length,
        events.filter(({ _tag }) => _tag === "AgentFinished").length
      )
      assert.deepStrictEqual(new Set(events.map(({ runId }) => runId)).size, 1)
    }))

  it.effect("gives runs of one agent own keys, also after earlier executions", () =>
    Effect.gen(function*() {
      const keys: Array<string | undefined> = []
      const pay = (needsApproval: boolean) =>
        Tool.make(needsApproval ? "ask" : "pay", {
          effects: "write",
          idempotency: true,
          needsApproval,
          execute: () => Effect.map(ToolCall.ToolCall, ({ idempotencyKey }) => void keys.push(idempotencyKey))
        })
      const agent = Agent.make("payer", {
        instructions: "payer",
        tools: [pay(true), pay(false)],
        defaults: { onError: Recovery.standard }
      }).pipe(Agent.loopUntil((out) => out === "payer three", { times: 5 }))
      const outcome = yield* agent.start("payer one")
      const ended = yield* agent.resume(...approved(paused(outcome)))
      assert.deepInclude(ended, { _tag: "Completed", output: "payer three" })
      assert.strictEqual(keys.length, 4)
      assert.strictEqual(new Set(keys).size, 4)
    }).pipe(Effect.provide([
      key,
      IdempotencyLedger.layerMemory,
      models({
        "payer one": [call("pay", {}, { id: "c" }), text("payer two")],
        "payer two": [call("ask", {}, { id: "c" }), call("pay", {}, { id: "d" }), text("payer then")],
        "payer then": [call("pay", {}, { id: "c" }), text("payer three")]
      })
    ])))

  it.effect("keeps undecided calls pending, and reports rejections to their own agent", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const agent = () => Agent.all("all", [clerk(log, "a"), clerk(log, "b")])
      const first = paused(yield* agent().start("x"))
      const second = paused(yield* agent().resume(...approved(first, "b/r")))
      assert.deepStrictEqual(second.pending.map(({ callId }) => callId), ["a/r"])
      assert.deepStrictEqual(log, ["refund A 500"])
      const refused = yield* Effect.flip(
        agent().resume(stored(second.snapshot), [{ ...Approval.approve(second.pending[0]!), argumentsHash: "0" }])
      )
      assert.deepInclude(refused, { _tag: "DecisionRefused", callId: "a/r" })
      const other = yield* Effect.flip(
        Agent.all("all", [clerk(log, "a"), clerk(log, "c")]).resume(stored(second.snapshot), [])
      )
      assert.propertyVal(other, "reason", "tools_changed")
      const ended = yield* agent().resume(stored(second.snapshot), [Approval.reject(second.pending[0]!, "no")])
      assert.deepStrictEqual(ended, new Approval.Completed({ output: ["done", "done"] as const }))
      assert.deepStrictEqual(log, ["refund A 500"])
    }).pipe(Effect.provide([key, models({ a: [refund("A"), text("done")], b: [refund("A"), text("done")] })])))

  it.effect("a parallel failure withdraws the question, live and from a snapshot", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const { events, layer } = collect()
      const late = clerk(log, "late").pipe(Agent.andThen(down))
      const agent = Agent.all("all", [clerk(log), late])
      const outcome = yield* agent.start("x").pipe(Effect.provide(layer))
      const pause = paused(outcome)
      assert.deepStrictEqual(pause.pending.map(({ callId }) => callId), ["clerk/r", "late > down/late/r"])
      const error = yield* Effect.flip(
        agent.resume(...approved(pause, "late > down/late/r")).pipe(Effect.provide(layer))
      )
      assert.strictEqual(error._tag, "Down")
      const results = events.flatMap((event) =>
        event._tag === "ToolResult" ? [[event.path.at(-1), event.isFailure]] : []
      )
      assert.deepStrictEqual(results, [["late", false], ["clerk", true]])
      const live = yield* Effect.flip(Agent.all("both", [clerk(log), slow]).start("x").pipe(Effect.provide(layer)))
      assert.strictEqual(live._tag, "Down")
      assert.deepStrictEqual(events.filter(({ _tag }) => _tag === "ToolResult").length, 3)
    }).pipe(Effect.provide([key, models({ clerk: [refund("A"), text("done")], late: [refund("A"), text("done")] })])))

  it.effect("excludes a step that failed before the pause from the best", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      let n = 0
      const some = Agent.fromFunction(
        "some",
        (text: string) =>
          Effect.suspend((): Effect.Effect<string, Down> => n++ === 0 ? Effect.fail(new Down()) : Effect.succeed(text))
      ).pipe(Agent.andThen(clerk(log)))
      const agent = some.pipe(Agent.vote(2))
      const outcome = yield* agent.start("x")
      const ended = yield* agent.resume(...approved(paused(outcome)))
      assert.deepInclude(ended, { _tag: "Completed", output: "done" })
      assert.strictEqual(n, 2)
    }).pipe(Effect.provide([key, models({ clerk: [refund("A"), text("done")] })])))

  it.effect("orders waiting calls by their steps, not by time", () =>
    Effect.gen(function*() {
      const slow = Agent.fromFunction(
        "slow",
        (input: string) => Effect.promise(() => new Promise<string>((resolve) => setTimeout(() => resolve(input), 25)))
      )
      const agent = Agent.all("all", [slow.pipe(Agent.andThen(clerk([], "a"))), clerk([], "b")])
      const waits = paused(
        yield* agent.start("clerk one").pipe(Effect.provide(models({ a: [refund("A")], b: [refund("B")] })))
      )
      assert.deepStrictEqual(waits.pending.map(({ callId }) => callId), ["slow > a/a/r", "b/r"])
    }).pipe(Effect.provide(key)))

  it.effect("is itself a tool that waits, and a step", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const both = clerk(log, "first").pipe(Agent.andThen(clerk(log)))
      const Both = both.pipe(
        Agent.asTool("both", {
          description: "",
          parameters: Schema.Struct({ task: Schema.String }).pipe(
            Schema.decodeTo(Schema.String, {
              decode: SchemaGetter.transform(({ task }) => task),
              encode: SchemaGetter.transform((task) => ({ task }))
            })
          ),
          success: Schema.String,
          effects: "write"
        })
      )
      const boss = Agent.make("boss", {
        instructions: "boss",
        tools: [Note(log), Both],
        defaults: { onError: Recovery.standard }
      })
      const outer = Agent.all("outer", [both, boss])
      const first = paused(yield* outer.start("x"))
      assert.deepStrictEqual(
        first.pending.map(({ callId }) => callId),
        ["first > clerk/clerk/r", "boss/b/clerk/r"]
      )
      const second = paused(yield* outer.resume(...approved(first, "boss/b/clerk/r")))
      assert.deepStrictEqual(log, ["note b", "refund A 500"])
      const ended = yield* outer.resume(...approved(second))
      assert.deepInclude(ended, { _tag: "Completed", output: ["paid", "noted"] })
      assert.deepStrictEqual(log, ["note b", "refund A 500", "refund A 500"])
    }).pipe(Effect.provide([
      key,
      models({
        first: [text("go")],
        clerk: [refund("A"), text("paid")],
        boss: [
          calls([{ name: "note", params: { text: "b" } }, { name: "both", params: { task: "x" }, id: "b" }]),
          text("noted")
        ]
      })
    ])))

  it.effect("an outer agent's failure withdraws questions within a composed tool", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const { events, layer } = collect()
      const Both = Agent.andThen(fn("say", (_: {}) => "x"), clerk(log)).pipe(
        Agent.asTool("both", {
          description: "",
          parameters: Schema.Struct({}),
          success: Schema.String,
          effects: "write"
        })
      )
      const boss = Agent.make("boss", { instructions: "boss", tools: [Both], defaults: { onError: Recovery.standard } })
      const both = Agent.all("outer", [boss, clerk(log, "late").pipe(Agent.andThen(down))])
      const first = paused(yield* both.start("x").pipe(Effect.provide(layer)))
      const ids = first.pending.map(({ callId }) => callId)
      assert.deepStrictEqual(ids.toSorted(), ["boss/b/clerk/r", "late > down/late/r"])
      yield* Effect.exit(both.resume(...approved(first, "late > down/late/r")).pipe(Effect.provide(layer)))
      const started = events.flatMap((event) =>
        event._tag === "ApprovalRequested" ? [`${event.agentRunId} ${event.callId}`] : []
      )
      const ended = events.flatMap((event) =>
        event._tag === "ToolResult" ? [`${event.agentRunId} ${event.callId}`] : []
      )
      for (const asked of started) assert.include(ended, asked)
    }).pipe(Effect.provide([
      key,
      models({
        boss: [call("both", {}, { id: "b" }), text("done")],
        clerk: [refund("A"), text("paid")],
        late: [refund("A"), text("done")]
      })
    ])))

  it.effect("restores answers by schema; unencodable answers end the run", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const When = Schema.Struct({ at: Schema.DateFromString })
      const dated = Agent.make("dated", { instructions: "dated", output: When })
      const wait = clerk(log)
      const year = Agent.fromFunction(
        "year",
        ([{ at }, said]: readonly [typeof When.Type, string]) => Effect.succeed(`${at.getFullYear()} ${said}`)
      )
      const agent = Agent.all("both", [dated, wait]).pipe(Agent.andThen(year))
      const ended = yield* agent.resume(...approved(paused(yield* agent.start("x"))))
      assert.deepInclude(ended, { _tag: "Completed", output: "2020 paid" })
      const map = Agent.fromFunction("map", (_: string) => Effect.succeed(new Map([[1, 2]])))
      const exit = yield* Effect.exit(Agent.all("both", [map, wait]).start("x"))
      assert.isTrue(Exit.isFailure(exit))
      assert.match(String(exit), /cannot wait: what \\?"map\\?" answers has no JSON form/)
    }).pipe(Effect.provide([
      key,
      models({ dated: [text("{\"at\":\"2020-02-02T00:00:00.000Z\"}")], clerk: [refund("A"), text("paid")] })
    ])))
})
