/** Agents that share a conversation, with pauses and compensations. */
import { assert, describe, it } from "@effect/vitest"
import { ScriptedModel } from "@recourse/testing"
import { Cause, Effect, Exit, Layer, Schema } from "effect"
import { Prompt } from "effect/ai"
import { Agent, Approval, type ConfigurationError, Guardrail, Tool, type ToolError } from "@recourse/core"
import {
  book,
  call,
  input,
  key,
  type Log,
  pay,
  standard,
  text,
  tool,
  type Waits,
  watched
} from "../support/bookings.ts"

const talks = { ...standard, input: Prompt.Prompt, prompt: (said: Prompt.Prompt) => said }
const Boom = Tool.make("boom", { effects: "read", execute: () => Effect.die("no") })
const to = (name: string) => Agent.handoffTo(name, { description: "Gives it away" })

/** Turns of each agent's model by its agent's instructions, over all executions. */
const models = (turns: Readonly<Record<string, ReadonlyArray<ScriptedModel.Turn>>>) => {
  const left = new Map(Object.entries(turns).map(([name, all]) => [name, [...all]]))
  const prompts: Array<Prompt.Prompt> = []
  const layer = ScriptedModel.layer(({ prompt }) => {
    prompts.push(prompt)
    const [first] = prompt.content
    return left.get(first?.role === "system" ? first.content : "")?.shift() ?? text("done")
  })
  return { prompts, layer }
}

const agentNamed = (name: string, tools: ReadonlyArray<unknown>, more: object = {}) =>
  Agent.make(name, { ...talks, instructions: name, tools, ...more } as never) as never as Agent.Agent<
    Prompt.Prompt,
    string
  >

const handoff = (agents: Readonly<Record<string, unknown>>, options: object = {}) =>
  Agent.handoff("support", { start: "triage", agents, ...options } as never) as never as Waits

const transfer = (name: string) => call(`transfer_to_${name}`, {}, { id: "t" })
const hello = Prompt.fromMessages([
  Prompt.systemMessage({ content: "Be polite." }),
  ...Prompt.make("Hello").content
])

const stored = <A>(value: A): A => JSON.parse(JSON.stringify(value)) as A

describe("a conversation that is given away", () => {
  for (const waits of [false, true]) {
    it.effect(`keeps its system messages ${waits ? "over a pause" : "in one go"}`, () =>
      Effect.gen(function*() {
        const log: Log = []
        const agent = () =>
          handoff({ triage: agentNamed("triage", [pay(log), to("desk")]), desk: agentNamed("desk", []) })
        const { layer, prompts } = models({
          triage: [...waits ? [call("pay", {}, { id: "p" })] : [], transfer("desk")]
        })
        const begun = yield* agent().start(hello).pipe(Effect.provide([layer, key]))
        if (begun._tag === "Paused") {
          const decisions = begun.pending.map((one) => Approval.approve(one))
          yield* agent().resume(stored(begun.snapshot), decisions).pipe(Effect.provide([layer, key]))
        }
        assert.deepStrictEqual(log, waits ? ["pay"] : [])
        const systems = prompts.at(-1)!.content.flatMap(({ content, role }) => role === "system" ? [content] : [])
        assert.deepStrictEqual(systems, ["desk", "Be polite."])
      }))
  }
})

describe("the note of a transfer", () => {
  const read = (params: object) =>
    Effect.gen(function*() {
      const { layer, prompts } = models({ triage: [call("transfer_to_desk", params, { id: "t" })] })
      const agent = handoff({ triage: agentNamed("triage", [to("desk")]), desk: agentNamed("desk", []) })
      yield* agent.run(hello).pipe(Effect.provide([layer, key]))
      return prompts.at(-1)!.content.slice(2)
    })

  it.effect("reaches the next agent as a model's words, else all messages do", () =>
    Effect.gen(function*() {
      const [said, note, ...rest] = yield* read({ note: "It is about a bill." })
      assert.include(JSON.stringify(said), "Hello")
      assert.deepStrictEqual(rest, [])
      assert.strictEqual(note?.role, "user")
      assert.deepStrictEqual(note?.options, { recourse: { handoff: true } } as never)
      assert.deepStrictEqual(
        note?.role === "user" && note.content.map((part) => part.type === "text" && part.text),
        ["Note of the agent before, which was written by a model and not by the user: It is about a bill."]
      )
      assert.strictEqual((yield* read({})).length, 1)
    }))
})

