/**
 * Havoc: real processes that execute runs, an external bank, and people, while processes are killed, stopped and frozen, the database restarts, and another version is
 * deployed. Afterwards the book of the bank is compared with the runs, the people and the audit.
 *
 * `pnpm --filter @recourse/durable havoc --host sql|cluster|sqlite --minutes 10 [--runners 3] [--seed 1] [--every 200]` starts a PostgreSQL server of its own, or makes a file.
 */
import { Approval, type Audit, Runs } from "@recourse/core"
import { Durable, RunStore, Signal } from "@recourse/durable"
import { Context, Effect, Layer, Option, Stream } from "effect"
import { fork } from "node:child_process"
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { seeded } from "../../../packages/core/test/support/seeded.ts"
import { notesOf, stores } from "../chief.ts"
import type { Booking } from "./bank.ts"
import { Books, type Known, opOf } from "./books.ts"
import { Fleet } from "./fleet.ts"
import { havocAgents, kinds, patiently } from "./havocAgents.ts"
import { requestedProblems, requestTwice } from "./requested.ts"
import { type Host, hosted, openDatabase } from "./havocHost.ts"

/** Kinds and duration of the disturbances. */
export interface HavocOptions {
  readonly host: Host
  readonly seconds: number
  readonly runners: number
  readonly seed: number
  /** Milliseconds between two starts. */
  readonly every: number
  readonly say: (line: string) => void
}

const linesOf = <A>(file: string): ReadonlyArray<A> =>
  readFileSync(file, "utf8").split("\n").flatMap((line) => {
    try {
      return [JSON.parse(line) as A]
    } catch {
      // The process was killed while it wrote the line.
      return []
    }
  })

const openBank = (book: string): Promise<{ readonly url: string; readonly close: () => void }> =>
  new Promise((resolve) => {
    writeFileSync(book, "")
    const bank = fork(join(import.meta.dirname, "bank.ts"), [book], {
      execArgv: ["--disable-warning=ExperimentalWarning"]
    })
    bank.once(
      "message",
      (port) => resolve({ url: `http://127.0.0.1:${String(port)}/`, close: () => void bank.disconnect() })
    )
  })

/** The decision of a person about a write: the same whenever it is made. */
const isRejected = (runId: string): boolean => runId.startsWith("refused") || Number(runId.split("-")[1]) % 40 === 2

const isTrip = (runId: string): boolean => /^(failing|cancelled|refused|undone)/.test(runId)

/** Starts, decides, signals and cancels, from a process that executes no runs. */
const people = Effect.fnUntraced(function*(
  start: (runId: string) => Effect.Effect<unknown, unknown>,
  { every, seconds, seed }: HavocOptions,
  decided: Map<string, Map<string, "approved" | "rejected">>
) {
  const integers = seeded(seed)
  const random = () => integers() / 2 ** 32
  const runs = yield* Runs.Runs
  const ids: Array<string> = []
  const later = (effect: Effect.Effect<unknown, unknown, RunStore.RunStore>, most: number) =>
    Effect.forkDetach(Effect.delay(Effect.retry(effect, { times: 120, schedule: patiently }), random() * most))
  const starting = Effect.gen(function*() {
    const until = Date.now() + seconds * 1000
    for (let n = 0; Date.now() < until; n++) {
      const kind = kinds[n % kinds.length]!
      const runId = `${kind}-${n}`
      yield* Effect.retry(start(runId), patiently)
      ids.push(runId)
      if (kind === "signalled") yield* later(Signal.send(runId, "parcel", `value ${runId}`), 4000)
      if (kind === "cancelled" || kind === "recalled") yield* later(runs.cancel(runId), 3000)
      if (kind === "undone") {
        const requested = Effect.andThen(runs.wait(runId), requestTwice(runId))
        yield* later(Effect.provideService(requested, Runs.Runs, runs), 2000)
      }
      yield* Effect.sleep(every)
    }
  })
  const decide = Effect.gen(function*() {
    for (const { pending, runId } of yield* runs.list({ status: "waiting", limit: 200 })) {
      if (runId.startsWith("cancelled")) continue
      const ofRun = decided.get(runId) ?? new Map<string, "approved" | "rejected">()
      decided.set(runId, ofRun)
      const decisions = pending.map((call) => {
        ofRun.set(opOf(call.callId), isRejected(runId) ? "rejected" : "approved")
        return isRejected(runId) ? Approval.reject(call, "no", { by: "Ada" }) : Approval.approve(call, { by: "Ada" })
      })
      // A decision whose answer was lost is refused when it is repeated.
      yield* Effect.ignore(runs.decide(runId, decisions))
    }
  })
  yield* Effect.forkScoped(
    Effect.forever(Effect.andThen(Effect.ignore(decide), Effect.sleep("200 millis")))
  )
  yield* starting
  return ids
})

