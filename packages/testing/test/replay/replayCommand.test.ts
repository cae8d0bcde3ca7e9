import { assert, describe, it } from "@effect/vitest"
import { FaultPlan, Faults, Replay, ScriptedModel, Subject, VirtualTime } from "@recourse/testing"
import { Effect, Exit, Layer, Option } from "effect"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { command } from "@recourse/testing/ReplayCommand"
import { inProcess, run } from "../support/process.ts"
import { subject } from "../support/shop.ts"

const here = join(import.meta.dirname, "..")
const fixture = (name: string) => join(here, "fixtures", name)
const program = (...args: ReadonlyArray<string>) => run(join(here, "..", "src", "replayBin.ts"), ...args)
const within = inProcess(command)

/** A recording of a run of the shop in which the network fails once, in a file. */
const recorded = (folder: string) =>
  Effect.gen(function*() {
    const { input, model } = subject.scenarios["default"]!
    const plan = FaultPlan.make([FaultPlan.onTool("search", { type: "network_error" })])
    const services = Layer.merge(
      Faults.layer(plan).pipe(Layer.provide(ScriptedModel.layer(model))),
      Subject.layer
    )
    const { exit } = yield* VirtualTime.run(
      Replay.record(subject.agent, input, { tools: subject.tools }).pipe(Effect.provide(services))
    )
    const { recording } = Option.getOrThrow(Exit.getSuccess(exit))
    const file = join(folder, "recording.json")
    writeFileSync(file, yield* Replay.stringify(recording))
    return file
  })

const inFolder = <A>(body: (folder: string) => Effect.Effect<A, unknown>) =>
  Effect.acquireUseRelease(
    Effect.sync(() => mkdtempSync(join(tmpdir(), "replay-"))),
    body,
    (folder) => Effect.sync(() => rmSync(folder, { recursive: true }))
  )

describe("recourse-replay", { timeout: 60_000 }, () => {
  it.live("exits with 0 when the program does as it did", () =>
    inFolder((folder) =>
      Effect.gen(function*() {
        const { code, err, out } = yield* within(yield* recorded(folder), "--agent", fixture("shop.ts"))
        assert.deepStrictEqual([code, err], [0, ""])
        assert.match(out, /^As recorded: 3 model calls, \d+ events$/m)
      })
    ))

  it.live("makes a recording of a log of events, which becomes a test", () =>
    inFolder((folder) =>
      Effect.gen(function*() {
        const recording = yield* Replay.parse(readFileSync(yield* recorded(folder), "utf8"))
        const log = join(folder, "events.jsonl")
        writeFileSync(log, recording.events.map((event) => JSON.stringify(event)).join("\n"))
        const saved = join(folder, "saved.json")
        const made = yield* within(log, "--agent", fixture("shop.ts"), "--save", saved)
        assert.deepStrictEqual([made.code, made.err], [0, ""])
        const other = yield* within(saved, "--agent", fixture("impatientShop.ts"))
        assert.deepStrictEqual([other.code, other.err], [1, ""])
        assert.match(other.out, /^Event \d+ is another$/m)
      })
    ))

  it.live("saves no secrets, unless requested", () =>
    inFolder((folder) =>
      Effect.gen(function*() {
        const recording = yield* Replay.parse(readFileSync(yield* recorded(folder), "utf8"))
        const log = join(folder, "events.jsonl")
        const token = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"
        const lines = recording.events.map((event) => JSON.stringify(event)).join("\n")
        writeFileSync(log, lines.replaceAll("teapot", `teapot ${token}`))
        const saved = join(folder, "saved.json")
        const save = (...flags: ReadonlyArray<string>) =>
          Effect.map(
            within(log, "--agent", fixture("shop.ts"), "--save", saved, ...flags),
            (made) => {
              assert.deepStrictEqual([made.code, made.err], [0, ""])
              return readFileSync(saved, "utf8")
            }
          )
        const shown = yield* save("--field", "sku", "--field", "page")
        assert.notInclude(shown, token)
        assert.include(shown, "Order a teapot [redacted: github token 1]")
        assert.include(shown, "[redacted: page 1]")
        assert.include(yield* save("--raw"), token)
      })
    ))

  it.live("takes the named run of a log of several, else asks", () =>
    inFolder((folder) =>
      Effect.gen(function*() {
        const { events } = yield* Replay.parse(readFileSync(yield* recorded(folder), "utf8"))
        const log = join(folder, "events.jsonl")
        const other = events.map((event) => ({ ...event, runId: "run_2", agentRunId: "run_2" }))
        writeFileSync(log, [...events, ...other].map((event) => JSON.stringify(event)).join("\n"))
        const named = yield* within(log, "--agent", fixture("shop.ts"), "--run", "run_2")
        assert.deepStrictEqual([named.code, named.err], [0, ""])
        const unnamed = yield* within(log, "--agent", fixture("shop.ts"))
        assert.strictEqual(unnamed.code, 2)
        assert.include(
          unnamed.out + unnamed.err,
          `is a log of 2 runs: name one by --run. They are ${events[0]!.runId}, run_2`
        )
      })
    ))

  it.live("exits with 1 and prints the first difference", () =>
    inFolder((folder) =>
      Effect.gen(function*() {
        const { code, err, out } = yield* program(yield* recorded(folder), "--agent", fixture("impatientShop.ts"))
        assert.deepStrictEqual([code, err], [1, ""])
        const [head, was, is] = out.split("\n")
        assert.strictEqual(head, "The model is sent something else in call 2; the last message is")
        assert.match(was!, /^- recorded: .*Results for teapot/)
        assert.match(is!, /^\+ replayed: .*execution_error/)
      })
    ))

  it.live("exits with 2 without a recording, and names the fault", () =>
    inFolder((folder) =>
      Effect.gen(function*() {
        const other = yield* within(fixture("good.json"), "--agent", fixture("shop.ts"))
        assert.strictEqual(other.code, 2)
        assert.include(other.out + other.err, "good.json is neither a recording nor a log of events: ")
        writeFileSync(join(folder, "broken.json"), "{\"agent\":")
        const broken = yield* within(join(folder, "broken.json"), "--agent", fixture("shop.ts"))
        assert.strictEqual(broken.code, 2)
        assert.include(broken.out + broken.err, "broken.json is neither a recording nor a log of events: ")
        const subject = yield* within(yield* recorded(folder), "--agent", join(here, "..", "src", "index.ts"))
        assert.strictEqual(subject.code, 2)
        assert.include(subject.out + subject.err, "exports no subject")
        const file = yield* within(join(folder, "nowhere.json"), "--agent", fixture("shop.ts"))
        assert.notStrictEqual(file.code, 0)
      })
    ))
})
