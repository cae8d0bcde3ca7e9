/** Asks who is signed in, once. */
import { useEffect, useState } from "react"
import { get, RequestFailed } from "../shared/api.ts"
import { nobody, type Operator } from "./operator.ts"

interface Answer {
  readonly principal: { readonly id: string; readonly rights: ReadonlyArray<string> }
}

/** The signed-in person; or the reason why this page is refused. */
export const useSignedIn = (): { readonly operator: Operator; readonly refused: RequestFailed | undefined } => {
  const [operator, setOperator] = useState(nobody)
  const [refused, setRefused] = useState<RequestFailed>()
  useEffect(() => {
    const controller = new AbortController()
    get<Answer>("operator", controller.signal).then(
      ({ principal: { id, rights } }) =>
        setOperator({ id, mayDecide: rights.includes("decide"), mayChat: rights.includes("chat") }),
      (error: unknown) => {
        if (error instanceof RequestFailed && (error.status === 401 || error.status === 403)) setRefused(error)
      }
    )
    return () => controller.abort()
  }, [])
  return { operator, refused }
}
