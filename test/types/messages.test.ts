/** The compiler's messages for wrong programs, and its displayed types of right ones. */
import { assert, describe, it } from "@effect/vitest"
import { clean, messages } from "./compiler.ts"

const header = `
import { Agent, AiToolkit, Approval, IdempotencyLedger, ModelError, Policy, Recovery, Skill, Tool, ToolCall } from "@recourse/core"
import { Data, Effect, Schedule, Schema, Stream } from "effect"
import { Tool as AiTool } from "effect/ai"
class Down extends Data.TaggedError("Down") {}
class Lost extends Data.TaggedError("Lost") {}
declare const off: boolean
declare const name: string
const execute = (): Effect.Effect<number, Down | Lost> => Effect.succeed(1)
const find = Tool.make("find", { success: Schema.Int, effects: "read", timeout: "1 second", execute })
const pay = Tool.make("pay", { success: Schema.Int, effects: "write", idempotency: true, needsApproval: true, execute })
const asText = Agent.make("text", { tools: [find] })
const asNumber = Agent.make("number", { input: Schema.Int, output: Schema.Int, tools: [find] })
const fixer = Agent.make("fixer", { tools: [Tool.escalate, Tool.throwException] })
const lax = Recovery.policy({ InvalidArgs: "escalate", ExecutionError: "escalate" })
const stored = {
  retry: Recovery.retry({ times: 1, while: () => true }),
  breaker: Recovery.circuitBreaker({ isFailure: (error: { readonly _tag: string }) => error._tag === "Timeout" }),
  escalateWith: Recovery.escalateWith("Timeout", () => ({ reason: "" })),
  catchReason: Recovery.catchReason("Down", () => Effect.succeed(1)),
  table: { InvalidArgs: "escalate" } as Recovery.Table
}
const onFailure = { description: "", parameters: Schema.String, success: Schema.String }
`

