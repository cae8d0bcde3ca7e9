import { NodeServices } from "@effect/platform-node"
import { Console, Effect, Layer, Runtime, Sink, Stdio, Terminal } from "effect"
import { Command } from "effect/cli"
import { spawn } from "node:child_process"

/** Runs a program in a process of its own, its output piped. */
export const run = (bin: string, ...args: ReadonlyArray<string>) =>
  Effect.promise(() =>
    new Promise<{ readonly code: number | null; readonly out: string; readonly err: string }>((resolve, reject) => {
      const child = spawn(process.execPath, [bin, ...args])
      let out = ""
      let err = ""
      child.stdout.on("data", (chunk) => {
        out += chunk
      })
      child.stderr.on("data", (chunk) => {
        err += chunk
      })
      child.on("error", reject)
      child.on("close", (code) => resolve({ code, out, err }))
    })
  )

/**
 * Runs a command in this process, with captured output: its exit code, and its output, in a pipe or on a terminal of so
 * many columns. A process takes a second to start.
 */
export const inProcess = <Name extends string, Input, E>(
  command: Command.Command<Name, Input, {}, E, NodeServices.NodeServices>,
  columns?: number
) =>
(...args: ReadonlyArray<string>) =>
  Effect.gen(function*() {
    const written = { out: "", err: "" }
    const sink = (to: "out" | "err") => () =>
      Sink.forEach((chunk: string | Uint8Array) => Effect.sync(() => void (written[to] += String(chunk))))
    const line = (to: "out" | "err") => (...texts: ReadonlyArray<unknown>) =>
      void (written[to] += `${texts.join(" ")}\n`)
    const exit = yield* Command.runWith(command, { version: "0" })(args).pipe(
      Effect.provideService(
        Stdio.Stdio,
        Stdio.make({
          args: Effect.succeed([]),
          stderrIsTerminal: Effect.succeed(columns !== undefined),
          stdoutIsTerminal: Effect.succeed(columns !== undefined),
          stdin: (yield* Stdio.Stdio).stdin,
          stdout: sink("out"),
          stderr: sink("err")
        })
      ),
      Effect.provideService(Terminal.Terminal, {
        ...(yield* Terminal.Terminal),
        ...(columns === undefined ? undefined : { columns: Effect.succeed(columns) })
      }),
      Effect.provideService(Console.Console, { ...globalThis.console, log: line("out"), error: line("err") }),
      Effect.exit
    )
    let code = 0
    Runtime.defaultTeardown(exit, (it) => {
      code = it
    })
    return { code, ...written }
  }).pipe(Effect.provide(Layer.fresh(NodeServices.layer)))
