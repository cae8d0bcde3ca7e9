/** Starts the program again after each change of a file that it has loaded: Node's own `--watch`. */
import * as Effect from "effect/Effect"
import { spawn } from "node:child_process"
import { createServer } from "node:net"
import { CannotServe } from "./cannotServe.ts"

/** A port that is taken is not worth waiting for a change of a file. */
export const isFree = (host: string, port: number): Effect.Effect<void, CannotServe> =>
  Effect.callback((resume) => {
    const server = createServer()
    server.once("error", (error: NodeJS.ErrnoException) =>
      resume(error.code === "EADDRINUSE" ? Effect.fail(portTaken(port)) : Effect.void))
    server.listen(port, host, () =>
      server.close(() => resume(Effect.void)))
  })

export const portTaken = (port: number): CannotServe =>
  new CannotServe({ problem: `Port ${port} is taken. Stop its user, or name another one: --port ${port + 1}` })

/** Runs the program without `--watch` of its own, until it is interrupted. */
export const watch = (bin: string, args: ReadonlyArray<string>): Effect.Effect<never> =>
  Effect.callback<never>((resume) => {
    const child = spawn(process.execPath, ["--watch", "--watch-preserve-output", bin, ...args, "--no-watch"], {
      stdio: "inherit"
    })
    child.on("error", (cause) => resume(Effect.die(cause)))
    child.on("exit", (code) => resume(Effect.sync(() => process.exit(code ?? 0))))
    return Effect.callback<void>((stopped) => {
      if (child.exitCode !== null || child.signalCode !== null) return stopped(Effect.void)
      child.once("exit", () => stopped(Effect.void))
      child.kill("SIGTERM")
    })
  })