it("the handoff tool describes the purpose of a note", () => {
  const { definitions, schema } = Schema.toJsonSchemaDocument(to("desk").parameters)
  assert.include(JSON.stringify([schema, definitions]), "\"note\"")
  assert.include(JSON.stringify([schema, definitions]), "Facts that the next agent has to know")
})

it.effect("a failure without a handoff is the failure of the run", () =>
  Effect.gen(function*() {
    const broken = Tool.make("broken", { effects: "read", execute: () => Effect.fail("no" as const) })
    const agent = handoff({ triage: agentNamed("triage", [broken, to("desk")]), desk: agentNamed("desk", []) })
    const error = yield* Effect.flip(agent.run(hello) as Effect.Effect<string, ToolError.ExecutionError<string>>).pipe(
      Effect.provide([models({ triage: [call("broken", {})] }).layer, key])
    )
    assert.deepInclude(error, { _tag: "ExecutionError", reason: "no" })
  }))

it.effect("an agent failing before its start leaves the earlier messages emitted", () =>
  Effect.gen(function*() {
    const unready = (name: string) => agentNamed(name, [], { instructions: () => Effect.fail("down") })
    const told = (agents: Readonly<Record<string, unknown>>) =>
      Effect.gen(function*() {
        const { exit, transcript } = yield* handoff(agents).report(hello)
        assert.isTrue(Exit.isFailure(exit))
        return transcript.content.map(({ role }) => role)
      }).pipe(Effect.provide([models({ triage: [transfer("desk")] }).layer, key]))
    assert.deepStrictEqual(yield* told({ triage: unready("triage") }), [])
    assert.deepStrictEqual(
      yield* told({ triage: agentNamed("triage", [to("desk")]), desk: unready("desk") }),
      ["system", "user"]
    )
  }))

describe("over a pause after a transfer", () => {
  const said = "Pay 5 with 4242"
  const hides = (conversation: Prompt.Prompt) =>
    Effect.succeed(
      JSON.stringify(conversation.content).includes("4242")
        ? Guardrail.change(Prompt.make("Pay 5 with [card]"))
        : undefined
    )
  const agent = (log: Log) =>
    handoff({
      triage: agentNamed("triage", [to("desk")], { guardInput: hides }),
      desk: agentNamed("desk", [pay(log)])
    })
  const play = (dies: number, input = said) =>
    Effect.gen(function*() {
      const log: Log = []
      const seen = watched()
      // The first request runs in parallel to the guard.
      const { layer } = models({
        triage: [...input === said ? [text("unheard")] : [], transfer("desk")],
        desk: [call("pay", {}, { id: "p" }), text("paid")]
      })
      let claims = 0
      const store = Layer.succeed(Approval.Resumptions, {
        claim: () => Effect.suspend(() => ++claims === dies ? Effect.die("down") : Effect.succeed(true))
      })
      const paused = yield* agent(log).start(Prompt.make(input)).pipe(Effect.provide([layer, key]))
      assert(paused._tag === "Paused")
      const decisions = paused.pending.map((one) => Approval.approve(one))
      const exit = yield* Effect.exit(agent(log).resume(stored(paused.snapshot), decisions)).pipe(
        Effect.provide([layer, key, seen.layer, store])
      )
      const last = seen.events.at(-1)
      assert(last?._tag === "RunFinished")
      return { exit, last, log }
    })

  it.effect("a guard's replacement in it is known at its end", () =>
    Effect.gen(function*() {
      const { exit, last, log } = yield* play(0)
      assert.strictEqual(Exit.isSuccess(exit) && exit.value._tag, "Completed")
      assert.deepStrictEqual(log, ["pay"])
      assert.deepStrictEqual(last.replacedInput?.content, Prompt.make("Pay 5 with [card]").content)
      assert.notInclude(JSON.stringify(last.transcript), "4242")
      const other = yield* play(0, "Pay 5")
      assert.isTrue(Exit.isSuccess(other.exit))
      assert.notProperty(other.last, "replacedInput")
    }))

  it.effect("is emitted, though the receiving agent could not resume", () =>
    Effect.gen(function*() {
      const { exit, last, log } = yield* play(2)
      assert.isTrue(Exit.isFailure(exit))
      assert.deepStrictEqual(log, [])
      assert.include(JSON.stringify(last.transcript), "[card]")
    }))

  it.effect("the joint answer of all agents is stored next to a waiting one", () =>
    Effect.gen(function*() {
      const log: Log = []
      const form = () =>
        Agent.all("w", [
          handoff({ triage: agentNamed("triage", [to("desk")]), desk: agentNamed("desk", []) }),
          agentNamed("other", [pay(log)])
        ] as never) as never as Waits
      const { layer } = models({ triage: [transfer("desk")], other: [call("pay", {}, { id: "p" })] })
      const outcome = yield* Effect.gen(function*() {
        const paused = yield* form().start(hello)
        assert(paused._tag === "Paused")
        return yield* form().resume(stored(paused.snapshot), paused.pending.map((one) => Approval.approve(one)))
      }).pipe(Effect.provide([layer, key]))
      assert.deepInclude(outcome, { _tag: "Completed", output: ["done", "done"] })
    }))
})

