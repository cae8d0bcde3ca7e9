/** A process that runs the agents of the havoc: `node havocRunner.ts <options>`. It runs until it is killed. */
import { NodeRuntime, NodeServices } from "@effect/platform-node"
import { Audit } from "@recourse/core"
import { Durable } from "@recourse/durable"
import { Effect, Layer, References } from "effect"
import { join } from "node:path"
import type { SqlAddress } from "../../support/connections.ts"
import { stores } from "../chief.ts"
import { havocAgents } from "./havocAgents.ts"
import { type Host, hosted } from "./havocHost.ts"

/** Options of a process of the havoc. */
export interface RunnerOptions {
  readonly address: SqlAddress
  readonly host: Host
  readonly bank: string
  readonly directory: string
  readonly version: string
  readonly lease: number
  readonly pause: number
  /** It knows only the agent of the children: runs of the others are not its own. */
  readonly isStranger: boolean
}

if (import.meta.main) {
  const options = JSON.parse(process.argv[2]!) as RunnerOptions
  const { address, directory, host, isStranger, lease } = options
  const { Desk, Leaf, Trip, model } = havocAgents(options)
  const rows = stores(address, "havoc", () => undefined)
  const audit = Audit.layerJsonLines(join(directory, `audit-${process.pid}.jsonl`)).pipe(
    Layer.provide(NodeServices.layer)
  )
  const all = isStranger ? [Leaf] as const : [Desk, Trip, Leaf] as const
  const runners = Durable.layer(all as readonly [typeof Desk, typeof Trip, typeof Leaf], { lease, grace: "1 second" })
    .pipe(Layer.provide([hosted(host, address, rows, "runner"), model, audit]))
  NodeRuntime.runMain(
    Effect.scoped(Effect.provide(Effect.never, runners)).pipe(
      Effect.provideService(References.MinimumLogLevel, "Warn")
    )
  )
}
