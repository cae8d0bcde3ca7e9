/**
 * The browser of the tests: the one that `TEST_CHROMIUM` names, the one from the npm registry, or one of this machine.
 *
 * The registry's browser is for linux-x64. It comes with a font and with the libraries that a machine with only Node lacks. It is
 * unpacked once, to `node_modules/.cache`.
 */
import { execFile } from "node:child_process"
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { join } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"
import { promisify } from "node:util"

/** A browser that starts. */
export interface Chromium {
  readonly executablePath: string
  readonly env: NodeJS.ProcessEnv
}

const usual = [
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
  "/usr/bin/google-chrome-stable",
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
  "C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe"
]

const execute = promisify(execFile)

/** The module of the npm package; none if it was not installed, or is not for this machine. */
const registryModule = (): string | undefined => {
  if (process.platform !== "linux" || process.arch !== "x64") return undefined
  try {
    return createRequire(import.meta.url).resolve("@sparticuz/chromium")
  } catch {
    return undefined
  }
}

/** Lets the package unpack its files. It does so to the temporary folder, and with all libraries on the machines of one vendor. */
const unpackTo = async (folder: string, module: string): Promise<void> => {
  const script = `import chromium from ${JSON.stringify(pathToFileURL(module).href)}; await chromium.executablePath()`
  await execute(process.execPath, ["--input-type=module", "--eval", script], {
    env: { ...process.env, TMPDIR: folder, AWS_EXECUTION_ENV: "AWS_Lambda_nodejs24.x" }
  })
}

const fontsConfiguration = (folder: string): string =>
  `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig><dir>${join(folder, "fonts")}</dir><cachedir>${join(folder, "fonts-cache")}</cachedir></fontconfig>
`

const fromRegistry = async (module: string): Promise<Chromium> => {
  const { version } = JSON.parse(readFileSync(join(module, "../../package.json"), "utf8")) as {
    readonly version: string
  }
  const cache = fileURLToPath(new URL("../../../../node_modules/.cache", import.meta.url))
  const folder = join(cache, `chromium-${version}`)
  if (!existsSync(folder)) {
    mkdirSync(cache, { recursive: true })
    const fresh = mkdtempSync(`${folder}-`)
    await unpackTo(fresh, module)
    writeFileSync(join(fresh, "fonts.conf"), fontsConfiguration(folder))
    try {
      renameSync(fresh, folder)
    } catch {
      // Another process unpacked it meanwhile.
      rmSync(fresh, { recursive: true })
    }
  }
  return {
    executablePath: join(folder, "chromium"),
    env: {
      ...process.env,
      FONTCONFIG_FILE: join(folder, "fonts.conf"),
      LD_LIBRARY_PATH: [join(folder, "al2023/lib"), process.env["LD_LIBRARY_PATH"]].filter(Boolean).join(":")
    }
  }
}

const find = async (): Promise<Chromium | undefined> => {
  const given = process.env["TEST_CHROMIUM"]
  if (given === "") return undefined
  if (given !== undefined) return { executablePath: given, env: process.env }
  const module = registryModule()
  if (module !== undefined) return fromRegistry(module)
  const installed = usual.find((path) => existsSync(path))
  return installed === undefined ? undefined : { executablePath: installed, env: process.env }
}

/** The browser, or the sentence with the package to install. */
export const findChromium = async (): Promise<Chromium | string> => {
  const chromium = await find()
  if (chromium === undefined) {
    return "There is no Chromium: install it (Debian: apt-get install chromium), or name one in TEST_CHROMIUM."
  }
  // Windows starts a window for it.
  if (process.platform === "win32") return chromium
  const { executablePath, env } = chromium
  return execute(executablePath, ["--version", "--no-sandbox"], { env }).then(
    () => chromium,
    (error: Error) =>
      `Chromium does not start. Install another one (Debian: apt-get install chromium) and name it in TEST_CHROMIUM: ${error.message}`
  )
}
