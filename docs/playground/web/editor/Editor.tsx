/** The editor of agent.ts: CodeMirror, with the problems and the types of the compiler. */
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands"
import { javascript } from "@codemirror/lang-javascript"
import { bracketMatching, indentOnInput } from "@codemirror/language"
import { type Diagnostic, lintKeymap, setDiagnostics } from "@codemirror/lint"
import { EditorState } from "@codemirror/state"
import { drawSelection, EditorView, hoverTooltip, keymap } from "@codemirror/view"
import { useEffect, useRef } from "react"
import type { Problem } from "../../src/types/compiler.ts"
import { sentenceOf } from "../../src/types/sentence.ts"
import { typeAt } from "./language.ts"
import { look } from "./look.ts"

interface Props {
  readonly initialText: string
  readonly problems: ReadonlyArray<Problem>
  readonly onChange: (text: string) => void
}

const types = hoverTooltip(async (_, position) => {
  const type = await typeAt(position).catch(() => undefined)
  if (type === undefined) return null
  return {
    pos: position,
    create: () => {
      const dom = document.createElement("div")
      dom.className = "type-at"
      dom.textContent = type
      return { dom }
    }
  }
})

const open = (parent: HTMLElement, text: string, onChange: (text: string) => void): EditorView =>
  new EditorView({
    parent,
    state: EditorState.create({
      doc: text,
      extensions: [
        history(),
        drawSelection(),
        indentOnInput(),
        bracketMatching(),
        javascript({ typescript: true }),
        keymap.of([...defaultKeymap, ...historyKeymap, ...lintKeymap]),
        EditorView.contentAttributes.of({ "aria-label": "Editor of agent.ts" }),
        EditorView.updateListener.of(({ docChanged, state }) => {
          if (docChanged) onChange(state.doc.toString())
        }),
        types,
        look
      ]
    })
  })

export const Editor = ({ initialText, onChange, problems }: Props) => {
  const parent = useRef<HTMLDivElement>(null)
  const view = useRef<EditorView>(undefined)
  const change = useRef(onChange)
  const text = useRef(initialText)
  useEffect(() => {
    change.current = onChange
  }, [onChange])
  useEffect(() => {
    const opened = open(parent.current!, text.current, (text) => change.current(text))
    view.current = opened
    opened.focus()
    return () => opened.destroy()
  }, [])
  useEffect(() => {
    const editor = view.current!
    const length = editor.state.doc.length
    const diagnostics = problems.map(({ from, message, to }): Diagnostic => ({
      from: Math.min(from, length),
      to: Math.min(to, length),
      severity: "error",
      message: sentenceOf(message)
    }))
    editor.dispatch(setDiagnostics(editor.state, diagnostics))
  }, [problems])
  return <div ref={parent} className="editor" />
}
