/** The command of the havoc: see `havoc.ts`. */
import { parseArgs } from "node:util"
import { havoc } from "./havoc.ts"
import { hosts } from "./havocHost.ts"

const { values } = parseArgs({
  options: {
    host: { type: "string", default: "sql" },
    minutes: { type: "string", default: "2" },
    runners: { type: "string", default: "3" },
    seed: { type: "string", default: "1" },
    every: { type: "string", default: "200" }
  }
})
const host = hosts.find((one) => one === values.host)
if (host === undefined) throw new Error(`--host is one of ${hosts.join(", ")}`)

const { wrong, ...counts } = await havoc({
  host,
  seconds: Number(values.minutes) * 60,
  runners: Number(values.runners),
  seed: Number(values.seed),
  every: Number(values.every),
  say: (line) => void process.stdout.write(`${line}\n`)
})
for (const [name, count] of Object.entries(counts)) process.stdout.write(`${name}: ${count}\n`)
process.stdout.write(`wrong books: ${wrong.length}\n`)
for (const problem of wrong) process.stdout.write(`  ${problem}\n`)
process.exit(wrong.length === 0 ? 0 : 1)
