/** Typical bugs of composed programs, and lawful composed programs: the default plans of `Laws.check` separate them. */
import { assert, describe, it } from "@effect/vitest"
import { Laws, ScriptedModel, SideEffects, Subject } from "@recourse/testing"
import { Effect, Layer, Schema } from "effect"
import { Prompt } from "effect/ai"
import { Agent, Approval, ErrorProjection, Recovery, Tool, ToolCall } from "@recourse/core"

const { call, calls, steps, text } = ScriptedModel

const budget = { turns: 8, toolCalls: 12, retriesPerTool: 4, duration: "60 seconds" } as const

type AnyAgent = Agent.Agent<any, any, any, any>
type AnySubject = Subject.Subject<unknown, unknown, unknown>
type Order = { readonly order: string }

const perform = (tool: string, details: unknown, key?: string) =>
  Effect.flatMap(SideEffects.SideEffects, (world) => world.perform({ tool, details, key }))

const toolOf = (name: string, options: object): Tool.Any =>
  Tool.make(
    name as never,
    {
      parameters: Schema.Struct({ order: Schema.String }),
      success: Schema.String,
      timeout: "3 seconds",
      ...options
    } as never
  ) as unknown as Tool.Any

const charge = (
  options: object = {},
  execute: (params: Order) => Effect.Effect<unknown, unknown, any> = (params) =>
    Effect.as(perform("charge", params), "charged")
): Tool.Any => toolOf("charge", { effects: "write", ...options, execute })

/** Passes its key on unchanged. */
const keyed = (params: Order) =>
  Effect.gen(function*() {
    const { idempotencyKey } = yield* ToolCall.ToolCall
    yield* perform("charge", params, idempotencyKey)
    return "charged"
  })

const ofOrder = { idempotency: { key: ({ order }: Order) => order } }

const agentOf = (name: string, tools: ReadonlyArray<Tool.Any>, options: object = {}): AnyAgent =>
  Agent.make(
    name,
    { instructions: name, tools, defaults: { onError: Recovery.standard }, budget, ...options } as never
  ) as unknown as AnyAgent

const subjectOf = (
  agent: AnyAgent,
  model: ScriptedModel.Behaviour,
  { input = "Charge A", ...options }: { readonly input?: unknown; readonly tools?: ReadonlyArray<Tool.Any> } = {}
): AnySubject => Subject.make({ agent, scenarios: { default: { input, model } }, ...options } as never) as never

/** A model that speaks for each agent by its instructions. */
const speaking =
  (turns: Readonly<Record<string, ScriptedModel.Behaviour>>): ScriptedModel.Behaviour => (request, index) => {
    const first = request.prompt.content[0]
    return turns[first?.role === "system" ? first.content : ""]!(request, index)
  }

const chargesA = steps([call("charge", { order: "A" }), text("Done.")])
const chargesB = steps([call("charge", { order: "B" }), text("Done.")])
const chargesBoth = steps([
  calls([{ name: "charge", params: { order: "A" } }, { name: "charge", params: { order: "B" } }]),
  text("Done.")
])

/** A clerk that an agent has as a tool. */
const askClerk = (effects: string, ofClerk: Tool.Any, recovery?: unknown): AnyAgent => {
  const tool = Agent.asTool("ask_clerk", { description: "Asks the clerk", effects } as never)(
    agentOf("clerk", [ofClerk]) as never
  ) as unknown as Tool.Any
  return agentOf("boss", [recovery === undefined ? tool : Tool.onError(tool as never, recovery as never) as never])
}

const bossAndClerk = speaking({
  boss: steps([call("ask_clerk", { input: "Charge A" }), text("Done.")]),
  clerk: chargesA
})

/** Charges by a bank that may fail; `answered` is the executor's conversion of its answer. */
const bank = (
  answered: (asked: Effect.Effect<unknown, SideEffects.ServiceFailed>) => Effect.Effect<unknown, unknown>,
  options: object = {},
  keyOf: (params: Order) => string | undefined = () => undefined
): AnySubject =>
  subjectOf(
    agentOf("clerk", [
      charge(options, (params) =>
        Effect.flatMap(
          SideEffects.SideEffects,
          (world) =>
            Effect.as(answered(world.request({ tool: "charge", details: params, key: keyOf(params) })), "charged")
        ))
    ]),
    chargesA
  )

class Declined extends Schema.TaggedError<Declined>()(
  "Declined",
  {},
  ErrorProjection.declare({ model: "The bank has declined.", outcome: "not_done" })
) {}

const declines = { failure: Declined }

const bestOfThree = (tool: Tool.Any): AnySubject =>
  subjectOf(
    Agent.bestOf(agentOf("clerk", [tool]) as never, { n: 3, judge: () => Effect.succeed(0) } as never) as AnyAgent,
    chargesA,
    { tools: [tool] }
  )

