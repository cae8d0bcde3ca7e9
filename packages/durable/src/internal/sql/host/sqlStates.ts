/** States and transitions in SQL: conditions and assignments, made from their table. */
import type * as SqlClient from "effect/sql/SqlClient"
import type * as Statement from "effect/sql/Statement"
import { type TransitionName, transitions } from "../../../HostStates.ts"
import { columnsOf } from "../../store/states.ts"

const quoted = (texts: Iterable<string>): string => [...new Set(texts)].map((text) => `'${text}'`).join(", ")

/** True if a row is in one of the states from which a transition starts. */
const conditionOf = (name: TransitionName): string => {
  const from = transitions[name].from.map(columnsOf)
  const lent = from.flatMap(({ lent, status }) => status === "running" ? [lent] : [])
  const isAnyLent = [0, 1, 2].every((one) => lent.some((other) => other === one))
  const statuses = quoted(from.map(({ status }) => status))
  const isOne = from.every(({ status }) => status === from[0]?.status)
  const is = isOne ? `status = ${statuses}` : `status IN (${statuses})`
  return lent.length === 0 || isAnyLent ? is : `${is} AND lent IN (${lent.join(", ")})`
}

/** Fragments of statements that make transitions. */
export const sqlStates = (sql: SqlClient.SqlClient) => {
  const fragments = (make: (name: TransitionName) => string) => {
    const made = Object.fromEntries(
      (Object.keys(transitions) as Array<TransitionName>).map((name) => [name, sql.literal(make(name))])
    ) as Record<TransitionName, Statement.Fragment>
    return (name: TransitionName): Statement.Fragment => made[name]
  }
  return {
    /** The condition on the state that a transition starts from. */
    from: fragments(conditionOf),
    /** The assignments of the state that a transition ends in. */
    to: fragments((name) => {
      const { lent, status } = columnsOf(transitions[name].to)
      return `status = '${status}', lent = ${lent}`
    })
  }
}
