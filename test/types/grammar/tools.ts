/** Random tools. */
import { recovery } from "./recoveries.ts"
import { and, type Left, type Writer } from "./writer.ts"

export interface GeneratedTool {
  readonly variable: string
  readonly name: string
  readonly left: Left
  /** True if its type may need an approval. */
  readonly mayAsk: boolean
}

const errors = ["Down", "Lost", "OwnEscalation", "OwnTimeout", "OwnToString", "OwnConstructor"]

/** Tags of errors of the program's own. */
const tagOf = (error: string): string =>
  error === "OwnToString" ? "toString" : error === "OwnConstructor" ? "constructor" : error.replace(/^Own/, "")

/** A program that goes one of two ways. */
const either = (one: string, other: string): string =>
  `() => Effect.gen(function*() { return c.flag() ? yield* ${one} : yield* ${other} })`

interface Execution {
  readonly code: string
  readonly reasons: ReadonlyArray<string>
  /** True if it fails with `NotApproved`, so that the tool has to declare it; absent if it calls no tool. */
  readonly mayRequestApproval?: boolean
}

/** A call of another tool in an executor. */
const within = ({ mayAsk, variable }: GeneratedTool, { draw }: Writer): Execution => {
  const code = draw.pick([
    () => `${variable}.call`,
    () => `${variable}.call`,
    () => `${variable}.call.pipe(Effect.retry({ times: 1 }))`,
    () => `${variable}.call.pipe(Effect.timeout("1 second"))`,
    () => `Effect.flatMap(${variable}.call, () => c.act(new Mine()))`,
    () => `Effect.orElseSucceed(${variable}.call, () => "hidden")`,
    () => `Effect.mapError(${variable}.call, () => new Mine())`
  ])()
  return { code: `() => ${code}`, reasons: [], mayRequestApproval: mayAsk && !/"hidden"|mapError/.test(code) }
}

const execution = (writer: Writer, earlier: ReadonlyArray<GeneratedTool>): Execution => {
  const { draw } = writer
  const known = draw.chance(75) ? draw.some(errors.slice(0, draw.chance(25) ? errors.length : 2)) : []
  const reasons = known.map(tagOf)
  const act = `c.act(${known.map((error) => `new ${error}()`).join(", ")})`
  switch (draw.below(13)) {
    case 4: {
      // An asking tool without a type that reveals it: its caller hides the question.
      const asking = writer.declare(
        "asking",
        `Tool.make("asking", { parameters: Schema.Struct({ n: Schema.Int }), success: Schema.NonEmptyString, effects: "read", needsApproval: true, execute: () => ${act} })`
      )
      const hiding = draw.pick([
        `Effect.orElseSucceed(${asking}.call, () => "hidden")`,
        `Effect.mapError(${asking}.call, () => new Mine())`
      ])
      return { code: `() => ${hiding}`, reasons: [], mayRequestApproval: false }
    }
    case 5:
      return { code: `() => Effect.flatMap(Alpha, () => ${act})`, reasons }
    case 6:
      return { code: either(act, `ToolCall.escalate({ reason: "r" })`), reasons }
    case 7:
      return { code: either(act, `ToolCall.partial({ succeeded: [1], failed: [] })`), reasons }
    case 8:
      return { code: "() => c.act(c.wide())", reasons: [] }
    case 9:
      return { code: `() => c.act(${draw.pick(["\"text\"", "undefined"])})`, reasons: [] }
    case 10:
    case 12:
      return earlier.length === 0
        ? { code: `() => ${act}`, reasons }
        : within(draw.pick(earlier), writer)
    case 11:
      return { code: either(act, `ToolCall.pending("job")`), reasons }
    default:
      return { code: `() => ${act}`, reasons }
  }
}

const recovered = (writer: Writer, tool: string, left: Left): { readonly code: string; readonly left: Left } => {
  if (!writer.draw.chance(60)) return { code: tool, left }
  const { code, left: after } = recovery(writer, left)
  return { code: `${tool}.pipe(Tool.onError(${code}))`, left: after }
}

