/** The list of threads: searched, continued on demand, and fresh whenever this tab or another one changes something. */
import { useCallback, useEffect, useRef, useState } from "react"
import { type Thread, threads as load } from "./server.ts"
import { hear } from "./tabs.ts"

export interface Threads {
  readonly list: ReadonlyArray<Thread>
  readonly isLoading: boolean
  readonly problem: string | undefined
  readonly more: (() => void) | undefined
  readonly refresh: () => void
}

/** So often the list is asked for while it is seen. */
const refreshAfter = 4000

export const useThreads = (search: string): Threads => {
  const [list, setList] = useState<ReadonlyArray<Thread>>([])
  const [next, setNext] = useState<string>()
  const [isLoading, setLoading] = useState(true)
  const [problem, setProblem] = useState<string>()
  const current = useRef<AbortController>(undefined)
  /** The present search: later requests do not know an older one. */
  const wanted = useRef(search)

  /** True if older pages were added to the list. */
  const wasContinued = useRef(false)

  const ask = useCallback((after?: string, isQuiet = false) => {
    current.current?.abort()
    const controller = new AbortController()
    current.current = controller
    wasContinued.current = after !== undefined
    if (!isQuiet) setLoading(true)
    load({ search: wanted.current, ...(after === undefined ? undefined : { after }) }, controller.signal).then(
      (page) => {
        if (controller.signal.aborted) return
        setList((known) => after === undefined ? page.threads : [...known, ...page.threads])
        setNext(page.next)
        setProblem(undefined)
        setLoading(false)
      },
      (error: Error) => {
        if (controller.signal.aborted) return
        // A reader of the list did not cause the request.
        if (!isQuiet) setProblem(error.message)
        setLoading(false)
      }
    )
  }, [])

  useEffect(() => {
    // The search is sent when typing pauses.
    wanted.current = search
    const timer = setTimeout(ask, search === "" ? 0 : 200)
    return () => clearTimeout(timer)
  }, [ask, search])

  const refresh = useCallback(() => ask(), [ask])

  useEffect(() => hear(refresh), [refresh])
  useEffect(() => {
    const onVisible = (): void => {
      if (document.visibilityState === "visible") refresh()
    }
    document.addEventListener("visibilitychange", onVisible)
    // Threads change elsewhere, too: the newest page is asked for again, unless older ones were added to it.
    const timer = setInterval(() => {
      if (!document.hidden && !wasContinued.current && !document.querySelector(".thread.is-edited")) {
        ask(undefined, true)
      }
    }, refreshAfter)
    return () => {
      document.removeEventListener("visibilitychange", onVisible)
      clearInterval(timer)
    }
  }, [ask, refresh])
  useEffect(() => () => current.current?.abort(), [])

  return { list, isLoading, problem, more: next === undefined ? undefined : () => ask(next), refresh }
}
