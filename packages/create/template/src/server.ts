/** Serves the agent: `npm run serve`. Its secrets are in `.env`. */
import { NodeHttpServer, NodeRuntime } from "@effect/platform-node"
import { Server } from "@recourse/server"
import { Layer, Redacted } from "effect"
import { HttpRouter } from "effect/http"
import { createServer } from "node:http"
import { service } from "./service.ts"

const secret = (name: string) => {
  const value = process.env[name] ?? ""
  if (value === "") throw new Error(`Set ${name} in .env`)
  return Redacted.make(value)
}

const routes = service({
  file: process.env["DATABASE"] ?? "runs.db",
  customer: secret("CUSTOMER_TOKEN"),
  operator: secret("OPERATOR_TOKEN"),
  snapshotKey: secret("SNAPSHOT_KEY")
})

HttpRouter.serve(routes).pipe(
  Server.drained({ within: "5 seconds" }),
  Layer.provide(
    NodeHttpServer.layer(() => createServer(), { host: "127.0.0.1", port: Number(process.env["PORT"] ?? 3000) })
  ),
  Server.explained,
  Layer.launch,
  NodeRuntime.runMain
)
