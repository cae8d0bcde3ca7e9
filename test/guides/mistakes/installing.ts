/** Mistakes of an installation. */
import { spawnSync } from "node:child_process"
import { Effect } from "effect"
import type { Mistake } from "./mistake.ts"

const root = new URL("../../..", import.meta.url)

/** Runs a program in a process that does not find a package, and returns the message of its error. */
const without = (name: string, program: string): string => {
  const hook = `import { registerHooks } from "node:module"
registerHooks({
  resolve: (specifier, context, next) => {
    if (specifier !== ${JSON.stringify(name)}) return next(specifier, context)
    throw Object.assign(new Error("Cannot find package"), { code: "ERR_MODULE_NOT_FOUND" })
  }
})
`
  const { stderr, stdout } = spawnSync(process.execPath, [
    "--no-warnings",
    "--input-type=module",
    "--eval",
    hook + program
  ], {
    cwd: root,
    encoding: "utf8"
  })
  return stdout === "" ? stderr : stdout
}

const program = (wrote: string): string => `
const { Effect, Layer, Redacted } = await import("effect")
const { Jwt } = await import("@recourse/server")
const error = await Effect.runPromise(Effect.flip(Effect.scoped(Layer.build(${wrote}))))
process.stdout.write(error._tag + ": " + error.message)
`
const wrote = "Jwt.layerJwt({ key: Redacted.make(\"k\"), issuer: \"i\", audience: \"a\" })"

export const installing: ReadonlyArray<Mistake> = [
  {
    when: "`jose` is not installed",
    wrote,
    observe: () => Effect.sync(() => without("jose", program(wrote))),
    remedy: "Run the command that the message has"
  },
  {
    when: "package.json has no `\"type\": \"module\"`",
    wrote: "await Effect.runPromise(Effect.succeed(\"Hello\"))",
    observe: false,
    manifest: { name: "first" },
    remedy: "`npm pkg set type=module`. [Quickstart](quickstart.md)"
  }
]
