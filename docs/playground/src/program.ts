/** The program of a choice, as three files: the agent that a visitor would write, its world, and its run. */
import { type Choice, type Declaration, type Declared, type FaultName, isOfApproval } from "./choice.ts"

/** The names of a program that depend on its tool. */
const domains = {
  read: {
    variable: "FindOrder",
    name: "find_order",
    service: "findOrder",
    description: "Finds an order by its number",
    error: "OrdersDown",
    text: "details",
    success: "Order ${order} is on its way.",
    input: "Where is my order 7?",
    arguments: "{ order: 7, details: \"status and date of delivery\" }",
    fallback: "Order 7 was packed yesterday."
  },
  write: {
    variable: "Refund",
    name: "refund",
    service: "payBack",
    description: "Refunds an order",
    error: "BankDown",
    text: "reason",
    success: "Order ${order} is refunded.",
    input: "Please refund my order 7.",
    arguments: "{ order: 7, reason: \"The parcel arrived broken\" }",
    fallback: "A colleague refunds it tomorrow."
  }
} as const

const has = ({ declared }: Declared, ...names: ReadonlyArray<Declaration>): boolean =>
  names.some((name) => declared.has(name))

const when = (condition: boolean, ...lines: ReadonlyArray<string>): ReadonlyArray<string> => condition ? lines : []

/** The tags that `Recovery.escalate` names: those that the operators above it leave. */
const escalatedTags = (program: Declared): ReadonlyArray<string> => {
  const answered = has(program, "fallback")
  if (program.tool === "read") return ["InvalidArgs", ...when(!answered, "ExecutionError", "Timeout")]
  return ["InvalidArgs", "OutcomeUnknown", ...when(has(program, "key"), "LedgerUnavailable")]
}

const recoveries = (program: Declared): ReadonlyArray<string> => {
  const { fallback, name } = domains[program.tool]
  // A repair of the arguments of a write is a guess: the tool has to be named.
  const named = program.tool === "write" ? `{ tools: ["${name}"] }` : ""
  return [
    ...when(has(program, "fix"), `Recovery.fix("InvalidArgs", JsonRepair.fixer(${named}))`),
    ...when(has(program, "retry"), "Recovery.retry({ times: 2 })"),
    ...when(
      has(program, "fallback"),
      // A write without an answer fails with `OutcomeUnknown`: the compiler refuses a fallback for it.
      [
        "Recovery.fallback(",
        `        ${program.tool === "read" ? "[\"ExecutionError\", \"Timeout\"]" : "\"OutcomeUnknown\""},`,
        `        Effect.succeed("${fallback}"),`,
        "        { degraded: { source: \"the list of yesterday\" } }",
        "      )"
      ].join("\n")
    ),
    ...when(
      has(program, "escalate"),
      `Recovery.escalate(${escalatedTags(program).map((tag) => `"${tag}"`).join(", ")})`
    )
  ]
}

const execution = (program: Declared): ReadonlyArray<string> => {
  const { service } = domains[program.tool]
  return has(program, "key")
    ? [
      "execute: ({ order }) =>",
      "  Effect.flatMap(",
      "    ToolCall.ToolCall,",
      `    ({ idempotencyKey }) => ${service}(order, idempotencyKey)`,
      "  )"
    ]
    : [`execute: ({ order }) => ${service}(order)`]
}

const options = (program: Declared): ReadonlyArray<string> => {
  const { description, text } = domains[program.tool]
  const execute = execution(program)
  const last = execute.at(-1)!
  return [
    `description: "${description}",`,
    `parameters: Schema.Struct({ order: Schema.Int, ${text}: Schema.String }),`,
    "success: Schema.String,",
    `effects: "${program.tool}",`,
    ...when(has(program, "key"), "idempotency: true,"),
    ...when(has(program, "approval"), "needsApproval: true,"),
    "timeout: \"2 seconds\",",
    ...(has(program, "compensate")
      ? [...execute.slice(0, -1), `${last},`, "compensate: ({ order }) => takeBack(order)"]
      : execute)
  ]
}

const toolLines = (program: Declared): ReadonlyArray<string> => {
  const { name, variable } = domains[program.tool]
  const recovered = recoveries(program)
  return [
    `const ${variable} = Tool.make("${name}", {`,
    ...options(program).map((line) => `  ${line}`),
    ...(recovered.length === 0 ? ["})"] : [
      "}).pipe(",
      "  Tool.onError((call) =>",
      "    call.pipe(",
      recovered.map((line) => `      ${line}`).join(",\n"),
      "    )",
      "  )",
      ")"
    ])
  ]
}

const agentLines = (program: Declared): ReadonlyArray<string> => {
  const fields = [
    "instructions: \"You help the customers of a shop.\"",
    `tools: [${domains[program.tool].variable}]`,
    ...when(has(program, "standard"), "defaults: { onError: Recovery.standard }"),
    ...when(has(program, "compensate"), "compensation: {}"),
    ...when(has(program, "approval"), "approval: { timeToLive: \"2 hours\" }"),
    ...when(
      has(program, "model-retry"),
      "onModelError: (error) =>\n    error.isRetryable ? ModelError.retry({ times: 2, restart: true }) : ModelError.rethrow"
    )
  ]
  return ["export const agent = Agent.make(\"support\", {", fields.map((field) => `  ${field}`).join(",\n"), "})"]
}

