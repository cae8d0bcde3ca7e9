#!/usr/bin/env node
/** The program of `npm create @recourse`. */
import { run } from "./CreateCommand.ts"

process.exitCode = await run(process.argv.slice(2))
