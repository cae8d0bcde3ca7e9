#!/usr/bin/env node
/** The program `recourse-studio`. */
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import * as Effect from "effect/Effect"
import * as Command from "effect/cli/Command"
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { command } from "./StudioCommand.ts"

const { version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as {
  readonly version: string
}
const bin = fileURLToPath(import.meta.url)

NodeRuntime.runMain(Effect.provide(Command.run(command(bin), { version }), NodeServices.layer))
