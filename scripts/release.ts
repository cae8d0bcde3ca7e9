/**
 * Releases the packages: `pnpm release --publish`. `pnpm release --dry-run` does the same and publishes nothing; it needs no key.
 * Other arguments, and none, are refused with exit code 2.
 *
 * Builds and packs all packages in a clean copy of the workspace, checks the archives, and writes them with their bills of
 * materials and the list of them (`release.json`) into `.release`. A dry run applies the changesets in that copy; a release
 * needs a commit without changesets and without changes. `--record` records the sizes of the packages.
 */
import { mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { problemsOf as importProblems } from "./packageImports.ts"
import { writeBills } from "./release/billOfMaterials.ts"
import { changelogProblems } from "./release/changelogs.ts"
import { run } from "./release/command.ts"
import { contentProblems } from "./release/contents.ts"
import { type BillOfMaterials, licenceProblems, missingComponents, nameOf } from "./release/licences.ts"
import { manifestProblems } from "./release/manifests.ts"
import { manifestIn, type PackedPackage, unpack } from "./release/packedPackage.ts"
import { modeOf, usage } from "./release/mode.ts"
import { planOf, tableOf } from "./release/plan.ts"
import { publish } from "./release/publish.ts"
import { recordedLimits, recordLimits, sizeProblems } from "./release/sizes.ts"
import { sourceMapProblems } from "./release/sourceMaps.ts"
import { applyChangesets, pack, pendingChangesets, stage } from "./release/staging.ts"
import { tagOf, tagProblems } from "./release/tags.ts"

const root = join(import.meta.dirname, "..")
const target = join(root, ".release")
const mode = modeOf(process.argv.slice(2))
if (mode === undefined) {
  process.stderr.write(usage)
  process.exit(2)
}

const place = mkdtempSync(join(realpathSync(tmpdir()), "recourse-release-"))
process.once("exit", () => rmSync(place, { recursive: true, force: true, maxRetries: 5 }))
const staged = join(place, "workspace")

const print = (text: string): void => void process.stdout.write(`${text}\n`)

const step = async <A>(title: string, work: () => Promise<A>): Promise<A> => {
  const start = performance.now()
  const result = await work()
  print(`${title.padEnd(36)} ${((performance.now() - start) / 1000).toFixed(1)} s`)
  return result
}

const fail = (problems: ReadonlyArray<string>): void => {
  if (problems.length === 0) return
  process.stderr.write(`${problems.join("\n")}\n`)
  process.exit(1)
}

/** The state of the repository that a release needs. */
const repositoryProblems = async (): Promise<ReadonlyArray<string>> => {
  const changed = await run("git", ["status", "--porcelain"], root)
  return [
    ...(pendingChangesets(root).length === 0
      ? []
      : ["There are changesets: run `pnpm run version`, and merge the versions and changelogs first."]),
    ...(changed === "" ? [] : [`There are changes that no commit has:\n${changed}`])
  ]
}

/** Output of a command if it fails. */
const commandProblems = (command: string, ...args: ReadonlyArray<string>): Promise<ReadonlyArray<string>> =>
  run(command, args, root).then(() => [], (error: Error) => [error.message])

/** Problems that publint and attw find in an archive. */
const toolProblems = async ({ archive }: PackedPackage): Promise<ReadonlyArray<string>> => [
  ...await commandProblems("publint", archive, "--strict"),
  ...await commandProblems("attw", archive, "--profile", "esm-only", "--exclude-entrypoints", "./*")
]

const packageProblems = (packages: ReadonlyArray<PackedPackage>, version: string): ReadonlyArray<string> =>
  packages.flatMap((packed) =>
    [
      manifestProblems(version),
      contentProblems,
      sourceMapProblems,
      changelogProblems(version),
      ...(mode === "record" ? [] : [sizeProblems(recordedLimits())])
    ].flatMap((check) => check(packed))
  )

const billProblems = (
  bills: ReadonlyArray<BillOfMaterials>,
  packages: ReadonlyArray<PackedPackage>
): ReadonlyArray<string> => [
  ...bills.flatMap(licenceProblems),
  ...packages.flatMap((packed) => {
    const bill = bills.find(({ metadata }) => nameOf(metadata.component) === packed.manifest.name)
    return bill === undefined ? [`${packed.manifest.name} has no bill of materials.`] : missingComponents(bill, packed)
  })
]

if (mode === "publish") fail(await repositoryProblems())
rmSync(target, { recursive: true, force: true })
mkdirSync(target)
await step("copy and installation", () => stage(root, staged))
if (pendingChangesets(staged).length > 0) await step("versions and changelogs", () => applyChangesets(staged))
const archives = await step("build and archives", () => pack(staged, target))
const packages = await Promise.all(archives.map((archive) => unpack(archive, place)))
const { version } = manifestIn(join(staged, "packages/core"))

const found = await step("checks of the archives", async () => [
  ...await tagProblems(root, version),
  ...packageProblems(packages, version),
  ...readdirSync(join(staged, "packages")).flatMap((folder) => importProblems(join(staged, "packages", folder))),
  ...(await Promise.all(packages.map(toolProblems))).flat()
])
const bills = await step("bills of materials and licences", () => writeBills(staged, target))
if (mode === "record") recordLimits(packages)
fail([...found, ...billProblems(bills, packages)])

const plan = planOf(packages)
writeFileSync(
  join(target, "release.json"),
  `${JSON.stringify({ tag: tagOf(version), packages: plan }, undefined, 2)}\n`
)
print(`\n${tableOf(plan)}\n`)
if (mode === "publish") {
  print(`Published as ${tagOf(version)}: ${(await publish(packages, root)).join(", ") || "all were there"}`)
} else print(`${plan.length} packages would be published as ${tagOf(version)}. They are in ${target}.`)
