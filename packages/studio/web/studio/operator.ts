/** The operator: the signed-in person, and that person's rights. */
import { createContext, use } from "react"

export interface Operator {
  readonly id: string
  readonly mayDecide: boolean
  readonly mayChat: boolean
}

/** Until the operator is known, no action is allowed. */
export const nobody: Operator = { id: "", mayDecide: false, mayChat: false }

export const CurrentOperator = createContext<Operator>(nobody)

export const useOperator = (): Operator => use(CurrentOperator)
