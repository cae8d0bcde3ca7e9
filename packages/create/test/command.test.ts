import { assert, describe, it, onTestFinished } from "@effect/vitest"
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { PassThrough } from "node:stream"
import { CreateCommand, Project } from "@recourse/create"

const place = (): string => {
  const folder = mkdtempSync(join(tmpdir(), "recourse-create-"))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** Runs the command in a folder. A person with answers is at the terminal, if answers are given. */
const runIn = async (
  folder: string,
  args: ReadonlyArray<string>,
  { answers, ...surroundings }: CreateCommand.Surroundings & { readonly answers?: ReadonlyArray<string> } = {}
) => {
  let printed = ""
  let complaint = ""
  let questions = ""
  const input = new PassThrough()
  const output = new PassThrough()
  let next = 0
  output.on("data", (data: Buffer) => {
    questions += data.toString()
    const answer = answers?.[next++]
    if (answer === undefined) input.end()
    else input.write(`${answer}\n`)
  })
  const code = await CreateCommand.run(args, {
    folder,
    variables: {},
    terminal: answers === undefined ? undefined : { input, output },
    print: (text) => printed += text,
    complain: (text) => complaint += text,
    ...surroundings
  })
  return { code, printed, complaint, questions }
}

const manifestIn = (folder: string) =>
  JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as {
    readonly name: string
    readonly scripts: Readonly<Record<string, string>>
    readonly dependencies: Readonly<Record<string, string>>
  }

describe("a new project", () => {
  it("is made without a question if flags have all answers", async () => {
    const folder = place()
    const args = ["my-agent", "--server", "--model", "script"]
    const { code, printed, questions } = await runIn(folder, args, { answers: [] })
    assert.deepStrictEqual([code, questions], [0, ""])
    assert.include(printed, "npm run serve")
    const { dependencies, name, scripts } = manifestIn(join(folder, "my-agent"))
    assert.strictEqual(name, "my-agent")
    assert.property(scripts, "serve")
    assert.match(dependencies["@recourse/durable"]!, /^\^\d+\.\d+\.\d+/)
    assert.isTrue(existsSync(join(folder, "my-agent/.gitignore")))
  })

  it("has no part of the server without `--server`", async () => {
    const folder = place()
    await runIn(folder, ["plain", "--no-server", "--model=script"])
    const { dependencies, scripts } = manifestIn(join(folder, "plain"))
    assert.notProperty(scripts, "serve")
    assert.notProperty(dependencies, "@recourse/durable")
    assert.isFalse(existsSync(join(folder, "plain/src/server.ts")))
    assert.notMatch(readFileSync(join(folder, "plain/README.md"), "utf8"), /server -->|npm run serve/)
  })

  it("follows the answers of a person", async () => {
    const folder = place()
    const { code, questions } = await runIn(folder, [], { answers: ["shop", "perhaps", "yes", "ollama"] })
    assert.strictEqual(code, 0)
    assert.lengthOf(questions.match(/A server/g) ?? [], 2)
    assert.property(manifestIn(join(folder, "shop")).scripts, "serve")
    assert.include(readFileSync(join(folder, "shop/.env"), "utf8"), "\nLLM_MODEL=qwen3\n")
  })

  it("has defaults for empty answers and for `--yes`", async () => {
    const [answered, silent] = [place(), place()]
    assert.strictEqual((await runIn(answered, [], { answers: ["", "", ""] })).code, 0)
    assert.strictEqual((await runIn(silent, ["--yes"], { answers: [] })).code, 0)
    assert.deepStrictEqual(manifestIn(join(answered, "my-agent")), manifestIn(join(silent, "my-agent")))
  })

  it("has secrets of its own", () => {
    const options = { name: "a", server: true, model: "script" } as const
    const [one, other] = [Project.files(options), Project.files(options)]
    assert.notStrictEqual(one.get(".env"), other.get(".env"))
    assert.match(one.get(".env")!, /^SNAPSHOT_KEY=[\w-]{43}$/m)
    assert.match(one.get(".env.example")!, /^SNAPSHOT_KEY=$/m)
  })

  it("is made in an existing folder that has only `.git`", async () => {
    const folder = place()
    mkdirSync(join(folder, "here/.git"), { recursive: true })
    assert.strictEqual((await runIn(join(folder, "here"), ["."])).code, 0)
    assert.strictEqual(manifestIn(join(folder, "here")).name, "here")
  })

  it.each([
    ["npm/11.0.0 node/v24", "npm test"],
    ["pnpm/12.0.0 npm/? node/v24", "pnpm test"],
    ["bun/1.3.0 npm/? node/v24", "bun run test"]
  ])("names commands of the package manager: %s", async (agent, command) => {
    const { printed } = await runIn(place(), ["a"], { variables: { npm_config_user_agent: agent } })
    assert.include(printed, `\n  ${command} `)
  })
})

describe("the command", () => {
  it.each<readonly [args: ReadonlyArray<string>, complaint: string]>([
    [["a", "--sever"], "There is no flag --sever."],
    [["a", "--model"], "--model needs a value."],
    [["a", "--server=yes"], "--server has no value."],
    [["a", "--package-manager", "yarn"], "--package-manager is one of npm, pnpm, bun, not \"yarn\"."],
    [["a", "b"], "One folder is made, and these are 2: a b."],
    [["My Agent"], "\"My Agent\" cannot be the name of a package"],
    [["node_modules"], "\"node_modules\" cannot be the name of a package"],
    [[], "Name the folder of the project"]
  ])("exits with 2 and writes no file: %j", async (args, complaint) => {
    const folder = place()
    const ended = await runIn(folder, args)
    assert.strictEqual(ended.code, 2)
    assert.include(ended.complaint, complaint)
    assert.include(ended.complaint, "`--help` lists the flags.")
    for (const arg of args) assert.isFalse(existsSync(join(folder, arg)))
  })

  it("exits with 1 and writes no file if the folder has files", async () => {
    const folder = join(place(), "full")
    mkdirSync(folder)
    writeFileSync(join(folder, "notes.txt"), "")
    const { code, complaint, questions } = await runIn(folder, ["."], { answers: [] })
    assert.deepStrictEqual(
      [code, complaint, questions],
      [1, `The folder ${folder} is not empty. Name another one, or empty it.\n`, ""]
    )
    assert.isFalse(existsSync(join(folder, "package.json")))
  })

  it("exits with 1 if the folder is a file", async () => {
    const folder = place()
    writeFileSync(join(folder, "a"), "")
    const { code, complaint } = await runIn(folder, ["a"])
    assert.strictEqual(code, 1)
    assert.include(complaint, "EEXIST")
  })

  it("exits with 1 if the person closes the terminal", async () => {
    const folder = place()
    const { code, complaint } = await runIn(folder, [], { answers: ["a"] })
    assert.deepStrictEqual([code, complaint], [1, "No project was made: a question has no answer.\n"])
    assert.isFalse(existsSync(join(folder, "a")))
  })

  it("exits with 1 on a Node that runs no TypeScript", async () => {
    const { code, complaint } = await runIn(place(), ["a"], { node: "22.18.0" })
    assert.strictEqual(code, 1)
    assert.include(complaint, "A project needs Node 22.19 or newer, and this is Node 22.18.0.")
  })

  it("prints its flags and its version", async () => {
    assert.include((await runIn(place(), ["--help"])).printed, "--package-manager NAME")
    assert.match((await runIn(place(), ["-v"])).printed, /^\d+\.\d+\.\d+\n$/)
  })
})
