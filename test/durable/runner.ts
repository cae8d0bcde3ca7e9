/**
 * A process that runs durable agents: `node runner.ts <address> <effects> <options>`. With `start` it starts that run
 * and ends with it; otherwise it executes the existing runs until it is stopped. With `killAt` it kills itself at that
 * moment.
 */
import { NodeRuntime } from "@effect/platform-node"
import { Durable } from "@recourse/durable"
import * as Cluster from "@recourse/durable/Cluster"
import { Effect, Layer } from "effect"
import type { SqlAddress } from "../support/connections.ts"
import { office, stores } from "./chief.ts"
import { clusterPlace } from "./clusterPlace.ts"
import { tracing } from "./spans.ts"

interface Options {
  readonly prefix: string
  readonly lease: number
  readonly pause: number
  readonly start?: string
  readonly killAt?: number
  /** True if a cluster distributes its runs. */
  readonly isCluster?: boolean
  /** A file for its spans. */
  readonly spans?: string
}

const [address, effects, options] = process.argv.slice(2) as [string, string, string]
const { isCluster = false, killAt, lease, pause, prefix, spans, start } = JSON.parse(options) as Options

let moments = 0
const moment = (): void => {
  if (++moments === killAt) process.kill(process.pid, "SIGKILL")
}

const { Chief, model } = office(effects, moment, pause)
const place = JSON.parse(address) as SqlAddress
const rows = stores(place, prefix, moment)
const placed = Cluster.layer({ sweep: "1 second" }).pipe(
  Layer.provideMerge(rows),
  Layer.provide(clusterPlace(place, "runner"))
)
const runners = Durable.layer([Chief], { lease, poll: Math.min(200, lease / 5) }).pipe(
  Layer.provide([isCluster ? placed : rows, model])
)

const program = start === undefined
  ? Effect.andThen(Effect.sync(() => process.stdout.write("ready\n")), Effect.never)
  : Effect.tap(
    Effect.withSpan(Chief.run(start, `go ${start}`), "request"),
    (output) => Effect.sync(() => process.stdout.write(`${output}\n`))
  )

const traced = spans === undefined ? Layer.empty : tracing(spans)
NodeRuntime.runMain(Effect.scoped(Effect.provide(program, Layer.provideMerge(runners, traced))))