/** Programs that do not compile, the expected first lines of their messages, and, if necessary, the lines below. */
const wrong: ReadonlyArray<readonly [program: string, says: string, below?: string]> = [
  [
    "Agent.make(\"a\", { onToolError: { fnd: lax }, tools: [find] })",
    "There is no \\\"fnd\\\" here. Did you mean \\\"find\\\"?"
  ],
  [
    "Agent.make(\"a\", { tools: [find], onToolError: { fnd: (call) => call } })",
    "is not assignable to type '\"There is no \\\"fnd\\\" here. Did you mean \\\"find\\\"?\""
  ],
  [
    "Agent.make(\"a\", { tools: [find], defaults: { onError: Recovery.escalate(\"InvalidArgs\") } })",
    "recovery of all tools is a table by tag: use Recovery.policy({ ... })"
  ],
  [
    "Tool.make(\"t\", { success: Schema.Int, execute: async () => 1 })",
    "Type 'Promise<number>' is not assignable to type 'Effect<number, never, never> | Stream<number, never, never> | { readonly \"execute has to answer an Effect"
  ],
  ["Tool.make(\"t\", { execute: async () => {} })", "wrap a promise in Effect.tryPromise"],
  ["Agent.make(\"a\", { tool: [find] })", "There is no \\\"tool\\\" here. Did you mean \\\"tools\\\"?"],
  ["Agent.make(\"a\", { tools: [find], budget: { turn: 1 } })", "Did you mean to write 'turns'?"],
  ["Agent.make(\"a\", { tools: [find], defaults: { onerror: lax } })", "Did you mean to write 'onError'?"],
  [
    "Agent.make(\"a\", { tools: [find], onToolError: { find: (call) => Effect.as(Effect.ignore(call), \"none\") } })",
    "The recovery of \\\"find\\\" has to have the result type of the tool."
  ],
  [
    "Tool.make(\"t\", { timeuot: \"1 second\", execute })",
    "There is no \\\"timeuot\\\" here. Did you mean \\\"timeout\\\"?"
  ],
  ["Tool.make(\"t\", { effects: \"reads\", execute })", "Did you mean '\"read\"'?"],
  ["Recovery.policy({ TimeOut: \"escalate\" })", "Did you mean to write 'Timeout'?"],
  ["Recovery.policy({ Timeout: \"escalte\" })", "Did you mean '\"escalate\"'?"],
  [
    "find.pipe(Tool.onError((call) => call.pipe(Recovery.catchReason(\"Donw\", () => Effect.succeed(1)))))",
    "'\"Donw\"' is not assignable to parameter of type '\"Down\" | \"Lost\"'"
  ],
  [
    "Agent.make(\"a\", { skills: [Skill.make(\"one\", { description: \"\" })], skill: \"two\" })",
    "'\"two\"' is not assignable to type '\"one\""
  ],
  ["AiToolkit.fromTool(AiTool.make(\"t\"), () => Effect.void, { timeuot: 1 })", "Did you mean to write 'timeout'?"],
  [
    "find.pipe(Tool.onError((call) => call.pipe(Recovery.escalate(\"Timeot\"))))",
    "'\"Timeot\"' is not assignable to parameter of type '\"ExecutionError\" | \"InvalidArgs\" | \"Timeout\"'."
  ],
  [
    "find.pipe(Tool.onError(Recovery.escalateWith(\"Timeot\", () => ({ reason: \"\" }))))",
    "'\"Timeot\"' is not assignable to parameter of type '\"ExecutionError\" | \"InvalidArgs\" | \"Timeout\"'."
  ],
  [
    "find.pipe(Tool.onError((call) => call.pipe(Recovery.fallback(\"CircuitOpen\", Effect.succeed(1)))))",
    "'\"CircuitOpen\"' is not assignable to parameter of type '\"ExecutionError\" | \"InvalidArgs\" | \"Timeout\""
  ],
  [
    "find.pipe(Tool.onError((call) => call.pipe(Recovery.escalate(\"InvalidArgs\"), Recovery.fix(\"InvalidArgs\", fixer))))",
    "'\"InvalidArgs\"' is not assignable to parameter of type '\"ExecutionError\"'."
  ],
  [
    "find.pipe(Tool.onError((call) => call.pipe(Recovery.standard, Recovery.escalate(\"ExecutionError\", \"InvalidResult\", \"Timeout\"))))",
    "is not assignable to parameter of type '\"Escalation\" | \"ExecutionError\"'."
  ],
  [
    "find.pipe(Tool.onError((call) => call.pipe(Effect.orDie, Recovery.escalate(\"Timeout\"))))",
    "The call fails with none of the errors that this recovers from."
  ],
  [
    "find.pipe(Tool.onError((call) => call.pipe(Recovery.retry({ time: 2 }))))",
    "Did you mean to write 'times'?"
  ],
  ...["Recovery.fallback(\"ExecutionError\"", "Recovery.catchReason(\"Down\""].map((recovery) =>
    [
      `find.pipe(Tool.onError((call) => call.pipe(${recovery}, (_, params) => Effect.as(params, 1)))))`,
      "params: Params[0]) =>",
      "Target signature provides too few arguments. Expected 2 or more, but got 1."
    ] as const
  ),
  [
    "find.pipe(Tool.onError((call) => call.pipe(Recovery.retry(2))))",
    "Argument of type 'number' is not assignable to parameter of type 'RetryOptions<"
  ],
  [
    "find.pipe(Tool.onError((call) => call.pipe(Recovery.circuitBreaker({ hid: true }))))",
    "Did you mean to write 'hide'?"
  ],
  [
    "find.pipe(Tool.onError((call) => call.pipe(Recovery.idempotent({ kei: () => \"\" }))))",
    "'kei' does not exist in type 'IdempotentOptions<never, never>'."
  ],
  [
    "Recovery.policy({ Timeout: { fix: fixer, otherwise: \"escalate\" } })",
    "'fix' does not exist in type 'RetryEntry<Timeout>'."
  ],
  [
    "asText.pipe(Agent.asTool(\"ask\", { ...onFailure, parameters: Schema.Int }))",
    "Type 'Int' is not assignable to type 'Int & \"The parameters have to fit the agent's input.\"'."
  ],
  [
    "asText.pipe(Agent.asTool(\"ask\", { ...onFailure, success: Schema.Int }))",
    "Type 'Int' is not assignable to type 'Int & \"`success` has to be the agent's output.\"'."
  ],
  [
    "asText.pipe(Agent.loopUntil((text) => text.length, { times: 2 }))",
    "Argument of type '(text: string) => number' is not assignable to parameter of type 'Decides<string, boolean, never, never, unknown>'."
  ],
  [
    "asText.pipe(Agent.speculative(\"3\"))",
    "Argument of type 'string' is not assignable to parameter of type 'number'."
  ],
  ["asText.resume({}, {})", "Type '{}' is missing the following properties from type 'readonly Decision[]'"],
  [
    "asText.pipe(Approval.interactive(() => Effect.succeed(true)))",
    "Type 'Effect<boolean, never, never>' is not assignable to type 'Effect<Decision, never, never>'"
  ],
  [
    "Tool.make(\"t\", { effects: \"read\", execute: () => Effect.as(pay.call, undefined) })",
    "",
    "execute calls a tool that may need an approval: say `mayRequestApproval: true`, or handle NotApproved"
  ],
  ["asText.run(1)", "Argument of type 'number' is not assignable to parameter of type 'string'."],
  ["asText.run(\"a\", { id: \"x\" })", "'id' does not exist in type 'RunOptions'."],
  ["Agent.make(\"a\", { tools: [find], onTainted: \"denny\" })", "Did you mean '\"deny\"'?"],
  [
    "Agent.make(\"a\", { tools: [find], onToolError: { ...(off ? { find: Recovery.standard } : {}) } })",
    "onToolError cannot spread a recovery"
  ],
  ["Policy.make(\"p\", () => \"allow\")", "Type 'string' is not assignable to type 'Answer'."],
  [
    "Policy.make(\"p\", ({ tool }) => tool === \"pay\" ? Policy.requireApproval() : Policy.allow)",
    "A policy that may require an approval has to declare it: Policy.make(name, decide, { mayRequestApproval: true })"
  ],
  [
    "Policy.make(\"p\", ({ tool }) => ({ _tag: tool === \"pay\" ? \"RequireApproval\" : \"Allow\", reason: \"\" }))",
    "A policy that may require an approval has to declare it: Policy.make(name, decide, { mayRequestApproval: true })"
  ],
  [
    "Tool.fromJsonSchema(\"t\", { schema: {}, execute: () => Effect.void })",
    "There is no \\\"schema\\\" here. Use parameters."
  ],
  [
    "Tool.fromStandardSchema(\"t\", { parameters: Schema.Struct({}), execute: () => Effect.void })",
    "parameters is a Standard Schema: for a Schema of effect use Tool.make"
  ]
]

