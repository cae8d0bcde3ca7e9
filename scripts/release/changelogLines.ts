/**
 * Lines of a changelog, for changesets: the text of each change with a link to its commit, and one line for all packages of the
 * repository that the package needs. They have the same version, so the changes in them are no news of this package.
 */
interface Changeset {
  readonly summary: string
  readonly commit?: string
}

interface Dependency {
  readonly name: string
  readonly newVersion: string
}

const commits = "https://github.com/recourse-ts/recourse/commit"

const changelogLines = {
  getReleaseLine: ({ commit, summary }: Changeset): string => {
    const [first = "", ...rest] = summary.trim().split("\n").map((line) => line.trimEnd())
    const link = commit === undefined ? "" : ` ([${commit.slice(0, 7)}](${commits}/${commit}))`
    return [`- ${first}${link}`, ...rest.map((line) => line === "" ? "" : `  ${line}`)].join("\n")
  },
  getDependencyReleaseLine: (_: unknown, dependencies: ReadonlyArray<Dependency>): string =>
    dependencies.length === 0
      ? ""
      : `- Needs ${dependencies.map(({ name, newVersion }) => `\`${name}\` ${newVersion}`).join(", ")}.`
}

export default changelogLines