const list = (names: ReadonlyArray<string>): string => `{ ${names.join(", ")} }`

/** Returns the file of the agent: the only one that the declarations change. */
export const agentFile = (program: Declared): string => {
  const { service } = domains[program.tool]
  const core = [
    "Agent",
    ...when(has(program, "model-retry"), "ModelError"),
    ...when(has(program, "fix", "retry", "fallback", "escalate", "standard"), "Recovery"),
    "Tool",
    ...when(has(program, "key"), "ToolCall")
  ]
  return [
    `import ${list([...when(has(program, "key", "fallback"), "Effect"), "Schema"])} from "effect"`,
    `import ${list(core)} from "@recourse/core"`,
    ...when(has(program, "fix"), "import { JsonRepair } from \"@recourse/json-repair\""),
    `import ${list([service, ...when(has(program, "compensate"), "takeBack")])} from "./world.ts"`,
    "",
    ...toolLines(program),
    "",
    ...agentLines(program),
    ""
  ].join("\n")
}

const plans: Readonly<Record<FaultName, string | undefined>> = {
  none: undefined,
  "no-answer": "FaultPlan.onService(tool, { type: \"service_hangs\" }, TIMES)",
  "lost-answer": "FaultPlan.onService(tool, { type: \"service_answer_lost\" }, TIMES)",
  down: "FaultPlan.onService(tool, { type: \"service_fails\" }, TIMES)",
  "cut-arguments": "FaultPlan.onTool(tool, { type: \"malformed_arguments\" }, TIMES)",
  "bad-result": "FaultPlan.onTool(tool, { type: \"invalid_result\" }, TIMES)",
  // The model fails after it has read the result.
  "rate-limit": "FaultPlan.onModel({ type: \"rate_limit\", retryAfter: 3000 }, FROM)",
  "cut-stream": "FaultPlan.onModel({ type: \"stream_cut\", after: 3 }, FROM)",
  rejected: "FaultPlan.onApproval(tool, { type: \"approval_rejected\", reason: \"Ask for a picture first\" }, TIMES)",
  edited:
    "FaultPlan.onApproval(tool, {\n  type: \"approval_edited\",\n  arguments: { order: 8, reason: \"The parcel was order 8\" }\n}, TIMES)",
  late: "FaultPlan.onApproval(tool, { type: \"approval_late\" }, TIMES)"
}

const planOf = ({ fault, often }: Pick<Choice, "fault" | "often">): string => {
  const times = often === "always" && !isOfApproval(fault) ? "times: 100" : "times: 1"
  return plans[fault]?.replace("TIMES", `{ ${times} }`).replace("FROM", `{ from: 2, ${times} }`) ?? ""
}

/** Returns the file of the world: the service as a double, the model as a script, and the fault. */
export const worldFile = ({ fault, often, tool }: Pick<Choice, "fault" | "often" | "tool">): string => {
  const domain = domains[tool]
  const isRead = tool === "read"
  return `import { Data, Effect } from "effect"
import { FaultPlan, ScriptedModel, SideEffects } from "@recourse/testing"

const tool = "${domain.name}"

export class ${domain.error} extends Data.TaggedError("${domain.error}") {}

// A double of the service: it records each request, and does one thing once for each key.
const request = (details: object, key?: string) =>
  Effect.gen(function*() {
    const service = yield* SideEffects.SideEffects
    yield* service.request({ tool, key, details${isRead ? ", read: true" : ""} })
  }).pipe(Effect.mapError(() => new ${domain.error}()))

export const ${domain.service} = (order: number, key?: string) =>
  Effect.as(request({ order }, key), \`${domain.success}\`)
${isRead ? "" : "\nexport const takeBack = (order: number) => request({ takeBack: order })\n"}
// A model that plays a script: it corrects refused arguments once, and reports every other result.
export const model: ScriptedModel.Behaviour = ({ prompt }) => {
  const results = prompt.content
    .flatMap((message) => message.role === "tool" ? message.content : [])
    .filter((part) => part.type === "tool-result")
  const last = results.at(-1)
  const text = typeof last?.result === "string" ? last.result : JSON.stringify(last?.result)
  if (last === undefined || (results.length === 1 && text.includes("invalid_arguments"))) {
    return ScriptedModel.call(tool, ${domain.arguments})
  }
  if (text.includes("outcome_unknown")) {
    return ScriptedModel.text("I do not know if it was done. A colleague checks it.")
  }
  return ScriptedModel.text(last.isFailure ? "I am sorry, it was not possible." : \`Good news: \${text}\`)
}

export const input = "${domain.input}"

export const faults = FaultPlan.make([${planOf({ fault, often })}])
`
}

/** Returns the file that runs the agent in its world, in virtual time. */
export const runFile = ({ fault }: Pick<Choice, "fault">): string =>
  `import { Effect } from "effect"
import { Simulation, Subject, Timeline } from "@recourse/testing"
import { agent } from "./agent.ts"
import { faults, input, model } from "./world.ts"

const subject = Subject.make({ agent, scenarios: { default: { input, model } } })
const options = { plan: faults${fault === "cut-stream" ? ", streaming: true" : ""} }
const observed = await Effect.runPromise(
  Simulation.run(subject, subject.scenarios["default"]!, options)
)

console.log(Timeline.render(observed))
console.log("Outcome:", Simulation.outcome(observed))
`
