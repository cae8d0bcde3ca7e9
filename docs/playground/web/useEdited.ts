/** The visitor's own text of agent.ts. It belongs to the program of a choice, and the address holds it. */
import { useEffect, useState } from "react"
import { nameOf } from "../src/choice.ts"
import { decodeText, encodeText, longestFragment } from "../src/textInAddress.ts"
import { parseChoice } from "./address.ts"

interface Edited {
  /** The program that the text belongs to. */
  readonly name: string
  readonly text: string
  /** The text with which the editor opens. */
  readonly initialText: string
  /** False until the visitor allows a text of a link to run. */
  readonly mayRun: boolean
}

interface Editing {
  readonly edited: Edited | undefined
  /** Replaces the text; `undefined` discards it. */
  readonly setText: (text: string | undefined) => void
  readonly allow: () => void
  /** Set if the address cannot hold the text, or holds a damaged one. */
  readonly problem: string | undefined
}

const damaged = "The address holds a text that cannot be read."
const tooLong = `The text is too long for a link: compressed it has more than ${longestFragment} characters.`

// A text that this tab has written itself runs again after a reload.
const storageKey = "playground-text"

const writeFragment = (query: string, fragment: string): void => {
  if (location.search !== query) return
  history.replaceState(null, "", location.pathname + query + fragment)
  sessionStorage.setItem(storageKey, fragment)
}

const readEdited = async (fragment: string): Promise<Edited | undefined> => {
  const text = await decodeText(fragment)
  if (text === undefined) return undefined
  const mayRun = sessionStorage.getItem(storageKey) === fragment
  return { name: nameOf(parseChoice(location.search)), text, initialText: text, mayRun }
}

const isSame = (one: Edited | undefined, other: Edited | undefined): boolean =>
  one?.name === other?.name && one?.text === other?.text

/** Holds the text for the program `name`; `query` is the address of the choice. */
export const useEdited = (name: string, query: string): Editing => {
  const [held, setHeld] = useState<Edited>()
  const [problem, setProblem] = useState<string>()
  const edited = held?.name === name ? held : undefined
  useEffect(() => {
    const read = (): void => {
      readEdited(location.hash).then((found) => {
        setProblem(undefined)
        setHeld((before) => isSame(before, found) ? before : found)
      }, () => setProblem(damaged))
    }
    read()
    addEventListener("popstate", read)
    return () => removeEventListener("popstate", read)
  }, [])
  const text = edited?.text
  const mayRun = edited?.mayRun ?? false
  useEffect(() => {
    if (text === undefined || !mayRun) return
    let isCurrent = true
    const timer = setTimeout(() => {
      void encodeText(text).then((fragment) => {
        if (!isCurrent) return
        setProblem(fragment === undefined ? tooLong : undefined)
        writeFragment(query, fragment ?? "")
      })
    }, 200)
    return () => {
      isCurrent = false
      clearTimeout(timer)
    }
  }, [text, mayRun, query])
  const setText = (changed: string | undefined): void => {
    if (changed === undefined) {
      setProblem(undefined)
      writeFragment(query, "")
      setHeld(undefined)
    } else setHeld({ name, text: changed, initialText: edited?.initialText ?? changed, mayRun: edited?.mayRun ?? true })
  }
  return { edited, setText, allow: () => setHeld(edited && { ...edited, mayRun: true }), problem }
}
