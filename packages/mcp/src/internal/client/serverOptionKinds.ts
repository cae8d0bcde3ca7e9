/** The options of a server and its tools for the run-time check. */
import * as Check from "@recourse/core/OptionCheck"
import * as Effect from "effect/Effect"
import * as ChildProcess from "effect/process/ChildProcess"

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
export const checkServerOptions = (options: { readonly [Name in OptionName]?: unknown } | undefined): void => {
  const subject = `MCP server "${String(options?.name)}"`
  Check.checkOptions(subject, options, { kinds, otherNames })
  for (const name of ["name", "connect"] as const) Check.checkArgument(subject, name, options?.[name], kinds[name])
}

const aCommand: Check.Kind = {
  is: ChildProcess.isCommand,
  called: "a command: ChildProcess.make(\"npx\", [\"-y\", \"the-server\"]) of effect/process"
}

const aUrl: Check.Kind = {
  is: (value) => value instanceof URL || (typeof value === "string" && URL.canParse(value)),
  called: "a URL, such as https://example.com/mcp"
}

const connectKinds = { protocol: Check.aString, headers: Check.anObject }

/** Throws `ConfigurationError` for arguments of a way to a server that the compiler refuses, and for an address that is none. */
export const checkConnection = (way: "stdio" | "http" | "sse", target: unknown, options: unknown): void => {
  const subject = `Mcp.${way}`
  if (way === "stdio") Check.checkArgument(subject, "its command", target, aCommand)
  else Check.checkArgument(subject, "its address", target, aUrl)
  Check.checkOptions(subject, options, { kinds: connectKinds, otherNames: {} })
}
