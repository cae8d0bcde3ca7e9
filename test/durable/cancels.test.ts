/** Runs that a process cancels while another, real one is in the middle of them: they end within a second, wherever that is. */
import { assert, describe, it } from "@effect/vitest"
import { Runs } from "@recourse/core"
import { Durable } from "@recourse/durable"
import { Effect, Stream } from "effect"
import { spawn } from "node:child_process"
import { join } from "node:path"
import { bundled } from "../support/bundled.ts"
import { sqlDatabases } from "../support/servers.ts"
import { Agents, all, stores } from "./busy.ts"

const supported = sqlDatabases.filter(({ isShared, name }) => isShared && !name.startsWith("M"))
const places = Object.keys(Agents) as ReadonlyArray<keyof typeof Agents>
/** A machine that has other work is slow at times: the best of so many counts. */
const times = [1, 2]

/** Progress of a run within its agent's work. */
const isInside = (place: string, events: ReadonlyArray<string>): boolean =>
  events.includes(place === "model" ? "ModelTurnStarted" : place === "wait" ? "ToolRetry" : "ToolAttempt")

describe.concurrent("a run that another process cancels", () => {
  for (const { name, open } of supported) {
    it(`ends within a second, in model calls, tools and waits: ${name}`, async () => {
      const { address, close } = await open()
      const runner = spawn(
        process.execPath,
        [
          "--disable-warning=ExperimentalWarning",
          bundled(join(import.meta.dirname, "busy.ts")),
          JSON.stringify(address)
        ],
        { stdio: ["ignore", "ignore", "inherit"] }
      )
      try {
        await Effect.runPromise(
          Effect.gen(function*() {
            const runs = yield* Runs.Runs
            const idOf = (place: string, time: number) => `${place} ${time}`
            for (const place of places) for (const time of times) yield* Agents[place].start(idOf(place, time), "go")
            const eventsOf = (runId: string) =>
              Effect.map(Stream.runCollect(runs.events(runId)), (events) => events.map(({ event }) => event))
            const cancelled = Effect.fnUntraced(function*(place: keyof typeof Agents) {
              const spans: Array<number> = []
              for (const time of times) {
                const runId = idOf(place, time)
                if (place === "ask") {
                  const waits = Effect.map(runs.get(runId), ({ status }) => status === "waiting")
                  yield* Effect.repeat(Effect.delay(waits, 30), { until: (is) => is })
                } else {
                  const seen: Array<string> = []
                  yield* runs.events(runId).pipe(
                    Stream.takeUntil(({ event }) => {
                      seen.push(event._tag)
                      return isInside(place, seen)
                    }),
                    Stream.runDrain
                  )
                }
                const from = Date.now()
                assert.isTrue(yield* runs.cancel(runId))
                const { status } = yield* runs.wait(runId)
                spans.push(Date.now() - from)
                assert.strictEqual(status, "cancelled", runId)
                const events = yield* eventsOf(runId)
                const last = events.at(-1)
                assert.isTrue(last?._tag === "RunFinished" && last.outcome === "interrupted", runId)
                const unknown = events.some((event) => event._tag === "ToolResult" && event.code === "outcome_unknown")
                assert.strictEqual(unknown, place === "write" || place === "child", runId)
              }
              assert.isAtMost(Math.min(...spans), 1000, `${place}: ${spans.join()}`)
            })
            yield* Effect.forEach(places, cancelled, { concurrency: "unbounded", discard: true })
            // Runs that they had started are cancelled with them.
            for (const time of times) {
              assert.strictEqual((yield* runs.wait(`child ${time}/c1`)).status, "cancelled")
            }
          }).pipe(
            Effect.provide(Durable.layerClient(all, { poll: 100 })),
            Effect.provide(stores(address)),
            Effect.timeout("60 seconds")
          )
        )
      } finally {
        runner.kill("SIGKILL")
        await close()
      }
    }, 90_000)
  }
})
