/**
 * Mutation testing: changes the code in small ways, and counts the changes that no test notices.
 *
 * `pnpm mutate call` changes one room of the core (or `words`, or a package's folder name; several of the core with
 * commas between, because loading the tests takes longer than many mutants do). It prints the surviving mutants, and
 * compares each file's score with the recorded one (`scripts/mutation/scores.json`). It fails if a score falls below it
 * or below the file's aim; `--write` records the present scores. A mutant that no test can detect is listed in
 * `scripts/mutation/equivalent.json` with the reason, and not counted. `--file gate.ts` takes one file, `--tests
 * gate,policy` these test files only. `--each 1000` gives up on a mutant after a second of tests, for a first look.
 * `--again` runs only the survivors of the area's last run. `--check` runs no test: it lists the files of measured
 * areas that are below their aim or have no score, and fails if a mutant is listed as equivalent whose line is gone.
 */
import { spawn } from "node:child_process"
import { existsSync, globSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { changeOf, type Job, keyOf, type Mutant, type Outcome } from "./mutation/job.ts"

type Scores = Record<string, Record<string, number>>
type Result = Mutant & Pick<Outcome, "status" | "by">

const root = join(import.meta.dirname, "..")
const scoresFile = join(root, "scripts/mutation/scores.json")
const readJson = (path: string): unknown => JSON.parse(readFileSync(path, "utf8"))
const scores = readJson(scoresFile) as Scores
const equivalents = readJson(join(root, "scripts/mutation/equivalent.json")) as ReadonlyArray<
  Pick<Mutant, "file" | "context" | "original" | "replacement"> & { readonly why: string }
>
const equivalent = new Set(equivalents.map((known) => changeOf({ ...known, file: join(root, known.file) })))
const [area = "", ...flags] = process.argv.slice(2)
const option = (name: string): string | undefined =>
  flags.includes(`--${name}`) ? flags[flags.indexOf(`--${name}`) + 1] : undefined

/** Rooms and words in which an undetected change costs money or leaks a secret. */
const strict = new Set(["idempotency", "approval", "call", "projection", "run"])
const strictWords = new Set(["Budget.ts", "Quarantine.ts", "Redaction.ts", "RedactionRules.ts"])
const aimOf = (room: string, name: string): number =>
  strict.has(room) || (room === "words" && strictWords.has(name)) ? 95 : 90

const isRoom = (name: string): boolean => existsSync(join(root, "packages/core/src/internal", name))
const folderOf = (name: string): string =>
  isRoom(name)
    ? `packages/core/src/internal/${name}/`
    : name === "words"
    ? "packages/core/src/"
    : `packages/${name}/src/`
const sourcesOf = (name: string, file = "*.ts"): ReadonlyArray<string> =>
  globSync(`${folderOf(name)}${isRoom(name) || name === "words" ? "" : "**/"}${file}`, { cwd: root }).toSorted()

if (area === "--check") {
  for (const [room, files] of Object.entries(scores)) {
    for (const path of sourcesOf(room)) {
      const name = path.slice(folderOf(room).length)
      const score = files[name]
      if (score === undefined || score < aimOf(room, name)) {
        process.stdout.write(`${room}/${name}: ${score ?? "not measured"}, aim ${aimOf(room, name)} %\n`)
      }
    }
  }
  for (const { context, file } of equivalents) {
    if (existsSync(join(root, file)) && readFileSync(join(root, file), "utf8").includes(context)) continue
    process.stderr.write(`${file}: "${context}" is listed as equivalent and not there\n`)
    process.exitCode = 1
  }
  process.exit()
}

const areas = area.split(",")
const isCore = areas.every((name) => isRoom(name) || name === "words")
const sources = area === "" || (areas.length > 1 && !isCore)
  ? []
  : areas.flatMap((name) => sourcesOf(name, option("file")))
if (sources.length === 0) {
  process.stderr.write(
    "usage: pnpm mutate <room,room… | words | package | --check> [--file name.ts] [--tests a,b] [--again] [--write]\n"
  )
  process.exit(2)
}

const reports = join(root, "reports")
mkdirSync(reports, { recursive: true })
const reportOf = (name: string): string => join(reports, `mutants-${name}.json`)
const formerOf = (name: string): ReadonlyArray<Result> =>
  existsSync(reportOf(name)) ? readJson(reportOf(name)) as ReadonlyArray<Result> : []

const testFolder = isCore ? "packages/core/test" : `packages/${area}/test`
/** Tests of databases, which are slow: they are run against the stores, not against all of a room. */
const ofStores: Readonly<Record<string, ReadonlyArray<string>>> = {
  idempotency: ["ledger"],
  approval: ["approvals"],
  conversation: ["conversations"],
  foundation: ["approvals", "conversations"]
}
const isStore = (path: string): boolean =>
  /\/(?:(?:sql|keyValue)[A-Za-z]*|conversation\/(?:errors|json|ownerIndex|storeParts|view))\.ts$/.test(path)
/** Replay of an interrupted run from its journal is tested at a durable engine's interruptions. */
const ofJournals = [
  "abandonedAgents",
  "approvals",
  "durable",
  "lists",
  "executionState",
  "owner",
  "streaming",
  "compensationAfterCancel",
  "versions",
  "waits"
]
const names = option("tests")?.split(",")
const named = names && [...new Set(names)].map((name) => `${testFolder}/**/${name}.test.ts`)
const tests = [
  ...named ?? [`${testFolder}/**/*.test.ts`],
  ...isCore && named === undefined ? ofJournals.map((name) => `packages/durable/test/*/${name}.test.ts`) : [],
  ...areas.includes("idempotency") ? ["test/stores/{storeLaw,ledgerSql}.test.ts"] : []
].flatMap((pattern) => globSync(pattern, { cwd: root }))
  // They look at compiled declarations, at packages or at processes, which no mutant changes.
  .filter((path) => !/(?:shownTypes|layout|runMain)\.test\.ts$|\/browser\//.test(path))

const jobFile = join(reports, `${area}-job.json`)
const isDead = ({ status }: Pick<Outcome, "status">): boolean => status === "killed" || status === "timeout"

const patience = 40_000

/** Runs the tests once. A mutant that lets nothing go on is found when the file of outcomes has not been touched for long. */
const runOnce = (job: Job): Promise<"ended" | "stuck"> =>
  new Promise((resolve, reject) => {
    rmSync(job.outcomesFile, { force: true })
    writeFileSync(jobFile, JSON.stringify(job))
    const child = spawn("vitest", ["run", "--config", "vitest.mutate.config.ts"], {
      cwd: root,
      stdio: ["ignore", "ignore", "inherit"],
      detached: true,
      shell: process.platform === "win32",
      // Laws of drawn programs are over in a second with a few of them, and so are not left out.
      env: { RECOURSE_PROGRAMS: "12", RECOURSE_PLANS: "100", ...process.env, MUTATE_JOB: jobFile }
    })
    let stuck = false
    const end = (): void => {
      stuck = true
      process.kill(-child.pid!, "SIGKILL")
    }
    const began = Date.now()
    const watch = setInterval(() => {
      const last = existsSync(job.outcomesFile) ? statSync(job.outcomesFile).mtimeMs : began + 600_000
      if (Date.now() - last > patience) end()
    }, 1_000)
    const stop = (): void => {
      end()
      process.exit(143)
    }
    process.once("SIGTERM", stop)
    child.once("error", reject)
    child.once("exit", () => {
      clearInterval(watch)
      process.removeListener("SIGTERM", stop)
      resolve(stuck ? "stuck" : "ended")
    })
  })

/** The mutants of some files with their outcomes. Known dead ones are not run. */
const outcomesOf = async (
  files: ReadonlyArray<string>,
  tests: ReadonlyArray<string>,
  known: ReadonlyMap<string, Result>
): Promise<ReadonlyArray<Result>> => {
  const job: Job = {
    files: files.map((path) => join(root, path)),
    tests,
    slowest: Number(option("slowest") ?? 1_000),
    each: Number(option("each") ?? 1e9),
    mutantsFile: join(reports, `${area}-mutants.json`),
    outcomesFile: join(reports, `${area}-outcomes.jsonl`),
    durationsFile: join(reports, "durations.json"),
    skip: [],
    equivalent: [...equivalent]
  }
  const outcomes = new Map<string, Result>(known)
  let mutants: ReadonlyArray<Mutant> = []
  for (let round = 0; round < 50; round++) {
    const ended = await runOnce({ ...job, skip: [...outcomes.keys()] })
    mutants = (readJson(job.mutantsFile) as ReadonlyArray<Mutant>).filter((one) => !equivalent.has(changeOf(one)))
    const byId = new Map(mutants.map((mutant) => [mutant.id, mutant]))
    const lines = existsSync(job.outcomesFile) ? readFileSync(job.outcomesFile, "utf8").trim().split("\n") : []
    let running: Mutant | undefined
    for (const line of lines) {
      const entry = JSON.parse(line) as Outcome | { readonly begins: string }
      running = "begins" in entry ? byId.get(entry.begins) : undefined
      if ("begins" in entry) continue
      const { by, id, status } = entry
      const mutant = byId.get(id)!
      outcomes.set(keyOf(mutant), { ...mutant, status, ...by === undefined ? {} : { by } })
    }
    // Tests of a mutant that had not ended when the process did: it blocked them, or ended the process.
    if (running !== undefined) outcomes.set(keyOf(running), { ...running, status: "timeout" })
    const isWhole = mutants.every((mutant) => outcomes.has(keyOf(mutant)))
    if ((ended === "ended" && running === undefined) || isWhole || lines.length === 0) break
  }
  const missing = mutants.filter((mutant) => !outcomes.has(keyOf(mutant)))
  if (missing.length > 0 || mutants.length === 0) {
    process.stderr.write(`${missing.length} of ${mutants.length} mutants were not run: they count as alive\n`)
    process.exitCode = 1
  }
  return mutants.map((mutant) => outcomes.get(keyOf(mutant)) ?? { ...mutant, status: "survived" })
}

const began = Date.now()
const known = flags.includes("--again") ? areas.flatMap(formerOf).filter(isDead) : []
const byKey = (results: ReadonlyArray<Result>) => new Map(results.map((result) => [keyOf(result), result]))
const first = await outcomesOf(sources, tests, byKey(known))
const onStores: Array<Result> = []
for (const name of named === undefined ? areas : []) {
  const stores = sourcesOf(name, option("file")).filter(isStore)
  const tests = ofStores[name]?.map((test) => `test/stores/${test}.test.ts`) ?? []
  const isAlive = (one: Result): boolean => !isDead(one) && stores.some((path) => join(root, path) === one.file)
  if (tests.length > 0 && first.some(isAlive)) {
    onStores.push(...await outcomesOf(stores, tests, byKey(first.filter(isDead))))
  }
}
const better = byKey(onStores)
const results = first.map((one) => isDead(one) ? one : better.get(keyOf(one)) ?? one)
for (const name of areas) {
  const files = new Set(sourcesOf(name, option("file")).map((path) => join(root, path)))
  const others = formerOf(name).filter(({ file }) => !files.has(file))
  writeFileSync(reportOf(name), JSON.stringify([...others, ...results.filter(({ file }) => files.has(file))]))
}

const measured: Record<string, Record<string, number>> = {}
let sum = 0
let alive = 0
for (
  const [room, path] of areas.flatMap((room) => sourcesOf(room, option("file")).map((path) => [room, path] as const))
) {
  const name = path.slice(folderOf(room).length)
  const inRoom = measured[room] ??= {}
  const counted = results.filter(({ file }) => file === join(root, path))
  if (counted.length === 0) {
    inRoom[name] = 100
    continue
  }
  const survivors = counted.filter(({ status }) => status === "survived" || status === "uncovered")
  for (const { line, mutator, original, replacement, status } of survivors) {
    process.stdout.write(
      `${path}:${line} ${mutator}${status === "uncovered" ? " (no test runs it)" : ""}\n` +
        `  - ${original.replaceAll("\n", "\n    ")}\n  + ${replacement.replaceAll("\n", "\n    ")}\n`
    )
  }
  sum += counted.length
  alive += survivors.length
  const killed = counted.length - survivors.length
  const score = Math.floor((killed / counted.length) * 1000) / 10
  const recorded = scores[room]?.[name] ?? 0
  const aim = aimOf(room, name)
  process.stdout.write(
    `${room}/${name}: ${killed} of ${counted.length} mutants killed, ${score} %; recorded ${recorded} %, aim ${aim} %\n`
  )
  inRoom[name] = score
  if (score < Math.max(recorded, aim)) process.exitCode = 1
}
process.stdout.write(`${area}: ${sum - alive} of ${sum} in ${Math.round((Date.now() - began) / 1000)} s\n`)

const sorted = <V>(record: Readonly<Record<string, V>>): Record<string, V> =>
  Object.fromEntries(Object.entries(record).toSorted(([a], [b]) => a < b ? -1 : 1))

if (flags.includes("--write")) {
  const all: Scores = { ...scores }
  for (const [room, files] of Object.entries(measured)) all[room] = sorted({ ...scores[room], ...files })
  writeFileSync(scoresFile, `${JSON.stringify(sorted(all), undefined, 2)}\n`)
}
