import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, FileSystem, Layer, Path, PlatformError, Schema } from "effect"
import type { KeyValueStore } from "effect/persistence"
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { IdempotencyLedger, Tool } from "@recourse/core"
import { by } from "../support/kit.ts"

/** A disk that has room for some bytes, and then none. */
const disk = (room: { left: number }) =>
  Layer.effect(
    FileSystem.FileSystem,
    Effect.map(FileSystem.FileSystem, (files): FileSystem.FileSystem => ({
      ...files,
      open: (path, options) =>
        Effect.map(files.open(path, options), (file) =>
          ({
            sync: file.sync,
            writeAll: (bytes: Uint8Array) => {
              const fits = bytes.subarray(0, room.left)
              room.left -= fits.length
              return Effect.andThen(
                file.writeAll(fits),
                fits.length === bytes.length ? Effect.void : Effect.fail(
                  PlatformError.systemError({ _tag: "WriteZero", module: "FileSystem", method: "writeAll" })
                )
              )
            }
          }) as FileSystem.File)
    }))
  ).pipe(Layer.provide(NodeServices.layer))

describe("a ledger in files", () => {
  it.live("on a full disk refuses before the call, keeps later intents", () =>
    Effect.gen(function*() {
      const directory = mkdtempSync(join(tmpdir(), "recourse-"))
      const room = { left: 0 }
      let runs = 0
      const pay = (key: string) =>
        Tool.make("pay", {
          success: Schema.String,
          effects: "write",
          idempotency: { key: () => key },
          // The disk is full when the result is to be recorded.
          execute: () => Effect.sync(() => (runs++, room.left = Math.min(room.left, 10), "paid"))
        })
      const ledger = Layer.fresh(IdempotencyLedger.layerFiles(join(directory, "ledger"), { waitFor: 0 })).pipe(
        Layer.provide(Layer.merge(disk(room), Path.layer))
      )
      const call = (key: string) => Effect.result(pay(key).call.pipe(by({}), Effect.provide(ledger)))
      const tag = (result: Effect.Success<ReturnType<typeof call>>) =>
        result._tag === "Success" ? result.success : result.failure._tag

      const full = yield* call("full")
      if (full._tag === "Success" || full.failure._tag !== "LedgerUnavailable") return assert.fail("it was recorded")
      const { key, method } = full.failure.reason as KeyValueStore.KeyValueStoreError
      assert.match(`${method} ${key}`, /^set [0-9a-f]{64}$/)
      assert.strictEqual(runs, 0)
      // It ran, and its result could not be recorded: the intent is there as it was.
      room.left = 1000
      assert.strictEqual(tag(yield* call("cut off")), "paid")
      room.left = 100_000
      assert.strictEqual(tag(yield* call("cut off")), "OutcomeUnknown")
      assert.strictEqual(tag(yield* call("full")), "paid")
      room.left = 100_000
      assert.strictEqual(runs, 2)
      assert.deepStrictEqual(readdirSync(join(directory, "ledger")).filter((name) => name.endsWith(".writing")), [])
      // A partial file of a process that died while writing is no entry.
      writeFileSync(join(directory, "ledger", "torn.1.writing"), "{")
      assert.strictEqual(yield* IdempotencyLedger.purge.pipe(Effect.provide(ledger)), 0)
    }))

  const files = (effect: (directory: string) => Effect.Effect<unknown, unknown, IdempotencyLedger.IdempotencyLedger>) =>
    Effect.suspend(() => {
      const directory = mkdtempSync(join(tmpdir(), "recourse-"))
      const ledger = IdempotencyLedger.layerFiles(directory).pipe(Layer.provide(NodeServices.layer))
      return Effect.ensuring(
        Effect.provide(effect(directory), ledger),
        Effect.sync(() => rmSync(directory, { recursive: true }))
      )
    })
  const pay = (key: string, runs: Array<string>) =>
    Tool.make("pay", {
      success: Schema.String,
      effects: "write",
      idempotency: { key: () => key, timeToLive: Duration.millis(1) },
      execute: () => Effect.sync(() => (runs.push(key), "paid"))
    })

  it.live("purges expired entries, and none that are being written", () =>
    files((directory) =>
      Effect.gen(function*() {
        writeFileSync(join(directory, "torn.1.writing"), "{")
        for (const key of ["a", "b"]) yield* pay(key, []).call.pipe(by({}))
        assert.strictEqual(readdirSync(directory).length, 3)
        yield* Effect.sleep("5 millis")
        assert.strictEqual(yield* IdempotencyLedger.purge, 2)
        assert.deepStrictEqual(readdirSync(directory), ["torn.1.writing"])
      })
    ))

  it.live("runs no call if the file of the key is unreadable", () =>
    files((directory) =>
      Effect.gen(function*() {
        const runs: Array<string> = []
        yield* pay("a", runs).call.pipe(by({}))
        const [file = ""] = readdirSync(directory)
        rmSync(join(directory, file))
        mkdirSync(join(directory, file))
        const error = yield* Effect.flip(pay("a", runs).call.pipe(by({}, "c2")))
        if (error._tag !== "LedgerUnavailable") return assert.fail(error._tag)
        const reason = error.reason as KeyValueStore.KeyValueStoreError
        assert.deepStrictEqual([reason._tag, reason.method, reason.key], ["KeyValueStoreError", "get", file])
        assert.instanceOf(reason.cause, PlatformError.PlatformError)
        assert.deepStrictEqual(runs, ["a"])
        // A purge cannot read it either, and says which file it is.
        const purged = yield* Effect.flip(IdempotencyLedger.purge)
        assert.strictEqual((purged.reason as KeyValueStore.KeyValueStoreError).key, file)
        rmSync(directory, { recursive: true })
        const gone = (yield* Effect.flip(IdempotencyLedger.purge)).reason as KeyValueStore.KeyValueStoreError
        assert.deepStrictEqual([gone.method, gone.key], ["keys", undefined])
        mkdirSync(directory)
      })
    ))

  it.live("deletes an entry twice without an error", () =>
    Effect.gen(function*() {
      const { atomicFiles } = (yield* Effect.promise(() =>
        import(new URL("../../src/internal/idempotency/atomicFiles.ts", import.meta.url).href)
      )) as {
        readonly atomicFiles: (
          directory: string
        ) => Effect.Effect<KeyValueStore.KeyValueStore, unknown, FileSystem.FileSystem | Path.Path>
      }
      const directory = mkdtempSync(join(tmpdir(), "recourse-"))
      const store = yield* atomicFiles(directory)
      yield* store.set("key", "text")
      for (let times = 0; times < 2; times++) {
        yield* store.remove("key")
      }
      assert.isUndefined(yield* store.get("key"))
      assert.deepStrictEqual(readdirSync(directory), [])
      const tooLong = "k".repeat(300)
      const error = yield* Effect.flip(store.remove(tooLong))
      assert.deepStrictEqual([error.method, error.key], ["remove", tooLong])
      rmSync(directory, { recursive: true })
    }).pipe(Effect.provide(NodeServices.layer)))
})
