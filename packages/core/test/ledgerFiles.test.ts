import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Effect, FileSystem, Layer, Path, PlatformError, Schema } from "effect"
import { mkdtempSync, readdirSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { IdempotencyLedger, Tool } from "@recourse/core"
import { by } from "./kit.ts"

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
  it.live("on a disk that is full refuses before the call, and keeps the intent behind it: no key is lost or free", () =>
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

      assert.strictEqual(tag(yield* call("full")), "LedgerUnavailable")
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
      // What a process left that died while it wrote is no entry.
      writeFileSync(join(directory, "ledger", "torn.1.writing"), "{")
      assert.strictEqual(yield* IdempotencyLedger.purge.pipe(Effect.provide(ledger)), 0)
    }))
})
