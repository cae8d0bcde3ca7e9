/** Options that the compiler refuses are refused at run time too, for plain JavaScript: by name, with the nearest one, and by kind of value. */
import { assert, describe, it } from "@effect/vitest"
import { Agent, Approval, Budget, ConfigurationError, Recovery, Tool, ToolRun } from "@recourse/core"
import { Effect, Schema } from "effect"

type Make = (name: unknown, options: unknown) => unknown

const makes = { agent: Agent.make as never as Make, tool: Tool.make as never as Make }
const execute = () => Effect.void
const find = Tool.make("find", { execute })

/** The problem in an error; `undefined` if there is none. */
const problemOf = (kind: keyof typeof makes, options: object): string | undefined => {
  try {
    makes[kind]("x", kind === "tool" ? { execute, ...options } : options)
    return undefined
  } catch (error) {
    assert.instanceOf(error, ConfigurationError.ConfigurationError)
    return error.problem
  }
}

const names = {
  agent: [
    "instructions",
    "input",
    "prompt",
    "output",
    "tools",
    "skills",
    "onToolError",
    "defaults",
    "guardInput",
    "guardOutput",
    "onModelError",
    "budget",
    "policies",
    "onTainted",
    "approval",
    "onBudgetExceeded",
    "concurrency",
    "repeatedFailures",
    "repeatedCalls",
    "resultLimit",
    "prepareTurn",
    "compact",
    "compensation"
  ],
  tool: [
    "description",
    "parameters",
    "success",
    "effects",
    "timeout",
    "onUnknownKeys",
    "resultLimit",
    "toModelOutput",
    "needsApproval",
    "trust",
    "failure",
    "allowIdenticalCalls",
    "coalesce",
    "idempotency",
    "transaction",
    "compensate",
    "status"
  ]
} as const

/** Typing errors of a name. */
const misspelt = (name: string): ReadonlyArray<string> => [
  name.slice(0, 1) + name.slice(2),
  `${name[1]}${name[0]}${name.slice(2)}`,
  `${name.slice(0, 2)}x${name.slice(2)}`,
  name.toUpperCase()
]

/** Values of another kind, and the problem that is named. */
const kinds: ReadonlyArray<readonly [keyof typeof makes, object, string]> = [
  ["agent", { instructions: 1 }, "instructions is 1 and has to be a string or a function"],
  ["agent", { tools: find }, "tools is a single tool and has to be a list: tools: [tool]"],
  ["agent", { tools: [find, "find"] }, "tools holds a string at index 1 that is no tool. Make it with Tool.make"],
  ["agent", { budget: 8 }, "budget is 8 and has to be an object"],
  ["agent", { concurrency: "all" }, "concurrency is \"all\" and has to be a number that is 1 or more or \"unbounded\""],
  ["agent", { onTainted: "aprove" }, "onTainted is \"aprove\". Did you mean \"approve\"?"],
  ["agent", { defaults: { onerror: Recovery.standard } }, "defaults has \"onerror\". It has onError only"],
  ["agent", { onModelError: "retry" }, "onModelError is \"retry\" and has to be a function"],
  ["tool", { description: ["Finds"] }, "description is an array and has to be a string"],
  ["tool", { effects: "none" }, "effects is \"none\" and has to be \"read\" or \"idempotent\" or \"write\""],
  ["tool", { timeout: execute }, "timeout is a function and has to be a duration such as \"5 seconds\""],
  ["tool", { resultLimit: "8000" }, "resultLimit is \"8000\" and has to be a number"],
  ["tool", { parameters: [] }, "parameters is an array and has to be a Schema of effect"],
  ["tool", { success: String }, "success is a function and has to be a Schema of effect"],
  ["tool", { execute: "find" }, "execute is \"find\" and has to be a function that returns an Effect"],
  ["tool", { execute: undefined }, "it needs execute: the function that runs it"],
  ["tool", { idempotency: "order" }, "idempotency is \"order\" and has to be a boolean or an object"]
]