it("a handoff is refused if it starts with a missing agent", () => {
  assert.throws(() => handoff({ desk: agentNamed("desk", []) }), "it has no agent \"triage\" to hand over to")
  assert.throws(() => handoff({ desk: agentNamed("desk", []) }, { start: "toString" }), "it has no agent \"toString\"")
})

it.effect("a conversation changes agents up to the limit, then fails", () =>
  Effect.gen(function*() {
    const play = (times: number | undefined, transfers: number) => {
      const turns = Array.from({ length: transfers }, (_, index) => transfer(index % 2 === 0 ? "desk" : "triage"))
      const agents = { triage: agentNamed("triage", [to("desk")]), desk: agentNamed("desk", [to("triage")]) }
      return Effect.exit(handoff(agents, times === undefined ? {} : { times }).run(hello)).pipe(
        Effect.provide([
          models({
            triage: turns.filter((_, index) => index % 2 === 0),
            desk: turns.filter((_, index) => index % 2 === 1)
          }).layer,
          key
        ])
      )
    }
    for (
      const [times, transfers, isGood] of [[undefined, 5, true], [undefined, 6, false], [1, 1, true], [
        1,
        2,
        false
      ]] as const
    ) {
      assert.strictEqual(Exit.isSuccess(yield* play(times, transfers)), isGood, `${times} ${transfers}`)
    }
    // Also if no agent has that name.
    const exit = yield* Effect.exit(handoff({ triage: agentNamed("triage", [to("nobody")]) }, { times: 0 }).run(hello))
      .pipe(Effect.provide([models({ triage: [transfer("nobody")] }).layer, key]))
    assert.strictEqual(
      Exit.isFailure(exit) && (Cause.squash(exit.cause) as { readonly _tag: string })._tag,
      "ExecutionError"
    )
  }))

