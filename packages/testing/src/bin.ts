#!/usr/bin/env node
/** The program `recourse-faults`. */
import * as Command from "effect/cli/Command"
import { readFileSync } from "node:fs"
import { command } from "./FaultCommand.ts"
import { runOnNode } from "./internal/command/runOnNode.ts"

const { version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as {
  readonly version: string
}

await runOnNode("recourse-faults", Command.run(command, { version }))
