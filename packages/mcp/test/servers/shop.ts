/** The shop on standard input and output; its actions are written to the file of the first argument. */
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Layer } from "effect"
import { LanguageModel, McpServer } from "effect/ai"
import { appendFileSync } from "node:fs"
import { Recovery } from "@recourse/core"
import { Mcp } from "@recourse/mcp"
import { shopTools } from "./shopTools.ts"

const log = process.argv[2] ?? "/dev/null"
const { model, tools } = shopTools((what) => appendFileSync(log, `${what}\n`))

McpServer.layerStdio({
  name: "shop",
  version: "1.0.0",
  protocols: Mcp.protocols,
  registrations: Mcp.layerServer({ tools, defaults: { onError: Recovery.standard } })
}).pipe(
  Layer.provide(Layer.effect(LanguageModel.LanguageModel, model)),
  Layer.provide(Mcp.layerExactStdio),
  Layer.provide(NodeServices.layer),
  Layer.launch,
  NodeRuntime.runMain
)
