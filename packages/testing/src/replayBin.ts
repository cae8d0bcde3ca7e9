#!/usr/bin/env node
/** The program `recourse-replay`. */
import { NodeRuntime, NodeServices } from "@effect/platform-node"
import { Effect } from "effect"
import { Command } from "effect/cli"
import { command } from "./ReplayCommand.ts"

NodeRuntime.runMain(Effect.provide(Command.run(command, { version: "0.1.0" }), NodeServices.layer))
