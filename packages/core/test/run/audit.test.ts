import { assert, describe, it } from "@effect/vitest"
import { NodeFileSystem } from "@effect/platform-node"
import { Drive, ScriptedModel } from "@recourse/testing"
import {
  Cause,
  Clock,
  Effect,
  Exit,
  Fiber,
  FileSystem,
  Layer,
  Logger,
  Option,
  PlatformError,
  Redacted,
  References,
  Schema
} from "effect"
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Agent, Approval, Audit, Policy, Recovery, StoreTimeout, Tool } from "@recourse/core"
import { instantDigests } from "../support/instantDigests.ts"

const key = Approval.layerKey(Redacted.make("k".repeat(32)))

const secret = "4111-1111-1111-1111"

const Pay = (log: Array<string> = [], needsApproval = false) =>
  Tool.make("pay", {
    parameters: Schema.Struct({ card: Schema.String }),
    success: Schema.String,
    effects: "write",
    timeout: "5 seconds",
    needsApproval: () => needsApproval,
    execute: ({ card }) => card === "slow" ? Effect.never : Effect.sync(() => (log.push(card), "paid"))
  })

const pay = ScriptedModel.call("pay", { card: secret })

const closed = Policy.make("closed", () => Policy.deny("closed on Sundays"))

const collected = () => {
  const records: Array<Audit.AuditRecord> = []
  return { records, layer: Audit.layer((record) => Effect.sync(() => records.push(record))) }
}

const brief = (records: ReadonlyArray<Audit.AuditRecord>) => records.map(({ by, decision }) => [decision, by])

