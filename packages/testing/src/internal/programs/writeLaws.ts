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
    return run.sideEffects.flatMap((effect) => {
      const { effects, recovery } = specOf(run.program, effect.tool)
      if (effects !== "write" || !isAmbiguous(effect) || effect.callId === undefined) return []
      if (!recovery.some(({ op }) => op === "fallbackTool")) return []
      const second = run.sideEffects.find((other) =>
        other.tool > effect.tool && other.callId !== undefined && isOfCall(other.callId, effect.callId!) &&
        other.instance === effect.instance && other.within === effect.within && other.seq > effect.seq &&
        effect.endedAfter !== undefined && other.after >= effect.endedAfter &&
        specOf(run.program, other.tool).effects === "write"
      )
      return second === undefined ? [] : [`${effect.tool} may have been done, and ${second.tool} ran in its place`]
    })
  }),

  /** The key of a call is free if and only if no execution started. */
  keys_are_free_iff_nothing_began: ofEachRun((run) => {
    if (run.program.store.length > 0) return []
    const began = (tool: string, callId: string) =>
      run.sideEffects.some((effect) =>
        effect.tool === tool && (effect.callId === undefined || isOfCall(effect.callId, callId))
      )
    // The key of a compensated call is free for a repetition.
    const compensated = new Set(run.compensations.map(({ receipt, tool }) => `${tool} ${receipt}`))
    const keys = new Set(
      run.sideEffects.flatMap(({ key, receipt, state, tool }) =>
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
    const calls = run.sideEffects.flatMap((effect) => {
      const { effects, keyed } = specOf(run.program, effect.tool)
      const at = effects === "write" && keyed === "no" ? placeOf(run, effect) : undefined
      return at === undefined ? [] : [{ call: `${effect.tool} (${at.place})`, most: at.most }]
    })
    const most = new Map(calls.map(({ call, most }) => [call, most]))
    return [...count(calls.map(({ call }) => call))].flatMap(([call, times]) =>
      times > most.get(call)! ? [`${call} began ${times} times`] : []
    )
  })
} as const satisfies Readonly<Record<string, Law>>
