#!/usr/bin/env node
/** The program `recourse-replay`. */
import * as Command from "effect/cli/Command"
import { runOnNode } from "./internal/command/runOnNode.ts"
import { command } from "./ReplayCommand.ts"

await runOnNode("recourse-replay", Command.run(command, { version: "0.1.0" }))
