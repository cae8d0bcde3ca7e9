/** Random programs: an agent with tools, skills, policies, recovery at two levels, and agents within it. */
import type { Draw } from "../draw.ts"
import { policy, recovery } from "./recoveries.ts"
import { type GeneratedTool, leftOf, tool } from "./tools.ts"
import { Writer } from "./writer.ts"

export interface Program {
  readonly source: string
  readonly mayBeRefused: boolean
}

/** Imports of every program. */
export const header =
  `import { Agent, AiToolkit, Approval, ModelError, Policy, Reconciliation, Recovery, Skill, Tool, ToolCall } from "@recourse/core"
import { Effect, Schema } from "effect"
import { Tool as AiTool } from "effect/ai"
import {
  Alpha, Beta, Broken, Coded, declared, declaredAs, Down, Lost, Mine, OwnConstructor, OwnEscalation, OwnExecutionError, OwnInvalidArgs,
  OwnNotApproved, OwnTimeout, OwnToString, Refused, widened, widenedTool, type World
} from "../../world.ts"
`

/** A key in an object: `__proto__` without brackets is none, but sets the object's prototype. */
const keyed = (key: string): string => key === "__proto__" ? `["${key}"]` : key

/** Names that every object has a property of. */
const inherited = ["toString", "__proto__", "constructor", "valueOf", "hasOwnProperty"]

/** A record of which each entry may be there only sometimes. */
const record = ({ draw }: Writer, entries: ReadonlyArray<readonly [key: string, value: string]>): string => {
  const written = entries.map(([key, value]) =>
    draw.chance(20) && value === "Recovery.standard"
      ? `${keyed(key)}: c.flag() ? ${value} : undefined,`
      : `${keyed(key)}: ${value},`
  )
  return `{ ${written.join(" ")} }`
}

const verdict = (writer: Writer): string =>
  writer.draw.pick([
    "Policy.allow",
    "Policy.deny(\"no\")",
    "Policy.substitute(\"a\")",
    "c.flag() ? Policy.allow : Policy.requireApproval()",
    "c.verdict()",
    "Effect.map(Beta, () => Policy.allow)"
  ])

const mayAsk = /requireApproval|c\.verdict/

const policies = (writer: Writer, tool: string | undefined): string => {
  const said = verdict(writer)
  // Declared and never answered, it counts for the type as well, so that no declaration is needed.
  const declared = mayAsk.test(said) ? ", { mayRequestApproval: true }" : ""
  const one = `Policy.make("p", () => ${said}${declared})`
  const only = tool !== undefined && writer.draw.chance(30) ? `${one}.pipe(Policy.forTools("${tool}"))` : one
  return `[${writer.draw.chance(30) ? `${only}, ${one}` : only}]`
}

const defaults = (writer: Writer): string => {
  const { draw } = writer
  if (!draw.chance(55)) return ""
  const one = policy(writer)
  switch (draw.below(8)) {
    case 2:
      return `defaults: { onError: c.flag() ? ${one} : ${policy(writer)} },`
    case 3:
      return `defaults: { onError: c.flag() ? ${one} : undefined },`
    case 4:
      return `...(c.flag() ? { defaults: { onError: ${one} } } : {}),`
    case 5:
      return `defaults: c.flag() ? { onError: ${one} } : {},`
    case 6: {
      if (!draw.chance(15)) return `defaults: { onError: ${one} },`
      writer.mayBeRefused = true
      const wide = writer.fresh("wide")
      writer.lines.push(
        `const ${wide}: Recovery.RecoveryPolicy<"InvalidArgs" | "ExecutionError" | "Timeout", never, never> = Recovery.policy({ InvalidArgs: "escalate" })`
      )
      return `defaults: { onError: ${wide} },`
    }
    default:
      return `defaults: { onError: ${one} },`
  }
}

const recoveries = (writer: Writer, tools: ReadonlyArray<GeneratedTool>): string => {
  const { draw } = writer
  const entries = tools.filter(() => draw.chance(45)).map((tool): readonly [string, string] => {
    const one = recovery(writer, leftOf(tool)).code
    return [tool.name, draw.chance(12) ? `c.flag() ? ${parenthesized(one)} : Recovery.standard` : one]
  })
  if (entries.length === 0) return ""
  const code = record(writer, entries)
  return draw.chance(10) ? `onToolError: c.flag() ? ${code} : undefined,` : `onToolError: ${code},`
}

const tainted = ({ draw }: Writer): string =>
  draw.pick([
    "onTainted: \"deny\",",
    "onTainted: \"deny\",",
    "onTainted: \"approve\",",
    "onTainted: { allow: [] },",
    "onTainted: c.flag() ? \"deny\" : \"approve\",",
    "onTainted: c.flag() ? \"deny\" : undefined,",
    "...(c.flag() ? { onTainted: \"deny\" as const } : {}),"
  ])

