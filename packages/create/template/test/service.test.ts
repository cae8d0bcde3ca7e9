/** The service, without a port: requests to its routes. */
import { NodeHttpServer } from "@effect/platform-node"
import { Layer, Redacted } from "effect"
import { HttpRouter } from "effect/http"
import assert from "node:assert/strict"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { test } from "node:test"
import { service } from "../src/service.ts"

const folder = mkdtempSync(join(tmpdir(), "my-agent-"))

/** Starts the service over the database, and returns its client. */
const start = () => {
  const routes = service({
    file: join(folder, "runs.db"),
    customer: Redacted.make("token-of-a-customer"),
    operator: Redacted.make("token-of-an-operator"),
    snapshotKey: Redacted.make("at-least-32-characters-for-a-test")
  })
  const { dispose, handler } = HttpRouter.toWebHandler(
    routes.pipe(Layer.provideMerge(NodeHttpServer.layerHttpServices)),
    { disableLogger: true }
  )
  const request = async (path: string, body?: unknown) => {
    const response = await handler(
      new Request(`http://localhost${path}`, {
        headers: { authorization: "Bearer token-of-a-customer", "content-type": "application/json" },
        ...(body === undefined ? {} : { method: "POST", body: JSON.stringify(body) })
      })
    )
    return await response.json() as { readonly runId: string; readonly status: string; readonly output?: string }
  }
  return { dispose, request }
}

test("knows a completed run after a restart", async () => {
  const first = start()
  const question = { agent: "support", message: "Where is my order 7?", key: "question-1" }
  const { runId } = await first.request("/runs", question)
  let run = await first.request(`/runs/${runId}`)
  for (let i = 0; run.status !== "completed" && i < 200; i++) {
    await new Promise((later) => setTimeout(later, 25))
    run = await first.request(`/runs/${runId}`)
  }
  assert.equal(run.output, "Order 7 is on its way.")
  await first.dispose()

  const second = start()
  // The same request under the same key is the same run.
  assert.equal((await second.request("/runs", question)).runId, runId)
  assert.equal((await second.request(`/runs/${runId}`)).output, "Order 7 is on its way.")
  await second.dispose()
  rmSync(folder, { recursive: true, maxRetries: 5 })
})
