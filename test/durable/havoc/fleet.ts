/** The processes of the havoc, and how they are disturbed. */
import { type ChildProcess, spawn } from "node:child_process"
import { join } from "node:path"
import { setTimeout } from "node:timers/promises"
import { seeded } from "../../../packages/core/test/support/seeded.ts"
import { bundled } from "../../support/bundled.ts"
import type { Database } from "./havocHost.ts"
import type { RunnerOptions } from "./havocRunner.ts"

const program = bundled(join(import.meta.dirname, "havocRunner.ts"))

/** Runners, each of which is started again when it ends. One more is a stranger, which knows another agent only. */
export class Fleet {
  readonly counts = { kill: 0, term: 0, freeze: 0, database: 0, deployed: 0, started: 0 }
  private readonly options: Omit<RunnerOptions, "isStranger" | "version">
  private readonly processes: Array<ChildProcess> = []
  private readonly versions: Array<string>
  private readonly database: Pick<Database, "crash">
  private readonly random: () => number
  private isClosed = false

  constructor(
    options: Omit<RunnerOptions, "isStranger" | "version">,
    { runners, seed }: { readonly runners: number; readonly seed: number },
    database: Pick<Database, "crash">
  ) {
    this.options = options
    this.database = database
    this.versions = Array.from({ length: runners + 1 }, () => "1")
    const integers = seeded(seed + 1)
    this.random = () => integers() / 2 ** 32
  }

  /** Starts all of them. */
  async start(): Promise<void> {
    for (const [at] of this.versions.entries()) this.startOne(at)
    await setTimeout(1500)
  }

  private startOne(at: number): void {
    this.counts.started++
    const isStranger = at === this.versions.length - 1
    const options: RunnerOptions = { ...this.options, version: this.versions[at]!, isStranger }
    const started = spawn(process.execPath, [program, JSON.stringify(options)], {
      stdio: ["ignore", "ignore", process.env["HAVOC_LOG"] === undefined ? "ignore" : "inherit"],
      env: { ...process.env, NODE_OPTIONS: "--disable-warning=ExperimentalWarning" }
    })
    this.processes[at] = started
    started.on("exit", () => {
      if (!this.isClosed && this.processes[at] === started) {
        void setTimeout(200).then(() => this.isClosed || this.startOne(at))
      }
    })
  }

  /** Disturbs for so many milliseconds: another version is deployed from the middle on, one process after the other. */
  async disturb(millis: number): Promise<void> {
    const from = Date.now()
    while (Date.now() - from < millis) {
      await setTimeout(500 + this.random() * 2000)
      if (Date.now() - from < millis / 2 || !this.deployOne()) await this.disturbOnce()
    }
    while (this.deployOne());
  }

  /** Replaces one process by one of the other version; `false` if each is of that. */
  private deployOne(): boolean {
    const old = this.versions.indexOf("1")
    if (old === -1) return false
    this.counts.deployed++
    this.versions[old] = "2"
    this.processes[old]!.kill("SIGTERM")
    return true
  }

  private async disturbOnce(): Promise<void> {
    const process = this.processes[Math.floor(this.random() * this.processes.length)]!
    const drawn = this.random()
    if (drawn < 0.4) {
      this.counts.kill++
      process.kill("SIGKILL")
    } else if (drawn < 0.65) {
      this.counts.term++
      process.kill("SIGTERM")
    } else if (drawn < 0.9) {
      this.counts.freeze++
      process.kill("SIGSTOP")
      // Half of them wake after their lease.
      await setTimeout(1000 + this.random() * this.options.lease * 1.6)
      process.kill("SIGCONT")
    } else {
      this.counts.database++
      if (this.database.crash === undefined) { for (const one of this.processes) one.kill("SIGKILL") }
      else this.database.crash()
    }
  }

  /** Ends all of them. */
  close(): void {
    this.isClosed = true
    for (const process of this.processes) process.kill("SIGKILL")
  }
}
