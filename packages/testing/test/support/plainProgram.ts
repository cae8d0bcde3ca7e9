/** The plainest program: one write without a key, called once. Tests change their subject in it. */
import type { Programs } from "@recourse/testing"

export const tool: Programs.Program["tools"][number] = {
  effects: "write",
  keyed: "no",
  timeout: false,
  approval: false,
  untrusted: false,
  streams: false,
  parts: false,
  undo: "no",
  outcomes: [],
  calls: 0,
  result: "text",
  recovery: []
}

export const program: Programs.Program = {
  tools: [tool],
  inherited: false,
  turns: [[{ tool: 0, order: "a" }]],
  form: "alone",
  beside: "same",
  policy: "none",
  standard: true,
  compensates: false,
  undoesAround: false,
  onTainted: "deny",
  compact: "no",
  model: [],
  onModelError: "end",
  offers: "all",
  guards: "none",
  concurrency: 1,
  runs: 1,
  again: false,
  asks: "outside",
  chat: [],
  decisions: [],
  ledger: "texts",
  store: [],
  observers: "fine",
  interruptAt: 1,
  order: 0
}