/** Waits for the ends of runs, and returns the ids of those that have ended in time. */
const endedOf = Effect.fnUntraced(function*(ids: ReadonlyArray<string>) {
  const runs = yield* Runs.Runs
  const ended = new Set<string>()
  const wait = (runId: string) => Effect.map(Effect.retry(runs.wait(runId), patiently), () => void ended.add(runId))
  yield* Effect.timeoutOption(Effect.forEach(ids, wait, { concurrency: 50, discard: true }), "5 minutes")
  return ended
})

/** Waits for the ends of the children of a run: one that is cancelled with its parent may end later. */
const endedOfChildren = Effect.fnUntraced(function*(runId: string) {
  const runs = yield* Runs.Runs
  const children = (yield* runs.list({ agent: "leaf", idPrefix: `${runId}/`, limit: 10 })).map(({ runId }) => runId)
  yield* endedOf(children)
  return children
})

/** All that outsiders know of the runs. */
interface Outsiders {
  readonly book: ReadonlyArray<Booking>
  readonly audit: ReadonlyArray<Audit.AuditRecord>
  readonly decided: ReadonlyMap<string, ReadonlyMap<string, "approved" | "rejected">>
}

const outsidersOf = (directory: string, decided: Outsiders["decided"]): Outsiders => ({
  decided,
  book: linesOf<Booking>(join(directory, "book")),
  audit: readdirSync(directory).filter((name) => name.startsWith("audit-")).flatMap((name) =>
    linesOf<Audit.AuditRecord>(join(directory, name))
  )
})

/** The events of a run, and its lines of the audit. */
const recordsOf = (runId: string, { audit }: Outsiders) =>
  Effect.flatMap(Runs.Runs, (runs) =>
    Effect.map(
      // Events of a child that has not ended continue.
      Effect.map(Effect.timeoutOption(Stream.runCollect(runs.events(runId)), "10 seconds"), Option.getOrElse(() => [])),
      (events): Pick<Known, "audit" | "events"> => ({
        events: Array.from(events),
        audit: audit.filter((record) => record.runId === runId)
      })
    ))

/** Checks the children of a run, which has one unless it was cancelled before it started it. */
const checkChildren = Effect.fnUntraced(function*(books: Books, runId: string, outsiders: Outsiders) {
  const runs = yield* Runs.Runs
  const children = yield* endedOfChildren(runId)
  if (children.length > 1 || (children.length === 0 && runId.startsWith("parent"))) {
    books.wrong.push(`${runId} has ${children.length} children`)
  }
  for (const child of children) {
    const { status } = yield* runs.get(child)
    const booked = outsiders.book.filter((line) => line.run === runId && line.op === "l")
    books.check({
      ...yield* recordsOf(child, outsiders),
      runId: child,
      status,
      booked,
      decided: new Map(),
      signal: undefined,
      notes: 0
    })
  }
})

/** Checks a run that has ended. */
const checkRun = Effect.fnUntraced(function*(
  books: Books,
  runId: string,
  outsiders: Outsiders,
  say: HavocOptions["say"]
) {
  const runs = yield* Runs.Runs
  const { failure, status } = yield* runs.get(runId)
  if (failure !== undefined && !runId.startsWith("failing")) say(`${runId} failed: ${JSON.stringify(failure)}`)
  const isRequested = runId.startsWith("undone")
  const own = outsiders.book.filter((line) => line.run === runId)
  books.check({
    ...yield* recordsOf(runId, outsiders),
    runId,
    status,
    booked: own.filter(({ kind, op }) => op !== "l" && !(isRequested && kind === "undo")),
    decided: outsiders.decided.get(runId) ?? new Map(),
    signal: runId.startsWith("signalled") ? `value ${runId}` : undefined,
    notes: yield* notesOf(runId)
  })
  if (/^(parent|recalled)/.test(runId)) yield* checkChildren(books, runId, outsiders)
  if (!isRequested) return
  const { compensated, problems } = yield* requestedProblems(runId, own)
  books.counts.requested += compensated
  books.wrong.push(...problems)
})

