#!/usr/bin/env node
/** The program `recourse-runs`. */
import * as Command from "effect/cli/Command"
import { runOnNode } from "./internal/runOnNode.ts"
import { command } from "./RunsCommand.ts"

await runOnNode("recourse-runs", Command.run(command, { version: "0.1.0" }))
