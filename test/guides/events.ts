/** The page of events, made from their schemas and the comments of the schemas. */
import { AgentEvent } from "@recourse/core"
import type { Schema } from "effect"

interface Block {
  readonly text: string
  readonly fields: ReadonlyMap<string, string>
  readonly spreads: ReadonlyArray<string>
}

const plain = (comment: string): string =>
  comment.replaceAll(/^\s*\* ?@(?:category|since) .*$/gm, "").replaceAll(/^\s*\* ?/gm, "").replaceAll(/\s+/g, " ")
    .replaceAll(/\{@link (\w+)\}/g, "`$1`").trim()

const comment = "(?:\\/\\*\\*((?:(?!\\*\\/)[^])*)\\*\\/\\n)?"

/** Interfaces of common fields, and the events with the fields of one of them. */
const interfaces = new RegExp(`${comment}interface (\\w+)Parts(?: extends (\\w+)Parts)? \\{([^]*?)\\n\\}`, "g")
const events = new RegExp(
  `${comment}export const (\\w+) = (?:(\\w+)Event|eventWith\\((\\w+)\\))\\("\\w+", \\{([^]*?)\\}\\)\\n(?=\\n|$)`,
  "g"
)

const commentsOf = (body: string): ReadonlyMap<string, string> =>
  new Map(
    [...body.matchAll(/\/\*\*((?:(?!\*\/)[^])*)\*\/\s*(?:readonly )?(\w+):/g)].map(
      ([, text = "", field = ""]) => [field, plain(text)]
    )
  )

const fieldsName = (base: string): string =>
  base === "run" ? "CommonFields" : `${base[0]!.toUpperCase()}${base.slice(1)}Fields`

/** Reads the declarations of the source: their comments, those of their fields, and the declarations that they include. */
const blocksOf = (source: string): ReadonlyMap<string, Block> => {
  const blocks = new Map<string, Block>()
  for (const [, text = "", name = "", base, body = ""] of source.matchAll(interfaces)) {
    const spreads = base === undefined ? [] : [`${base}Fields`]
    blocks.set(`${name}Fields`, { text: plain(text), fields: commentsOf(body), spreads })
  }
  for (const [, text = "", name = "", short, long, body = ""] of source.matchAll(events)) {
    blocks.set(name, { text: plain(text), fields: commentsOf(body), spreads: [fieldsName((short ?? long)!)] })
  }
  return blocks
}

interface Ast {
  readonly _tag: string
  readonly literal?: unknown
  readonly types?: ReadonlyArray<Ast>
  readonly annotations?: Readonly<Record<string, unknown>>
}

const names: Readonly<Record<string, string>> = {
  String: "text",
  Number: "number",
  Boolean: "boolean",
  Arrays: "list",
  Objects: "object",
  Unknown: "any value",
  Undefined: "none"
}

const typeOf = (ast: Ast): string =>
  ast._tag === "Literal"
    ? `\`${JSON.stringify(ast.literal)}\``
    : ast._tag === "Union"
    ? [...new Set((ast.types ?? []).map(typeOf))].filter((type) => type !== "none").join(", ")
    : names[ast._tag] ?? "object"

