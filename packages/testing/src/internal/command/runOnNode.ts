/** Runs a command with the services of Node. They come from `@effect/platform-node`, which only the commands need. */
import * as Effect from "effect/Effect"
import type { Environment } from "effect/cli/Command"

const missing = (name: string): string =>
  `${name} needs the package @effect/platform-node, which cannot be loaded. Install it: npm install --save-dev @effect/platform-node@4.1\n`

/** Runs the command of that name until the process ends. Without the package it writes one sentence and exits with 1. */
export const runOnNode = (name: string, program: Effect.Effect<void, unknown, Environment>): Promise<void> =>
  // By path: the whole package is twice as long to load.
  Promise.all([import("@effect/platform-node/NodeRuntime"), import("@effect/platform-node/NodeServices")]).then(
    ([{ runMain }, { layer }]) => runMain(Effect.provide(program, layer)),
    () => {
      process.exitCode = 1
      process.stderr.write(missing(name))
    }
  )