describe("the failure of an agent that transfers its conversation", () => {
  const failing = (agent: Agent.Agent<Prompt.Prompt, string, unknown, never>) =>
    Effect.map(
      Effect.flip(agent.run(hello)).pipe(
        Effect.provide([
          models({ triage: [call("transfer_to_desk", { note: "It is about a bill." }, { id: "t" })] }).layer,
          key
        ])
      ),
      (error) => (error as ToolError.ExecutionError<Agent.HandedOff>).reason
    )
  const triage = agentNamed("triage", [to("desk")]) as unknown as Agent.Agent<Prompt.Prompt, string, unknown, never>

  it.effect("names the receiver, and if it exists: outside unknown", () =>
    Effect.gen(function*() {
      const given = yield* failing(triage)
      assert.instanceOf(given, Agent.HandedOff)
      assert.deepInclude(given, { _tag: "HandedOff", to: "desk", note: "It is about a bill." })
      assert.isUndefined(given.isRefused)
      assert.strictEqual(given.message, "The conversation was given to \"desk\"")
      const refused = yield* failing(handoff({ triage, desk: agentNamed("desk", []) }, { times: 0 }) as never)
      assert.deepInclude(refused, { to: "desk", isRefused: true })
      assert.strictEqual(refused.message, "The conversation was given to \"desk\", and no agent takes it")
    }))

  it("a handed-off failure decodes from its JSON", () => {
    const given = new Agent.HandedOff({ to: "desk", note: "n", isRefused: true })
    const json = stored(Schema.encodeUnknownSync(Agent.HandedOff)(given))
    assert.deepStrictEqual(json, { _tag: "HandedOff", to: "desk", note: "n", isRefused: true } as never)
    assert.deepStrictEqual(Schema.decodeUnknownSync(Agent.HandedOff)(json), given)
    assert.throws(() => Schema.decodeUnknownSync(Agent.HandedOff)({ _tag: "HandedOff", to: "desk", isRefused: false }))
    assert.throws(() => Schema.decodeUnknownSync(Agent.HandedOff)({ _tag: "HandedOff" }))
  })
})

describe("a conversation without a receiver", () => {
  const ends = {
    "it has changed hands too often": { options: { times: 0 }, name: "desk" },
    "no agent has that name": { options: {}, name: "nobody" }
  } as const
  const places = {
    "the agent that gave it away": [{ compensation: {} }, (agent: Waits) => agent],
    "what is around it": [{}, (agent: Waits) => agent.pipe(Agent.compensated({})) as never as Waits],
    "what is around it and around another one that could take it": [
      {},
      (agent: Waits) =>
        Agent.handoff("outer", {
          start: "triage",
          agents: { triage: agent.pipe(Agent.compensated({})), desk: agentNamed("desk", []) } as never
        }) as never as Waits
    ]
  } as const
  for (const [why, { name, options }] of Object.entries(ends)) {
    for (const [who, [more, around]] of Object.entries(places)) {
      it.effect(`is the failure of the run, because ${why}: ${who} compensates its writes`, () =>
        Effect.gen(function*() {
          const log: Log = []
          const seen = watched()
          const triage = agentNamed("triage", [book(log), to(name)], more)
          const agent = around(handoff({ triage, desk: agentNamed("desk", []) }, options))
          const exit = yield* Effect.exit(agent.run(hello)).pipe(
            Effect.provide([models({ triage: [call("book", {}, { id: "b" }), transfer(name)] }).layer, key, seen.layer])
          )
          assert.isTrue(Exit.isFailure(exit))
          const error = Exit.isFailure(exit) ? Cause.squash(exit.cause) as { readonly _tag: string } : undefined
          const ended: ConfigurationError.ConfigurationError["_tag"] | "ExecutionError" = name === "nobody"
            ? "ConfigurationError"
            : "ExecutionError"
          assert.strictEqual(error?._tag, ended)
          assert.deepStrictEqual(log, ["book", "unbook"])
          assert.strictEqual(seen.compensations().length, 1)
        }))
    }
  }

  it.effect("with a receiver is compensated by that one", () =>
    Effect.gen(function*() {
      const log: Log = []
      const triage = agentNamed("triage", [book(log), to("desk")], { compensation: {} })
      const agent = handoff({ triage, desk: agentNamed("desk", [Boom]) })
      yield* Effect.exit(agent.run(hello)).pipe(
        Effect.provide([
          models({ triage: [call("book", {}, { id: "b" }), transfer("desk")], desk: [call("boom", {})] }).layer,
          key
        ])
      )
      assert.deepStrictEqual(log, ["book"])
    }))
})

