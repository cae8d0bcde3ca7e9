#!/usr/bin/env node
/** The program `recourse-replay`. */
import * as Command from "effect/cli/Command"
import { readFileSync } from "node:fs"
import { runOnNode } from "./internal/command/runOnNode.ts"
import { command } from "./ReplayCommand.ts"

const { version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as {
  readonly version: string
}

await runOnNode("recourse-replay", Command.run(command, { version }))
