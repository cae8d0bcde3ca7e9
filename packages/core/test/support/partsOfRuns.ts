/** Internal parts of runs, and a run with records for them. */

import type { Effect } from "effect"
import { Schema } from "effect"
import { openRun } from "./openRun.ts"

export const room = new URL("../../src/internal/run/", import.meta.url)

export const load = async (name: string): Promise<never> => await import(new URL(name, room).href) as never

export type Json = Schema.Json

export type Counts = Readonly<Record<string, number>>

export interface Account {
  readonly state: () => { readonly used: Counts; readonly retries: Counts; readonly extended: Counts }
  readonly charge: (kind: string, tool?: string) => Effect.Effect<void>
  readonly section: (agent: string, caps: Counts) => Account
  readonly hasTime: (millis: number) => boolean
}

export interface Write {
  readonly id: string
  readonly known: string
  readonly root?: string
  readonly result?: Json
  readonly revoked?: true
}

export interface Done {
  readonly add: (run: object, write: object, live: undefined) => void
  readonly knows: (id: string) => boolean
  readonly reject: (run: object) => void
  readonly remove: (id: string) => void
  readonly state: (run: object) => ReadonlyArray<Write>
}

export interface Run {
  readonly [field: string]: unknown
  readonly account: Account
  readonly usage: Record<string, number>
  readonly executed: Array<unknown>
  readonly hidden: ReadonlyMap<string, number>
  readonly completed: Done | undefined
}

export interface Journal {
  readonly isResumed: boolean
  readonly find: (kind: string, key: string) => Json | undefined
  readonly entries?: ((kind: string) => Iterable<readonly [string, Json]>) | undefined
}

export const { Account }: {
  readonly Account: new(
    agent: string,
    limits: Counts,
    thresholds: ReadonlyArray<number>,
    owner: object | undefined,
    parent?: Account
  ) => Account
} = await load("account.ts")

export const { CompletedWrites }: { readonly CompletedWrites: new() => Done } = await load(
  "writes/completedWrites.ts"
)

export const { emit, runSection }: {
  readonly runSection: (run: Run) => Run
  readonly emit: (run: object | undefined, body: () => object) => Effect.Effect<void>
} = await load("run.ts")

export interface Log extends Journal {
  readonly isCancelledReplay: boolean
  readonly claim: (entry: string) => string
}

export const { RunLog }: {
  readonly RunLog: {
    new(journal: Journal): Log
    readonly abandoned: (runId: string, log: Log | undefined) => Log
  }
} = await load("runLog.ts")

export const write = (id: string, more: object = {}) => ({
  id,
  tool: "book",
  scope: "r",
  identity: id,
  callId: id,
  root: id,
  path: ["a"],
  known: "unknown",
  arguments: {},
  ...more
})

export const runOf = (account = new Account("a", {}, [], undefined), more: object = {}): Run =>
  openRun({
    account,
    usage: { toolCalls: 0, turns: 0 },
    executed: [],
    completed: new CompletedWrites(),
    parent: undefined,
    ...more
  }) as never

export const journalOf = (entries: Readonly<Record<string, Json>>, isResumed = true): Journal => ({
  isResumed,
  find: (kind, key) => entries[`${kind} ${key}`],
  entries: (kind) =>
    Object.entries(entries).filter(([key]) => key.startsWith(`${kind} `)).map((
      [key, value]
    ) => [key.slice(kind.length + 1), value] as const)
})

export class Late extends Schema.TaggedError<Late>()("Late", {}) {}
