/**
 * Holds the core's layout: words, rooms and doors (docs/architecture.md).
 *
 * A word is a public module that defines terms; it imports words and the checks of
 * options only. A room is a folder of `src/internal`; it imports words and the rooms that its line below names. A door is a public module that opens rooms; no room imports one.
 *
 * `node scripts/check-rooms.ts` fails with each import that breaks this, and if the lists of rooms and files in
 * docs/core-files.md are outdated. `--write` writes these lists.
 */
import { globSync, readFileSync, writeFileSync } from "node:fs"
import { dirname, join, normalize } from "node:path"
import { fileURLToPath } from "node:url"

interface Room {
  readonly holds: string
  readonly not: string
  readonly mayImport: ReadonlyArray<string>
}

/** The rooms, from the ground up. */
const rooms: Readonly<Record<string, Room>> = {
  foundation: {
    holds: "parts for any Effect program: hashes, JSON, tags, sequencing",
    not: "a run, a call, a tool",
    mayImport: []
  },
  projection: {
    holds: "from an error or a mark to the texts of model, user, operator",
    not: "listeners and the order of their events",
    mayImport: ["foundation"]
  },
  idempotency: {
    holds: "keys, intents, entries, claims, the stores",
    not: "a call, a run, an error of a tool",
    mayImport: ["foundation"]
  },
  approval: {
    holds: "a paused run as data; the conditions of its resumption",
    not: "running anything",
    mayImport: ["path", "foundation"]
  },
  console: {
    holds: "a run as lines of text for whoever watches it, and questions to the person at the terminal",
    not: "inputs of programs and models",
    mayImport: ["approval", "foundation"]
  },
  history: {
    holds: "changes of a conversation: mended, forgotten, cut",
    not: "a run, a store",
    mayImport: ["projection", "foundation"]
  },
  conversation: {
    holds: "threads and their entries, the stores; the views of the model and of people",
    not: "an agent",
    mayImport: ["run", "path", "approval", "history", "foundation"]
  },
  path: {
    holds: "addresses and ids of runs, agents and calls, and the keys of their entries in a journal",
    not: "an entry, a run",
    mayImport: []
  },
  run: {
    holds: "state and usage of a run; events and spans",
    not: "the model, the executor",
    mayImport: ["path", "approval", "projection", "foundation"]
  },
  model: {
    holds: "one request, one answer; decisions about its failure",
    not: "tools being run, the conversation",
    mayImport: ["run", "foundation"]
  },
  call: {
    holds: "one call: its record, arguments, gate, key, attempts",
    not: "decisions of recovery",
    mayImport: ["run", "path", "approval", "idempotency", "projection", "foundation"]
  },
  recovery: {
    holds: "the public operators; each changes the error type with the behaviour",
    not: "how an attempt is made",
    mayImport: ["call", "run", "path", "idempotency", "projection", "foundation"]
  },
  result: {
    holds: "results of calls: delivered, audited, emitted",
    not: "running a call",
    mayImport: ["call", "run", "path", "path", "approval", "projection", "foundation"]
  },
  tool: {
    holds: "from options to a tool; a tool with its agent's recovery",
    not: "several calls at once",
    mayImport: ["recovery", "result", "call", "run", "path", "approval", "idempotency", "projection", "foundation"]
  },
  round: {
    holds: "the calls of one answer: run, resumed",
    not: "the model",
    mayImport: ["tool", "result", "call", "run", "path", "approval", "projection", "foundation"]
  },
  loop: {
    holds: "the conversation: turns, skills, final answer",
    not: "how one call is run",
    mayImport: ["round", "tool", "result", "model", "run", "path", "approval", "history", "foundation"]
  },
  agent: {
    holds: "agents of users: make, run, resume, combine, as a tool",
    not: "the steps of a turn or of a call",
    mayImport: [
      "loop",
      "round",
      "tool",
      "result",
      "recovery",
      "call",
      "model",
      "run",
      "path",
      "approval",
      "conversation",
      "history",
      "foundation"
    ]
  }
}

