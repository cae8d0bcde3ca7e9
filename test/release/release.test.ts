/** Checks of a release, each with a package that it refuses. */
import { assert, describe, it, onTestFinished } from "@effect/vitest"
import { spawnSync } from "node:child_process"
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { runtimeManifest } from "../../scripts/release/billOfMaterials.ts"
import changelogLines from "../../scripts/release/changelogLines.ts"
import { changelogProblems } from "../../scripts/release/changelogs.ts"
import { contentProblems } from "../../scripts/release/contents.ts"
import { type BillOfMaterials, isAllowed, licenceProblems, missingComponents } from "../../scripts/release/licences.ts"
import { manifestProblems } from "../../scripts/release/manifests.ts"
import { manifestIn, packedPackage } from "../../scripts/release/packedPackage.ts"
import { modeOf } from "../../scripts/release/mode.ts"
import { inOrder } from "../../scripts/release/publish.ts"
import { sizeProblems } from "../../scripts/release/sizes.ts"
import { sourceMapProblems } from "../../scripts/release/sourceMaps.ts"
import { isLater } from "../../scripts/release/tags.ts"
import { textOfVersion, versionModule } from "../../scripts/release/versionModule.ts"

const root = join(import.meta.dirname, "../..")

const manifest = {
  name: "@recourse/a",
  version: "1.2.3",
  license: "MIT",
  repository: { url: "git+https://github.com/recourse-ts/recourse.git", directory: "packages/a" },
  publishConfig: { access: "public", provenance: true },
  peerDependencies: { effect: ">=4.1.0 <4.2.0" }
}

const good: Readonly<Record<string, string>> = {
  "package.json": JSON.stringify(manifest),
  "README.md": "# a",
  "AGENTS.md": "# a",
  LICENSE: "MIT",
  "CHANGELOG.md": "# @recourse/a\n\n## 1.2.3\n\n### Minor Changes\n\n- The first release.\n",
  "docs/guide.md": "# Guide",
  "src/index.ts": "export const a = 1",
  "dist/index.js": "export const a = 1\n//# sourceMappingURL=index.js.map\n",
  "dist/index.js.map": JSON.stringify({ sources: ["../src/index.ts"] }),
  [versionModule]: textOfVersion("1.2.3")
}

/** The good package with other files; `undefined` removes a file. */
const packageWith = (changes: Readonly<Record<string, string | undefined>> = {}) => {
  const folder = mkdtempSync(join(tmpdir(), "recourse-release-"))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  for (const [file, text] of Object.entries({ ...good, ...changes })) {
    if (text === undefined) continue
    mkdirSync(dirname(join(folder, file)), { recursive: true })
    writeFileSync(join(folder, file), text)
  }
  return packedPackage(join(folder, "package.json"), folder)
}

const limits = { "@recourse/a": { packed: 10, unpacked: 20 } }

const problems = (changes: Readonly<Record<string, string | undefined>> = {}) => {
  const packed = packageWith(changes)
  return [
    manifestProblems("1.2.3"),
    contentProblems,
    sourceMapProblems,
    changelogProblems("1.2.3"),
    sizeProblems(limits)
  ]
    .flatMap((check) => check(packed))
}

const manifestWith = (changes: object) => ({ "package.json": JSON.stringify({ ...manifest, ...changes }) })