const ownTool = (writer: Writer, name: string, earlier: ReadonlyArray<GeneratedTool>): GeneratedTool => {
  const { draw } = writer
  const execute = execution(writer, earlier)
  const kinds = writer.onlyReads ? ["read"] as const : ["read", "idempotent", "write", "write"] as const
  const effects = writer.option("effects", `"${draw.pick(kinds)}" as const`, writer.onlyReads ? 90 : 70)
  const timeout = writer.option("timeout", "\"2 seconds\" as const", 40)
  const approval = writer.option(
    "needsApproval",
    draw.pick(["true as const", "() => c.flag()", "() => Effect.map(Beta, () => c.flag())"]),
    15
  )
  const asks = execute.mayRequestApproval === true
    ? "mayRequestApproval: true,"
    : execute.mayRequestApproval === undefined
    ? draw.chance(12)
      ? draw.pick(["mayRequestApproval: true,", "...(c.flag() ? { mayRequestApproval: true as const } : {}),"])
      : ""
    : draw.pick(["", "", "mayRequestApproval: true,", "...(c.flag() ? { mayRequestApproval: true as const } : {}),"])
  const trust = draw.chance(25)
    ? draw.pick(["trust: \"untrusted\",", "trust: c.flag() ? \"untrusted\" : \"trusted\","])
    : ""
  const idempotency = writer.option(
    "idempotency",
    draw.pick([
      "true as const",
      "{ key: () => \"k\" }",
      "{ reconcile: () => Effect.map(Beta, () => Reconciliation.completed(\"a\")) }"
    ]),
    15
  )
  const compensate = effects.code.includes("read")
    ? { code: "" }
    : writer.option(
      "compensate",
      draw.pick([
        "() => c.act(new Mine())",
        "({ n }: { readonly n: number }, result: string) => c.act(n, result)",
        "() => Effect.andThen(Beta, c.act(new Mine()))",
        "() => Effect.andThen(ToolCall.ToolCall, c.act())"
      ]),
      25
    )
  const failure = writer.option("failure", `declaredAs("${draw.pick(["toString", "__proto__", "not_found"])}")`, 12)
  const status = writer.option("status", "(_: string) => c.act(new Lost())", 6)
  const named = draw.chance(6) ? `c.name("${name}")` : `"${name}"`
  const success = draw.chance(6) ? "Schema.NonEmptyString.pipe(Schema.decodeTo(Coded))" : "Schema.NonEmptyString"
  const code = [
    `Tool.make(${named}, {`,
    `    parameters: Schema.Struct({ n: Schema.Int }), success: ${
      success.startsWith("Schema.NonEmptyString.pipe") ? "Coded" : success
    },`,
    `    ${
      [effects, timeout, approval, idempotency, compensate, failure, status].map((option) => option.code).join(" ")
    } ${trust} ${asks}`,
    `    execute: ${execute.code}`,
    "  })"
  ].join("\n  ")
  const reasons = new Set(execute.reasons)
  const write = effects.certain && effects.code.includes("\"write\"")
  const timed = timeout.certain && effects.certain && idempotency.code === ""
  const tags = new Set([
    "InvalidArgs",
    ...(reasons.size > 0 ? ["ExecutionError"] : []),
    ...(timed ? [write ? "OutcomeUnknown" : "Timeout"] : []),
    ...(idempotency.certain ? ["OutcomeUnknown", "LedgerUnavailable"] : [])
  ])
  const made = recovered(writer, code, { tags, reasons })
  let tool = made.code
  if (draw.chance(3) && /execute: \(\) => c\.act\((new|c|\))/.test(execute.code)) tool = `widenedTool(${tool})`
  return {
    variable: writer.declare("tool", tool),
    name,
    left: tool === made.code ? made.left : none,
    mayAsk: approval.code !== "" || asks !== ""
  }
}

const none: Left = { tags: new Set(), reasons: new Set() }

/** A tool of `effect/ai`, converted. */
const converted = (writer: Writer, name: string): GeneratedTool => {
  const definition =
    `AiTool.make("${name}", { parameters: Schema.Struct({ n: Schema.Int }), success: Schema.NonEmptyString, failure: Refused })`
  const options = [
    writer.option("effects", "\"write\" as const", 50),
    writer.option("timeout", "\"2 seconds\" as const", 60)
  ]
  const code = `AiToolkit.fromTool(${definition}, () => c.act(new Refused()), { ${
    options.map(({ code }) => code).join(" ")
  } })`
  const made = recovered(writer, code, {
    tags: new Set(["InvalidArgs", "ExecutionError"]),
    reasons: new Set(["Refused"])
  })
  return { variable: writer.declare("tool", made.code), name, left: made.left, mayAsk: true }
}

export const tool = (writer: Writer, name: string, earlier: ReadonlyArray<GeneratedTool>): GeneratedTool =>
  writer.draw.chance(8) ? converted(writer, name) : ownTool(writer, name, earlier)

/** Errors of a tool for an agent's recovery. */
export const leftOf = ({ left }: GeneratedTool): Left => ({ ...left, tags: and(left.tags) })
