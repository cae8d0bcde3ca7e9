/** The built site, and its files. */
import { preview } from "astro"
import { globSync, readFileSync } from "node:fs"
import { join } from "node:path"

const root = join(import.meta.dirname, "../..")

export interface Site {
  readonly url: string
  readonly close: () => Promise<void>
}

/** Serves the built site, as any server of static files does. */
export const openSite = async (): Promise<Site> => {
  const server = await preview({ root, logLevel: "error", server: { host: "127.0.0.1", port: 0 } })
  return { url: `http://127.0.0.1:${server.port}`, close: () => server.stop() }
}

/** Paths of the built pages, with the HTML of each. */
export const builtPages = (): ReadonlyMap<string, string> =>
  new Map(
    globSync("**/*.html", { cwd: join(root, "dist"), exclude: ["playground/**"] }).toSorted().map((file) => [
      `/${file.replace(/index\.html$/, "")}`,
      readFileSync(join(root, "dist", file), "utf8")
    ])
  )