describe("a release", () => {
  it("accepts a complete package", () => {
    assert.deepStrictEqual(problems(), [])
  })

  it.each<readonly [title: string, changes: Readonly<Record<string, string | undefined>>, problem: string]>([
    ["a test", { "src/a.test.ts": "1" }, "src/a.test.ts does not belong into a package."],
    ["a folder of tests", { "dist/test/a.js": "1" }, "dist/test/a.js does not belong into a package."],
    ["the compiler's state", { "dist/.tsbuildinfo": "1" }, "dist/.tsbuildinfo does not belong into a package."],
    ["no licence file", { LICENSE: undefined }, "LICENSE is missing."],
    ["an empty README", { "README.md": "" }, "README.md is empty."],
    ["no guides", { "docs/guide.md": undefined }, "no guide is in docs."],
    ["a map without its source", { "src/index.ts": undefined }, "names a source, ../src/index.ts, that is missing."],
    ["a script without its map", { "dist/index.js.map": undefined }, "names a map, index.js.map, that is missing."],
    ["another version", manifestWith({ version: "1.2.4" }), "has version 1.2.4"],
    ["another version in a source", { [versionModule]: textOfVersion("1.2.2") }, "has another version"],
    ["no provenance", manifestWith({ publishConfig: { access: "public" } }), "without provenance"],
    [
      "another repository",
      manifestWith({ repository: { url: "x", directory: "packages/a" } }),
      "does not name the repo"
    ],
    ["a range of the workspace", manifestWith({ dependencies: { b: "workspace:^" } }), `depends on b as "workspace:^"`],
    ["an install script", manifestWith({ scripts: { postinstall: "x" } }), "runs when it is installed: postinstall"],
    ["no section of the version", { "CHANGELOG.md": "# a\n\n## 1.2.2\n\n- b\n" }, `no section "## 1.2.3"`],
    ["no text of a first version", { "CHANGELOG.md": "# a\n\n## 1.2.3\n\n- Needs b 1.\n" }, "does not describe"],
    ["a long section", { "CHANGELOG.md": `# a\n\n## 1.2.3\n\n${"- b\n".repeat(101)}` }, "condense the changesets"],
    ["too many bytes", { "src/large.ts": "x".repeat(21_000) }, "KiB unpacked, and 20 are the limit"]
  ])("refuses a package with %s", (_, changes, problem) => {
    const found = problems(changes)
    assert.isTrue(found.some((text) => text.includes(problem)), found.join("\n"))
  })

  it.each([
    ["MIT", true],
    ["(MIT OR GPL-3.0-only)", true],
    ["(AFL-2.1 OR BSD-3-Clause)", true],
    ["Apache-2.0 AND BSD-3-Clause", true],
    ["MIT AND GPL-3.0-only", false],
    ["GPL-3.0-only", false],
    ["Apache-2.0 WITH LLVM-exception", false],
    ["SEE LICENSE IN LICENSE.md", false],
    ["(MIT", false],
    ["", false]
  ])("reads the licence %s, allowed: %s", (expression, allowed) => {
    assert.strictEqual(isAllowed(expression), allowed)
  })

  const bill = (licenses: BillOfMaterials["components"][number]["licenses"]): BillOfMaterials => ({
    metadata: { component: { group: "@recourse", name: "a", version: "1.2.3" } },
    components: [{ name: "b", version: "1.0.0", ...(licenses === undefined ? {} : { licenses }) }]
  })

  it("refuses a component without an allowed licence, and a peer that is not listed", () => {
    assert.deepStrictEqual(licenceProblems(bill([{ license: { id: "MIT" } }])), [])
    assert.deepStrictEqual(licenceProblems(bill([{ license: { id: "AGPL-3.0-only" } }])), [
      "@recourse/a needs b 1.0.0, which has the licence AGPL-3.0-only."
    ])
    assert.deepStrictEqual(licenceProblems(bill(undefined)), ["@recourse/a needs b 1.0.0, which has no licence."])
    assert.deepStrictEqual(missingComponents(bill([]), packageWith()), [
      "@recourse/a: the bill of materials lacks effect."
    ])
  })

  it("lists peers and bundled packages as dependencies", () => {
    const changed = runtimeManifest({
      ...manifest,
      peerDependencies: { effect: "4", jose: "6" },
      peerDependenciesMeta: { jose: { optional: true } },
      devDependencies: { react: "19", vite: "8" }
    }, new Set(["react"]))
    assert.deepStrictEqual(changed.dependencies, { react: "19", effect: "4" })
    assert.deepStrictEqual(changed.optionalDependencies, { jose: "6" })
    assert.notProperty(changed, "devDependencies")
  })

  it("publishes a package after those that it needs", () => {
    const named = (name: string, ...needs: ReadonlyArray<string>) =>
      packageWith(manifestWith({ name, peerDependencies: Object.fromEntries(needs.map((need) => [need, "1"])) }))
    const order = inOrder([named("c", "b", "effect"), named("b", "a", "c"), named("a")]).map((one) => one.manifest.name)
    assert.deepStrictEqual(order, ["a", "b", "c"])
  })

  it("orders versions by their numbers", () => {
    assert.isTrue(isLater("0.10.0", "0.9.1"))
    assert.isFalse(isLater("0.9.1", "0.10.0"))
    assert.isFalse(isLater("1.0.0", "1.0.0"))
  })

  it("writes a change with its commit, and needed packages in one line", () => {
    assert.strictEqual(
      changelogLines.getReleaseLine({ summary: "A\n\n- b\n", commit: "0123456789" }),
      "- A ([0123456](https://github.com/recourse-ts/recourse/commit/0123456789))\n\n  - b"
    )
    assert.strictEqual(
      changelogLines.getDependencyReleaseLine([], [{ name: "a", newVersion: "1.0.0" }]),
      "- Needs `a` 1.0.0."
    )
  })
})

