/** Publishes the results of a whole run: as JSON, and as the page that is made of it. */
import { execFileSync } from "node:child_process"
import { readFileSync, writeFileSync } from "node:fs"
import { cpus, loadavg } from "node:os"
import { fileURLToPath } from "node:url"
import { type HostResults, hostSection } from "./durable/hostSection.ts"
import type { DurableResults } from "./durable/Measured.ts"
import { withSection } from "./durable/section.ts"
import { page } from "./page.ts"
import type { Origin, Results } from "./Results.ts"

const docs = new URL("../../docs/", import.meta.url)

const git = (...args: ReadonlyArray<string>): string =>
  execFileSync("git", args, { encoding: "utf8", cwd: fileURLToPath(docs) }).trim()

export const origin = (): Origin => ({
  date: new Date().toISOString().slice(0, 10),
  commit: git("rev-parse", "--short=8", "HEAD") +
    (git("status", "--porcelain", "packages") === "" ? "" : " with changes"),
  node: process.version.slice(1),
  cpu: cpus()[0]?.model ?? "unknown",
  cpus: cpus().length,
  load: Math.round(loadavg()[0]! * 10) / 10
})

export const publish = (results: Results): void => {
  writeFileSync(new URL("benchmark-results.json", docs), `${JSON.stringify(results, null, 2)}\n`)
  writeFileSync(new URL("performance.md", docs), page(results))
}

/** Writes the section on costs of the page on sizing. */
export const publishDurable = (results: DurableResults): void => {
  writeFileSync(new URL("durable-results.json", docs), `${JSON.stringify(results, null, 2)}\n`)
  const file = new URL("sizing.md", docs)
  writeFileSync(file, withSection(readFileSync(file, "utf8"), results))
}

const [from, to] = ["<!-- made by bench:durable --hosts, do not edit -->", "<!-- end of generated part -->"] as const

/** Writes the section on hosts of the page that measures them. */
export const publishHosts = (results: HostResults): void => {
  writeFileSync(new URL("durable-hosts-results.json", docs), `${JSON.stringify(results, null, 2)}\n`)
  const file = new URL("hosts-measured.md", docs)
  const page = readFileSync(file, "utf8")
  const [start, end] = [page.indexOf(from), page.indexOf(to)]
  if (start < 0 || end < start) throw new Error("The page has no place for the section")
  writeFileSync(file, `${page.slice(0, start + from.length)}\n\n${hostSection(results)}\n\n${page.slice(end)}`)
}
