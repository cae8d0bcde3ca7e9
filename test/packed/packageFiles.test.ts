import { assert, beforeAll, describe, it, onTestFinished } from "@effect/vitest"
import { build } from "esbuild"
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { SourceMap, type SourceMapPayload, type SourceMapping } from "node:module"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { pathToFileURL } from "node:url"
import { rolldown } from "rolldown"
import { asciiCode } from "../../scripts/asciiCode.ts"
import { type PackageName, sharedFiles, writePackageFiles } from "../../scripts/packageFiles.ts"
import { installPackedCore } from "../../scripts/packedCore.ts"
import { pureInitialisers } from "../../scripts/pureInitialisers.ts"
import { modulesOf, root, run } from "./support/workspace.ts"

const pure = (source: string): string =>
  pureInitialisers(source).toReversed().reduce(
    (text, { after, before, end, start }) =>
      text.slice(0, start) + before + text.slice(start, end) + after + text.slice(end),
    source
  )

describe("initialisers", () => {
  it.each<readonly [source: string, marked: string]>([
    ["export const a = f(1)", "export const a = /* @__PURE__ */ f(1)"],
    ["const a = f()(new B(1))", "const a = /* @__PURE__ */ f()(/* @__PURE__ */ new B(1))"],
    [
      "const a = b.c.f([1, () => f()]).g(f({ h: -1 }))",
      "const a = /* @__PURE__ */ b.c.f([1, () => f()]).g(/* @__PURE__ */ f({ h: -1 }))"
    ],
    ["const a = { b: f(c) as C, ...{} }", "const a = /* @__PURE__ */ (() => ({ b: f(c) as C, ...{} }))()"],
    ["const a = [f((c), `d`), { e: /f/ }]", "const a = /* @__PURE__ */ (() => ([f((c), `d`), { e: /f/ }]))()"],
    ["const a = [f((c), `d`)]", "const a = [/* @__PURE__ */ f((c), `d`)]"],
    [
      "const a = { ...b } as C, d = e.f!, g = f(e.f)",
      "const a = /* @__PURE__ */ (() => ({ ...b } as C))(), d = /* @__PURE__ */ (() => (e.f!))(), " +
      "g = /* @__PURE__ */ (() => (f(e.f)))()"
    ],
    ["const a = { [b]: 1 }", "const a = /* @__PURE__ */ (() => ({ [b]: 1 }))()"],
    ["class A extends B()(\"A\") {}", "class A extends /* @__PURE__ */ B()(\"A\") {}"],
    ["class A { static b = f(); c = f() }", "class A { static b = /* @__PURE__ */ f(); c = f() }"],
    ["export class A { [b]() {} }", "export const A = /* @__PURE__ */ (() => { class A { [b]() {} }; return A })()"],
    ["class A { static { f() } }", "const A = /* @__PURE__ */ (() => { class A { static { f() } }; return A })()"]
  ])("are marked as pure: %s", (source, marked) => {
    assert.strictEqual(pure(source), marked)
  })

  it.each([
    "const a = 1",
    "const a = (b)",
    "const a = { b: [\"c\", -1], d: `e`, f() { g() } }",
    "const a = () => f()",
    "let a: number",
    "export function a() { const b = f() }",
    "class A extends B {}",
    "export { a } from \"./a.ts\"",
    "interface A { b: typeof f }"
  ])("that compute nothing are not marked: %s", (source) => {
    assert.deepStrictEqual(pureInitialisers(source), [])
  })
})

it.each(["f()", "if (a) b = 1", "const { a } = f()", "export default f()"])(
  "refuses what bundlers keep in any case: %s",
  (source) => {
    assert.throws(() => pureInitialisers(source), "Put it into an initialiser or a static block")
  }
)

describe("code in ASCII", () => {
  const written = async (code: string) => {
    const build = await rolldown({
      input: "code",
      plugins: [asciiCode, { name: "code", resolveId: (id) => id, load: () => code }]
    })
    return (await build.generate({ format: "esm", sourcemap: true })).output[0]
  }

  it("means the same, and its map leads to the line of the source", async () => {
    const code = "const ä = \"→😀\"\nexport const all = [ä, `“${ä}”`, /^[：é]$/u.source, /^😀$/u.test(\"😀\")]\n"
    const { code: ascii, map } = await written(code)
    assert.match(ascii, /^[\0-\x7f]*$/)
    const { all } = await import(`data:text/javascript,${encodeURIComponent(ascii)}`) as { readonly all: unknown }
    assert.deepStrictEqual(all, ["→😀", "“→😀”", "^[\\uff1a\\u00e9]$", true])
    const line = ascii.split("\n").findIndex((text) => text.includes(".test("))
    const sourceMap = new SourceMap(JSON.parse(map!.toString()) as SourceMapPayload)
    assert.strictEqual((sourceMap.findEntry(line, 0) as SourceMapping).originalLine, 1)
  })

  it("refuses a letter that a tag sees", async () => {
    const error = await written("export const tagged = String.raw`→`").catch((error: unknown) => error)
    assert.include(String(error), "Write an escape instead of the letter: String.raw`→`")
  })
})