describe("arguments of a release", () => {
  it("name one of three modes", () => {
    assert.deepStrictEqual(
      [["--dry-run"], ["--dry-run", "--record"], ["--record", "--dry-run"], ["--publish"]].map(modeOf),
      ["dry-run", "record", "record", "publish"]
    )
  })

  it.each([
    [],
    ["--help"],
    ["--dryrun"],
    ["--dry-run=false"],
    ["--no-dry-run"],
    ["--record"],
    ["--publish", "--dry-run"],
    ["--publish", "core"],
    ["publish"]
  ].map((args) => [args] as const))("refuses %j with the usage, and runs no command", (args) => {
    const folder = mkdtempSync(join(tmpdir(), "recourse-release-"))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    // Without a PATH every command, such as git, pnpm or npm, would end the release with exit code 1.
    const { status, stderr, stdout } = spawnSync(process.execPath, [join(root, "scripts/release.ts"), ...args], {
      cwd: folder,
      encoding: "utf8",
      env: { PATH: folder, TMPDIR: folder }
    })
    assert.strictEqual(status, 2, stderr)
    assert.match(stderr, /^Usage: pnpm release --dry-run/)
    assert.strictEqual(stdout, "")
    assert.deepStrictEqual(globSync("*", { cwd: folder }), [])
  })
})

describe("sources", () => {
  it("name the version of their package in one module only", () => {
    const found = globSync("packages/*/src/**/*.ts", { cwd: root }).filter((file) =>
      /^(?! *\*).*\bversion\s*[:=]\s*"\d+\.\d+\.\d+"/m.test(readFileSync(join(root, file), "utf8"))
    )
    assert.deepStrictEqual(found.map((file) => file.replaceAll("\\", "/")), [`packages/mcp/${versionModule}`])
    assert.strictEqual(
      readFileSync(join(root, found[0]!), "utf8"),
      textOfVersion(manifestIn(join(root, "packages/mcp")).version)
    )
  })
})

describe("workflows", () => {
  const workflows = globSync(".github/workflows/*.yml", { cwd: root })
    .map((file) => [file, readFileSync(join(root, file), "utf8")] as const)

  it("pin each action by its commit, and name the version", () => {
    const uses = workflows.flatMap(([, text]) => [...text.matchAll(/uses:\s*(.+)$/gm)].map(([, action]) => action!))
    assert.isAbove(uses.length, 5)
    assert.deepStrictEqual(uses.filter((action) => !/^[\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(action)), [])
  })

  it("have no permissions by default, and each job has its own", () => {
    for (const [file, text] of workflows) {
      assert.match(text, /^permissions: \{\}$/m, file)
      const jobs = text.slice(text.indexOf("\njobs:\n")).split(/^ {2}(?=\w[\w-]*:$)/m).slice(1)
      assert.isAbove(jobs.length, 0, file)
      for (const job of jobs) assert.match(job, /^ {4}permissions: \{ [\w-]+: /m, `${file}: ${job.split("\n")[0]}`)
    }
  })

  it("give the identity for provenance to the job that publishes alone", () => {
    const jobs = workflows.flatMap(([, text]) => text.split(/^ {2}(?=\w[\w-]*:$)/m))
    const identified = jobs.filter((job) => /^ {4}permissions: .*id-token: write/m.test(job))
    assert.deepStrictEqual(identified.map((job) => job.split(":")[0]), ["publish"])
  })
})
