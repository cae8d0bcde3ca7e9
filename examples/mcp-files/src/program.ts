/**
 * An agent on the filesystem server of MCP: it reads freely, and a person approves its writes. The model is scripted.
 */
import { createRequire } from "node:module"
import { ScriptedModel } from "@recourse/testing"
import { Effect, FileSystem, Layer, Path, Redacted } from "effect"
import { ChildProcess } from "effect/process"
import { Agent, Approval, Recovery } from "@recourse/core"
import { Mcp } from "@recourse/mcp"

const server = createRequire(import.meta.url).resolve("@modelcontextprotocol/server-filesystem/dist/index.js")

/** Tools of the server for one folder. Whatever is no read needs an approval. */
const toolsFor = (folder: string) =>
  Mcp.tools({
    name: "files",
    connect: Mcp.stdio(ChildProcess.make(process.execPath, [server, folder])),
    filter: ({ name }) => ["read_text_file", "list_directory", "write_file"].includes(name),
    options: ({ annotations }) => ({ needsApproval: annotations?.readOnlyHint !== true })
  })

/** The model's requests: a missing file, the folder, the right file, and a new one. */
const script = (path: (name: string) => string) =>
  ScriptedModel.layer([
    ScriptedModel.call("files_read_text_file", { path: path("todo.txt") }),
    ScriptedModel.call("files_list_directory", { path: path("") }),
    ScriptedModel.call("files_read_text_file", { path: path("tasks.txt") }),
    ScriptedModel.call("files_write_file", {
      path: path("summary.txt"),
      content: "Two tasks: water the plants, call Ada."
    }),
    ScriptedModel.text("I have written summary.txt.")
  ])

/** Runs the agent in a folder of its own; `isApproved` is the person's answer. */
export const program = (isApproved: boolean) =>
  Effect.gen(function*() {
    const fs = yield* FileSystem.FileSystem
    const { join } = yield* Path.Path
    const folder = yield* fs.makeTempDirectoryScoped()
    yield* fs.writeFileString(join(folder, "tasks.txt"), "water the plants\ncall Ada\n")
    const agent = Agent.make("librarian", {
      instructions: "You keep a folder of notes.",
      tools: yield* toolsFor(folder),
      defaults: { onError: Recovery.standard }
    })
    const files = Effect.map(fs.readDirectory(folder), (names) => names.sort().join(", "))

    return yield* Effect.gen(function*() {
      const first = yield* agent.start("Sum up my tasks in summary.txt.")
      if (first._tag === "Completed") return [first.output]
      const before = yield* files
      const second = yield* agent.resume(
        first.snapshot,
        first.pending.map((call) => isApproved ? Approval.approve(call) : Approval.reject(call, "Not in this folder."))
      )
      return [
        `waits for a person: ${first.pending.map(({ tool }) => tool).join(", ")} (in the folder: ${before})`,
        `${isApproved ? "approved" : "refused"} (in the folder: ${yield* files})`,
        second._tag === "Completed" ? second.output : "waits again"
      ]
    }).pipe(Effect.provide(script((name) => join(folder, name))))
  }).pipe(
    Effect.scoped,
    Effect.provide(Layer.fresh(Approval.layerKey(Redacted.make("an-example-key-of-32-characters!"))))
  )
