/**
 * Makes a number of runs of each kind, in a process of its own: `node runs.ts <count>`. It prints the kinds. In V8's
 * log the hidden class of a `BeginMark` marks the start of a kind's runs, once they are warm, and that of an `EndMark`
 * their end.
 */
import { Data, Effect, Layer, Redacted, Schedule, Schema, Stream } from "effect"
import { LanguageModel, Prompt, type Response } from "effect/ai"
import { Agent, Approval, Conversation, IdempotencyLedger, ModelProvider, Recovery, Tool } from "@recourse/core"

const finish: Response.FinishPartEncoded = {
  type: "finish",
  reason: "stop",
  usage: { inputTokens: { total: 10 }, outputTokens: { total: 5 } }
}

/** A model that calls a tool a number of times at once, and then answers. */
const caller = (tool: string, times: number, params: unknown = { n: 1 }) => {
  const calls = Array.from(
    { length: times },
    (_, n): Response.ToolCallPartEncoded => ({ type: "tool-call", id: `call_${n}`, name: tool, params })
  )
  const isAsked = ({ prompt }: LanguageModel.ProviderOptions) => prompt.content.at(-1)?.role === "user"
  const text: ReadonlyArray<Response.StreamPartEncoded> = [
    { type: "text-start", id: "t" },
    { type: "text-delta", id: "t", delta: "done" },
    { type: "text-end", id: "t" },
    finish
  ]
  return ModelProvider.make({
    generateText: (options) =>
      Effect.sync(() => isAsked(options) ? [...calls, finish] : [{ type: "text", text: "done" }, finish]),
    streamText: (options) =>
      Stream.suspend(() => Stream.fromIterable(isAsked(options) ? [...calls, finish] : text, { chunkSize: 1 }))
  })
}

class Down extends Data.TaggedError("Down")<{}> {}

const double = Tool.make("double", {
  parameters: Schema.Struct({ n: Schema.Number }),
  success: Schema.Number,
  effects: "read",
  execute: ({ n }) => Effect.succeed(2 * n)
})

/** Fails each second time. */
const flaky = () => {
  let count = 0
  return Tool.make("double", {
    parameters: Schema.Struct({ n: Schema.Number }),
    success: Schema.Number,
    effects: "read",
    execute: ({ n }) => Effect.suspend(() => count++ % 2 === 0 ? Effect.fail(new Down()) : Effect.succeed(2 * n))
  })
}

const pay = Tool.make("pay", {
  parameters: Schema.Struct({ n: Schema.Number }),
  success: Schema.Number,
  effects: "write",
  idempotency: true,
  execute: ({ n }) => Effect.succeed(n)
})

const approved = Tool.make("pay", {
  parameters: Schema.Struct({ n: Schema.Number }),
  success: Schema.Number,
  effects: "write",
  needsApproval: true,
  execute: ({ n }) => Effect.succeed(n)
})

const doubler = Agent.make("doubler", { tools: [double] })
const retried = Agent.make("retried", {
  tools: [flaky().pipe(Tool.onError(Recovery.retry({ times: 2, schedule: Schedule.forever })))]
})
const corrected = Agent.make("corrected", {
  tools: [flaky().pipe(Tool.onError(Recovery.escalate("ExecutionError")))]
})
const payer = Agent.make("payer", { tools: [pay] })
const asker = Agent.make("asker", { tools: [approved] })
const chatty = Agent.make("chatty", { input: Prompt.Prompt, prompt: (said) => said, tools: [double] })
const clerk = Agent.make("clerk", {
  input: Schema.Struct({ n: Schema.Number }),
  prompt: ({ n }) => `Double ${n}.`
}).pipe(Agent.asTool("ask_clerk", { description: "Asks the clerk", effects: "read" }))
const reader = Agent.make("reader", { tools: [clerk] })
const twice = doubler.pipe(Agent.andThen(doubler))

let count = 0
interface Kind {
  /** The tool that the model calls, and how many times at once. */
  readonly tool: string
  readonly times: number
  readonly run: () => Effect.Effect<unknown, unknown, Services>
}

const kinds: Record<string, Kind> = {
  "one call": { tool: "double", times: 1, run: () => doubler.run("go") },
  "parallel calls": { tool: "double", times: 5, run: () => doubler.run("go") },
  "a retried call": { tool: "double", times: 1, run: () => retried.run("go") },
  "a corrected call": { tool: "double", times: 1, run: () => corrected.run("go") },
  "a call with a key": { tool: "pay", times: 1, run: () => payer.run("go") },
  "a streamed run": { tool: "double", times: 1, run: () => Stream.runDrain(doubler.stream("go")) },
  "an agent as a tool": { tool: "ask_clerk", times: 1, run: () => reader.run("go") },
  "an agent and then another": { tool: "double", times: 1, run: () => twice.run("go") },
  "a run that waits and continues": {
    tool: "pay",
    times: 1,
    run: () =>
      Effect.flatMap(asker.start("go"), (outcome) =>
        outcome._tag === "Paused"
          ? asker.resume(outcome.snapshot, outcome.pending.map((call) => Approval.approve(call)))
          : Effect.die("it does not wait"))
  },
  "a turn of a chat": {
    tool: "double",
    times: 1,
    run: () => Conversation.send(chatty, { owner: "ada", thread: `t${count++}`, message: "go" })
  }
}

const services = Layer.mergeAll(
  IdempotencyLedger.layerMemory,
  Conversation.layerMemory,
  Approval.layerKey(Redacted.make("a key of at least thirty-two bytes"))
)
type Services = LanguageModel.LanguageModel | Layer.Success<typeof services>

// Each evaluation makes a new class, and so a new hidden class.
const begin = Effect.sync(() =>
  new (class BeginMark {
    readonly is = "begin"
  })()
)
const end = Effect.sync(() =>
  new (class EndMark {
    readonly is = "end"
  })()
)

const runs = (kind: Kind, times: number) =>
  Effect.provideServiceEffect(
    Effect.repeat(Effect.suspend(kind.run), { times: times - 1 }),
    LanguageModel.LanguageModel,
    caller(kind.tool, kind.times)
  )

const times = Number(process.argv[2])
const program = Effect.forEach(
  Object.values(kinds),
  (kind) => runs(kind, 5).pipe(Effect.andThen(begin), Effect.andThen(runs(kind, times)), Effect.andThen(end))
)
await Effect.runPromise(Effect.provide(program, services))
process.stdout.write(JSON.stringify(Object.keys(kinds)))