/** Options that are the value of an option, and the problem that is named. */
const nested: ReadonlyArray<readonly [keyof typeof makes, object, string]> = [
  ["agent", { budget: { turn: 8 } }, "there is no option \"budget.turn\". Did you mean \"budget.turns\"?"],
  ["agent", { budget: { maxSteps: 8 } }, "there is no option \"budget.maxSteps\". Use turns"],
  ["agent", { budget: { turns: "8" } }, "budget.turns is \"8\" and has to be an integer >= 0, or Infinity"],
  [
    "agent",
    { budget: { duration: "1 min" } },
    "budget.duration is \"1 min\" and has to be a duration longer than 0, such as \"5 seconds\""
  ],
  ["agent", { budget: { thresholds: 0.8 } }, "budget.thresholds is 0.8 and has to be a list of numbers from 0 to 1"],
  [
    "agent",
    { budget: { thresholds: ["0.8"] } },
    "budget.thresholds is an array and has to be a list of numbers from 0 to 1"
  ],
  ["agent", { concurrency: 0 }, "concurrency is 0 and has to be a number that is 1 or more or \"unbounded\""],
  [
    "agent",
    { approval: { ttl: "1 hour" } },
    "there is no option \"approval.ttl\". There are: timeToLive"
  ],
  [
    "agent",
    { approval: { timeToLive: -1 } },
    "approval.timeToLive is -1 and has to be a duration longer than 0, such as \"5 seconds\""
  ],
  ["agent", { compensation: true }, "compensation is a boolean and has to be an object"],
  [
    "agent",
    { compensation: { after: ["fail"] } },
    "compensation.after is an array and has to be a list of \"failure\" or \"interruption\" or \"rejection\""
  ],
  ["agent", { compact: { maxTokens: 100 } }, "compact.by is null and has to be a function"],
  ["agent", { skills: [{}] }, "skills is an array and has to be a list of skills. Make each with Skill.make"],
  [
    "agent",
    { policies: [() => 1] },
    "policies is an array and has to be a list of policies. Make each with Policy.make"
  ],
  [
    "tool",
    { idempotency: { keys: () => "7" } },
    "there is no option \"idempotency.keys\". Did you mean \"idempotency.key\"?"
  ],
  ["tool", { idempotency: { key: "order" } }, "idempotency.key is \"order\" and has to be a function"],
  [
    "tool",
    { idempotency: { timeToLive: "a day" } },
    "idempotency.timeToLive is \"a day\" and has to be a duration longer than 0, such as \"5 seconds\""
  ]
]

/** Declarations that are no options of an agent or a tool, with values that the compiler refuses. */
const others: ReadonlyArray<readonly [about: string, make: () => unknown, message: string]> = [
  [
    "a retry",
    () => Recovery.retry({ times: 2, schedule: "1 second" } as never),
    "Recovery.retry: schedule is \"1 second\" and has to be a Schedule of effect"
  ],
  ["names of a retry", () => Recovery.retry({ attempts: 2 } as never), "there is no option \"attempts\". Use times"],
  ["no options of a retry", () => Recovery.retry(undefined as never), "its options are undefined"],
  ["a table", () => Recovery.policy({ Timeot: "escalate" } as never), "Did you mean \"Timeout\"?"],
  [
    "an entry of a table",
    () => Recovery.policy({ Timeout: { retries: 2 } } as never),
    "Timeout is an object and has to be \"escalate\" or \"rethrow\" or { retry: { times: 2 }, otherwise: \"escalate\" }"
  ],
  ["a preset's name", () => Recovery.policy("standard" as never), "its options are a string"],
  [
    "a fixer",
    () => find.pipe(Tool.onError(Recovery.fix("InvalidArgs", (() => ({})) as never) as never)),
    "its fixer is a function and has to be an agent"
  ],
  ["default caps", () => Budget.layerDefaults({ trns: 1 } as never), "Did you mean \"budget.turns\"?"],
  ["prices", () => Budget.layerPrices({ m: { in: 1, output: 2 } } as never), "there is no option \"m.in\""],
  [
    "a missing price",
    () => Budget.layerPrices({ m: { input: 1 } } as never),
    "m.output is undefined and has to be a number >= 0"
  ],
  ["a price", () => Budget.layerPrices({ m: { input: "1", output: 2 } } as never), "m.input is \"1\""],
  [
    "a compensated agent",
    () => Agent.make("a", {}).pipe(Agent.compensated({ after: "failure" } as never)),
    "compensation.after is \"failure\" and has to be a list"
  ]
]

/** Objects in place of a schema: of another library, and none. */
const notSchemas: ReadonlyArray<readonly [string, unknown, string]> = [
  [
    "of a library",
    { "~standard": { version: 1, vendor: "valibot", validate: () => ({ value: 1 }) } },
    "is a schema of valibot."
  ],
  [
    "of a function",
    Object.assign(() => 1, { "~standard": { version: 1, vendor: "arktype" } }),
    "is a schema of arktype."
  ],
  ["of a long name", { "~standard": { vendor: "x".repeat(40) } }, "is a schema of Standard Schema."],
  ["that is JSON Schema", { properties: {} }, "is a JSON Schema. Use "],
  ["that is plain", { city: String }, "is a plain object. Wrap it in Schema.Struct"]
]

