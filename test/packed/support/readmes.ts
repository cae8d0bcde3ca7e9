/** The first example of each README, of the repository and of its packages, run against the installed archives. */
import { assert } from "@effect/vitest"
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { basename, join } from "node:path"
import { withAssertions } from "../../../scripts/assertions.ts"
import { type Fence, fencesOf, stepOf } from "./page.ts"
import { walk } from "./walk.ts"
import { root, run } from "./workspace.ts"

/** `// => value` behind an expression fails the program if the expression has another value. */
const programOf = ({ lines }: Fence): string =>
  ["import assert from \"node:assert/strict\"", ...withAssertions(lines), ""].join("\n")

/** Files and commands of the text before the second heading. Packages are installed already. */
const runExample = async (name: string, folder: string): Promise<void> => {
  const fences = fencesOf(readFileSync(join(root, name, "README.md"), "utf8"))
  const first = fences.find(({ info }) => /^ts\b/.test(info))
  assert.isDefined(first, `The README of ${name} has an example`)
  mkdirSync(folder, { recursive: true })
  if (first.info === "ts") {
    writeFileSync(join(folder, "example.ts"), programOf(first))
    await run(process.execPath, ["example.ts"], folder)
  } else {
    const steps = fences.filter(({ heading }) => heading === first.heading).flatMap((fence) => stepOf(fence) ?? [])
    await walk(steps, {
      folder,
      ports: [3000, 4983],
      substitute: (command) =>
        command.startsWith("npm install")
          ? "node --version"
          : command.replace("npx recourse-studio", "npx --no-install recourse-studio --port 4983")
    })
  }
}

/**
 * Runs the examples of packages in folders of a project that has them, and checks their types. `skipLibCheck`: libraries of the
 * project whose own declarations do not compile.
 */
export const runReadmes = async (
  names: ReadonlyArray<string>,
  project: string,
  compiler: string,
  skipLibCheck = false
): Promise<void> => {
  const place = join(project, "readmes")
  for (const name of names) {
    await runExample(name, join(place, basename(name) === "." ? "repository" : basename(name))).catch(
      (cause: unknown) => {
        throw new Error(`The first example of ${name}/README.md fails`, { cause })
      }
    )
  }
  writeFileSync(
    join(place, "tsconfig.json"),
    JSON.stringify({
      compilerOptions: {
        module: "NodeNext",
        target: "ES2024",
        strict: true,
        noEmit: true,
        types: ["node"],
        skipLibCheck
      },
      include: ["*/*.ts"]
    })
  )
  await run(process.execPath, [join(compiler, "bin/tsc"), "--project", place], project)
}