const compensation = (writer: Writer): string =>
  writer.option(
    "compensation",
    writer.draw.pick(["{ report: c.left }", "{ report: (left) => Effect.andThen(Beta, c.left(left)) }", "{}"]),
    35
  ).code

const parenthesized = (code: string): string => code.startsWith("(call)") ? `(${code})` : code

const builtIn = (writer: Writer): ReadonlyArray<string> =>
  writer.draw.chance(12) ? [writer.draw.pick(["Tool.escalate", "Tool.throwException"])] : []

/** An agent as a tool of another one. */
const nested = (writer: Writer, name: string): GeneratedTool => {
  const inner = agent(writer, name, 1, "input: Schema.Struct({ n: Schema.Int }),")
  const { draw } = writer
  const code = draw.chance(15) ? `widened(${inner})` : inner
  const schemas = draw.pick([
    "parameters: Schema.Struct({ n: Schema.Int }), success: Schema.NonEmptyString",
    "success: Schema.NonEmptyString",
    ""
  ])
  // A widened value has no schemas in its type any more.
  const said = code === inner ? schemas : "parameters: Schema.Struct({ n: Schema.Int }), success: Schema.NonEmptyString"
  const options = `{ description: ""${said === "" ? "" : `, ${said}`}${
    draw.chance(40) ? ", effects: \"read\" as const" : ""
  } }`
  const variable = writer.declare("tool", `${code}.pipe(Agent.asTool("${name}", ${options}))`)
  return { variable, name, left: { tags: new Set(["InvalidArgs"]), reasons: new Set() }, mayAsk: true }
}

/** An expression for an agent; its dependencies are written before it. */
const agent = (writer: Writer, prefix: string, most: number, input: string): string => {
  const { draw } = writer
  const tools: Array<GeneratedTool> = []
  const count = 1 + draw.below(most)
  const { onlyReads } = writer
  writer.onlyReads = draw.chance(20)
  for (let i = 1; i <= count; i++) {
    const other = draw.pick(inherited)
    const name = draw.chance(12) && !tools.some((one) => one.name === other) ? other : `${prefix}${i}`
    tools.push(input === "" && draw.chance(15) ? nested(writer, name) : tool(writer, name, tools))
  }
  writer.onlyReads = onlyReads
  // A tool that asks, and that only other tools call: only their types reveal it.
  const isHidden = ({ mayAsk, variable }: GeneratedTool) =>
    mayAsk && writer.lines.some((line) => line.includes(`${variable}.call`)) && draw.chance(60)
  tools.splice(0, tools.length, ...tools.filter((one) => !isHidden(one)))
  const inSkill = draw.chance(12) && tools.length > 0 ? tools.splice(0, 1) : []
  const skill = inSkill.map((one) => `Skill.make("one", { description: "", tools: [${one.variable}] })`)
  const skills = skill.length === 0 ? "" : [
    `skills: [${draw.chance(50) ? skill[0]! : writer.declare("skill", skill[0]!)}],`,
    draw.pick(["skill: \"one\" as const,", "", "skill: () => Effect.as(c.act(new Broken()), \"one\"),"])
  ].join(" ")
  const model = draw.chance(15)
    ? `onModelError: ${
      draw.pick([
        "() => ModelError.respondWith(\"a\")",
        "() => c.decide(ModelError.rethrow, new Broken())",
        "() => Effect.map(Beta, () => ModelError.retry({ times: 1 }))"
      ])
    },`
    : ""
  const onTainted = draw.chance(25) ? tainted(writer) : ""
  const options = [
    input,
    skills,
    `tools: [${[...tools.map(({ variable }) => variable), ...builtIn(writer)].join(", ")}],`,
    recoveries(writer, [...tools, ...inSkill]),
    defaults(writer),
    // Of the tools that are left: a name that the agent does not have is refused.
    writer.option("policies", policies(writer, [...tools, ...inSkill][0]?.name), 30).code,
    onTainted,
    compensation(writer),
    model,
    "budget: { turns: 6, duration: \"3 minutes\" }"
  ].filter((option) => option !== "")
  const name = writer.declare("agent", `Agent.make("${prefix}", {\n    ${options.join("\n    ")}\n  })`)
  return draw.chance(1)
    ? ((writer.mayBeRefused = true), `${name}.pipe(Agent.provide(ModelError.layer(() => Effect.fail(new Mine()))))`)
    : name
}

export const generate = (draw: Draw): Program => {
  const writer = new Writer(draw)
  const made = agent(writer, "t", 3, "")
  return {
    source: `${header}
export const program = (c: World) => {
  ${writer.lines.join("\n  ")}
  return ${made}
}

export const types: 0 = declared(program)
`,
    mayBeRefused: writer.mayBeRefused
  }
}
