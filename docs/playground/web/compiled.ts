/** The compiler's answers about all programs of the page. The build of the page asks the compiler. */
import { useEffect, useState } from "react"
import type { Compiled } from "../src/compile.ts"

export type { Compiled }

export type AllCompiled = Readonly<Record<string, Compiled>>

let loading: Promise<AllCompiled> | undefined

export const useCompiled = (): AllCompiled | undefined => {
  const [all, setAll] = useState<AllCompiled>()
  useEffect(() => {
    loading ??= fetch("./compiled.json").then((response) => response.json() as Promise<AllCompiled>)
    void loading.then(setAll)
  }, [])
  return all
}
