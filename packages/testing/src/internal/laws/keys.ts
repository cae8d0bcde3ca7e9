/** Idempotency keys of side effects: a tool that draws a key for each attempt is found by its double effects, and not by the keys. */
import type * as Simulation from "../simulation/simulation.ts"
import { done } from "./effectOrigins.ts"

type SideEffects = Simulation.Observation["sideEffects"]

/** Side effects with the number of each key in place of the key: the first key of a run is 1. */
export const numberedKeys = (sideEffects: SideEffects): SideEffects => {
  const numbers = new Map<string, string>()
  const numberOf = (key: string): string => {
    const number = numbers.get(key) ?? String(numbers.size + 1)
    numbers.set(key, number)
    return number
  }
  return sideEffects.map((effect) => effect.key === undefined ? effect : { ...effect, key: numberOf(effect.key) })
}

/** The first tool whose service is asked under another key by two runs that are the same otherwise. */
export const changedKey = (run: Simulation.Observation, other: Simulation.Observation): string | undefined =>
  run.sideEffects.find(({ key }, index) => {
    const theirs = other.sideEffects[index]
    return theirs !== undefined && theirs.key !== key
  })?.tool

/** The remedy. */
export const passKey = "pass ToolCall.idempotencyKey to the service"

/**
 * Describes the requests to a service with repeated effects for a tool that passes keys; empty if the keys are not the
 * reason.
 */
export const keysOfDoubles = (run: Simulation.Observation, tool: string): string => {
  if (!run.keyed.includes(tool)) return ""
  const effects = done(run).filter((effect) => effect.tool === tool)
  const keys = new Set(effects.map(({ key }) => key))
  if (keys.has(undefined)) return `; it asked the service without a key: ${passKey}`
  return keys.size > 1 ? `; it asked the service under ${keys.size} keys: ${passKey}` : ""
}
