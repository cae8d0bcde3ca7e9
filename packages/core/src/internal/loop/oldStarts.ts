/** Starts that older versions have not recorded: an answer of theirs may be followed by calls under keys, and by calls that may be repeated. */
import type * as Response from "effect/ai/Response"
import { keyOfCall } from "../run/recordedStart.ts"
import * as Path from "../path/path.ts"
import type { Conversation } from "./program.ts"

/** Adds a start for each call of an older version that may have started without an entry. `keyed`: the called tools that had keys. */
export const addOldStarts = (
  { program: { skills, tools }, run: { log, scope } }: Conversation,
  calls: ReadonlyArray<Pick<Response.ToolCallPart<string, unknown>, "id" | "name">>,
  keyed: ReadonlyArray<string> = []
): void => {
  for (const { id, name } of calls) {
    const path = Path.ofCall(scope, name, id)
    const isIdempotent = [tools, ...skills.map(({ tools }) => tools)].some(({ byName }) =>
      byName.get(name)?.tool.info.effects === "idempotent"
    )
    if (log?.has(path) !== false || !(isIdempotent || keyed.includes(name))) continue
    log.add(path, {
      entry: path,
      attempt: "first",
      key: keyOfCall,
      isRepeatable: isIdempotent,
      isAtomic: false
    })
  }
}
