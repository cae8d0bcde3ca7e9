/**
 * Numbers, durations and names in the arguments of public functions: a value that makes no sense is refused, in a sentence that names the
 * function's subject and the option, before anything runs.
 */
import { assert, describe, it } from "@effect/vitest"
import {
  Agent,
  AgentEvent,
  Approval,
  Budget,
  Conversation,
  History,
  IdempotencyLedger,
  IdleTimeout,
  ModelError,
  ModelFallback,
  Policy,
  Recovery,
  RetryBudget,
  StoreTimeout,
  Tool,
  ToolRun,
  TransportRetry
} from "@recourse/core"
import { Effect, Layer, Schema } from "effect"
import { refusal, type Row, testOptions } from "../../../../test/support/optionValues.ts"
import { LanguageModel } from "effect/ai"

const fix = Recovery.fix as (...args: ReadonlyArray<unknown>) => unknown
const agent = Agent.fromFunction("a", (text: string) => Effect.succeed(text))
const judge = Agent.fromFunction("judge", (_: Agent.Candidates<string, string>) => Effect.succeed(0))
const Read = Tool.make("read", { effects: "read", execute: () => Effect.void })
const models = [Layer.succeed(LanguageModel.LanguageModel, null as never)] as const
const effects = { effects: "read", execute: () => Effect.void } as const
const budget = (name: string) => (value: unknown) => Agent.make("a", { budget: { [name]: value } })
const counts = ["turns", "toolCalls", "retriesPerTool", "fixes", "transportRetries", "allFailureRounds", "tokens"]
const caps = [...counts, "maxDepth", "argumentSize", "sameToolInARow"]

