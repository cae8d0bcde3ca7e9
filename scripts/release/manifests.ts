/** Manifests of packed packages, as the registry and its readers need them. */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import type { Manifest, PackedPackage } from "./packedPackage.ts"
import { textOfVersion, versionModule } from "./versionModule.ts"

const repository = "git+https://github.com/recourse-ts/recourse.git"

/** Scripts that npm runs when it installs a package. */
const installScripts = ["preinstall", "install", "postinstall", "prepare"]

const ranges = ({ dependencies, optionalDependencies, peerDependencies }: Manifest) =>
  Object.entries({ ...dependencies, ...optionalDependencies, ...peerDependencies })

/** A check, and the sentence if it fails. */
type Expectation = readonly [holds: boolean, problem: string]

const expectations = (manifest: Manifest, version: string): ReadonlyArray<Expectation> => [
  [manifest.version === version, `has version ${manifest.version}, and the release has ${version}.`],
  [manifest.private !== true, "is private."],
  [manifest.license === "MIT", "has another licence than MIT."],
  [
    manifest.repository?.url === repository,
    `does not name the repository ${repository}, so its provenance is refused.`
  ],
  [manifest.repository?.directory?.startsWith("packages/") === true, "does not name its folder in the repository."],
  [manifest.publishConfig?.access === "public", "is not published publicly."],
  [manifest.publishConfig?.provenance === true, "is published without provenance."],
  ...installScripts.map((script): Expectation => [
    manifest.scripts?.[script] === undefined,
    `has a script that runs when it is installed: ${script}.`
  ]),
  ...ranges(manifest).map(([dependency, range]): Expectation => [
    dependency.startsWith("@recourse/") ? range === `^${version}` : /^[\^~>=<\d]/.test(range),
    `depends on ${dependency} as "${range}".`
  ])
]

/** Returns a sentence for each field of a manifest that the registry or a reader cannot use, and for a source with another version. */
export const manifestProblems =
  (version: string) => ({ files, folder, manifest }: PackedPackage): ReadonlyArray<string> => {
    const hasOtherVersion = files.includes(versionModule) &&
      readFileSync(join(folder, versionModule), "utf8") !== textOfVersion(version)
    return [
      ...expectations(manifest, version).flatMap(([holds, problem]) => holds ? [] : [problem]),
      ...(hasOtherVersion ? [`has another version in ${versionModule}: \`pnpm run version\` writes it.`] : [])
    ].map((problem) => `${manifest.name} ${problem}`)
  }
