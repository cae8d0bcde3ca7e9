/** The core's layout for users: closed rooms, and the modules that an agent loads. */
import { assert, describe, it } from "@effect/vitest"
import { execFileSync } from "node:child_process"

const load = (program: string): string =>
  execFileSync(process.execPath, ["--input-type=module", "--eval", program], {
    encoding: "utf8",
    cwd: import.meta.dirname
  })

describe("layout of the package", () => {
  it("no room can be imported from outside", () => {
    const code = load(
      "process.stdout.write(await import('@recourse/core/internal/call/attempt').then(() => 'loaded', (e) => e.code))"
    )
    assert.strictEqual(code, "ERR_PACKAGE_PATH_NOT_EXPORTED")
  })

  it("an agent loads no SQL, no file system and no Redis", () => {
    const loaded = load(`
      import { registerHooks } from "node:module"
      const urls = []
      registerHooks({ load: (url, context, next) => { urls.push(url); return next(url, context) } })
      await import("@recourse/core/Agent")
      process.stdout.write(JSON.stringify(urls.filter((url) =>
        /\\/effect\\/dist\\/(sql\\/|FileSystem|persistence\\/Redis)/.test(url))))
    `)
    assert.deepStrictEqual(JSON.parse(loaded), [])
  })
})
