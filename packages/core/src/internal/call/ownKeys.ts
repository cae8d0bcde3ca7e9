/** Keys of the program's own that the attempts of a call have, as they stand in the journal of a run. */
import type { Journal } from "../../Journal.ts"
import type { Run } from "../run/run.ts"
import type { Call } from "./call.ts"

/** Where the journal has the keys of a call; behind it stands the attempt. */
export const keyPlaces = (run: Run, tool: string, call: Call): string =>
  `key ${run.scope}/${tool.length}:${tool}/${call.identity ?? call.id}@`

/** How many attempts in a row may have had no key, as their arguments did not fit, before a key of a journal that lists nothing is no longer looked for. */
const gap = 32

/** The keys that an earlier life gave a call, from an attempt on. */
export const keysBefore = (
  journal: Journal,
  run: Run,
  tool: string,
  call: Call,
  from: number
): ReadonlyArray<string> => {
  const places = keyPlaces(run, tool, call)
  const ids: Array<string> = []
  if (journal.entries === undefined) {
    for (let attempt = from, last = from; attempt < last + gap; attempt++) {
      const id = journal.find("write", `${places}${attempt}`)
      if (typeof id !== "string") continue
      ids.push(id)
      last = attempt
    }
    return ids
  }
  for (const [place, id] of journal.entries("write")) {
    const attempt = place.startsWith(places) ? Number(place.slice(places.length)) : 0
    if (attempt >= from && typeof id === "string") ids.push(id)
  }
  return ids
}
