/** Past calls as every server accepts them: their ids and the names of their tools. */
import * as Hash from "effect/Hash"
import * as OpaqueState from "../answer/opaqueState.ts"
import type { Quirks } from "../../Quirks.ts"

const digits = (text: string): string => (Hash.string(text) >>> 0).toString(36)

const portableId = (id: string, quirks: Quirks): string => {
  if (quirks.toolCallId === "any") {
    return OpaqueState.isPortableId(id) ? id : `call_${digits(id)}_${digits(`${id}#`)}`
  }
  if (/^[A-Za-z0-9]{9}$/.test(id)) return id
  return (digits(id) + digits(`${id}#`)).padEnd(9, "0").slice(0, 9)
}

/** Ids of calls as one server accepts them: its own as it sent them, and others in a form that every server accepts. */
export class CallIds {
  private readonly quirks: Quirks
  private readonly sent = new Map<string, string>()
  private readonly used = new Set<string>()

  constructor(quirks: Quirks) {
    this.quirks = quirks
  }

  /** The id of a call. `own`: the id that this server gave it, if it is known. */
  ofCall(id: string, own: string | undefined): string {
    const isOwn = own !== undefined && !this.used.has(own)
    const written = isOwn ? own : portableId(id, this.quirks)
    this.sent.set(id, written)
    this.used.add(written)
    return written
  }

  ofResult(id: string): string {
    return this.sent.get(id) ?? portableId(id, this.quirks)
  }
}

/** A name that every server accepts: a model may have called a tool by another one. */
export const portableName = (name: string): string => name.replaceAll(/[^A-Za-z0-9_-]/g, "_").slice(0, 64)