/** Books, and compensates under a name of its own. */
const bookAt = (log: Log, place: string) =>
  book(log, "book", {
    execute: () => Effect.sync(() => (log.push(`book ${place}`), place)),
    compensate: (_: unknown, said: string) => Effect.sync(() => void log.push(`unbook ${said} at ${place}`))
  })

describe("tools of several agents with one name, over a pause", () => {
  const compensated = (agent: unknown) => (agent as Waits).pipe(Agent.compensated({})) as never as Waits
  const booking = (name: string, log: Log, more: ReadonlyArray<unknown> = []) =>
    agentNamed(name, [bookAt(log, name), ...more])
  const booked = call("book", {}, { id: "b" })
  const paid = call("pay", {}, { id: "p" })
  const boom = call("boom", {}, { id: "x" })
  const cases: Readonly<
    Record<string, readonly [(log: Log) => Waits, Parameters<typeof models>[0], ReadonlyArray<string>]>
  > = {
    "handoff": [
      (log) =>
        compensated(
          handoff({
            triage: booking("triage", log, [to("desk")]),
            desk: booking("desk", log, [pay(log), Boom])
          })
        ),
      { triage: [booked, transfer("desk")], desk: [booked, paid, boom] },
      ["unbook desk at desk", "unbook triage at triage"]
    ],
    "all": [
      (log) => compensated(Agent.all("w", [booking("a", log), booking("b", log, [pay(log), Boom])] as never)),
      { a: [booked], b: [booked, paid, boom] },
      ["unbook b at b", "unbook a at a"]
    ],
    "all, which asks within": [
      (log) =>
        compensated(
          Agent.all("w", [
            booking("a", log),
            (booking("b", log) as never as Waits).pipe(
              Approval.interactive((one) => Effect.succeed(Approval.approve(one)))
            ),
            agentNamed("c", [pay(log), Boom])
          ] as never)
        ),
      { a: [booked], b: [booked], c: [paid, boom] },
      ["unbook b at b", "unbook a at a"]
    ],
    "an agent that is a tool": [
      (log) => {
        const within = agentNamed("a", [bookAt(log, "a"), pay(log)], { input, prompt: undefined })
        return agentNamed("boss", [bookAt(log, "boss"), tool(within, "a"), Boom], { compensation: {} }) as never
      },
      { boss: [booked, call("a", {}, { id: "a" }), boom], a: [booked, paid] },
      ["unbook a at a", "unbook boss at boss"]
    ],
    "two agents of one name, of which nobody knows whose it is": [
      (log) =>
        compensated(Agent.all("w", [
          agentNamed("a", [bookAt(log, "one")]),
          agentNamed("a", [bookAt(log, "two")]),
          agentNamed("c", [pay(log), Boom])
        ] as never)),
      { a: [booked, booked], c: [paid, boom] },
      []
    ]
  }
  for (const [name, [agent, turns, undone]] of Object.entries(cases)) {
    it.effect(`each write is compensated by its own tool: ${name}`, () =>
      Effect.gen(function*() {
        const log: Log = []
        const seen = watched()
        const { layer } = models(turns)
        const begun = yield* agent(log).start(hello).pipe(Effect.provide([layer, key]))
        const paused = begun as Approval.Paused
        const decisions = paused.pending.map((one) => Approval.approve(one))
        yield* Effect.exit(agent(log).resume(stored(paused.snapshot), decisions)).pipe(
          Effect.provide([layer, key, seen.layer])
        )
        assert.sameMembers(log.filter((line) => line.startsWith("un")), [...undone])
        const told = seen.compensations().map((line) => line.split(" ").at(-1)).toSorted()
        assert.deepStrictEqual(told, undone.length > 0 ? ["undone", "undone"] : ["not_undone", "not_undone"])
      }))
  }
})
