/** Packages without their optional peers: each entry loads, and features of a peer name the package to install. */
import { assert, describe, it } from "@effect/vitest"
import { build } from "esbuild"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { folders, modulesOf, optionalPeersOf, run } from "./workspace.ts"

const minutes = 60_000

const libraries: ReadonlySet<string> = new Set(["langchain", "mastra", "openai-agents"])

/** The packages that adapt a library, which is their required peer and large. */
export const adapters = folders.filter((folder) => libraries.has(folder))

/** All others. */
export const withoutAdapters = folders.filter((folder) => !libraries.has(folder))

/** `@recourse/studio` has a required peer that is an optional one of another package: it is not here. */
export const withoutStudio = withoutAdapters.filter((folder) => folder !== "studio")

const uses = (code: string): ReadonlyArray<string> => [
  "--input-type=module",
  "--eval",
  `import { Effect, Layer, Redacted } from "effect"
const error = await Effect.runPromise(Effect.flip(Effect.scoped(Layer.build(${code}))))
process.stderr.write(error.message)
process.exit(1)`
]

const command = (bin: string, name = "testing"): ReadonlyArray<string> => [
  join("node_modules/@recourse", name, "dist", bin),
  "--help"
]

/** For each optional peer of a package: programs that need it, and the sentence that they end with. */
const sentences: Readonly<Record<string, ReadonlyArray<readonly [ReadonlyArray<string>, string]>>> = {
  "mcp @modelcontextprotocol/client": [[
    uses(
      `(await import("@recourse/mcp/OAuth")).layer({ url: "http://127.0.0.1:1", provider: {} }).pipe(
        Layer.provide((await import("effect/http")).FetchHttpClient.layer)
      )`
    ),
    "it needs the package @modelcontextprotocol/client, which cannot be loaded. Install it: npm install @modelcontextprotocol/client@2"
  ]],
  "server jose": [[
    uses(
      `(await import("@recourse/server")).Jwt.layerJwt({ key: Redacted.make("k"), issuer: "i", audience: "a" })`
    ),
    "Jwt.layerJwt needs the package jose, which cannot be loaded. Install it: npm install jose@6"
  ]],
  "sql mysql2": [[
    uses(`(await import("@recourse/sql")).MysqlClient.layer({})`),
    "MysqlClient needs the package mysql2, which cannot be loaded. Install it: npm install mysql2@3"
  ]],
  "durable @effect/platform-node": [[
    command("bin.js", "durable"),
    "recourse-runs needs the package @effect/platform-node, which cannot be loaded. Install it: npm install --save-dev @effect/platform-node@4.1\n"
  ]],
  "testing @effect/platform-node": ["recourse-faults", "recourse-replay"].map((name) => [
    command(name === "recourse-faults" ? "bin.js" : "replayBin.js"),
    `${name} needs the package @effect/platform-node, which cannot be loaded. Install it: npm install --save-dev @effect/platform-node@4.1\n`
  ])
}

const loading = (modules: ReadonlyArray<string>, load: string): string =>
  `(async () => {
  const modules = ${JSON.stringify(modules)}
  for (const module of modules) if (Object.keys(${load}).length === 0) console.log("empty: " + module)
  process.stdout.write(process.versions.node.split(".")[0] + " loaded " + modules.length)
})()`

/** Loads modules in a folder, by `import` and by `require`. */
export const loads = async (node: string, modules: ReadonlyArray<string>, folder: string): Promise<void> => {
  const version = (await run(node, ["--version"], folder)).slice(1).split(".")[0]
  const ways = [["mjs", "await import(module)"], ["cjs", "require(module)"]] as const
  await Promise.all(ways.map(async ([extension, load]) => {
    const file = `load-${version}.${extension}`
    writeFileSync(join(folder, file), loading(modules, load))
    assert.strictEqual(await run(node, [file], folder), `${version} loaded ${modules.length}`)
  }))
}

interface Place {
  readonly folder: () => string
  readonly node22: () => string | undefined
}

export const describeWithoutPeers = ({ folder, node22 }: Place): void => {
  const modules = withoutStudio.flatMap(modulesOf)

  describe("packages without their optional peers", () => {
    it("load by import and by require on this Node", () => loads(process.execPath, modules, folder()), minutes)

    it("load by import and by require on Node 22", async ({ skip }) => {
      const node = node22()
      if (node === undefined) skip("there is no archive of Node 22 for this platform")
      else await loads(node, modules, folder())
    }, minutes)

    it("name the package to install when it is needed", async () => {
      const peers = folders.flatMap((name) => optionalPeersOf(name).map((peer) => `${name} ${peer}`))
      assert.deepStrictEqual(peers.toSorted(), Object.keys(sentences).toSorted())
      for (const [args, sentence] of Object.values(sentences).flat()) {
        const error = await run(process.execPath, args, folder()).then(() => undefined, (error: Error) => error)
        assert.propertyVal(error?.cause, "code", 1)
        assert.include(error?.message, sentence)
      }
    }, minutes)

    it("are bundled, all of them", async () => {
      const entryPoint = join(folder(), "every.js")
      writeFileSync(
        entryPoint,
        modules.map((name, at) => `export * as m${at} from ${JSON.stringify(name)}`).join("\n")
      )
      const { outputFiles: [bundle] } = await build({
        entryPoints: [entryPoint],
        bundle: true,
        write: false,
        format: "esm",
        platform: "node",
        logLevel: "silent"
      })
      // Loaded when they are needed, from next to the bundle.
      for (const peer of ["jose", "mysql2/promise"]) assert.include(bundle?.text, `import("${peer}")`)
    }, minutes)
  })
}
