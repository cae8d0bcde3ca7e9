/** Laws about writes and their keys: no write happens twice. */
import {
  count,
  distinguishesCalls,
  isAmbiguous,
  isOfCall,
  type Law,
  moreOften,
  ofEachRun,
  placeOf,
  specOf
} from "./judging.ts"

export const writeLaws = {
  /** A call whose write may have been done has no second provider. */
  no_fallback_after_a_doubt: ofEachRun((run) => {
    if (!distinguishesCalls(run.program)) return []
    return run.deeds.flatMap((deed) => {
      const { effects, recovery } = specOf(run.program, deed.tool)
      if (effects !== "write" || !isAmbiguous(deed) || deed.callId === undefined) return []
      if (!recovery.some(({ op }) => op === "fallbackTool")) return []
      const second = run.deeds.find((other) =>
        other.tool > deed.tool && other.callId !== undefined && isOfCall(other.callId, deed.callId!) &&
        other.instance === deed.instance && other.within === deed.within && other.seq > deed.seq &&
        deed.endedAfter !== undefined && other.after >= deed.endedAfter &&
        specOf(run.program, other.tool).effects === "write"
      )
      return second === undefined ? [] : [`${deed.tool} may have been done, and ${second.tool} ran in its place`]
    })
  }),

  /** The key of a call is free if and only if no execution started. */
  keys_are_free_iff_nothing_began: ofEachRun((run) => {
    if (run.program.store.length > 0) return []
    const began = (tool: string, callId: string) =>
      run.deeds.some((deed) => deed.tool === tool && (deed.callId === undefined || isOfCall(deed.callId, callId)))
    // The key of a compensated call is free for a repetition.
    const compensated = new Set(run.undone.map(({ receipt, tool }) => `${tool} ${receipt}`))
    const keys = new Set(
      run.deeds.flatMap(({ key, receipt, state, tool }) =>
        key === undefined || state === "declined" || specOf(run.program, tool).effects === "read" ||
          compensated.has(`${tool} ${receipt}`)
          ? []
          : [`${tool} ${key}`]
      )
    )
    const tools = [...keys].map((key) => key.split(" ")[0]!)
    return [
      ...run.entries.flatMap(({ callId, finished, tool }) =>
        finished || began(tool, callId) ? [] : [`${tool} ${callId} never began, and its key is taken`]
      ),
      ...moreOften(tools, run.entries.map(({ tool }) => tool)).map(([tool, used, taken]) =>
        `${tool} began under ${used} keys, of which ${taken} are taken`
      )
    ]
  }),

  /** A write without a key begins at most once for each call, however often the calls around it are made again. */
  writes_begin_once: ofEachRun((run) => {
    if (!distinguishesCalls(run.program)) return []
    const calls = run.deeds.flatMap((deed) => {
      const { effects, keyed } = specOf(run.program, deed.tool)
      const at = effects === "write" && keyed === "no" ? placeOf(run, deed) : undefined
      return at === undefined ? [] : [{ call: `${deed.tool} (${at.place})`, most: at.most }]
    })
    const most = new Map(calls.map(({ call, most }) => [call, most]))
    return [...count(calls.map(({ call }) => call))].flatMap(([call, times]) =>
      times > most.get(call)! ? [`${call} began ${times} times`] : []
    )
  })
} as const satisfies Readonly<Record<string, Law>>
