/** Durable runs of a project: in a file of its folder, so that a process continues them after a crash and a restart. */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import * as Path from "effect/Path"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as SchemaTransformation from "effect/SchemaTransformation"
import * as Prompt from "effect/ai/Prompt"
import { randomBytes } from "node:crypto"
import type * as Agent from "@recourse/core/Agent"
import { layerKey, type SnapshotKey } from "@recourse/core/Approval"
import type { Runs } from "@recourse/core/Runs"
import * as Durable from "@recourse/durable/Durable"
import * as RunStore from "@recourse/durable/RunStore"
import type { Servable } from "@recourse/server/MemoryRuns"
import * as NodeSqliteClient from "@recourse/sql/NodeSqliteClient"
import { CannotServe, orCannotServe } from "./cannotServe.ts"

/** The text of the user's last message. */
const lastText = (prompt: Prompt.Prompt): string => {
  const last = prompt.content.findLast(({ role }) => role === "user")
  return last === undefined || typeof last.content === "string"
    ? ""
    : last.content.flatMap((part) => part.type === "text" ? [part.text] : []).join("")
}

/** Conversations, which servers pass to agents, or texts. */
const Said = Schema.Union([Schema.String, Schema.toCodecJson(Prompt.Prompt)])

/** Input of an agent: a conversation, or the last text in it. */
const inputOf = (takesText: boolean): Schema.Top =>
  Said.pipe(Schema.decodeTo(
    Schema.Any,
    SchemaTransformation.transform({
      decode: (said) => {
        const prompt = typeof said === "string" ? Prompt.make(said) : said
        return takesText ? lastText(prompt) : prompt
      },
      encode: (input: string | Prompt.Prompt) => input
    })
  ))

/** JSON of an answer: it is not decoded here. */
const Answer = Schema.Json.pipe(Schema.decodeTo(
  Schema.Any,
  SchemaTransformation.transform({
    decode: (json): unknown => json,
    encode: (answer: unknown) => JSON.parse(JSON.stringify(answer ?? null)) as Schema.Json
  })
))

const durable = (agent: Servable): Durable.Any =>
  Durable.make(agent as Agent.Agent<unknown, unknown, never, never>, {
    input: inputOf("takesText" in agent && agent.takesText === true) as never,
    output: Answer as never
  } as never) as unknown as Durable.Any

/** The key of snapshots: the same each time that the folder is served. Whoever has it can make runs that wait do other things. */
const key = (data: string): Layer.Layer<SnapshotKey, CannotServe, FileSystem.FileSystem | Path.Path> =>
  Layer.unwrap(
    Effect.gen(function*() {
      const files = yield* FileSystem.FileSystem
      const file = (yield* Path.Path).join(data, "snapshot-key")
      if (!(yield* files.exists(file))) {
        // Two processes that begin at once have one key: the first one's.
        yield* Effect.ignore(
          files.writeFileString(file, randomBytes(32).toString("hex"), { flag: "wx", mode: 0o600 })
        )
      }
      const written = (yield* files.readFileString(file)).trim()
      return written.length < 64
        ? yield* new CannotServe({
          problem: `${file} holds no key of snapshots: delete it, and the runs that wait with it`
        })
        : layerKey(Redacted.make(written))
    }).pipe(Effect.mapError((error) =>
      error instanceof CannotServe
        ? error
        : new CannotServe({ problem: `The key of snapshots in ${data} cannot be used: ${error.message}` })
    ))
  )

/**
 * Runs of agents in `runs.db` of an existing folder. A process that takes the folder over waits for the lease of the
 * previous one, which is short on a developer's machine.
 */
export const durableRuns = (agents: ReadonlyArray<Servable>, data: string): {
  readonly runs: Layer.Layer<Runs, CannotServe, FileSystem.FileSystem | Path.Path>
  readonly key: ReturnType<typeof key>
} => {
  const store = orCannotServe(
    RunStore.layerSql().pipe(
      Layer.provide(
        Layer.unwrap(Effect.map(Path.Path, (path) => NodeSqliteClient.layer({ filename: path.join(data, "runs.db") })))
      )
    ),
    (error) => `The runs in ${data} cannot be opened: ${error.message}`
  )
  const runs = Durable.layer(agents.map(durable), { lease: "5 seconds", poll: "200 millis", grace: "200 millis" })
  return { runs: Layer.provide(runs, store) as Layer.Layer<Runs, CannotServe, Path.Path>, key: key(data) }
}
