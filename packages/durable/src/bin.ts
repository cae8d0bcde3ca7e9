#!/usr/bin/env node
/** The program `recourse-runs`. */
import * as Command from "effect/cli/Command"
import { readFileSync } from "node:fs"
import { runOnNode } from "./internal/service/runOnNode.ts"
import { command } from "./RunsCommand.ts"

const { version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as {
  readonly version: string
}

await runOnNode("recourse-runs", Command.run(command, { version }))
