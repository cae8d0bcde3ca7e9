/** Changes of a tool's call between two executions. */

import { ScriptedModel } from "@recourse/testing"
import { Schema } from "effect"
import { agent, book, call, type Case, clerk, deny, keyed, read, triedAgain, write } from "./programChange.ts"

export const tools: Readonly<Record<string, Case>> = {
  "a tool is added": {
    make: (here) => agent([write(here, "book"), ...(here.life === 0 ? [] : [read("look")])]),
    turns: { main: book }
  },
  "a read is removed": {
    make: (here) => agent(here.life === 0 ? [read("book")] : []),
    turns: { main: book }
  },
  "a write is removed": {
    make: (here) => agent(here.life === 0 ? [write(here, "book")] : [read("look")]),
    turns: { main: book }
  },
  "a keyed write is removed": {
    make: (here) => agent(here.life === 0 ? [write(here, "book", keyed)] : [read("look")]),
    turns: { main: book }
  },
  "a tool is renamed": {
    make: (here) => agent([write(here, here.life === 0 ? "book" : "reserve")]),
    turns: { main: book }
  },
  "the tools stand in another order": {
    make: (here) => {
      const all = [write(here, "book"), read("look")]
      return agent(here.life === 0 ? all : all.toReversed())
    },
    turns: { main: book }
  },
  "a write takes other parameters": {
    make: (here) =>
      agent([
        write(here, "book", here.life === 0 ? {} : { parameters: Schema.Struct({ place: Schema.Int }) })
      ]),
    turns: { main: book }
  },
  "a keyed write takes other parameters": {
    make: (here) =>
      agent([
        write(here, "book", {
          ...keyed,
          ...(here.life === 0 ? {} : { parameters: Schema.Struct({ place: Schema.Int }) })
        })
      ]),
    turns: { main: book }
  },
  "a write reads its arguments otherwise": {
    make: (here) =>
      agent([
        write(
          here,
          "book",
          here.life === 0
            ? keyed
            : { ...keyed, parameters: Schema.Struct({ seat: Schema.String, row: Schema.optionalKey(Schema.Int) }) }
        )
      ]),
    turns: { main: book }
  },
  "a write answers otherwise": {
    make: (here) => agent([write(here, "book", here.life === 0 ? {} : { success: Schema.Int })]),
    turns: { main: book },
    ends: ["InvalidResult"]
  },
  "a keyed write answers otherwise": {
    make: (here) => agent([write(here, "book", { ...keyed, ...(here.life === 0 ? {} : { success: Schema.Int }) })]),
    turns: { main: book },
    ends: ["InvalidResult"]
  },
  "a write loses its key": {
    make: (here) => agent([write(here, "book", here.life === 0 ? keyed : {})]),
    turns: { main: book }
  },
  "a write gets a key": {
    make: (here) => agent([write(here, "book", here.life === 0 ? {} : keyed)]),
    turns: { main: book }
  },
  "a write becomes a read": {
    make: (here) => agent([write(here, "book", here.life === 0 ? {} : { effects: "read" })]),
    turns: { main: book }
  },
  "a keyed write becomes a read": {
    make: (here) => agent([write(here, "book", here.life === 0 ? keyed : { effects: "read" })]),
    turns: { main: book }
  },
  "a key is drawn": {
    make: (here) => agent([write(here, "book", { idempotency: { key: () => `life ${here.life}` } })]),
    turns: { main: book }
  },
  "a key is drawn, and what failed is tried again whatever it was": {
    make: (here) => agent([triedAgain(write(here, "book", { idempotency: { key: () => `life ${here.life}` } }))]),
    turns: { main: book }
  },
  "a write is denied": {
    make: (here) => agent([write(here, "book")], here.life === 0 ? {} : { policies: [deny] }),
    turns: { main: book }
  },
  "a keyed write is denied": {
    make: (here) => agent([write(here, "book", keyed)], here.life === 0 ? {} : { policies: [deny] }),
    turns: { main: book }
  },
  "a write is not offered": {
    make: (here) =>
      agent([write(here, "book"), read("look")], {
        prepareTurn: () => ({ tools: here.life === 0 ? ["book"] : ["look"] })
      }),
    turns: { main: book }
  },
  "a keyed write is not offered": {
    make: (here) =>
      agent([write(here, "book", keyed), read("look")], {
        prepareTurn: () => ({ tools: here.life === 0 ? ["book"] : ["look"] })
      }),
    turns: { main: book }
  },
  "a tool is an agent": {
    make: (here) =>
      agent([
        here.life === 0 ? write(here, "clerk") : clerk("clerk", write(here, "book"), "clerk")
      ]),
    turns: { main: [call("clerk", { seat: "1A" }, "c1"), ScriptedModel.text("done")], clerk: book },
    other: true
  },
  "an agent is a tool": {
    make: (here) =>
      agent([
        here.life === 1 ? write(here, "clerk") : clerk("clerk", write(here, "book"), "clerk")
      ]),
    turns: { main: [call("clerk", { seat: "1A" }, "c1"), ScriptedModel.text("done")], clerk: book },
    other: true
  }
}
