/** Numbers and times as people read them. */
import { exact } from "../shared/exact.ts"

export const duration = (millis: number): string => {
  if (millis < 1) return "0 ms"
  if (millis < 1000) return `${Math.round(millis)} ms`
  if (millis < 60_000) return `${(millis / 1000).toFixed(millis < 10_000 ? 2 : 1)} s`
  const minutes = Math.floor(millis / 60_000)
  if (minutes < 60) return `${minutes} min ${Math.round((millis % 60_000) / 1000)} s`
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}

export const count = (value: number): string => value.toLocaleString("en")

export const cost = (value: number): string => value === 0 ? "–" : value.toPrecision(3)

const today = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit" })
const anyDay = new Intl.DateTimeFormat(undefined, {
  month: "short",
  day: "numeric",
  hour: "2-digit",
  minute: "2-digit"
})

/** The time of today, or the day with it. */
export const moment = (at: number): string => {
  const date = new Date(at)
  return date.toDateString() === new Date().toDateString() ? today.format(date) : anyDay.format(date)
}

/** Names of budgets. */
const budgets: Readonly<Record<string, string>> = {
  turns: "Turns",
  toolCalls: "Tool calls",
  fixes: "Repairs",
  transportRetries: "Requests sent again",
  tokens: "Tokens",
  cost: "Cost",
  duration: "Time",
  retriesPerTool: "Retries of a tool",
  allFailureRounds: "Rounds of failures",
  sameToolInARow: "Same tool in a row"
}

export const budgetName = (budget: string): string => budgets[budget] ?? budget

export const amount = (budget: string, value: number): string =>
  budget === "duration" ? duration(value) : budget === "cost" ? cost(value) : count(value)

/** JSON text, indented if it is JSON. */
export const pretty = (value: unknown): string => {
  if (typeof value !== "string") return exact(value)
  try {
    return exact(JSON.parse(value))
  } catch {
    return exact(value)
  }
}