/**
 * Misfits whose first line is a short sentence, for any number of an agent's or a tool's errors: the type of the
 * misfit, and the sentence instead of the required type.
 */
const misfits: ReadonlyArray<readonly [program: string, sentence: string, most?: number]> = [
  ["asText.pipe(Agent.andThen(asNumber))", "'\"This agent takes a number, and is given a string.\"'"],
  ["Agent.andThen(asText, asNumber)", "'\"This agent takes a number, and is given a string.\"'"],
  ["asText.pipe(Agent.andThen(find))", "'\"This is no agent: see Agent.make and Agent.fromFunction.\"'"],
  [
    "Agent.branch(\"b\", (n: number) => n > 1, { onTrue: asText, onFalse: asNumber })",
    "'\"This agent takes a string, and is given a number.\"'"
  ],
  [
    "Agent.branch(\"b\", (n: number) => n > 1, { onTrue: asNumber, onFalse: find })",
    "'\"This is no agent: see Agent.make and Agent.fromFunction.\"'"
  ],
  [
    "Agent.route(\"r\", (_: number) => \"a\" as const, { a: asText })",
    "'\"This agent takes a string, and is given a number.\"'"
  ],
  ["Agent.all(\"all\", [asText, find])", "An agent is made by Agent.make or Agent.fromFunction"],
  ["Agent.all(\"all\", [asText, asNumber]).run(1)", "No input fits all of these agents: each takes another type", 160],
  ["Agent.firstOf(\"first\", [asText, find])", "An agent is made by Agent.make or Agent.fromFunction"],
  ["Agent.firstOf(\"first\", [])", "There has to be one agent at least, in a list whose length is known.", 160],
  [
    "Agent.bestOf(asText, { n: 2, judge: asNumber })",
    "'\"The judge has to take the candidates: Agent.Candidates<input, output>.\"'"
  ],
  [
    "Agent.bestOf(asText, { n: 2, judge: Agent.fromFunction(\"j\", (_: Agent.Candidates<string, string>) => Effect.succeed(\"a\")) })",
    "'\"The judge has to answer the number of the best answer.\"'",
    160
  ],
  [
    "Agent.handoff(\"h\", { start: \"asText\", agents: { asText } })",
    "'\"This agent has to take a conversation: give it `input: Prompt.Prompt`.\"'"
  ],
  [
    "Agent.fromFunction(\"f\", (_: string) => Effect.succeed(1)).pipe(Agent.loopUntil((n) => n > 3, { times: 3 }))",
    "\"This agent does not take its own output.\"",
    170
  ],
  ["Agent.make(\"a\", { tools: [find, asText] })", "A tool is made by Tool.make, and of an agent by Agent.asTool"],
  ["Agent.forCalls(\"a\", { tools: [asText] })", "A tool is made by Tool.make, and of an agent by Agent.asTool"],
  [
    "Skill.make(\"one\", { description: \"\", tools: [asText] })",
    "A tool is made by Tool.make, and of an agent by Agent.asTool"
  ],
  ["AiToolkit.toToolkit([asText])", "A tool is made by Tool.make, and of an agent by Agent.asTool"],
  ["find.pipe(Recovery.retry({ times: 2 }))", "\"This recovers a tool's call: use tool.pipe(Tool.onError(...)).\""],
  [
    "find.pipe(Recovery.circuitBreaker({ hide: true }))",
    "\"This recovers a tool's call: use tool.pipe(Tool.onError(...)).\""
  ],
  ...[
    "Recovery.escalate(\"Timeout\")",
    "Recovery.escalateWith(\"Timeout\", () => ({ reason: \"\" }))",
    "Recovery.fallback(\"Timeout\", Effect.succeed(1))",
    "Recovery.fix(\"InvalidArgs\", fixer)",
    "Recovery.catchReason(\"Down\", () => Effect.succeed(1))",
    "Recovery.catchReasons({ Down: () => Effect.succeed(1) })"
  ].map((recovery) =>
    [`find.pipe(${recovery})`, "'\"This recovers a tool's call: use tool.pipe(Tool.onError(...)).\"", 230] as const
  ),
  ...["undefined", "1", "() => undefined", "async () => 1"].map((answer) =>
    [
      `find.pipe(Tool.onError((call) => call.pipe(Recovery.fallback("Timeout", ${answer}))))`,
      "a fallback is an Effect, or a function that answers one: Effect.succeed(value)"
    ] as const
  ),
  ...["Effect.succeed(\"no\")", "Effect.void", "Effect.succeed(undefined)"].map((answer) =>
    [
      `find.pipe(Tool.onError((call) => call.pipe(Recovery.fallback("Timeout", ${answer}))))`,
      "a recovery has the result type of its tool"
    ] as const
  ),
  ["find.pipe(Tool.onError(async () => 1))", "a recovery has the result type of its tool", 170],
  ["find.pipe(Tool.onError(() => undefined))", "a recovery has the result type of its tool", 170],
  ["Tool.make(\"t\", { success: Schema.Int })", "type '\"A tool needs `execute`: the function that runs it.\"", 350],
  [
    "Tool.fromJsonSchema(\"t\", { parameters: {} })",
    "type '\"A tool needs `execute`: the function that runs it.\"",
    350
  ],
  [
    "Agent.fromFunction(\"f\", (_: string) => Effect.succeed(1)).pipe(Agent.asTool(\"ask\", { description: \"\" }))",
    "type '\"Say `parameters` and `success`: only agents of Agent.make say them.\"",
    330
  ],
  [
    "Agent.asTool(\"ask\", { description: \"\" })",
    "type '\"Say `parameters` and `success`: the agent is not known yet.\"",
    330
  ],
  [
    "asText.pipe(Agent.asTool(\"ask\", { description: \"\", ...(off ? { success: Schema.String } : {}) }))",
    "type '\"Say `parameters` and `success` always or never: no condition changes a type.\"",
    500
  ],
  [
    "asText.pipe(Agent.asTool(\"ask\", { description: \"\", paramters: Schema.String }))",
    "There is no \\\"paramters\\\" here. Did you mean \\\"parameters\\\"?",
    120
  ]
]

