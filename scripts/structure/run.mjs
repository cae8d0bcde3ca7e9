/** Runs an agent with one read of a checkout (its root is the argument), and prints the files that it executes and how often it switches between them. */
import { transformSync, types as t } from "@babel/core"
import { readFileSync } from "node:fs"
import { createRequire, registerHooks, stripTypeScriptTypes } from "node:module"
import { join } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"

const root = process.argv[2]
const core = pathToFileURL(join(root, "packages/core/src/")).href
const files = []
let last
let executed = new Set()
let switches = []

globalThis.enteredFile = (file, line) => {
  executed.add(file)
  if (last !== undefined && last !== file) switches.push(`${files[last]} to ${files[file]}:${line}`)
  last = file
}

const enters = (file, line) =>
  t.callExpression(t.identifier("enteredFile"), [t.numericLiteral(file), t.numericLiteral(line)])

/** Adds a call to the beginning of each function. */
const entering = (file) => ({
  visitor: {
    Function: (path) => {
      const { body, loc } = path.node
      const entered = enters(file, loc.start.line)
      if (body.type === "BlockStatement") body.body.unshift(t.expressionStatement(entered))
      else path.node.body = t.sequenceExpression([entered, body])
    }
  }
})

registerHooks({
  load: (url, context, next) => {
    if (!url.startsWith(core) || !url.endsWith(".ts")) return next(url, context)
    const file = files.push(url.slice(core.length)) - 1
    const { code } = transformSync(stripTypeScriptTypes(readFileSync(fileURLToPath(url), "utf8")), {
      configFile: false,
      babelrc: false,
      plugins: [() => entering(file)]
    })
    return { format: "module", source: code, shortCircuit: true }
  }
})

const require = createRequire(join(root, "packages/testing/package.json"))
const load = (path) => import(pathToFileURL(path).href)
const { Effect, Schema } = await load(require.resolve("effect"))
const { Agent, Tool } = await load(join(root, "packages/core/src/index.ts"))
const ScriptedModel = await load(join(root, "packages/testing/src/ScriptedModel.ts"))

const agent = Agent.make("doubler", {
  instructions: "Double the number.",
  tools: [Tool.make("double", {
    description: "Doubles a number.",
    parameters: Schema.Struct({ n: Schema.Number }),
    success: Schema.Number,
    effects: "read",
    execute: ({ n }) => Effect.succeed(n * 2)
  })]
})
const turns = [ScriptedModel.call("double", { n: 21 }), ScriptedModel.text("It is 42.")]
const counted = Effect.suspend(() => {
  last = undefined
  executed = new Set()
  switches = []
  return Effect.map(
    agent.run("21"),
    () => ({ files: executed.size, switches, executed: [...executed].map((file) => files[file]) })
  )
})
const once = () => Effect.runPromise(Effect.provide(counted, ScriptedModel.layer(turns)))
const first = await once()
const second = await once()
process.stdout.write(`\n${JSON.stringify({ first, second })}\n`)
