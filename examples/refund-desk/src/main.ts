/** Opens the refund desk on loopback. Without variables it has tokens for you to try, which it refuses to use on another address. */
import { NodeRuntime } from "@effect/platform-node"
import { Layer, Redacted } from "effect"
import { script } from "./clerk.ts"
import { desk } from "./desk.ts"

const host = process.env["HOST"] ?? "127.0.0.1"

const secret = (name: string, example: string) => {
  const value = process.env[name] ?? ""
  if (value === "" && host !== "127.0.0.1") throw new Error(`Set ${name}: its example is public`)
  return Redacted.make(value === "" ? example : value)
}

NodeRuntime.runMain(Layer.launch(desk({
  host,
  port: Number(process.env["PORT"] ?? 4984),
  file: process.env["DESK_DATABASE"] ?? "desk.db",
  ada: secret("ADA_TOKEN", "token-of-ada"),
  grace: secret("GRACE_TOKEN", "token-of-grace"),
  snapshotKey: secret("SNAPSHOT_KEY", "at-least-32-characters-that-nobody-guesses"),
  model: script
})))