const rows: Readonly<Record<string, ReadonlyArray<Row>>> = {
  "Agent.make": [
    ...caps.map((name): Row => ["cap", `budget.${name}`, 3, budget(name)]),
    ["amountCap", "budget.cost", 0.5, budget("cost")],
    ["time", "budget.duration", "1 minute", budget("duration")],
    ["share", "budget.thresholds", 0.5, (value) => Agent.make("a", { budget: { thresholds: [value] } })],
    ["limit", "concurrency", 2, (concurrency) => Agent.make("a", { concurrency })],
    ["limit", "repeatedFailures", 2, (repeatedFailures) => Agent.make("a", { repeatedFailures })],
    ["limit", "repeatedCalls", 2, (repeatedCalls) => Agent.make("a", { repeatedCalls })],
    ["limit", "maxTools", 3, (maxTools) => Agent.make("a", { maxTools })],
    ["time", "approval.timeToLive", "1 hour", (timeToLive) => Agent.make("a", { approval: { timeToLive } })],
    ["time", "compensation.timeout", "1 second", (timeout) => Agent.make("a", { compensation: { timeout } })]
  ],
  "Agent's combinators": [
    ["positive", "bestOf", 2, (n) => Agent.bestOf(agent, { n, judge })],
    ["positive", "vote", 2, (n) => agent.pipe(Agent.vote(n))],
    ["positive", "speculative", 2, (n) => agent.pipe(Agent.speculative(n))],
    ["positive", "revise", 2, (times) => Agent.revise(agent, { times, judge: () => undefined })],
    ["limit", "times", 2, (times) => agent.pipe(Agent.loopUntil(() => true, { times }))],
    ["limit", "bufferSize", 2, (bufferSize) => agent.stream("x", { bufferSize })]
  ],
  "Agent.handoff": [
    ["cap", "times", 2, (times) => Agent.handoff("desk", { start: "a", agents: { a: agent as never }, times })]
  ],
  AgentEvent: [
    ["time", "timeLimit", "1 second", (timeLimit) => AgentEvent.listen(() => Effect.void, { timeLimit })],
    ["positive", "width", 80, (width) => AgentEvent.layerConsole({ width })],
    ["limit", "maxLength", 80, (maxLength) => AgentEvent.layerConsole({ maxLength })]
  ],
  Approval: [
    ["interval", "lease", "30 seconds", (lease) => Approval.layerResumptionsSql({ lease })],
    ["duration", "keepFor", "1 day", (keepFor) => Approval.purgeResumptionsSql({ keepFor })],
    ["time", "every", "1 hour", (every) => Approval.layerPurgeResumptionsSql({ every })]
  ],
  Budget: [
    ...caps.map((name): Row => ["cap", name, 3, (value) => Budget.extend({ [name]: value })]),
    ["amountCap", "cost", 0.5, (cost) => Budget.extend({ cost })],
    ["duration", "duration", "1 second", (duration) => Budget.extend({ duration })],
    ["cap", "budget.turns", 3, (turns) => Budget.layerDefaults({ turns })],
    ["amount", "m.input", 1, (input) => Budget.layerPrices({ m: { input, output: 1 } })],
    ["amount", "m.cached", 1, (cached) => Budget.layerPrices({ m: { input: 1, output: 1, cached } })]
  ],
  Conversation: [
    ["duration", "keepFor", "1 day", (keepFor) => Conversation.purge({ keepFor })],
    ["time", "every", "1 hour", (every) => Conversation.layerPurge({ every })]
  ],
  History: [
    ["positive", "History.keepLast", 2, (count) => History.keepLast(count)],
    ["positive", "History.withinTokens", 2, (count) => History.withinTokens(count)],
    ["cap", "characters", 2, (characters) => History.trimResults({ characters })],
    ["cap", "keep", 2, (keep) => History.trimResults({ keep })]
  ],
  IdempotencyLedger: [
    ["interval", "lease", "30 seconds", (lease) => IdempotencyLedger.make(null as never, { lease })],
    ["duration", "waitFor", "30 seconds", (waitFor) => IdempotencyLedger.make(null as never, { waitFor })],
    ["time", "every", "1 hour", (every) => IdempotencyLedger.layerPurge({ every })]
  ],
  IdleTimeout: [
    ["time", "idleTimeout", "30 seconds", (idleTimeout) => IdleTimeout.make({ idleTimeout })],
    ["time", "contentTimeout", "30 seconds", (contentTimeout) => IdleTimeout.make({ contentTimeout })]
  ],
  ModelError: [
    ["cap", "times", 2, (times) => ModelError.retry({ times })],
    ["duration", "maxRetryAfter", "1 second", (maxRetryAfter) => ModelError.retry({ times: 1, maxRetryAfter })]
  ],
  ModelFallback: [
    ["positive", "attempts", 2, (attempts) => ModelFallback.layer(models, { attempts })],
    [
      "time",
      "circuitBreaker.openDuration",
      "1 second",
      (openDuration) => ModelFallback.layer(models, { circuitBreaker: { tripPolicy: null as never, openDuration } })
    ]
  ],
  Policy: [["count", "times", 2, (times) => Policy.maxCalls("read", times)]],
  Recovery: [
    ["cap", "times", 2, (times) => Recovery.retry({ times })],
    ["duration", "maxRetryAfter", "1 second", (maxRetryAfter) => Recovery.retry({ times: 1, maxRetryAfter })],
    ["cap", "times", 2, (times) => fix("InvalidArgs", agent, { times })],
    ["limit", "steps", 2, (steps) => fix("InvalidArgs", agent, { steps })],
    ["tag", "its tag", "InvalidArgs", (tag) => fix(tag, agent)],
    ["tag", "its tag", "Timeout", (tag) => Recovery.fallback(tag, Effect.void)],
    ["tag", "its tag", "Timeout", (tag) => Recovery.fallback(["Timeout", tag], Effect.void)],
    ["time", "timeToLive", "1 hour", (timeToLive) => Recovery.idempotent({ timeToLive })],
    ["tag", "Recovery.policy", "rethrow", (ending) => Recovery.policy({ Timeout: ending })]
  ],
  RetryBudget: [
    ["amount", "share", 0.5, (share) => RetryBudget.make({ share })],
    ["amount", "minPerSecond", 0.5, (minPerSecond) => RetryBudget.make({ minPerSecond })],
    ["interval", "window", "10 seconds", (window) => RetryBudget.make({ window })]
  ],
  StoreTimeout: [["time", "timeout", "1 second", (timeout) => StoreTimeout.layer(timeout)]],
  Tool: [
    ["time", "timeout", "1 second", (timeout) => Tool.make("t", { ...effects, timeout })],
    ["amountCap", "resultLimit", 100, (resultLimit) => Tool.make("t", { ...effects, resultLimit })],
    [
      "time",
      "idempotency.timeToLive",
      "1 hour",
      (timeToLive) => Tool.make("t", { ...effects, effects: "write", idempotency: { timeToLive } })
    ]
  ],
  TransportRetry: [
    ["limit", "attempts", 2, (attempts) => TransportRetry.layer({ attempts })],
    ["limit", "attempts", 2, (attempts) => TransportRetry.retry(Effect.never as never, { attempts })],
    ["duration", "maxRetryAfter", "1 second", (maxRetryAfter) => TransportRetry.layer({ maxRetryAfter })]
  ],
  ToolRun: [
    ["cap", "budget.toolCalls", 3, (toolCalls) => ToolRun.make("r", { tools: [Read], budget: { toolCalls } })],
    ["limit", "repeatedCalls", 3, (repeatedCalls) => ToolRun.make("r", { tools: [Read], repeatedCalls })]
  ]
}

