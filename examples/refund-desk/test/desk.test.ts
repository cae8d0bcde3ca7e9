/** The refund desk as a process: requests over HTTP, two people, and a kill while the run waits. */
import { assert, describe, it } from "@effect/vitest"
import { type ChildProcess, spawn } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { bundled } from "../../../test/support/bundled.ts"

const source = join(import.meta.dirname, "..", "src")

const freePort = (): Promise<number> =>
  new Promise((found) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address() as { readonly port: number }
      server.close(() => found(port))
    })
  })

const start = (variables: Readonly<Record<string, string>>) => {
  const child: ChildProcess = spawn(process.execPath, ["--no-warnings", bundled(join(source, "main.ts"))], {
    env: { PATH: process.env["PATH"] ?? "", ...variables },
    stdio: ["ignore", "pipe", "pipe"]
  })
  let output = ""
  for (const stream of [child.stdout, child.stderr]) stream?.on("data", (data: Buffer) => output += data.toString())
  const ended = new Promise<number | null>((end) => child.once("close", end))
  return { output: () => output, ended, kill: () => (child.kill("SIGKILL"), ended) }
}

interface Answer {
  readonly status: number
  readonly body: {
    readonly runId?: string
    readonly status?: unknown
    readonly output?: unknown
    readonly approvals?: ReadonlyArray<{ readonly call: { readonly callId: string; readonly argumentsHash: string } }>
  }
}

const clientOf = (port: number) => async (token: string, path: string, body?: unknown): Promise<Answer> => {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, {
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    ...(body === undefined ? undefined : { method: "POST", body: JSON.stringify(body) })
  })
  return { status: response.status, body: await response.json() as Answer["body"] }
}

/** Repeats a request until its answer is as expected. */
const until = async (request: () => Promise<Answer>, isDone: (answer: Answer) => boolean): Promise<Answer> => {
  for (const begin = Date.now();;) {
    const answer = await request().catch(() => undefined)
    if (answer !== undefined && isDone(answer)) return answer
    assert.isBelow(Date.now() - begin, 60_000, JSON.stringify(answer))
    await new Promise((later) => setTimeout(later, 50))
  }
}

const approve: unknown = JSON.parse(readFileSync(join(source, "approve.json"), "utf8"))
const refund = { agent: "clerk", message: "Please refund my order 7.", key: "refund-7" }

describe("the refund desk", () => {
  it("pays once when the second person approves, also after kill -9", async () => {
    const folder = mkdtempSync(join(tmpdir(), "recourse-"))
    const port = await freePort()
    const ask = clientOf(port)
    const variables = { PORT: String(port), DESK_DATABASE: join(folder, "desk.db") }
    let desk = start(variables)
    try {
      const begun = await until(() => ask("token-of-ada", "/runs", refund), ({ status }) => status === 202)
      const run = `/runs/${begun.body.runId}`
      const waiting = () => ask("token-of-grace", "/operator/approvals")
      await until(waiting, ({ body }) => body.approvals?.length === 1)
      await desk.kill()
      desk = start(variables)
      const { body } = await until(waiting, ({ body }) => body.approvals?.length === 1)
      assert.deepStrictEqual(body.approvals?.map(({ call }) => [call.callId, call.argumentsHash]), [
        ["call_2", "55729011620970f1e6a88fa5d7b7cae4880d9560b41a5d73affed95175d639c7"]
      ])
      assert.strictEqual((await ask("token-of-eve", "/operator/approvals")).status, 401)
      assert.strictEqual((await ask("token-of-ada", "/operator/approvals")).status, 403)
      assert.strictEqual((await ask("token-of-ada", `${run}/decisions`, approve)).status, 403)
      assert.notInclude(desk.output(), "The bank has paid")
      assert.isBelow((await ask("token-of-grace", `/operator${run}/decisions`, approve)).status, 300)
      const ended = await until(() => ask("token-of-ada", run), ({ body }) => body.status === "completed")
      assert.strictEqual(ended.body.output, "Order 7 is refunded.")
      assert.lengthOf(desk.output().match(/The bank has paid 40 euros for order 7/g) ?? [], 1)
      assert.isAtLeast((await ask("token-of-grace", `/operator${run}/decisions`, approve)).status, 400)
    } finally {
      await desk.kill()
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
    }
  }, 120_000)

  it("does not start on another address with its example tokens", async () => {
    const desk = start({ HOST: "0.0.0.0", PORT: String(await freePort()), DESK_DATABASE: ":memory:" })
    assert.notStrictEqual(await desk.ended, 0)
    assert.include(desk.output(), "Set ADA_TOKEN: its example is public")
  }, 60_000)
})
