/**
 * Own host: the names by which a server is reached that does not authenticate its callers. A page of another site can let its own name lead to
 * this machine (DNS rebinding), and is of one origin with the server then. An address cannot lead elsewhere.
 */
import type { HttpServerRequest } from "effect/http/HttpServerRequest"

const isAddress = (name: string): boolean => name.startsWith("[") || /^\d+(?:\.\d+){3}$/.test(name)

/** The name in a `Host`, without its port; `undefined` if it is no name. */
export const hostName = (host: string): string | undefined =>
  !/[/\\@?#\s]/.test(host) && URL.canParse(`http://${host}`) ? new URL(`http://${host}`).hostname : undefined

/** The `Host` of a request. */
export const hostOf = ({ headers }: HttpServerRequest): string | undefined => headers["host"] ?? headers[":authority"]

/**
 * True if a `Host` is an address, `localhost`, or one of the names. `hosts`: names with or without a port, such as
 * `agents.example.com`. Ports are not compared.
 *
 * **Example** (A name of another site)
 *
 * ```ts
 * import { Authentication } from "@recourse/server"
 *
 * const isOwn = (host: string) => Authentication.isOwnHost(host, ["agents.example.com"])
 * const hosts = ["127.0.0.1:3000", "localhost", "agents.example.com:443", "evil.example"]
 * hosts.map(isOwn) // => [true, true, true, false]
 * ```
 *
 * @category predicates
 * @since 0.2.0
 */
export const isOwnHost = (host: string, hosts: ReadonlyArray<string> = []): boolean => {
  const name = hostName(host)
  return name !== undefined &&
    (isAddress(name) || name === "localhost" || name.endsWith(".localhost") ||
      hosts.some((own) => hostName(own) === name))
}
