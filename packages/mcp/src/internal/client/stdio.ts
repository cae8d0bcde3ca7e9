/** Connection to a server that is a process of its own, by its standard input and output. */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import * as Sink from "effect/Sink"
import * as Stream from "effect/Stream"
import * as McpClient from "effect/ai/McpClient"
import { McpClientError, TransportError } from "effect/ai/McpClientError"
import * as McpSchema from "effect/ai/McpSchema"
import type * as ChildProcess from "effect/process/ChildProcess"
import * as ChildProcessSpawner from "effect/process/ChildProcessSpawner"
import type { Connect } from "../connection.ts"
import * as Inbox from "./inbox.ts"
import { lineReader } from "./lines.ts"
import { isNotification, messagesIn } from "./messages.ts"
import * as Peer from "./peer.ts"
import { checkConnection } from "./serverOptionKinds.ts"
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

/** Codes of requests that could not be read, which have no id then. */
const unreadable = new Set<number>([McpSchema.PARSE_ERROR_CODE, McpSchema.INVALID_REQUEST_ERROR_CODE])

/** True for an error without an id, unless it may be about a request: some servers answer notifications so. */
const isOfNotification = (message: McpSchema.JsonRpcMessage): boolean =>
  "error" in message && message.error !== undefined && (message.id ?? undefined) === undefined &&
  !unreadable.has(message.error.code)

/** The server's output without noise and without notifications, which the inbox receives. */
const cleaned = <E>(stdout: Stream.Stream<Uint8Array, E>, inbox: Inbox.Inbox): Stream.Stream<Uint8Array, E> => {
  const reader = lineReader()
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
      else if (isOfNotification(message)) inbox.skip()
      else out += `${JSON.stringify(message)}\n`
    }
    return Effect.succeed(out)
  }
  return stdout.pipe(
    Stream.decodeText(),
    Stream.mapEffect((chunk) =>
      Effect.gen(function*() {
        const { lines, overflow } = reader.read(chunk)
        let out = ""
        for (const line of lines) out += yield* clean(line)
        return out + overflow
      })
    ),
    // The last response of a process may have no end of line.
    Stream.concat(Stream.fromEffect(Effect.suspend(() => clean(reader.rest())))),
    Stream.filter((text) => text !== ""),
    Stream.encodeText
  )
}

/** Time from the end of a process's standard input to that of its output. */
const closing = "250 millis"

/** Length of the remembered end of a server's standard error. */
const remembered = 2_000

/** The standard error of a server, whose end is the reason of a server that does not start. */
const makeErrorOutput = Effect.gen(function*() {
  const ended = yield* Deferred.make<void>()
  const decoder = new TextDecoder()
  let last = ""
  return {
    watched: <E>(stderr: Stream.Stream<Uint8Array, E>): Stream.Stream<Uint8Array, E> =>
      stderr.pipe(
        Stream.tap((bytes) =>
          Effect.sync(() => {
            last = (last + decoder.decode(bytes, { stream: true })).slice(-remembered)
          })
        ),
        Stream.ensuring(Deferred.succeed(ended, undefined))
      ),
    /** The error with the server's own words, which may arrive behind the end of its standard output. */
    explained: (error: McpClientError): Effect.Effect<never, McpClientError> =>
      Effect.gen(function*() {
        const { reason } = error
        if (reason._tag !== "ClosedError" && reason._tag !== "TransportError") return yield* Effect.fail(error)
        yield* Effect.timeoutOption(Deferred.await(ended), "250 millis")
        if (last.trim() === "") return yield* Effect.fail(error)
        const description = `${reason.message}. The end of its standard error: ${last.trim()}`
        return yield* Effect.fail(new McpClientError({ reason: new TransportError({ description, cause: error }) }))
      })
  }
})

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
): Connect<ChildProcessSpawner.ChildProcessSpawner> => {
  checkConnection("stdio", command, options)
  return Effect.gen(function*() {
    const spawner = yield* ChildProcessSpawner.ChildProcessSpawner
    const inbox = Inbox.make()
    const errorOutput = yield* makeErrorOutput
    let process: ChildProcessSpawner.ChildProcessHandle | undefined
    const watched = ChildProcessSpawner.make((command) =>
      Effect.map(spawner.spawn(command), (handle) => {
        process = handle
        const ended = Deferred.makeUnsafe<void>()
        const streams: Record<string | symbol, unknown> = {
          // A process that ends closes both: its last response is read first.
          stdin: Sink.catchCause(
            handle.stdin,
            (cause) => Effect.andThen(Effect.timeoutOption(Deferred.await(ended), closing), Effect.failCause(cause))
          ),
          stdout: cleaned(handle.stdout, inbox).pipe(Stream.ensuring(Deferred.succeed(ended, undefined))),
          stderr: errorOutput.watched(handle.stderr)
        }
        return new Proxy(handle, {
          get: (target, key) => Object.hasOwn(streams, key) ? streams[key] : Reflect.get(target, key)
        })
      })
    )
    const transport = yield* McpClient.stdio({ command, protocol: adapterOf("2025-11-25") }).pipe(
      Effect.provideService(ChildProcessSpawner.ChildProcessSpawner, watched)
    )
    const { client, peer } = yield* Effect.catch(
      Peer.connect(() => Effect.succeed(transport), options.protocol, inbox),
      errorOutput.explained
    )
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
}
