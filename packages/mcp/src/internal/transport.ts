/** Ways to a server: its standard input and output, and streamable HTTP. */
import * as Effect from "effect/Effect"
import * as McpClient from "effect/ai/McpClient"
import * as McpProtocol from "effect/ai/McpProtocol"
import type * as HttpClient from "effect/http/HttpClient"
import type * as ChildProcess from "effect/process/ChildProcess"
import * as ChildProcessSpawner from "effect/process/ChildProcessSpawner"
import type { Connect } from "./connection.ts"

type Version = { readonly protocol?: McpClient.ProtocolVersion | undefined }

const adapterOf = ({ protocol = "2025-11-25" }: Version) =>
  protocol === "2025-11-25" ? McpProtocol.v2025_11_25 : McpProtocol.v2026_07_28

const identity = { name: "recourse", version: "0.1.0" }

/**
 * Reaches a server that is a process of its own, by its standard input and output. The process is started again when it has ended.
 * Protocol: `"2025-11-25"` (the default) or `"2026-07-28"`.
 */
export const stdio = (
  command: ChildProcess.Command,
  options: Version = {}
): Connect<ChildProcessSpawner.ChildProcessSpawner> =>
  Effect.gen(function*() {
    const spawner = yield* ChildProcessSpawner.ChildProcessSpawner
    let process: ChildProcessSpawner.ChildProcessHandle | undefined
    const watched = ChildProcessSpawner.make((command) =>
      Effect.tap(spawner.spawn(command), (handle) =>
        Effect.sync(() => {
          process = handle
        }))
    )
    const transport = yield* McpClient.stdio({ command, protocol: adapterOf(options) }).pipe(
      Effect.provideService(ChildProcessSpawner.ChildProcessSpawner, watched)
    )
    const client = yield* McpClient.make(identity).pipe(Effect.provideService(McpClient.Transport, transport))
    const isAlive = Effect.suspend(() => process === undefined ? Effect.succeed(true) : process.isRunning).pipe(
      Effect.orElseSucceed(() => false)
    )
    return { client, isAlive }
  })

/** Reaches a server by streamable HTTP. Protocol: `"2025-11-25"` (the default) or `"2026-07-28"`. */
export const http = (
  url: string | URL,
  options: Version & { readonly headers?: Readonly<Record<string, string>> | undefined } = {}
): Connect<HttpClient.HttpClient> =>
  Effect.gen(function*() {
    const transport = yield* McpClient.http({ url, protocol: adapterOf(options), headers: options.headers })
    const client = yield* McpClient.make(identity).pipe(Effect.provideService(McpClient.Transport, transport))
    return { client, isAlive: Effect.succeed(true) }
  })
