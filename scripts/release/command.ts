/** Commands that a release and its tests run. */
import { execFile } from "node:child_process"

/** Runs a command to its end. Returns its standard output, or rejects with all of its output. */
export const run = (command: string, args: ReadonlyArray<string>, cwd: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const options = { cwd, encoding: "utf8", maxBuffer: 2 ** 26, shell: process.platform === "win32" } as const
    execFile(command, args, options, (error, stdout, stderr) => {
      if (error === null) resolve(stdout)
      else reject(new Error(`${command} ${args.join(" ")}\n${stdout}${stderr}`, { cause: error }))
    })
  })
