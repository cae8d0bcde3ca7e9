/** A turn of a chat whose process dies, with its thread in SQLite: at each step, and by kill -9. */
import { assert, describe, it } from "@effect/vitest"
import { Conversation } from "@recourse/core"
import { NodeSqliteClient } from "@recourse/sql"
import { Effect, Layer } from "effect"
import { spawnSync } from "node:child_process"
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { SqlClient } from "effect/sql"
import { agents, killedTurn } from "../../packages/core/test/support/killedTurns.ts"
import { bundled } from "../support/bundled.ts"

const database = NodeSqliteClient.layer({ filename: ":memory:" })
const conversations = Conversation.layerSql().pipe(Layer.provideMerge(database))

/** The database's clock is real: leases are over because their end is set back. */
const leaseOver = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  yield* sql`UPDATE recourse_threads SET leased_until = 0`
}).pipe(Effect.orDie)

describe("a killed turn in SQLite", () => {
  it.live.each(Object.entries(agents))("tells the next turn of a write by %s", ([, agentOf]) =>
    Effect.gen(function*() {
      const context = yield* Effect.context<SqlClient.SqlClient>()
      let steps = 0
      while (yield* killedTurn(agentOf as never, steps, Effect.provideContext(leaseOver, context))) steps++
      assert.isAbove(steps, 10)
    }).pipe(Effect.provide(conversations)))
})

const program = bundled(join(import.meta.dirname, "killedChat.ts"))

const inFolder = <A>(use: (folder: string) => A): A => {
  const folder = mkdtempSync(join(tmpdir(), "recourse-chat-"))
  try {
    return use(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

const node = (folder: string, ...args: ReadonlyArray<string>) =>
  spawnSync(process.execPath, ["--no-warnings", program, ...args], { cwd: folder, encoding: "utf8", timeout: 30_000 })

describe("a turn whose process is killed with kill -9", () => {
  it.each([
    ["before", "outcome_unknown", 0],
    ["within", "outcome_unknown", 1],
    ["behind", "paid", 1]
  ])("is read by the next process: killed %s the payment", (when, told, times) =>
    inFolder((folder) => {
      const first = node(folder, when)
      assert.strictEqual(first.signal, "SIGKILL", first.stderr)
      const next = node(folder, "next")
      assert.strictEqual(next.status, 0, next.stderr)
      const [result] = JSON.parse(next.stdout) as ReadonlyArray<{ readonly code?: string } | string>
      assert.strictEqual(typeof result === "string" ? result : result?.code, told)
      const paid = join(folder, "paid.log")
      assert.strictEqual(existsSync(paid) ? readFileSync(paid, "utf8").trim().split("\n").length : 0, times)
    }), 60_000)
})
