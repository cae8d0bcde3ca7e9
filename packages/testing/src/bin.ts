#!/usr/bin/env node
/** The program `recourse-faults`. */
import * as Command from "effect/cli/Command"
import { command } from "./FaultCommand.ts"
import { runOnNode } from "./internal/command/runOnNode.ts"

await runOnNode("recourse-faults", Command.run(command, { version: "0.1.0" }))