/** Reads all that is known when each run has ended. */
const reconcile = Effect.fnUntraced(function*(
  books: Books,
  ids: ReadonlyArray<string>,
  directory: string,
  decided: Outsiders["decided"],
  say: HavocOptions["say"]
) {
  const store = yield* RunStore.RunStore
  const ended = yield* endedOf(ids)
  // The requests of people have ended: the book is read behind them.
  for (const runId of ids) if (runId.startsWith("undone") && ended.has(runId)) yield* requestTwice(runId)
  for (const runId of ids) if (runId.startsWith("recalled") && ended.has(runId)) yield* endedOfChildren(runId)
  const outsiders = outsidersOf(directory, decided)
  let executions = 0
  for (const runId of ids) {
    const stored = (yield* store.get(runId))!
    executions += stored.epoch
    // Otherwise its writes of the meantime are in no file that was read.
    if (ended.has(runId)) yield* checkRun(books, runId, outsiders, say)
    else books.wrong.push(`${runId} has not ended: ${stored.status}`)
  }
  return executions
})

/** Runs the havoc. Returns the counts, and a sentence for each book that is wrong. */
export const havoc = async (options: HavocOptions) => {
  const { host, say, seconds } = options
  const books = new Books()
  const directory = mkdtempSync(join(tmpdir(), "recourse-havoc-"))
  const database = await openDatabase(host, directory)
  const { address } = database
  const bank = await openBank(join(directory, "book"))
  const fleet = new Fleet({ address, bank: bank.url, directory, host, lease: 4000, pause: 100 }, options, database)
  const close = (): void => {
    fleet.close()
    bank.close()
    database.close()
    if (books.wrong.length === 0) rmSync(directory, { recursive: true, force: true })
    else say(`the books are in ${directory}`)
  }
  const interrupted = (): void => {
    close()
    process.exit(130)
  }
  process.once("SIGINT", interrupted).once("SIGTERM", interrupted)
  try {
    const rows = hosted(host, address, stores(address, "havoc", () => undefined), "client")
    const clientOf = (version: string) => {
      const { Desk, Leaf, Trip } = havocAgents({ bank: bank.url, version, pause: 100 })
      const start = (runId: string) =>
        isTrip(runId) ? Trip.start(runId, `go ${runId}`) : Desk.start(runId, `go ${runId}`)
      return Effect.map(Layer.build(Durable.layerClient([Desk, Trip, Leaf])), (context) => ({
        runs: Context.get(context, Runs.Runs),
        start: (runId: string) => Effect.provide(start(runId), context)
      }))
    }
    const program = Effect.gen(function*() {
      const decided = new Map<string, Map<string, "approved" | "rejected">>()
      const [one, two] = yield* Effect.all([clientOf("1"), clientOf("2")])
      yield* Effect.promise(() => fleet.start())
      const disturbing = fleet.disturb(seconds * 1000)
      // Runs of the deployed version start at its processes.
      const start = (runId: string) => (fleet.counts.deployed > 0 ? two : one).start(runId)
      const within = Effect.provideService(Runs.Runs, two.runs)
      const ids = yield* within(people(start, options, decided))
      yield* Effect.promise(() => disturbing)
      say(`${seconds} s of havoc: ${JSON.stringify(fleet.counts)}`)
      const calm = Date.now()
      const executions = yield* within(reconcile(books, ids, directory, decided, say))
      say(`the last run has ended, and all books are read, ${Math.round((Date.now() - calm) / 1000)} s later`)
      return { ...fleet.counts, executions }
    })
    const disturbed = await Effect.runPromise(program.pipe(Effect.provide(rows), Effect.scoped))
    return { ...disturbed, ...books.counts, wrong: books.wrong }
  } finally {
    process.removeListener("SIGINT", interrupted).removeListener("SIGTERM", interrupted)
    close()
  }
}
