/** The look of the editor: the colours of the page. */
import { HighlightStyle, syntaxHighlighting } from "@codemirror/language"
import { EditorView } from "@codemirror/view"
import { tags } from "@lezer/highlight"

const colours = HighlightStyle.define([
  { tag: [tags.keyword, tags.bool, tags.operatorKeyword], color: "var(--accent)" },
  { tag: tags.string, color: "var(--good)" },
  { tag: tags.number, color: "var(--warn)" },
  { tag: tags.comment, color: "var(--ink-mute)", fontStyle: "italic" }
])

const theme = EditorView.theme({
  "&": { maxHeight: "640px", background: "var(--sunken)", color: "var(--ink)", fontSize: "12.5px" },
  "&.cm-focused": { outline: "2px solid var(--accent)", outlineOffset: "-2px" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.6" },
  ".cm-content": { padding: "12px 0", caretColor: "var(--ink)" },
  ".cm-line": { padding: "0 14px" },
  ".cm-cursor": { borderLeftColor: "var(--ink)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": {
    background: "var(--accent-wash)"
  },
  ".cm-tooltip": {
    maxWidth: "min(560px, 90vw)",
    border: "1px solid var(--line)",
    borderRadius: "var(--radius-small)",
    background: "var(--raised)",
    color: "var(--ink)",
    boxShadow: "var(--shadow)"
  },
  ".cm-diagnostic": { whiteSpace: "pre-wrap", font: "12.5px/1.5 var(--font)" },
  ".type-at": {
    maxHeight: "240px",
    padding: "6px 10px",
    overflow: "auto",
    font: "12px/1.5 var(--mono)",
    whiteSpace: "pre-wrap"
  }
})

export const look = [theme, syntaxHighlighting(colours)]