testOptions(rows)

describe("a schema of arguments", () => {
  it.each([
    ["a text", Schema.String],
    ["a list", Schema.Array(Schema.String)],
    ["one of several texts", Schema.Literals(["a", "b"])],
    ["a date as text", Schema.DateFromString]
  ])("is refused if it is one of %s", (_, parameters) => {
    assert.include(
      refusal(() => Tool.make("t", { effects: "read", parameters: parameters as never, execute: () => Effect.void })),
      "parameters is no Schema of an object"
    )
  })

  it("may be a union of objects, recursive, or unknown", () => {
    class Point extends Schema.Class<Point>("Point")({ x: Schema.Number }) {}
    for (const parameters of [Schema.Struct({}), Point, Schema.Union([Point, Schema.Struct({})]), Schema.Unknown]) {
      Tool.make("t", { effects: "read", parameters: parameters as never, execute: () => Effect.void })
    }
  })
})

describe("a tag that is escalated", () => {
  const escalate = Recovery.escalate as (tag: string) => (call: Effect.Effect<unknown, unknown, any>) => never
  const recovered = (recover: (call: Effect.Effect<any, any, any>) => Effect.Effect<any, any, any>) => () =>
    Tool.make("t", effects).pipe(Tool.onError(recover as never))
  const refused: Readonly<Record<string, () => unknown>> = {
    "of a tool": recovered(escalate("Timout")),
    "behind a retry": recovered((call) => call.pipe(Recovery.retry({ times: 1 }), escalate("Timout"))),
    "behind another escalation": recovered((call) => call.pipe(Recovery.escalate("Timeout"), escalate("Timout"))),
    "of an agent's tool": () => Agent.make("a", { tools: [Read], onToolError: { read: escalate("Timout") } as never }),
    "with a reason": recovered((call) =>
      Recovery.escalateWith(
        call as Effect.Effect<void, { readonly _tag: "Timout" }>,
        "Timout",
        () => ({ reason: "slow" })
      )
    )
  }
  for (const [title, make] of Object.entries(refused)) {
    it(`is refused if no error of the call has it: ${title}`, () => {
      assert.include(refusal(make), "its tag is \"Timout\". Did you mean \"Timeout\"?")
    })
  }

  it("may be of the program's own behind an operator of effect", () => {
    recovered((call) => call.pipe(Effect.mapError(() => ({ _tag: "Mine" })), escalate("Mine")))()
    recovered((call) => call.pipe(escalate("Timeout"), escalate("Timeout")))()
  })
})

describe("an extension of a budget", () => {
  for (const extension of [{ turns: Number.NaN }, { turn: 5 }, { turns: -1 }, { turns: "3" }]) {
    it.effect(`that is ${JSON.stringify(extension)} by hand ends the run, and lifts no cap`, () =>
      Effect.gen(function*() {
        const exit = yield* Effect.exit(
          agentOver(() => Effect.succeed(extension as never)).run("x")
        )
        assert.include(String(exit), "onBudgetExceeded")
      }))
  }
})

const agentOver = (onBudgetExceeded: () => Effect.Effect<Budget.Extension | undefined>) =>
  Agent.make("a", { budget: { turns: 0 }, onBudgetExceeded }).pipe(Agent.provide(models[0]))
