/** Messages of deleted runs that conversations of other runs continue. */
import type { MessagePart } from "./store.ts"

type Link = Pick<MessagePart, "id" | "parent">

/** The run id of messages whose run was deleted, made of their hash. */
export const orphanOf = (id: string): string => `~${id}`

/**
 * Returns the parts among deleted ones that stay: `wanted` are the parents of parts of other runs, `there` the hashes that other
 * parts have, too.
 */
export const referencedParts = <A extends Link>(
  deleted: ReadonlyArray<A>,
  wanted: Iterable<string>,
  there: ReadonlySet<string>
): ReadonlyArray<A> => {
  const byId = new Map(deleted.map((part) => [part.id, part]))
  const referenced = new Map<string, A>()
  const pending = [...wanted]
  for (let id = pending.pop(); id !== undefined; id = pending.pop()) {
    const part = referenced.has(id) || there.has(id) ? undefined : byId.get(id)
    if (part === undefined) continue
    referenced.set(id, part)
    if (part.parent !== undefined) pending.push(part.parent)
  }
  return [...referenced.values()]
}