/** Books, and compensates by `compensate` when the later charge fails. */
const travel = (compensate: (params: Order) => Effect.Effect<unknown, unknown, any>): AnySubject =>
  subjectOf(
    agentOf("travel", [
      toolOf("book", {
        effects: "write",
        execute: ({ order }: Order) => Effect.as(perform("book", { order }), "booked"),
        compensate
      }),
      Tool.onError(charge() as never, (call: unknown) => call as never) as never
    ], { compensation: {} }),
    steps([call("book", { order: "A" }), call("charge", { order: "A" }), text("Done.")])
  )

/** An outsider's page, which a tool passes to another agent for a summary: `told` is that agent's input. */
const summing = (told: (page: string) => string): AnySubject => {
  const fetch = toolOf("fetch", {
    parameters: Schema.Struct({}),
    effects: "read",
    trust: "untrusted",
    execute: () => Effect.succeed("a page")
  })
  const summariser = agentOf("summariser", [])
  const sum = toolOf("sum_up", {
    parameters: Schema.Struct({}),
    effects: "read",
    timeout: "20 seconds",
    execute: () =>
      Effect.flatMap(
        (fetch as { readonly call: Effect.Effect<string, unknown, any> }).call,
        (page) => summariser.run(told(page))
      )
  })
  return subjectOf(
    agentOf("boss", [sum]),
    speaking({ boss: steps([call("sum_up", {}), text("Done.")]), summariser: () => text("short") }),
    { tools: [sum, fetch] }
  )
}

interface Bug {
  readonly law: Laws.LawName
  readonly bug: () => AnySubject
  readonly twin: () => AnySubject
}

const bugs: Readonly<Record<string, Bug>> = {
  "a key of the customer, and not of the order": {
    law: "keys_are_unique",
    bug: () =>
      subjectOf(
        agentOf("clerk", [charge({}, (params) => Effect.as(perform("charge", params, "Ada"), "charged"))]),
        chargesBoth
      ),
    twin: () =>
      subjectOf(
        agentOf("clerk", [
          charge({}, (params) => Effect.as(perform("charge", params, `Ada ${params.order}`), "charged"))
        ]),
        chargesBoth
      )
  },
  "an agent as a tool that says it reads, and writes": {
    law: "reads_have_no_side_effects",
    bug: () => subjectOf(askClerk("read", charge()), bossAndClerk),
    twin: () => subjectOf(askClerk("write", charge()), bossAndClerk)
  },
  "two agents that race to write": {
    law: "no_duplicate_side_effects",
    bug: () => subjectOf(Agent.firstOf("either", [agentOf("a", [charge()]), agentOf("b", [charge()])]), chargesA),
    twin: () =>
      subjectOf(
        Agent.firstOf("either", [agentOf("a", [charge(ofOrder, keyed)]), agentOf("b", [charge(ofOrder, keyed)])]),
        chargesA
      )
  },
  "a choice among agents that have all written": {
    law: "runs_are_independent",
    bug: () => bestOfThree(charge()),
    twin: () => bestOfThree(charge(ofOrder, keyed))
  },
  "an edit that the executor does not follow": {
    law: "edited_arguments_are_used",
    bug: () =>
      subjectOf(
        agentOf("clerk", [
          charge({ needsApproval: true }, () => Effect.as(perform("charge", { order: "A" }), "charged"))
        ]),
        chargesA
      ),
    twin: () => subjectOf(agentOf("clerk", [charge({ needsApproval: true })]), chargesA)
  },
  "a compensation that does nothing": {
    law: "no_false_compensation",
    bug: () => travel(() => Effect.void),
    twin: () => travel(({ order }) => perform("book", { cancel: order }))
  },
  "a compensation that does it twice": {
    law: "no_false_compensation",
    bug: () =>
      travel(({ order }) => Effect.andThen(perform("book", { cancel: order }), perform("book", { cancel: order }))),
    twin: () =>
      travel(({ order }) =>
        Effect.flatMap(
          ToolCall.ToolCall,
          ({ idempotencyKey }) =>
            Effect.andThen(
              perform("book", { cancel: order }, idempotencyKey),
              perform("book", { cancel: order }, idempotencyKey)
            )
        )
      )
  },
  "a raw retry within an executor": {
    law: "writes_at_most_once",
    bug: () => bank((asked) => Effect.retry(asked, { times: 2 })),
    twin: () => bank((asked) => Effect.retry(asked, { times: 2 }), {}, ({ order }) => order)
  },
  "an executor that swallows": {
    law: "no_false_success",
    bug: () => bank((asked) => Effect.ignore(asked)),
    twin: () => bank((asked) => asked)
  },
  "a lost answer that is taken for a refusal": {
    law: "ambiguous_writes_reported",
    bug: () => bank((asked) => Effect.mapError(asked, () => new Declined()), declines),
    twin: () => bank((asked) => asked, declines)
  },
  "the words of an outsider as those of a user": {
    law: "untrusted_content_labelled",
    bug: () => summing((page) => `Sum up: ${page}`),
    twin: () => summing((page) => `Sum up: ${JSON.stringify({ untrusted: true, page })}`)
  }
}