/** Programs that compile. */
const right: ReadonlyArray<string> = [
  "find",
  "pay",
  "asText",
  "asNumber",
  "fixer",
  "lax",
  "Recovery.standard",
  "Tool.escalate",
  "Tool.make(name, { execute: () => Effect.void })",
  "Tool.make(\"t\", { execute: () => ToolCall.pending(\"job\"), status: () => Effect.void })",
  "Tool.make(\"t\", { execute: () => ToolCall.partial({ succeeded: [1], failed: [{ item: 1, code: \"c\", reason: \"r\" }] }) })",
  "find.pipe(Tool.onError((call) => call.pipe(Recovery.fix(\"InvalidArgs\", fixer), Recovery.retry({ times: 1 }))))",
  "find.pipe(Tool.onError(Recovery.escalate(off ? \"Timeout\" : \"ExecutionError\")))",
  "find.pipe(Tool.onError(Recovery.retry({ times: 1, schedule: Schedule.exponential(\"1 second\") })))",
  "find.pipe(Tool.onError(Recovery.circuitBreaker()))",
  "stored.retry",
  "stored.escalateWith",
  "stored.catchReason",
  "find.pipe(Tool.onError(stored.retry))",
  "find.pipe(Tool.onError((call) => call.pipe(stored.retry, stored.breaker, stored.escalateWith, stored.catchReason)))",
  "Agent.make(\"a\", { tools: [find], onToolError: { find: stored.catchReason } })",
  "Recovery.policy(stored.table)",
  "Agent.make(\"a\", { tools: [find], defaults: { onError: Recovery.policy(stored.table) } })",
  "find.pipe(Tool.onError(Recovery.idempotent()))",
  "find.pipe(Tool.onError(Recovery.fallback(\"Timeout\", Effect.succeed(1))))",
  "find.pipe(Tool.onError(Recovery.fallback(\"Timeout\", (_, params) => Effect.as(params, 1))))",
  "find.pipe(Tool.onError(Recovery.catchReasons({ Down: (_, params) => Effect.as(params, 1) })))",
  "Agent.make(\"a\", { tools: [find], onToolError: { find: Recovery.fallback(\"Timeout\", (_, params) => Effect.as(params, 1)) } })",
  "find.pipe(Tool.onError((call) => call.pipe(Recovery.catchReasons({ Down: () => Effect.succeed(1) }))))",
  "Agent.make(\"a\", {})",
  "Agent.make(\"a\", { tools: [find, pay], defaults: { onError: off ? lax : Recovery.standard } })",
  "Agent.make(\"a\", { tools: [find, pay], onToolError: { find: Recovery.escalate(\"Timeout\"), pay: lax } })",
  "Agent.make(\"a\", { skills: [Skill.make(\"one\", { description: \"\", tools: [find] }), Skill.make(\"two\", { description: \"\" })] })",
  "Agent.make(\"a\", { tools: [Tool.make(\"t\", { success: Schema.Number, execute })], policies: [Policy.make(\"p\", () => Policy.allow)] })",
  "Agent.make(\"a\", { onModelError: (error) => error.isRetryable ? ModelError.retry({ times: 1 }) : ModelError.rethrow })",
  "asText.pipe(Agent.asTool(\"ask\", onFailure))",
  "asText.pipe(Agent.asTool(\"ask\", { description: \"\" }))",
  "asText.pipe(Approval.interactive((call) => Effect.succeed(Approval.approve(call))))",
  "Agent.all(\"all\", off ? [asText] : [asText, asText])",
  "asText.pipe(Agent.andThen(Agent.fromFunction(\"length\", (text: string) => Effect.succeed(text.length))))",
  "asText.pipe(Agent.provide(IdempotencyLedger.layerMemory))",
  "Agent.all(\"all\", [asText, asText])",
  "Agent.firstOf(\"first\", [asText, asText])",
  "asText.run(\"go\")",
  "Stream.runDrain(asText.stream(\"go\"))",
  "asText.start(\"go\")",
  "asText.resume({}, [])",
  "asNumber.report(1)",
  "AiToolkit.fromTool(AiTool.make(\"t\"), () => Effect.void)",
  "AiToolkit.toToolkit([find], { defaults: { onError: lax } })"
]

