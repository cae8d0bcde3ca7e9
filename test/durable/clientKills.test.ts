/** Calls of client tools in durable runs over real processes that are killed before, at and behind the wait for the page. */
import { assert, describe, it } from "@effect/vitest"
import { Approval, Runs } from "@recourse/core"
import { Durable } from "@recourse/durable"
import { Effect, Layer, Stream } from "effect"
import { type ChildProcess, spawn } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { seed } from "../../packages/core/test/support/operations.ts"
import { bundled } from "../support/bundled.ts"
import type { SqlAddress } from "../support/connections.ts"
import { sqlDatabases } from "../support/servers.ts"
import { stores } from "./chief.ts"
import { guide } from "./guide.ts"

const supported = sqlDatabases.filter(({ isShared, name }) => isShared && !name.startsWith("M"))

/** The moments at which the first process is killed, of about 14: before its first write, in it, at the wait, and behind the page's result. */
const kills = process.env["TEST_KILLS"] === undefined ? [2, 4, 7, 10] : Array.from({ length: 13 }, (_, n) => n + 1)

/** Half of the moments for each database: the seed chooses which of them has the first. */
const killsOf = (database: number): ReadonlyArray<number> =>
  process.env["TEST_KILLS"] === undefined ? kills.filter((_, nth) => (nth + database + seed) % 2 === 0) : kills

interface Office {
  readonly address: SqlAddress
  readonly log: string
  /** Starts a process that runs agents; `killAt` is the moment at which it kills itself. */
  readonly start: (prefix: string, killAt?: number) => ChildProcess
}

const within = async (open: (typeof supported)[number]["open"], test: (office: Office) => Promise<void>) => {
  const directory = mkdtempSync(join(tmpdir(), "recourse-"))
  const log = join(directory, "deeds.log")
  writeFileSync(log, "")
  const { address, close } = await open()
  const processes: Array<ChildProcess> = []
  const start: Office["start"] = (prefix, killAt = 0) => {
    const program = bundled(join(import.meta.dirname, "guide.ts"))
    const options = ["--disable-warning=ExperimentalWarning", program, JSON.stringify(address), log, prefix]
    const started = spawn(process.execPath, [...options, String(killAt)], { stdio: ["ignore", "ignore", "inherit"] })
    processes.push(started)
    return started
  }
  try {
    await test({ address, log, start })
  } finally {
    for (const process of processes) process.kill("SIGKILL")
    await close()
    rmSync(directory, { recursive: true, force: true })
  }
}

const nothing = () => undefined

const clientOf = ({ address, log }: Office, prefix: string) => {
  const { Guide } = guide(log, nothing)
  const layer = Durable.layerClient([Guide], { poll: 50 }).pipe(Layer.provideMerge(stores(address, prefix, nothing)))
  return { Guide, layer }
}

const ended = (process: ChildProcess) =>
  Effect.callback<NodeJS.Signals | null>((resume) => {
    if (process.exitCode !== null || process.signalCode !== null) resume(Effect.succeed(process.signalCode))
    else process.once("exit", (_, signal) => resume(Effect.succeed(signal)))
  })

const places = supported.map(({ name, open }, nth) => ({ name, open, kills: killsOf(nth) }))

describe.each(places)("a run that waits for a page, over processes that are killed: $name", ({ kills, open }) => {
  it("accepts the page's result once, and repeats no call", () =>
    within(open, async (office) => {
      const killedAt = (killAt: number) => {
        const prefix = `c${killAt}`
        const run = `run${killAt}`
        const { Guide, layer } = clientOf(office, prefix)
        const asked = new Set<string>()
        /** The page answers each call that it sees, until the run has ended. */
        const page = Effect.gen(function*() {
          for (;;) {
            const { pending, status } = yield* Guide.poll(run)
            if (status === "completed" || status === "failed") return status
            const [call] = pending
            if (call !== undefined) {
              asked.add(JSON.stringify([call.callId, call.tool, call.code, call.effects]))
              yield* Effect.ignore(Guide.decide(run, [Approval.respond(call, { city: "Rome" })]))
            }
            yield* Effect.sleep(40)
          }
        })
        return Effect.gen(function*() {
          const first = office.start(prefix, killAt)
          yield* Guide.start(run, `go ${run} position`)
          const before = yield* Effect.raceFirst(ended(first), Effect.as(page, undefined))
          const second = before === undefined ? first : office.start(prefix)
          yield* page
          const output = yield* Guide.await(run)
          second.kill("SIGKILL")
          return { run, signal: before, output, asked: [...asked] }
        }).pipe(Effect.provide(layer), Effect.scoped, Effect.timeout("60 seconds"))
      }
      const runs = await Effect.runPromise(Effect.forEach(kills, killedAt, { concurrency: 2 }))
      const deeds = readFileSync(office.log, "utf8").split("\n")
      assert.isAtLeast(runs.filter(({ signal }) => signal === "SIGKILL").length, kills.length - 1)
      for (const { asked, output, run } of runs) {
        assert.strictEqual(output, "Rome", run)
        assert.deepStrictEqual(asked, [JSON.stringify(["c2", "position", "client_tool", "read"])], run)
        for (const deed of ["book", "pay"]) {
          assert.isAtMost(deeds.filter((line) => line === `${run} ${deed}`).length, 1, `${run} ${deed}`)
        }
      }
    }), 120_000)

  it(
    "reports a page's write as unknown if cancelled without a process",
    () =>
      within(open, async (office) => {
        const { Guide, layer } = clientOf(office, "w")
        const program = Effect.gen(function*() {
          const first = office.start("w")
          yield* Guide.start("r1", "go r1 sign")
          const standing = Effect.map(Guide.poll("r1"), ({ status }) => status)
          const until = (status: string) => Effect.repeat(Effect.delay(standing, 40), { until: (is) => is === status })
          yield* until("waiting")
          first.kill("SIGKILL")
          yield* ended(first)
          assert.isTrue(yield* Guide.cancel("r1"))
          assert.deepInclude(yield* Guide.poll("r1"), { status: "queued", cancelling: true })
          office.start("w")
          yield* until("cancelled")
          const events = yield* Stream.runCollect((yield* Runs.Runs).events("r1", 0))
          return events.flatMap(({ event }) =>
            event._tag === "ToolResult" && event.callId === "c2" ? [[event.isFailure, event.code]] : []
          )
        })
        const results = await Effect.runPromise(
          program.pipe(Effect.provide(layer), Effect.scoped, Effect.timeout("60 seconds"))
        )
        assert.deepStrictEqual(results, [[true, "outcome_unknown"]])
        assert.deepStrictEqual(readFileSync(office.log, "utf8"), "r1 book\n")
      }),
    120_000
  )
})