describe("the check of options", () => {
  for (const kind of ["agent", "tool"] as const) {
    it(`names the nearest option of a misspelt one: ${kind}`, () => {
      for (const name of names[kind]) {
        for (const typed of misspelt(name)) {
          assert.strictEqual(
            problemOf(kind, { [typed]: undefined }),
            `there is no option "${typed}". Did you mean "${name}"?`
          )
        }
      }
    })

    it(`lists the options if none is near: ${kind}`, () => {
      const problem = problemOf(kind, { colour: 1 })
      assert.include(problem, "there is no option \"colour\". There are: ")
      for (const name of names[kind]) assert.include(problem, name)
    })
  }

  it.each(kinds)("names the kind of a value that does not fit: %s %j", (kind, options, problem) => {
    assert.strictEqual(problemOf(kind, options), problem)
  })

  it.each(nested)("names an option of an option that does not fit: %s %j", (kind, options, problem) => {
    assert.strictEqual(problemOf(kind, options), problem)
  })

  it.each(others)("names a value that does not fit in %s", (_, make, message) => {
    assert.throws(make, ConfigurationError.ConfigurationError, message)
  })

  it.each(notSchemas)("names an object in place of a schema %s", (_, value, problem) => {
    assert.include(problemOf("tool", { parameters: value }), `parameters ${problem}`)
    const ofOutput = problemOf("agent", { output: value })
    assert.include(ofOutput, `output ${problem}`)
    assert.notInclude(ofOutput, "Tool.from")
  })

  it("shows no value that may be a secret", () => {
    for (const value of ["sk-12345678901234567890", "a long text that a person has pasted here"]) {
      assert.strictEqual(
        problemOf("tool", { effects: value }),
        "effects is a string and has to be \"read\" or \"idempotent\" or \"write\""
      )
      assert.notInclude(problemOf("tool", { timeout: value }), value)
    }
  })

  it("covers the options of a run, and names the way to stop it", () => {
    const agent = Agent.make("a", {}) as never as Record<"run" | "stream", (input: string, options: object) => unknown>
    const refused = (way: keyof typeof agent, options: object) => {
      try {
        return void agent[way]("go", options)
      } catch (error) {
        return (error as Error).message
      }
    }
    assert.strictEqual(
      refused("run", { abortSignal: new AbortController().signal }),
      "A run: there is no option \"abortSignal\". Use Effect.runPromise(program, { signal })"
    )
    assert.strictEqual(refused("run", { runid: "a" }), "A run: there is no option \"runid\". Did you mean \"runId\"?")
    assert.strictEqual(refused("run", { runId: 7 }), "A run: runId is 7 and has to be a string")
    assert.isUndefined(refused("stream", { runId: "a", bufferSize: 2, streaming: true }))
  })

  it("covers a key that is plain text, and a run for a loop without a name", () => {
    assert.throws(() => Approval.layerKey("a key of at least 32 characters!" as never), /Redacted\.make\(key\)/)
    assert.throws(() => ToolRun.open({ tools: [] } as never, {} as never), /has to be the run's name/)
  })

  it("covers calls of a tool run in the form of another library, and the run continues", async () => {
    const run = await ToolRun.open("loop", { tools: [find] })
    for (const call of [{ id: "c", toolName: "find", input: {} }, { id: "c", function: { name: "find" } }, undefined]) {
      assert.throws(() => run.callPromise(call as never), /a call is \{ id, name, arguments \}/)
      assert.throws(() => run.call(call as never), /a call is \{ id, name, arguments \}/)
    }
    assert.strictEqual((await run.callPromise({ id: "c", name: "find", arguments: {} }))._tag, "Success")
    await run.endPromise()
  })

  it("names the options of other libraries for models, services and servers", () => {
    assert.include(problemOf("agent", { modelSettings: {} }), "Use the option of the model's layer")
    assert.include(problemOf("agent", { deps: 1 }), "Use Effect.provide")
    assert.include(problemOf("agent", { mcpServers: [] }), "Mcp.tools")
    assert.include(problemOf("tool", { id: "t" }), "Use the first argument of Tool.make")
  })

  it("refuses a name that is no string, and non-object options", () => {
    assert.throws(
      () => makes.tool({ name: "x" }, { execute }),
      /its first argument is an object and has to be the tool's name/
    )
    assert.throws(
      () => makes.agent({ tools: [] }, undefined),
      /its first argument is an object and has to be the agent's name/
    )
    assert.throws(() => makes.agent("x", [find]), /its options are an array and have to be an object/)
  })

  it("accepts options that are undefined, and all that the compiler accepts", () => {
    Agent.make("x", {
      tools: [find],
      skills: [],
      defaults: { onError: Recovery.chatSafe },
      concurrency: "unbounded",
      budget: {}
    })
    Tool.make("x", {
      parameters: Schema.Struct({}),
      timeout: 5,
      needsApproval: Effect.succeed(true) as never,
      execute,
      description: undefined
    })
    makes.tool("x", { execute: Object.assign(execute, {}), effects: undefined })
  })
})
