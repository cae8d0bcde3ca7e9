/** Repairs the result of a handshake: `null` is an absent field, `true` a capability, and a server without a name has one. */
import * as Predicate from "effect/Predicate"
import { own } from "./messages.ts"
import { messagesOf } from "./protocols.ts"

type Fields = Readonly<Record<string, unknown>>

const isFields = (value: unknown): value is Fields => Predicate.isReadonlyObject(value) && !Array.isArray(value)

const flags = new Set(["listChanged", "subscribe"])

const capabilityOf = (value: unknown): Fields =>
  isFields(value)
    ? Object.fromEntries(
      Object.entries(value).filter(([key, field]) => field !== null && (!flags.has(key) || typeof field === "boolean"))
    )
    : {}

const capabilitiesOf = (raw: unknown): Fields =>
  Object.fromEntries(
    (isFields(raw) ? Object.entries(raw) : [])
      .filter(([, value]) => value !== null && value !== undefined && value !== false)
      .map(([name, value]) => [name, capabilityOf(value)])
  )

const textOr = (value: unknown, other: string): string => typeof value === "string" ? value : other

/**
 * Returns the result of a handshake in the form of MCP. Many servers have tools and do not declare them, so each one has that
 * capability: its list decides.
 */
export const repairHandshake = (raw: unknown): unknown => {
  if (!isFields(raw)) return raw
  const { _meta, capabilities, instructions, protocolVersion, serverInfo, ...rest } = raw
  return {
    ...rest,
    ...(protocolVersion === undefined ? undefined : { protocolVersion: messagesOf(protocolVersion) }),
    ...(isFields(_meta) ? { _meta } : undefined),
    capabilities: { tools: {}, ...capabilitiesOf(capabilities) },
    serverInfo: { name: textOr(own(serverInfo, "name"), "unknown"), version: textOr(own(serverInfo, "version"), "") },
    ...(typeof instructions === "string" ? { instructions } : undefined)
  }
}