/** Fields that have the same meaning in each event. */
const usual: Readonly<Record<string, string>> = {
  agent: "Name of the agent.",
  arguments: "Arguments of the call.",
  argumentsHash: "SHA-256 of the arguments as JSON with sorted keys, in hex.",
  attempt: "Number of the attempt; 1 is the first.",
  budget: "Kind of the cap, named as in `Budget`.",
  callId: "Id of the call, unique in the agent's run.",
  circuit: "Name of the circuit.",
  code: "Code of the failure.",
  data: "Content of the file.",
  decision: "Kind of the decision.",
  delay: "Milliseconds until the next one.",
  delta: "The piece of text.",
  error: "Tag of the error.",
  fileName: "Name of the file.",
  finishReason: "Reason for the end of the answer.",
  fix: "Number of the fix; 1 is the first.",
  fixer: "Name of the fixer.",
  host: "Host of the server.",
  input: "Input of the run.",
  inputTokens: "Tokens of the request.",
  isFailure: "True if the result is a failure.",
  limit: "The cap.",
  mediaType: "Media type of the content.",
  message: "The text of the report.",
  outcome: "The outcome.",
  outputTokens: "Tokens of the answer.",
  partId: "Id of the text or reasoning, unique in the agent's run.",
  pendingCallId: "Id by which a person decides.",
  progress: "Completed share or amount.",
  requestedAt: "Time of the request, in milliseconds since the epoch.",
  result: "The result.",
  retry: "Number of the retry; 1 is the first.",
  severity: "Urgency of the failure.",
  skill: "Name of the skill.",
  taskId: "Id of the task.",
  text: "The text.",
  threshold: "Share of the cap, from 0 to 1.",
  title: "Title of the source.",
  tool: "Name of the tool.",
  toolCalls: "Number of tool calls of the answer.",
  total: "Amount of the whole.",
  transcript: "Conversation of the run.",
  turn: "Number of the agent's model call; 1 is the first.",
  url: "Address of the source.",
  usage: "Use of the run and of all agents nested in it.",
  used: "The used amount.",
  version: "Version of the events."
}

const fieldText = (blocks: ReadonlyMap<string, Block>, event: string, field: string): string => {
  const block = blocks.get(event)
  if (block === undefined) return ""
  return block.fields.get(field) ??
    block.spreads.map((spread) => fieldText(blocks, spread, field)).find((text) => text !== "") ?? ""
}

type Fields = Readonly<
  Record<string, Schema.Top & { readonly ast: Ast & { readonly context?: { readonly isOptional: boolean } } }>
>

const rowsOf = (
  blocks: ReadonlyMap<string, Block>,
  event: string,
  fields: Fields,
  names: ReadonlyArray<string>
): ReadonlyArray<string> =>
  names.length === 0 ? [] : [
    "| field | type | meaning |",
    "| --- | --- | --- |",
    ...names.map((name) => {
      const ast = fields[name]!.ast
      const optional = ast.context?.isOptional === true ? "?" : ""
      return `| \`${name}${optional}\` | ${typeOf(ast)} | ${
        (fieldText(blocks, event, name) || (usual[name] ?? "")).replaceAll("|", "\\|")
      } |`
    }),
    ""
  ]

const table = (rows: ReadonlyArray<string>): ReadonlyArray<string> => {
  const cells = rows.map((row) => row.split(/(?<!\\)\|/).slice(1, -1).map((cell) => cell.trim()))
  const width = (column: number): number =>
    Math.max(3, ...cells.map((row) => [...(row[column] ?? "")].length * Number(!/^-+$/.test(row[column] ?? ""))))
  return rows.map((row, index) =>
    row === "" ?
      row :
      `| ${
        cells[index]!.map((cell, column) => /^-+$/.test(cell) ? "-".repeat(width(column)) : cell.padEnd(width(column)))
          .join(" | ")
      } |`
  )
}

/** Returns the page. */
export const eventsPage = (source: string): string => {
  const blocks = blocksOf(source)
  const members = AgentEvent.AgentEvent.members as ReadonlyArray<{ readonly fields: Fields }>
  const common = Object.keys(members[0]!.fields).filter((name) =>
    name !== "_tag" && members.every(({ fields }) => name in fields)
  )
  return [
    "# Events",
    "",
    "You read the events of a run, from `agent.stream` or a listener. Here is each event with its fields. [Streaming and events](streaming.md) explains their order, and which of",
    "them a user may see. A question mark marks a field that may be absent.",
    "",
    "Generated by `test/guides/signals.test.ts` from the schemas of `AgentEvent`.",
    "",
    "## Fields of all events",
    "",
    ...table(rowsOf(blocks, "CommonFields", members[0]!.fields, common)),
    ...members.flatMap(({ fields }) => {
      const tag = (fields["_tag"] as unknown as { readonly schema: { readonly literal: string } }).schema.literal
      const own = Object.keys(fields).filter((name) => name !== "_tag" && !common.includes(name))
      return [`## \`${tag}\``, "", blocks.get(tag)?.text ?? "", "", ...table(rowsOf(blocks, tag, fields, own))]
    })
  ].join("\n")
}
