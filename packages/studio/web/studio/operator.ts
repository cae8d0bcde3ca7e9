/** The operator: who is signed in, and what that person may do. */
import { createContext, use } from "react"

export interface Operator {
  readonly id: string
  readonly mayDecide: boolean
  readonly mayChat: boolean
}

/** Until it is known, nothing may be done. */
export const nobody: Operator = { id: "", mayDecide: false, mayChat: false }

export const CurrentOperator = createContext<Operator>(nobody)

export const useOperator = (): Operator => use(CurrentOperator)