describe("bugs of compositions", () => {
  for (const [name, { bug, law, twin }] of Object.entries(bugs)) {
    it.effect(name, () =>
      Effect.gen(function*() {
        const error = yield* Effect.flip(Laws.check(bug(), { interruptions: 5 }))
        assert.strictEqual(error.law, law)
      }))

    it.effect(`not: ${name}`, () => Effect.asVoid(Laws.check(twin(), { runs: 12, interruptions: 5 })))
  }
})

describe("the message of a broken law", () => {
  const told = (subject: AnySubject) =>
    Effect.map(Effect.flip(Laws.check(subject, { interruptions: 0 })), ({ problem }) => problem)

  it.effect("names the call that a run waits in for ever", () =>
    Effect.gen(function*() {
      const subject = subjectOf(agentOf("clerk", [charge({ timeout: undefined })], { budget: { turns: 4 } }), chargesA)
      assert.strictEqual(
        yield* told(subject),
        "the run did not end: it waits forever, without other work, in charge call_1 attempt 1 (plain run)"
      )
    }))

  it.effect("shows the first difference between a run and its repetition", () =>
    Effect.gen(function*() {
      let runs = 0
      const subject = subjectOf(
        agentOf("clerk", [charge()], { instructions: () => Effect.sync(() => `This is run ${++runs}`) }),
        chargesA
      )
      assert.match(
        yield* told(subject),
        /differs from the first: message 1 was .*This is run \d+.*, then .*This is run \d+/
      )
    }))

  it.effect("shows why a run could not begin", () =>
    Effect.gen(function*() {
      const down = Layer.effectDiscard(Effect.die(new Error("no database")))
      const subject = subjectOf(Agent.provide(down)(agentOf("clerk", [charge()])) as unknown as AnyAgent, chargesA)
      assert.match(yield* told(subject), /no record of the run, which ended before it began: no database/)
    }))
})

const answering = (decide: (pending: Approval.PendingCall) => Approval.Decision): AnySubject =>
  subjectOf(
    Approval.interactive((pending) => Effect.succeed(decide(pending)))(
      agentOf("clerk", [charge({ needsApproval: true })]) as never
    ) as unknown as AnyAgent,
    chargesA
  )

const sendAll = (key?: string) =>
  toolOf("send_all", {
    parameters: Schema.Struct({ to: Schema.Array(Schema.String) }),
    effects: "write",
    ...(key === undefined ? undefined : { idempotency: true }),
    execute: ({ to }: { readonly to: ReadonlyArray<string> }) =>
      Effect.flatMap(ToolCall.ToolCall, ({ idempotencyKey }) =>
        Effect.as(
          Effect.forEach(to, (one) => perform("send_all", one, key && `${idempotencyKey} ${one}`)),
          "sent"
        ))
  })

const sends = steps([call("send_all", { to: ["Ada", "Bob"] }), text("Done.")])

const lawful: Readonly<Record<string, () => AnySubject>> = {
  "agents in a row that have the same tool": () =>
    subjectOf(
      Agent.andThen(agentOf("b", [charge()]))(agentOf("a", [charge()])),
      speaking({ a: chargesA, b: chargesB })
    ),
  "agents at once that have the same tool": () =>
    subjectOf(
      Agent.all("both", [agentOf("a", [charge()]), agentOf("b", [charge()])]) as never,
      speaking({ a: chargesA, b: chargesB })
    ),
  "agents in a row of which one waits": () =>
    subjectOf(
      Agent.andThen(agentOf("b", [charge({ needsApproval: true })]))(agentOf("a", [])),
      speaking({ a: () => text("A"), b: chargesA })
    ),
  "a person who is asked while the agent runs": () => answering(Approval.approve),
  "a person who is asked while the agent runs, and says no": () =>
    answering((pending) => Approval.reject(pending, "no")),
  "a person who is asked while the agent runs, and edits": () =>
    answering((pending) => Approval.edit(pending, { order: "C" })),
  "a call that does several things": () => subjectOf(agentOf("clerk", [sendAll()]), sends),
  "a call that does several things, each under a key": () => subjectOf(agentOf("clerk", [sendAll("each")]), sends),
  "a conversation that is handed off": () => {
    const { duration: _, ...unlimited } = budget
    const talks = {
      input: Prompt.Prompt,
      prompt: (conversation: Prompt.Prompt) => conversation,
      budget: unlimited
    }
    const handOff = Agent.handoffTo("billing", { description: "Bills" }) as unknown as Tool.Any
    const charging = charge()
    return subjectOf(
      Agent.handoff("support", {
        start: "triage",
        agents: {
          triage: agentOf("triage", [handOff], talks),
          billing: agentOf("billing", [charging], talks)
        }
      } as never) as unknown as AnyAgent,
      speaking({ triage: steps([call("transfer_to_billing", {}), text("no")]), billing: chargesA }),
      { input: Prompt.make("My bill"), tools: [handOff, charging] }
    )
  }
}

describe("lawful compositions", () => {
  for (const [name, subject] of Object.entries(lawful)) {
    it.effect(name, () => Effect.asVoid(Laws.check(subject(), { runs: 10, interruptions: 8 })))
  }
})
