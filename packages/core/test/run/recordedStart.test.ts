import { assert, it } from "@effect/vitest"
import { Effect, type Schema } from "effect"
import type { Journal } from "@recourse/core"
import { load } from "../support/partsOfRuns.ts"

const { startsIn } = (await load("recordedStart.ts")) as {
  readonly startsIn: (journal: Journal.Journal) => Iterable<unknown>
}

const journal = (entries: Readonly<Record<string, Schema.Json>>): Journal.Journal => ({
  runId: "r",
  isResumed: true,
  elapsedBefore: 0,
  find: () => undefined,
  entries: (kind) => kind === "write" ? Object.entries(entries) : [],
  record: () => Effect.void,
  claim: (entry) => entry
})

const plain = { tool: "pay", at: 1 }
const old = { key: undefined, isRepeatable: false, isAtomic: false }

/** Entries of older versions: by their keys, with the path and the start that they are. */
const older: Readonly<Record<string, readonly [value: Schema.Json, path: string, start: object]>> = {
  "run/1#call@12": [true, "run/1#call", { ...old, attempt: 12, key: "call", isRepeatable: true }],
  "two\nlines/3": [true, "two\nlines", { ...old, attempt: 3, key: "call", isRepeatable: true }],
  "key run/call@2": ["own", "run/call", { ...old, attempt: 2, key: "own" }],
  "run/call@2": [plain, "run/call", { ...old, attempt: 2 }],
  "run/call@2@13": [plain, "run/call@2", { ...old, attempt: 13 }],
  "run/call/2": [plain, "run/call/2", { ...old, attempt: "first" }],
  "run/call@2/b": [plain, "run/call@2/b", { ...old, attempt: "first" }],
  "run/call": [plain, "run/call", { ...old, attempt: "first" }]
}

it("entries of older versions are starts, found by their keys", () => {
  const entries = Object.fromEntries(Object.entries(older).map(([entry, [value]]) => [entry, value]))
  assert.deepStrictEqual(
    [...startsIn(journal(entries))],
    Object.entries(older).map(([entry, [, path, start]]) => ({ path, start: { ...start, entry } }))
  )
})

it("entries of another form are no starts", () => {
  const entries = {
    "run/call": true,
    "run/call@2": "own",
    "key run/call": "own",
    "run/call@3": { tool: "pay" },
    "run/call@4": null,
    "run/call@5b": true
  }
  assert.deepStrictEqual([...startsIn(journal(entries))], [])
})

it("an entry with a path is the start of the attempt that it names", () => {
  const entry = { ...plain, path: "run/call", attempt: 2, effects: "idempotent", key: "k", failed: [] }
  assert.deepStrictEqual([...startsIn(journal({ one: entry }))], [{
    path: "run/call",
    failed: [],
    start: { entry: "one", attempt: 2, key: "k", isRepeatable: true, isAtomic: false }
  }])
})
