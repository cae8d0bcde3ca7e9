import { NodeRuntime, NodeServices } from "@effect/platform-node"
import { Effect } from "effect"
import { main } from "./compare.ts"

NodeRuntime.runMain(Effect.provide(main(process.argv[2]), NodeServices.layer))
