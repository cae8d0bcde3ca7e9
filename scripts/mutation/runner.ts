/**
 * Runner of mutants in one process: all tests run once, and it is noted which places each of them reaches; then, for each
 * mutant, the tests that reach it run again until one fails.
 *
 * A mutant costs the time of a few tests, not that of a process, because modules stay loaded. Code that runs while a
 * file of tests is read (`Tool.make` outside of a test) is mutated with the file read again. Code that runs while a
 * module is loaded (a table, a schema) is mutated with all modules reloaded.
 */
import { appendFileSync, existsSync, globSync, readFileSync, utimesSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { pathToFileURL } from "node:url"
import { TestRunner } from "vitest"
import { changeOf, jobOf, keyOf, type Mutant, type Outcome } from "./job.ts"

type Test = Extract<File["tasks"][number], { readonly type: "test" }>
type File = Parameters<TestRunner["onAfterRunFiles"]>[0] extends ReadonlyArray<infer F> | undefined ? F : never
type Task = File["tasks"][number]
type Fn = (context?: unknown, suite?: unknown) => Promise<unknown>

/** State of the switches in the code. */
interface Switches {
  activeMutant?: string | undefined
  currentTestId?: string | undefined
  hitCount?: number
  hitLimit?: number
  mutantCoverage: { static: Record<string, number>; perTest: Record<string, Record<string, number>> }
}

interface Known {
  readonly name: string
  readonly file: string
  readonly task: Test
  readonly duration: number
}

interface State {
  readonly files: Set<string>
  tests: Map<string, Known>
  loaded: boolean
}

const job = jobOf(process.env)
const globals = globalThis as unknown as { __stryker__?: Switches; __mutants?: State }
const switches: Switches = globals.__stryker__ ??= { mutantCoverage: { static: {}, perTest: {} } }
const state: State = globals.__mutants ??= { files: new Set(), tests: new Map(), loaded: false }
const durations: Record<string, number> = existsSync(job.durationsFile)
  ? JSON.parse(readFileSync(job.durationsFile, "utf8")) as Record<string, number>
  : {}

/** The code reached until now; it is counted again from here on, in the same objects, which the switches reference. */
const taken = (): Switches["mutantCoverage"] => {
  const { perTest, static: loading } = switches.mutantCoverage
  const reached = { perTest: { ...perTest }, static: { ...loading } }
  for (const counts of [perTest, loading]) for (const key of Object.keys(counts)) delete counts[key]
  return reached
}

const testsOf = (tasks: ReadonlyArray<Task>): ReadonlyArray<Test> =>
  tasks.flatMap((task) => task.type === "suite" ? testsOf(task.tasks) : [task as Test])

const nameOf = (task: Task | File): string =>
  "filepath" in task ? task.name : `${nameOf(task.suite ?? task.file)} > ${task.name}`

type Suite = Parameters<TestRunner["onBeforeRunSuite"]>[0]

const suitesOf = (task: Task | Suite): ReadonlyArray<Suite> => {
  const suite = "filepath" in task ? undefined : task.suite ?? task.file
  return suite === undefined ? [] : [...suitesOf(suite), suite]
}

/** Hooks around each test are not called, so such tests are left out. State of a suite stays until the process ends. */
const hasHooks = (task: Task): boolean =>
  suitesOf(task).some((suite) => {
    const hooks = TestRunner.getSuiteHooks(suite)
    hooks.afterAll.length = 0
    return hooks.beforeEach.length > 0 || hooks.afterEach.length > 0
  })

const read = "read:"
const record = (line: Outcome | { readonly begins: string }): void =>
  appendFileSync(job.outcomesFile, `${JSON.stringify(line)}\n`)

type Collect = (files: ReadonlyArray<{ readonly filepath: string }>, runner: TestRunner) => Promise<Array<File>>

/** Vitest's reading of a file of tests, which has no public door. */
const collector = async (): Promise<Collect> => {
  const [chunk] = globSync("chunks/run.*.js", { cwd: dirname(new URL(import.meta.resolve("vitest")).pathname) })
  const path = join(dirname(new URL(import.meta.resolve("vitest")).pathname), chunk!)
  const found = Object.values(await import(/* @vite-ignore */ pathToFileURL(path).href) as object)
    .find((value: unknown) => typeof value === "function" && value.name === "publicCollect") as Collect | undefined
  if (found === undefined) {
    throw new Error("Vitest reads files of tests by another name now: see scripts/mutation/runner.ts")
  }
  return found
}

export default class MutantRunner extends TestRunner {
  // A file of tests is mutated again when its modules are loaded, so they come before the first.
  async onBeforeCollect(): Promise<void> {
    if (state.loaded) return
    state.loaded = true
    const { moduleRunner } = this as unknown as { moduleRunner: { import: (path: string) => Promise<unknown> } }
    for (const file of job.files) await moduleRunner.import(file)
  }

  override onCollectStart(file: File): void {
    super.onCollectStart(file)
    switches.currentTestId = `${read}${file.filepath}`
  }

  onCollected(files: ReadonlyArray<File>): void {
    switches.currentTestId = undefined
    for (const test of files.flatMap(({ tasks }) => testsOf(tasks))) {
      if ((durations[nameOf(test)] ?? 0) > job.slowest || test.fails === true || hasHooks(test)) test.mode = "skip"
    }
  }

  override onBeforeTryTask(test: Test, options: { readonly retry: number; readonly repeats: number }): void {
    super.onBeforeTryTask(test, options)
    switches.currentTestId ??= test.id
  }

  override onAfterRunTask(test: Test): void {
    super.onAfterRunTask(test)
    switches.currentTestId = undefined
  }

  override async onAfterRunFiles(files: Array<File>): Promise<void> {
    for (const file of files) {
      state.files.add(file.filepath)
      for (const task of testsOf(file.tasks)) {
        if (task.result?.state !== "pass") continue
        // The shortest of all runs: the machine may have been busy.
        const duration = Math.round(Math.min(task.result.duration ?? 0, durations[nameOf(task)] ?? Infinity))
        durations[nameOf(task)] = duration
        if (duration > job.slowest) continue
        state.tests.set(task.id, { name: nameOf(task), file: file.filepath, task, duration })
      }
    }
    super.onAfterRunFiles(files)
    if (state.files.size < job.tests.length) return
    writeFileSync(job.durationsFile, JSON.stringify(durations))
    await this.mutate()
  }

  /**
   * Runs one test. A test that hangs is ended by its own time, and its file is read again, because its signal is spent.
   */
  async passes({ file, task }: Known, mutant: string | undefined, hitLimit: number): Promise<boolean | "timeout"> {
    switches.activeMutant = undefined
    switches.hitCount = 0
    switches.hitLimit = hitLimit
    switches.currentTestId = "again"
    task.result = { state: "run", startTime: 0, retryCount: 0 } as NonNullable<Test["result"]>
    // An outside observer sees that one test after the other runs.
    if (mutant !== undefined) utimesSync(job.outcomesFile, new Date(), new Date())
    switches.activeMutant = mutant
    try {
      await TestRunner.getTestFn(task)()
      return true
    } catch (error) {
      if (!(error instanceof Error && String(error.message).startsWith("Test timed out"))) return false
      switches.activeMutant = undefined
      await this.readAgain(file)
      return "timeout"
    } finally {
      switches.activeMutant = undefined
      Object.assign(task, { onFinished: undefined, onFailed: undefined })
    }
  }

  collect: Collect | undefined
  /** The tests of a file, read again. */
  async readAgain(file: string, mutant?: string): Promise<ReadonlyArray<Known>> {
    this.collect ??= await collector()
    switches.activeMutant = mutant
    const [again] = await this.collect([{ filepath: file }], this)
    switches.activeMutant = undefined
    if (again?.result?.state === "fail") return []
    for (const suite of new Set(testsOf(again!.tasks).flatMap(suitesOf))) {
      for (const hook of TestRunner.getSuiteHooks(suite).beforeAll) await (hook as Fn)({}, suite)
    }
    const known: Array<Known> = []
    for (const task of testsOf(again!.tasks)) {
      const former = state.tests.get(task.id)
      if (former === undefined || task.mode === "skip") continue
      const now = { ...former, task }
      known.push(now)
      if (mutant === undefined) state.tests.set(task.id, now)
    }
    return known
  }

  async mutate(): Promise<void> {
    const { perTest, static: loading } = taken()
    if (Object.keys(perTest).length === 0) {
      throw new Error("No test reaches a mutant: the files were loaded as they are")
    }
    // A test that does not pass twice, or not after its siblings, gives no information about a mutant.
    for (const [id, test] of state.tests) {
      if (await this.passes(test, undefined, Infinity) !== true) {
        process.stderr.write(`not repeatable: ${test.name}\n`)
        state.tests.delete(id)
      }
    }
    // Code that ran only the first time is cached by a module, like a default or a compiled schema.
    const again = taken().perTest["again"] ?? {}
    const isKept = (mutant: string): boolean =>
      loading[mutant] !== undefined ||
      (again[mutant] === undefined && Object.values(perTest).some((hits) => hits[mutant] !== undefined))
    const reach = new Map<string, number>()
    for (const [id, hits] of Object.entries(perTest)) reach.set(id, Object.keys(hits).length)
    const recent: Array<string> = []
    const equivalent = new Set(job.equivalent)
    const mutants = (JSON.parse(readFileSync(job.mutantsFile, "utf8")) as ReadonlyArray<Mutant>)
      .filter((mutant) => !equivalent.has(changeOf(mutant)))
    const skipped = new Set(job.skip)
    const cost = (id: string): number => {
      const index = recent.indexOf(id)
      return (state.tests.get(id)!.duration + 1) * (index < 0 ? 50 + reach.get(id)! : index / 10)
    }
    const killed = (id: string): void => {
      const index = recent.indexOf(id)
      if (index >= 0) recent.splice(index, 1)
      recent.unshift(id)
      if (recent.length > 30) recent.pop()
    }

    const inTests = async (mutant: string): Promise<Outcome> => {
      const covering = Object.keys(perTest).filter((id) => state.tests.has(id) && perTest[id]![mutant] !== undefined)
      if (covering.length === 0) return { id: mutant, status: "uncovered" }
      let spent = 0
      for (const id of covering.toSorted((a, b) => cost(a) - cost(b))) {
        if (spent > job.each) break
        spent += state.tests.get(id)!.duration
        const limit = perTest[id]![mutant]! * 100 + 1000
        const passed = await this.passes(state.tests.get(id)!, mutant, limit)
        if (passed === true) continue
        if (passed === "timeout") return { id: mutant, status: "timeout", by: state.tests.get(id)!.name }
        // An earlier mutant may have altered the shared state of a file's tests.
        if (await this.passes(state.tests.get(id)!, undefined, Infinity) !== true) {
          await this.readAgain(state.tests.get(id)!.file)
          if (await this.passes(state.tests.get(id)!, mutant, limit) === true) continue
          await this.readAgain(state.tests.get(id)!.file)
        }
        killed(id)
        return { id: mutant, status: "killed", by: state.tests.get(id)!.name }
      }
      return { id: mutant, status: "survived" }
    }

    const inFiles = async (
      mutant: string,
      files: Iterable<string>
    ): Promise<Outcome & { readonly finder?: string }> => {
      let spent = 0
      const readable = new Set([...state.tests.values()].map(({ file }) => file))
      for (const file of files) {
        if (!readable.has(file)) continue
        if (spent > job.each) break
        spent += 10
        const known = await this.readAgain(file, mutant)
        if (known.length === 0) return { id: mutant, status: "killed", by: file, finder: file }
        for (const test of known.toSorted((a, b) => a.duration - b.duration)) {
          spent += test.duration
          const passed = await this.passes(test, mutant, 1_000_000)
          if (passed === true) continue
          switches.activeMutant = undefined
          return { id: mutant, status: passed === "timeout" ? "timeout" : "killed", by: test.name, finder: file }
        }
      }
      return { id: mutant, status: "survived" }
    }

    const begins = (mutant: string): void => record({ begins: mutant })
    const left: Array<Mutant> = []
    for (const mutant of mutants) {
      if (skipped.has(keyOf(mutant))) continue
      if (isKept(mutant.id)) {
        left.push(mutant)
        continue
      }
      begins(mutant.id)
      const outcome = await inTests(mutant.id)
      if (outcome.status === "killed" || outcome.status === "timeout") {
        record(outcome)
        continue
      }
      const reading = Object.keys(perTest)
        .filter((id) => id.startsWith(read) && perTest[id]![mutant.id] !== undefined)
        .map((id) => id.slice(read.length))
      if (reading.length === 0) record(outcome)
      else {
        const { finder: _, ...found } = await inFiles(mutant.id, reading)
        record(found)
        for (const file of reading) await this.readAgain(file)
      }
    }

    // Code that runs while modules are loaded: everything is reloaded, so this comes last. The finders of a file's last
    // mutants (the rows of a table, most often) come first.
    const finders = new Map<string, Array<string>>()
    for (const mutant of left) {
      begins(mutant.id)
      const inPlace = await inTests(mutant.id)
      if (inPlace.status === "killed" || inPlace.status === "timeout") {
        record(inPlace)
        continue
      }
      const covering = (wanted: (hits: Record<string, number>) => boolean): Array<string> =>
        Object.entries(perTest).flatMap(([id, hits]) =>
          wanted(hits) && state.tests.has(id) ? [state.tests.get(id)!.file] : []
        )
      // First the files of tests that reach it, and then those that reach the same file most.
      const siblings = new Set(mutants.filter(({ file }) => file === mutant.file).map(({ id }) => id))
      const counts = new Map<string, number>()
      for (const file of covering((hits) => hits[mutant.id] !== undefined)) counts.set(file, 1e6)
      for (const file of covering((hits) => Object.keys(hits).some((id) => siblings.has(id)))) {
        counts.set(file, (counts.get(file) ?? 0) + 1)
      }
      for (const file of state.files) if (!counts.has(file)) counts.set(file, 0)
      const found = finders.get(mutant.file) ?? []
      for (const [index, file] of found.entries()) counts.set(file, 2e6 - index)
      this.forget()
      const files = [...counts].toSorted(([, a], [, b]) => b - a).map(([file]) => file)
      const { finder, ...outcome } = await inFiles(mutant.id, files)
      if (finder !== undefined) finders.set(mutant.file, [finder, ...found.filter((file) => file !== finder)])
      record(outcome)
      this.forget()
    }
  }

  /** Lets the workspace's modules be reloaded at the next import. */
  forget(): void {
    const { evaluatedModules } = (this as unknown as {
      workerState: { evaluatedModules: { idToModuleMap: Map<string, Record<string, unknown>> } }
    }).workerState
    evaluatedModules.idToModuleMap.forEach((module, path) => {
      if (path.includes("/node_modules/") || !path.includes("/packages/")) return
      module["promise"] = undefined
      module["exports"] = undefined
      module["evaluated"] = false
      ;(module["importers"] as Set<unknown>).clear()
    })
  }
}