const words = new Set([
  "AgentError",
  "AgentEventListener",
  "AgentEventSchema",
  "Budget",
  "Catalogue",
  "ConfigurationError",
  "Guardrail",
  "Journal",
  "ModelProvider",
  "OutputGuard",
  "Policy",
  "Quarantine",
  "Reconciliation",
  "Redaction",
  "RedactionRules",
  "RetryBudget",
  "RunInbox",
  "RunUsage",
  "StoreTimeout",
  "Telemetry",
  "ToolError",
  "ToolInterceptor"
])

const src = join(dirname(fileURLToPath(import.meta.url)), "../packages/core/src")

/** Returns the room of a module; `undefined` for public modules. */
const roomOf = (module: string): string | undefined => /^internal\/([^/]+)\//.exec(module)?.[1]

const problemOf = (from: string, to: string): string | undefined => {
  const room = roomOf(from)
  const target = roomOf(to)
  if (room === undefined) {
    const isOption = to.startsWith("internal/foundation/options/")
    return words.has(from) && !words.has(to) && !isOption
      ? "a word imports words and checks of options only"
      : undefined
  }
  const rule = rooms[room]
  if (rule === undefined) return `${room} is not a room`
  if (target === undefined) return words.has(to) ? undefined : "no room imports a door"
  return target === room || rule.mayImport.includes(target) ? undefined : `${room} may not import ${target}`
}

const problems = globSync("**/*.ts", { cwd: src }).toSorted().flatMap((file) => {
  const from = file.replaceAll("\\", "/").replace(/\.ts$/, "")
  const code = readFileSync(join(src, file), "utf8").replaceAll(/\/\*[\s\S]*?\*\//g, "")
  return [...code.matchAll(/(?:from |import\(|import )"(\.[^"]+)\.ts"/g)].flatMap(([, path = ""]) => {
    const problem = problemOf(from, normalize(join(dirname(from), path)).replaceAll("\\", "/"))
    return problem === undefined ? [] : [`${from} -> ${path}: ${problem}`]
  })
})
/** The first sentence of a file's header. */
const headerOf = (path: string): string => {
  const [, header = ""] = /^\/\*\*([\s\S]*?)\*\//.exec(readFileSync(join(src, path), "utf8")) ?? []
  const [sentence = ""] =
    /^.*?(?:\.(?= )|$)/.exec(header.replaceAll(/\s*\n \*/g, " ").trim().replaceAll(/\s+/g, " ")) ?? []
  if (sentence === "") problems.push(`${path} has no header`)
  return sentence
}

const files = globSync("**/*.ts", { cwd: src }).map((file) => file.replaceAll("\\", "/")).toSorted()

const filesOf = (name: string): string =>
  files.filter((file) => roomOf(file) === name)
    .map((file) => `- [\`${file.split("/").at(-1)}\`](../packages/core/src/${file}): ${headerOf(file)}`)
    .join("\n")

const lists: Readonly<Record<string, string>> = {
  rooms: Object.entries(rooms).toReversed().map(([name, { holds, mayImport, not }]) =>
    `### ${name}\n\nHolds ${holds}. Not: ${not}. Imports ${mayImport.join(", ") || "no room"}.\n\n${filesOf(name)}`
  ).join("\n\n"),
  words: files.filter((file) => words.has(file.slice(0, -3)))
    .map((file) => `- [\`${file}\`](../packages/core/src/${file}): ${headerOf(file)}`).join("\n"),
  doors: files.filter((file) => roomOf(file) === undefined && file !== "index.ts" && !words.has(file.slice(0, -3)))
    .map((file) => `- [\`${file}\`](../packages/core/src/${file}): ${headerOf(file)}`).join("\n")
}

const page = join(src, "../../../docs/core-files.md")
const written = readFileSync(page, "utf8")
const fresh = written.replaceAll(
  /(<!-- generated: (\w+) -->\n)[\s\S]*?(<!-- end -->)/g,
  (_, begin: string, list: string, end: string) => `${begin}\n${lists[list]}\n\n${end}`
)
if (process.argv.includes("--write")) writeFileSync(page, fresh)
else if (written !== fresh) problems.push("docs/core-files.md is not of now: node scripts/check-rooms.ts --write")

for (const problem of problems) process.stdout.write(`${problem}\n`)
process.stdout.write(`${problems.length} problems of layout\n`)
process.exitCode = problems.length === 0 ? 0 : 1
