/** Connection to a server that is a process of its own, by its standard input and output. */
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import * as Stream from "effect/Stream"
import * as McpClient from "effect/ai/McpClient"
import type * as ChildProcess from "effect/process/ChildProcess"
import * as ChildProcessSpawner from "effect/process/ChildProcessSpawner"
import type { Connect } from "../connection.ts"
import * as Inbox from "./inbox.ts"
import { lineReader } from "./lines.ts"
import { isNotification, messagesIn } from "./messages.ts"
import * as Peer from "./peer.ts"
import { adapterOf, type ProtocolVersion } from "./protocols.ts"

/**
 * The options of all ways to a server.
 *
 * @category options
 * @since 0.2.0
 */
export interface ConnectOptions {
  /** The only protocol version to speak. Default: the newest that the server speaks, by negotiation. */
  readonly protocol?: ProtocolVersion | undefined
}

/** Number of logged characters of a line of noise. */
const shown = 200

/** The server's output without noise and without notifications, which the inbox receives. */
const cleaned = <E>(stdout: Stream.Stream<Uint8Array, E>, inbox: Inbox.Inbox): Stream.Stream<Uint8Array, E> => {
  const read = lineReader()
  const clean = (line: string): Effect.Effect<string> => {
    const messages = messagesIn(line)
    if (messages === undefined) {
      if (line.trim() === "" || !inbox.skip()) return Effect.succeed("")
      return Effect.as(
        Effect.logWarning(
          "An MCP server wrote text that is not JSON-RPC to its standard output; such lines are skipped:",
          line.slice(0, shown)
        ),
        ""
      )
    }
    let out = ""
    for (const message of messages) {
      if (isNotification(message)) inbox.receive(message)
      else out += `${JSON.stringify(message)}\n`
    }
    return Effect.succeed(out)
  }
  return stdout.pipe(
    Stream.decodeText(),
    Stream.mapEffect((chunk) =>
      Effect.gen(function*() {
        const { lines, overflow } = read(chunk)
        let out = ""
        for (const line of lines) out += yield* clean(line)
        return out + overflow
      })
    ),
    Stream.filter((text) => text !== ""),
    Stream.encodeText
  )
}

/**
 * Reaches a server that is a process of its own, by its standard input and output. The process is started again when it has ended.
 * The protocol version is negotiated; `protocol` allows one only. Lines on standard output that are not JSON-RPC are skipped.
 *
 * ```ts
 * import { Mcp } from "@recourse/mcp"
 * import { ChildProcess } from "effect/process"
 *
 * export const files = Mcp.stdio(ChildProcess.make("npx", ["-y", "@modelcontextprotocol/server-filesystem", "."]))
 * ```
 *
 * @category constructors
 * @since 0.2.0
 */
export const stdio = (
  command: ChildProcess.Command,
  options: ConnectOptions = {}
): Connect<ChildProcessSpawner.ChildProcessSpawner> =>
  Effect.gen(function*() {
    const spawner = yield* ChildProcessSpawner.ChildProcessSpawner
    const inbox = Inbox.make()
    let process: ChildProcessSpawner.ChildProcessHandle | undefined
    const watched = ChildProcessSpawner.make((command) =>
      Effect.map(spawner.spawn(command), (handle) => {
        process = handle
        const stdout = cleaned(handle.stdout, inbox)
        return new Proxy(handle, { get: (target, key) => key === "stdout" ? stdout : Reflect.get(target, key) })
      })
    )
    const transport = yield* McpClient.stdio({ command, protocol: adapterOf("2025-11-25") }).pipe(
      Effect.provideService(ChildProcessSpawner.ChildProcessSpawner, watched)
    )
    const { client, peer } = yield* Peer.connect(() => Effect.succeed(transport), options.protocol, inbox)
    if (Peer.mustListen(peer)) {
      yield* transport.request(Peer.listen).pipe(
        Effect.ignore,
        Effect.repeat(Schedule.exponential("1 second")),
        Effect.forkScoped
      )
    }
    const isAlive = Effect.suspend(() => process === undefined ? Effect.succeed(true) : process.isRunning).pipe(
      Effect.orElseSucceed(() => false)
    )
    return { client, isAlive, peer }
  })
