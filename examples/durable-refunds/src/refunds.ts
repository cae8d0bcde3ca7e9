/** Starts a run, kills its workers at the worst moments, and prints the result. */
import { Approval, Runs } from "@recourse/core"
import { Durable } from "@recourse/durable"
import { Effect, Layer, Schedule } from "effect"
import { type ChildProcess, spawn } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { type Host, hosted } from "./hosts.ts"
import { linesOf, office } from "./office.ts"

/** The lines of a worker at which it is killed, each once: a deed is done, and is not recorded yet. */
const deadly = ["refunded 20 euros", "wrote a mail"]

/** A worker is always there: one that is killed is followed by another. */
const work = (directory: string, host: Host, say: (line: string) => void, file: string): () => void => {
  const left = [...deadly]
  let worker: ChildProcess
  let isOver = false
  const start = (): void => {
    worker = spawn(process.execPath, [file, directory, "--host", host], {
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...process.env, NODE_OPTIONS: "--disable-warning=ExperimentalWarning" }
    })
    worker.stdout?.on("data", (chunk: Buffer) => {
      for (const line of chunk.toString().split("\n").filter((line) => line !== "")) {
        say(`the world: ${line}`)
        if (left[0] !== undefined && line.startsWith(left[0])) {
          left.shift()
          say("kill -9")
          worker.kill("SIGKILL")
        }
      }
    })
    worker.stderr?.on("data", (chunk: Buffer) => say(chunk.toString().trimEnd()))
    worker.on("close", () => isOver ? undefined : start())
  }
  start()
  return () => {
    isOver = true
    worker.kill("SIGTERM")
  }
}

/** Runs the example. Returns the agent's final answer, and the external actions. */
export const program = (
  say: (line: string) => void,
  host: Host = "sql",
  worker: string = join(import.meta.dirname, "worker.ts")
) =>
  Effect.gen(function*() {
    const directory = yield* Effect.acquireRelease(
      Effect.sync(() => mkdtempSync(join(tmpdir(), "recourse-"))),
      (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true, maxRetries: 5 }))
    )
    const world = join(directory, "world.log")
    const { Refunds } = office(world)
    const client = Durable.layerClient([Refunds], { poll: "100 millis" }).pipe(
      Layer.provide(hosted(host, join(directory, "runs.db"), "client"))
    )
    return yield* Effect.gen(function*() {
      yield* Effect.acquireRelease(Effect.sync(() => work(directory, host, say, worker)), (stop) => Effect.sync(stop))
      yield* Refunds.start("ticket 1", "Please refund my orders 7 and 8.")
      const { pending } = yield* Effect.repeat(Refunds.poll("ticket 1"), {
        until: ({ status }) => status === "waiting",
        schedule: Schedule.spaced("100 millis")
      })
      for (const call of pending) say(`waits for a person: ${call.tool} ${JSON.stringify(call.arguments)}`)
      yield* Refunds.decide("ticket 1", pending.map((call) => Approval.approve(call, { by: "Ada" })))
      say("approved by Ada, in a process that runs no agent")
      const answer = yield* Refunds.await("ticket 1")
      const runs = yield* Runs.Runs
      const [run] = yield* runs.list({ status: "completed" })
      return { answer, run, world: linesOf(world) }
    }).pipe(Effect.provide(client))
  }).pipe(Effect.scoped)