describe("files of a package", () => {
  it.each(Object.keys(sharedFiles) as ReadonlyArray<PackageName>)(
    "export the names of their sources: %s",
    async (name) => {
      const folder = mkdtempSync(join(tmpdir(), "recourse-files-"))
      onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
      writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "module" }))
      symlinkSync(join(root, "packages", name, "node_modules"), join(folder, "node_modules"), "junction")
      await writePackageFiles(name, join(folder, "dist"))
      const names = async (file: string) => Object.keys(await import(pathToFileURL(file).href) as object).toSorted()
      for (const module of modulesOf(name)) {
        const file = module.split("/")[2] ?? "index"
        assert.deepStrictEqual(
          await names(join(folder, "dist", `${file}.js`)),
          await names(join(root, "packages", name, "src", `${file}.ts`)),
          module
        )
      }
    },
    60_000
  )
})

describe("files of the packed core", () => {
  let folder: string
  beforeAll(async () => {
    folder = await installPackedCore()
  }, 60_000)
  const dist = () => join(folder, "node_modules/@recourse/core/dist")

  it("are one copy for import and require", async () => {
    const output = await run(process.execPath, [
      "--input-type=module",
      "--eval",
      `import * as ToolError from "@recourse/core/ToolError"
import { ToolError as OfIndex } from "@recourse/core"
import { createRequire } from "node:module"
const Required = createRequire(process.cwd() + "/a.js")("@recourse/core/ToolError")
process.stdout.write(String(ToolError.Timeout === Required.Timeout && ToolError.Timeout === OfIndex.Timeout))`
    ], folder)
    assert.strictEqual(output, "true")
  })

  it("are in ASCII", () => {
    for (const file of globSync("**/*.js", { cwd: dist() })) {
      assert.match(readFileSync(join(dist(), file), "utf8"), /^[\0-\x7f]*$/, file)
    }
  })

  it("have maps that lead to packed sources", () => {
    const maps = globSync("**/*.js.map", { cwd: dist() })
    assert.isAbove(maps.length, 20)
    for (const map of maps) {
      const { sources } = JSON.parse(readFileSync(join(dist(), map), "utf8")) as SourceMapPayload
      for (const source of sources) {
        assert.match(source, /^(?:\.\.\/)+src\//)
        assert.isTrue(existsSync(join(dist(), dirname(map), source)), `${map}: ${source}`)
      }
    }
  })

  it("have maps that lead to the line of a source", () => {
    const file = join(dist(), "internal/words.js")
    const lineOf = (path: string, text: string) =>
      readFileSync(path, "utf8").split("\n").findIndex((line) => line.includes(text))
    const line = lineOf(file, `"Timeout"`)
    const map = new SourceMap(JSON.parse(readFileSync(`${file}.map`, "utf8")) as SourceMapPayload)
    const column = readFileSync(file, "utf8").split("\n")[line]!.indexOf(`"Timeout"`)
    const entry = map.findEntry(line, column) as SourceMapping
    assert.strictEqual(entry.originalLine, lineOf(join(dirname(file), entry.originalSource), `"Timeout"`))
  })

  it("are dropped from esbuild and rolldown bundles that do not use them", async () => {
    const used = `export { none } from "@recourse/core/RunUsage"`
    const options = { contents: used, resolveDir: folder }
    const { outputFiles } = await build({ stdin: options, bundle: true, write: false, minify: true, format: "esm" })
    assert.isBelow(outputFiles[0]!.contents.length, 300)
    const plugin = {
      name: "used",
      resolveId: (id: string) => id === "used" ? join(folder, "used.js") : null,
      load: (id: string) => id.endsWith("used.js") ? used : null
    }
    const bundle = await rolldown({ input: "used", plugins: [plugin] })
    const { output } = await bundle.generate({ minify: true })
    assert.isBelow(output[0].code.length, 300)
  })
})