/** None of them is `0`: the compiler's message has their types. */
const shown = (expression: string): string => `${header}export const program: 0 = ${expression}\n`

describe("the compiler", () => {
  const said = messages("messages", [
    ...[...wrong, ...misfits].map(([program]) => `${header}export const program = ${program}\n`),
    ...right.map(shown)
  ])
  clean("messages")

  for (const [index, [program, says, below = ""]] of wrong.entries()) {
    it(`reports the fault: ${program}`, () => {
      const first = said[index]!.map((message) => message.split("\n", 1)[0]!)
      assert.isTrue(first.some((line) => line.includes(says)), first.join("\n"))
      assert.include(said[index]!.join("\n"), below)
    })
  }

  for (const [index, [program, sentence, most = 310]] of misfits.entries()) {
    it(`reports a misfit in a sentence: ${program}`, () => {
      const about = said[wrong.length + index]!
      const first = about.map((message) => message.split("\n", 1)[0]!)
      assert.include(first[0] ?? "", sentence)
      assert.isAtMost(first[0]!.length, most, first[0])
      // One mistake is one message.
      assert.lengthOf(about, 1, about.join("\n"))
    })
  }

  for (const [index, program] of right.entries()) {
    it(`infers the type: ${program}`, () => {
      const about = said[wrong.length + misfits.length + index]!
      assert.lengthOf(about, 1, about.join("\n"))
      const type = /^TS\d+: Type '(.*)' is (?:not assignable to type '0'|missing)/s.exec(about[0]!.split("\n")[0]!)?.[1]
      assert.isDefined(type, about[0])
      assert.notMatch(type!, /\b(any|unknown)\b/)
    })
  }
})
