/** A process that executes runs: `node hostRunner.ts <host> <url>`. It sends each slow step, and its processor time when it is asked for it. */
import { NodeRuntime } from "@effect/platform-node"
import { Durable } from "@recourse/durable"
import { Effect, Layer, References } from "effect"
import { hostAgents, type HostName, model, placedBy } from "./hostAgents.ts"

/** A message to the process that compares. */
export type RunnerMessage =
  | { readonly _tag: "Ready" }
  | { readonly _tag: "Step"; readonly run: string }
  | { readonly _tag: "Usage"; readonly cpuMicros: number; readonly heapMiB: number }

if (import.meta.main) {
  const [host, url] = process.argv.slice(2) as [HostName, string]
  const send = (message: RunnerMessage): void => void process.send?.(message)
  process.on("message", () => {
    globalThis.gc?.()
    const { system, user } = process.cpuUsage()
    send({ _tag: "Usage", cpuMicros: system + user, heapMiB: process.memoryUsage().heapUsed / 2 ** 20 })
  })
  const { pacer, waiter, worker } = hostAgents((run) => send({ _tag: "Step", run }))
  const runners = Durable.layer([worker, pacer, waiter], {
    concurrency: 200,
    lease: "5 seconds",
    grace: "1 second"
  }).pipe(Layer.provide([model, placedBy(host, url, "runner")]))
  const ready = Effect.sync(() => send({ _tag: "Ready" }))
  NodeRuntime.runMain(
    Effect.scoped(Effect.provide(Effect.andThen(ready, Effect.never), runners)).pipe(
      // A cluster logs each of its requests.
      Effect.provideService(References.MinimumLogLevel, "Warn")
    )
  )
}