describe("audit", () => {
  it.effect("records person, call, hash and decision, and no values", () =>
    Effect.gen(function*() {
      const { layer, records } = collected()
      const agent = Agent.make("clerk", {
        tools: [Pay()],
        policies: [closed],
        defaults: { onError: Recovery.standard }
      })
      yield* agent.start("go").pipe(
        Effect.provideService(Audit.Actor, "user-7"),
        Effect.provide(Layer.mergeAll(key, layer, ScriptedModel.layer([pay, ScriptedModel.text("no")])))
      )
      assert.strictEqual(records.length, 1)
      const { argumentsHash, referenceId, runId, ...rest } = records[0]!
      assert.deepStrictEqual(rest, {
        at: 0,
        actor: "user-7",
        path: ["clerk"],
        tool: "pay",
        callId: "call_1",
        decision: "denied",
        by: "closed",
        reason: "closed on Sundays",
        security: false
      })
      // printf '{"card":"4111-1111-1111-1111"}' | sha256sum
      assert.strictEqual(argumentsHash, "acdef813649325994970ef1476c4ef74da217a477850f850f5be1116842e0a7e")
      assert.match(runId, /^run_/)
      assert.match(referenceId, /^[0-9a-f-]{36}$/)
      assert.notInclude(JSON.stringify(records), secret)
    }))

  it.effect("records every step of an approval and its result", () =>
    Effect.gen(function*() {
      const decide: ReadonlyArray<readonly [(call: Approval.PendingCall) => Approval.Decision, string, number]> = [
        [(call) => Approval.approve(call, { by: "ada" }), "approved", 1],
        [(call) => Approval.edit(call, { card: "x" }, { by: "ada" }), "edited", 1],
        [(call) => Approval.reject(call, "no", { by: "ada" }), "rejected", 0],
        [(call) => Approval.respond(call, "paid by hand", { by: "ada" }), "responded", 0]
      ]
      for (const [decision, expected, runs] of decide) {
        const { layer, records } = collected()
        const log: Array<string> = []
        const agent = Agent.make("clerk", { tools: [Pay(log, true)], defaults: { onError: Recovery.standard } })
        yield* Effect.gen(function*() {
          const paused = (yield* agent.start("go")) as Approval.Paused
          yield* agent.resume(paused.snapshot, [decision(paused.pending[0]!)])
        }).pipe(Effect.provide(Layer.mergeAll(key, layer, ScriptedModel.layer([pay, ScriptedModel.text("ok")]))))
        assert.deepStrictEqual(brief(records), [["approval_requested", undefined], [expected, "ada"]])
        assert.strictEqual(log.length, runs)
        assert.notInclude(JSON.stringify(records), secret)
      }
    }))

  it.effect("records an approval before the call, which does not run otherwise", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const agent = Agent.make("clerk", { tools: [Pay(log, true)], defaults: { onError: Recovery.standard } })
      const exit = yield* Effect.gen(function*() {
        const paused = (yield* agent.start("go")) as Approval.Paused
        return yield* Effect.exit(
          agent.resume(paused.snapshot, [Approval.approve(paused.pending[0]!)]).pipe(
            Effect.provide(Audit.layer(() => Effect.die("disk full")))
          )
        )
      }).pipe(Effect.provide(Layer.mergeAll(key, ScriptedModel.layer([pay]))))
      assert.isTrue(Exit.isFailure(exit) && Cause.hasDies(exit.cause))
      assert.deepStrictEqual(log, [])
    }))

  it.effect("substituted, unknown outcomes and cancelled calls", () =>
    Effect.gen(function*() {
      const run = (card: string, policies: ReadonlyArray<Policy.Policy<Policy.Substitute, never>>, cancel: boolean) =>
        Effect.gen(function*() {
          const { layer, records } = collected()
          const agent = Agent.make("clerk", { tools: [Pay()], policies, defaults: { onError: Recovery.standard } })
          const running = agent.start("go").pipe(
            Effect.provide(Layer.mergeAll(
              key,
              layer,
              ScriptedModel.layer([ScriptedModel.call("pay", { card }), ScriptedModel.text("ok")])
            ))
          )
          if (cancel) {
            const fiber = yield* Effect.forkChild(running, { startImmediately: true })
            for (let i = 0; i < 20; i++) yield* Effect.yieldNow
            yield* Fiber.interrupt(fiber)
          } else yield* Drive.drive(running, { step: "1 second" })
          return brief(records)
        })
      const dry = Policy.make("dry run", () => Policy.substitute("pretended"))
      assert.deepStrictEqual(yield* run(secret, [dry], false), [["substituted", "dry run"]])
      assert.deepStrictEqual(yield* run("slow", [], false), [["outcome_unknown", undefined]])
      assert.deepStrictEqual(yield* run("slow", [], true), [["outcome_unknown", undefined]])
    }))

  it.effect("as lines of a file, and as logs", () =>
    Effect.gen(function*() {
      const file = join(mkdtempSync(join(tmpdir(), "recourse-")), "audit.jsonl")
      const logged: Array<string> = []
      const agent = Agent.make("clerk", {
        tools: [Pay()],
        policies: [closed],
        defaults: { onError: Recovery.standard }
      })
      const twice = ScriptedModel.calls([{ name: "pay", params: { card: "a" } }, {
        name: "pay",
        params: { card: "b" }
      }])
      const play = (layer: Layer.Layer<never>) =>
        agent.start("go").pipe(
          Effect.provide(Layer.mergeAll(key, layer, ScriptedModel.layer([twice, ScriptedModel.text("no")])))
        )
      yield* play(Layer.provide(Layer.orDie(Audit.layerJsonLines(file)), NodeFileSystem.layer))
      const lines = readFileSync(file, "utf8").trimEnd().split("\n")
      for (const line of lines) {
        const record = yield* Schema.decodeUnknownEffect(Audit.AuditRecord)(JSON.parse(line))
        assert.strictEqual(record.decision, "denied")
      }
      assert.strictEqual(lines.length, 2)
      const annotated: Array<unknown> = []
      const logger = Logger.layer([Logger.make(({ fiber, logLevel, message }) => {
        logged.push(`${logLevel} ${message}`)
        annotated.push(fiber.getRef(References.CurrentLogAnnotations)["audit"])
      })])
      yield* play(Layer.merge(Audit.layerLog, logger))
      assert.deepStrictEqual(logged, ["Info audit", "Info audit"])
      for (const record of annotated) {
        assert.deepInclude(record, { tool: "pay", decision: "denied", by: "closed", reason: "closed on Sundays" })
      }
    }))

  it.effect("logs security records as warnings", () =>
    Effect.gen(function*() {
      const logged: Array<string> = []
      const logger = Logger.layer([Logger.make(({ logLevel }) => logged.push(logLevel))])
      yield* Effect.gen(function*() {
        const write = (yield* Audit.Audit)!
        yield* write({ ...record(), security: true })
        yield* write(record())
      }).pipe(Effect.provide(Layer.merge(Audit.layerLog, logger)))
      assert.deepStrictEqual(logged, ["Warn", "Info"])
    }))

  it.effect.each<readonly [rule: string, options: { readonly sync?: boolean } | undefined, synced: number]>([
    ["after each record, if that is said", { sync: true }, 2],
    ["not, if it is not said", { sync: false }, 0],
    ["not, if nothing is said", undefined, 0]
  ])("the disk is waited for: %s", ([, options, expected]) =>
    Effect.gen(function*() {
      const path = join(mkdtempSync(join(tmpdir(), "recourse-")), "audit.jsonl")
      let synced = 0
      const files = yield* filesWith((file) => ({ sync: Effect.andThen(Effect.sync(() => synced++), file.sync) }))
      yield* Effect.gen(function*() {
        const write = (yield* Audit.Audit)!
        yield* write(record())
        yield* write(record())
      }).pipe(Effect.provide(Audit.layerJsonLines(path, options)), Effect.provideService(FileSystem.FileSystem, files))
      assert.strictEqual(synced, expected)
    }).pipe(Effect.provide(NodeFileSystem.layer)))

  it.effect("writes to a file that others truncate while it is checked", () =>
    Effect.gen(function*() {
      const path = join(mkdtempSync(join(tmpdir(), "recourse-")), "audit.jsonl")
      writeFileSync(path, `{"whole":1}\n`)
      const files = yield* filesWith(() => ({
        readAlloc: () => Effect.sync(() => (writeFileSync(path, ""), Option.none()))
      }))
      yield* Effect.flatMap(Audit.Audit, (write) => write!(record())).pipe(
        Effect.provide(Audit.layerJsonLines(path)),
        Effect.provideService(FileSystem.FileSystem, files)
      )
      const lines = readFileSync(path, "utf8").trim().split("\n")
      assert.deepStrictEqual(lines.map((line) => (JSON.parse(line) as Audit.AuditRecord).decision), ["denied"])
    }).pipe(Effect.provide(NodeFileSystem.layer)))

  /** The files of the system, opened ones doing something else in places. */
  const filesWith = (otherwise: (file: FileSystem.File) => Partial<FileSystem.File>) =>
    Effect.map(FileSystem.FileSystem, (files): FileSystem.FileSystem => ({
      ...files,
      open: (path, options) =>
        Effect.map(files.open(path, options), (file) =>
          ({
            [FileSystem.FileTypeId]: FileSystem.FileTypeId,
            stat: file.stat,
            seek: (offset, from) => file.seek(offset, from),
            readAlloc: (size) => file.readAlloc(size),
            sync: file.sync,
            writeAll: (bytes: Uint8Array) => file.writeAll(bytes),
            ...otherwise(file)
          }) as FileSystem.File)
    }))

  const record = (reason?: string): Audit.AuditRecord => ({
    referenceId: crypto.randomUUID(),
    at: 0,
    runId: "run_1",
    path: ["clerk"],
    tool: "pay",
    callId: "c1",
    argumentsHash: "00",
    decision: "denied",
    security: false,
    ...(reason === undefined ? undefined : { reason })
  })

  it.effect("separates a torn line of a file from the next one", () =>
    Effect.gen(function*() {
      const file = join(mkdtempSync(join(tmpdir(), "recourse-")), "audit.jsonl")
      writeFileSync(file, `{"whole":1}\n{"torn":`)
      for (const sync of [true, false]) {
        yield* Effect.gen(function*() {
          const write = (yield* Audit.Audit)!
          yield* write(record())
          yield* write(record("twice"))
        }).pipe(Effect.provide(Layer.fresh(Audit.layerJsonLines(file, { sync }))))
      }
      const lines = readFileSync(file, "utf8").split("\n")
      assert.deepStrictEqual(lines.slice(0, 2), [`{"whole":1}`, `{"torn":`])
      assert.deepStrictEqual(lines.slice(2, 6).map((line) => (JSON.parse(line) as Audit.AuditRecord).decision), [
        "denied",
        "denied",
        "denied",
        "denied"
      ])
      assert.deepStrictEqual(lines.slice(6), [""])
    }).pipe(Effect.provide(NodeFileSystem.layer)))

  it.effect("does not count a failed record as written; the next is whole", () =>
    Effect.gen(function*() {
      const path = join(mkdtempSync(join(tmpdir(), "recourse-")), "audit.jsonl")
      const files = yield* FileSystem.FileSystem
      let room = 200
      /** A disk with room for some bytes: it writes those, and then fails. */
      const full: FileSystem.FileSystem = {
        ...files,
        open: (path, options) =>
          Effect.map(files.open(path, options), (file) =>
            ({
              ...file,
              [FileSystem.FileTypeId]: FileSystem.FileTypeId,
              stat: file.stat,
              seek: (offset, from) => file.seek(offset, from),
              readAlloc: (size) => file.readAlloc(size),
              sync: file.sync,
              writeAll: (bytes: Uint8Array) => {
                const fits = bytes.subarray(0, room)
                room -= fits.length
                return Effect.andThen(
                  file.writeAll(fits),
                  fits.length === bytes.length ? Effect.void : Effect.fail(
                    PlatformError.systemError({ _tag: "WriteZero", module: "FileSystem", method: "writeAll" })
                  )
                )
              }
            }) as FileSystem.File)
      }
      yield* Effect.gen(function*() {
        const write = (yield* Audit.Audit)!
        const first = yield* Effect.exit(write(record()))
        const second = yield* Effect.exit(write(record()))
        room = 10_000
        const third = yield* Effect.exit(write(record("room again")))
        assert.deepStrictEqual([first, second, third].map(Exit.isSuccess), [true, false, true])
      }).pipe(
        Effect.provide(Audit.layerJsonLines(path)),
        Effect.provideService(FileSystem.FileSystem, full)
      )
      const lines = readFileSync(path, "utf8").trimEnd().split("\n")
      assert.strictEqual(lines.length, 3)
      assert.strictEqual((JSON.parse(lines[2]!) as Audit.AuditRecord).reason, "room again")
    }).pipe(Effect.provide(NodeFileSystem.layer)))

  it.effect("interrupts a late writer", () =>
    Effect.gen(function*() {
      let ended = 0
      const late = Effect.onInterrupt(Effect.never, () => Effect.sync(() => ended++))
      const agent = Agent.make("clerk", {
        tools: [Pay()],
        policies: [closed],
        defaults: { onError: Recovery.standard }
      })
      const exit = yield* Drive.drive(Effect.exit(
        agent.run("go").pipe(
          Effect.provide(Layer.mergeAll(instantDigests, key, Audit.layer(() => late), ScriptedModel.layer([pay]))),
          Effect.provide(StoreTimeout.layer("3 seconds"))
        )
      ))
      assert.isTrue(Exit.isFailure(exit) && Cause.hasDies(exit.cause))
      assert.strictEqual(ended, 1)
    }))

  for (const hang of [Effect.never, Effect.uninterruptible(Effect.never)]) {
    it.effect("fails a silent writer at its time limit, also when interrupted", () =>
      Effect.gen(function*() {
        const log: Array<string> = []
        const agent = Agent.make("clerk", { tools: [Pay(log, true)], defaults: { onError: Recovery.standard } })
        const started = agent.start("go").pipe(
          Effect.provide(Layer.mergeAll(instantDigests, key, Audit.layer(() => hang), ScriptedModel.layer([pay]))),
          Effect.provide(StoreTimeout.layer("3 seconds"))
        )
        const exit = yield* Drive.drive(Effect.exit(started))
        assert.isTrue(Exit.isFailure(exit) && Cause.hasDies(exit.cause))
        const before = yield* Clock.currentTimeMillis
        assert.strictEqual(before, 3000)
        const fiber = yield* Effect.forkChild(started)
        yield* Drive.drive(Effect.andThen(Effect.sleep("1 second"), Fiber.interrupt(fiber)))
        assert.isAtMost((yield* Clock.currentTimeMillis) - before, 7000)
        assert.deepStrictEqual(log, [])
      }))
  }
})
