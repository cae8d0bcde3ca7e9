/** The compiler's answer about an edited text. The compiler is loaded with the first edit. */
import { useEffect, useState } from "react"
import type { Checked, Problem } from "../src/types/compiler.ts"

/** A problem with the number of its line; 1 is the first. */
export interface PlacedProblem extends Problem {
  readonly line: number
}

interface Checking {
  readonly checked: Omit<Checked, "problems"> & { readonly problems: ReadonlyArray<PlacedProblem> } | undefined
  readonly isChecking: boolean
  /** Set if the compiler could not be loaded. */
  readonly problem: string | undefined
}

const lineOf = (text: string, position: number): number => text.slice(0, position).split("\n").length

/** Returns a text that has not changed for some milliseconds. */
export const useSettled = (text: string, millis: number): string => {
  const [settled, setSettled] = useState(text)
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), millis)
    return () => clearTimeout(timer)
  }, [text, millis])
  return millis === 0 ? text : settled
}

/** Checks a text each time that it changes; without a text it asks for no compiler. The answer before stays until the next. */
export const useChecked = (agent: string | undefined, world: string): Checking => {
  const [answer, setAnswer] = useState<
    Omit<Checking, "isChecking"> & { readonly agent: string; readonly world: string }
  >()
  useEffect(() => {
    if (agent === undefined) return
    let isCurrent = true
    const ask = async (): Promise<void> => {
      const { check } = await import("./editor/language.ts")
      const checked = await check(agent, world)
      const problems = checked.problems.map((problem) => ({ ...problem, line: lineOf(agent, problem.from) }))
      if (isCurrent) setAnswer({ agent, world, checked: { ...checked, problems }, problem: undefined })
    }
    const timer = setTimeout(() => {
      ask().catch((error: unknown) => {
        if (isCurrent) setAnswer({ agent, world, checked: undefined, problem: String(error) })
      })
    }, 250)
    return () => {
      isCurrent = false
      clearTimeout(timer)
    }
  }, [agent, world])
  return agent === undefined
    ? { checked: undefined, problem: undefined, isChecking: false }
    : {
      checked: answer?.checked,
      problem: answer?.problem,
      isChecking: answer?.agent !== agent || answer.world !== world
    }
}
