/** The options of a server and its tools for the run-time check. */
import * as Check from "@recourse/core/OptionCheck"
import * as Effect from "effect/Effect"

const kinds = {
  name: Check.aString,
  connect: { is: Effect.isEffect, called: "Mcp.http, Mcp.stdio or Mcp.sse" },
  prefix: Check.aString,
  trust: Check.oneOf("trusted", "untrusted"),
  timeout: Check.aTimeLimit,
  maxTimeout: Check.aTimeLimit,
  listChanges: Check.oneOf("between-turns", "ignore"),
  options: Check.either(Check.anObject, Check.aFunction),
  filter: Check.aFunction,
  toolErrors: Check.oneOf("escalate", "fail"),
  unchecked: Check.either(Check.anArray, Check.oneOf("any")),
  resources: Check.aBoolean,
  prompts: Check.aBoolean
}

/** The names of the options. */
type OptionName = keyof typeof kinds

const otherNames = { url: "connect: Mcp.http(url)", command: "connect: Mcp.stdio(command)", transport: "connect" }

/** Throws `ConfigurationError` for options that the compiler refuses. */
export const checkServerOptions = (options: { readonly [Name in OptionName]?: unknown }): void =>
  Check.checkOptions(`MCP server "${String(options.name)}"`, options, { kinds, otherNames })
