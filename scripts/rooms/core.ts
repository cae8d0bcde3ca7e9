/** Layout of the core: rooms and words (docs/architecture.md). */
import type { Layout } from "./layout.ts"

const rooms: Layout["rooms"] = {
  foundation: {
    holds: "parts for any Effect program: hashes, JSON, tags, sequencing",
    not: "a run, a call, a tool",
    mayImport: []
  },
  projection: {
    holds: "from an error or a mark to the texts of model, user, operator",
    not: "listeners and the order of their events",
    mayImport: ["foundation"]
  },
  idempotency: {
    holds: "keys, intents, entries, claims, the stores",
    not: "a call, a run, an error of a tool",
    mayImport: ["foundation"]
  },
  approval: {
    holds: "a paused run as data; the conditions of its resumption",
    not: "running anything",
    mayImport: ["path", "foundation"]
  },
  console: {
    holds: "a run as lines of text for whoever watches it, and questions to the person at the terminal",
    not: "inputs of programs and models",
    mayImport: ["approval", "foundation"]
  },
  history: {
    holds: "changes of a conversation: mended, forgotten, cut",
    not: "a run, a store",
    mayImport: ["projection", "foundation"]
  },
  conversation: {
    holds: "threads and their entries, the stores; the views of the model and of people",
    not: "an agent",
    mayImport: ["run", "path", "approval", "history", "foundation"]
  },
  path: {
    holds: "addresses and ids of runs, agents and calls, and the keys of their entries in a journal",
    not: "an entry, a run",
    mayImport: []
  },
  run: {
    holds: "state and usage of a run; events and spans",
    not: "the model, the executor",
    mayImport: ["path", "approval", "projection", "foundation"]
  },
  model: {
    holds: "one request, one answer; decisions about its failure",
    not: "tools being run, the conversation",
    mayImport: ["run", "path", "foundation"]
  },
  call: {
    holds: "one call: its record, arguments, gate, key, attempts",
    not: "decisions of recovery",
    mayImport: ["run", "path", "approval", "idempotency", "projection", "foundation"]
  },
  recovery: {
    holds: "the public operators; each changes the error type with the behaviour",
    not: "how an attempt is made",
    mayImport: ["call", "run", "path", "idempotency", "projection", "foundation"]
  },
  result: {
    holds: "results of calls: delivered, audited, emitted",
    not: "running a call",
    mayImport: ["call", "run", "path", "approval", "projection", "foundation"]
  },
  tool: {
    holds: "from options to a tool; a tool with its agent's recovery",
    not: "several calls at once",
    mayImport: ["recovery", "result", "call", "run", "path", "approval", "idempotency", "projection", "foundation"]
  },
  round: {
    holds: "the calls of one answer: run, resumed",
    not: "the model",
    mayImport: ["tool", "result", "call", "run", "path", "approval", "projection", "foundation"]
  },
  loop: {
    holds: "the conversation: turns, skills, final answer",
    not: "how one call is run",
    mayImport: ["round", "tool", "result", "model", "run", "path", "approval", "history", "foundation"]
  },
  agent: {
    holds: "agents of users: make, run, resume, combine, as a tool",
    not: "the steps of a turn or of a call",
    mayImport: [
      "loop",
      "round",
      "tool",
      "result",
      "recovery",
      "call",
      "model",
      "run",
      "path",
      "approval",
      "conversation",
      "history",
      "foundation"
    ]
  }
}

const words = new Set([
  "AgentError",
  "AgentEventListener",
  "AgentEventSchema",
  "Budget",
  "Catalogue",
  "ConfigurationError",
  "EventParts",
  "Guardrail",
  "Journal",
  "ModelProvider",
  "OutputGuard",
  "Policy",
  "Quarantine",
  "Reconciliation",
  "Redaction",
  "RedactionRules",
  "RetryBudget",
  "RunInbox",
  "RunUsage",
  "StoreTimeout",
  "Telemetry",
  "ToolError",
  "ToolInterceptor"
])

export const core: Layout = { package: "core", rooms, words }
