/**
 * A server without durable runs is killed with kill -9 in a turn that pays: the next request over HTTP has the turn's
 * calls.
 */
import { assert, describe, it } from "@effect/vitest"
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { bundled } from "../support/bundled.ts"

const program = bundled(join(import.meta.dirname, "killedServer.ts"))

/** A line that the server prints: its address, a request to the model, or a decision of the audit. */
interface Line {
  readonly url?: string
  readonly users?: number
  readonly results?: ReadonlyArray<string>
  readonly decision?: string
}

/** A server in a process of its own, and the lines that it has printed. */
const serve = async (folder: string, when: string) => {
  const child: ChildProcess = spawn(process.execPath, ["--no-warnings", program, when], {
    cwd: folder,
    stdio: ["ignore", "pipe", "inherit"]
  })
  const lines: Array<Line> = []
  const url = new Promise<string>((resolve, reject) => {
    createInterface({ input: child.stdout! }).on("line", (text) => {
      const line = JSON.parse(text) as Line
      if (line.url === undefined) lines.push(line)
      else resolve(line.url)
    })
    child.once("exit", () => reject(new Error("The server has ended")))
  })
  const ended = once(child, "exit")
  return { url: await url, lines, ended, kill: () => child.kill("SIGKILL") }
}

const first = { id: "m1", role: "user", parts: [{ type: "text", text: "Pay" }] }

/** Possible requests of a page to the next server. */
const requests = {
  "the next message": { trigger: "submit-message", messages: [{ ...first, id: "m2" }] },
  "the same message": { trigger: "submit-message", messages: [first] },
  "a regeneration": { trigger: "regenerate-message", messages: [first] }
} as const

const send = async (url: string, body: object) => {
  const response = await fetch(`${url}/agents/clerk/chat`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ id: "t1", ...body })
  })
  return `${response.status} ${await response.text()}`
}

const cases = [
  ["before", "outcome_unknown", 0, "the next message"],
  ["within", "outcome_unknown", 1, "the same message"],
  ["within", "outcome_unknown", 1, "a regeneration"],
  ["behind", "paid", 1, "the next message"]
] as const

describe("a server that kill -9 ends within a chat turn", () => {
  it.each(cases)("killed %s the payment, reads %s and pays %i times: %s", async (when, result, times, request) => {
    const folder = mkdtempSync(join(tmpdir(), "recourse-server-"))
    try {
      const killed = await serve(folder, when)
      await send(killed.url, { trigger: "submit-message", messages: [first] }).catch(() => undefined)
      assert.deepStrictEqual(await killed.ended, [null, "SIGKILL"])
      const next = await serve(folder, "next")
      try {
        assert.include(await send(next.url, requests[request]), "Known.")
        const users = request === "the next message" ? 2 : 1
        const decided = result === "paid" ? [] : [{ decision: "outcome_unknown" }]
        assert.deepStrictEqual(next.lines, [...decided, { users, results: [result] }])
        // The thread keeps it: the turn after the next reads it, too.
        assert.include(
          await send(next.url, { ...requests["the next message"], messages: [{ ...first, id: "m3" }] }),
          "Known."
        )
        assert.deepStrictEqual(next.lines.at(-1), { users: users + 1, results: [result] })
        const paid = join(folder, "paid.log")
        assert.strictEqual(existsSync(paid) ? readFileSync(paid, "utf8").trim().split("\n").length : 0, times)
      } finally {
        next.kill()
        await next.ended
      }
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  }, 60_000)
})
