/**
 * Runs the whole MCP conformance suite, both ways, and compares the outcome with the table in packages/mcp/CONFORMANCE.md. `--write` writes it.
 */
import { readFileSync, writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { againstClient, againstServer, type Outcome, scenarios } from "./suite.ts"

const page = fileURLToPath(new URL("../../CONFORMANCE.md", import.meta.url))
const [begin, end] = ["<!-- conformance -->", "<!-- /conformance -->"]

/** Why a scenario fails, by the beginning of its name. */
const reasons: ReadonlyArray<readonly [prefix: string, why: string]> = [
  ["completion", "`Mcp.layerServer` serves tools: completions are registered with `McpServer.prompt`"],
  ["resources", "`Mcp.layerServer` serves tools: resources are registered with `McpServer.resource`"],
  ["prompts", "`Mcp.layerServer` serves tools: prompts are registered with `McpServer.prompt`"],
  ["tools-call-with-logging", "calls tell progress, and no log messages"],
  ["tools-call-sampling", "tools do not ask the client's model"],
  ["elicitation-sep1034-client", "effect's client has no elicitation"],
  ["elicitation", "tools ask for approvals, and not for forms of their own"],
  ["server-sse", "the scenario sends another protocol version than the session has, which effect refuses with 400"]
]

const whyOf = ({ failed, scenario, why }: Outcome): string =>
  failed === 0
    ? ""
    : reasons.find(([prefix]) => scenario.startsWith(prefix))?.[1] ?? `**unexpected**: ${why.join("; ")}`

const row = (side: string) => (outcome: Outcome): string =>
  `| ${side} | ${outcome.scenario} | ${
    outcome.failed > 0 ? "fails" : outcome.passed > 0 ? "passes" : "nothing checked"
  } | ${whyOf(outcome)} |`

const all = await scenarios()
const isAuth = (name: string) => name.startsWith("auth/")
const table = [
  "| side | scenario | outcome | why |",
  "| --- | --- | --- | --- |",
  ...(await againstServer(all.server)).map(row("server")),
  ...(await againstClient(all.client.filter((name) => !isAuth(name)))).map(row("client")),
  `| client | auth/* (${
    all.client.filter(isAuth).length
  }) | not run | OAuth is \`@recourse/mcp/OAuth\`, which the suite's client does not use |`
].join("\n")

// The formatter pads cells.
const plain = (text: string) => text.replace(/ {2,}/g, " ").replace(/-{3,}/g, "---").trim()

const text = readFileSync(page, "utf8")
const [before = "", rest = ""] = text.split(begin)
const [recorded = "", after = ""] = rest.split(end)
process.stdout.write(`${table}\n`)
if (process.argv.includes("--write")) writeFileSync(page, `${before}${begin}\n\n${table}\n\n${end}${after}`)
else if (plain(recorded) !== plain(table)) {
  process.stderr.write("packages/mcp/CONFORMANCE.md has another table: run with --write\n")
  process.exitCode = 1
}
