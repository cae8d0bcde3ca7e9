#!/usr/bin/env node
/** The program `recourse-studio`. */
import { NodeRuntime, NodeServices } from "@effect/platform-node"
import * as Effect from "effect/Effect"
import * as Command from "effect/cli/Command"
import { fileURLToPath } from "node:url"
import { command } from "./StudioCommand.ts"

const bin = fileURLToPath(import.meta.url)

NodeRuntime.runMain(Effect.provide(Command.run(command(bin), { version: "0.1.0" }), NodeServices.layer))
