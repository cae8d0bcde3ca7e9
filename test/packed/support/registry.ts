/** The packed packages in a registry on this machine, for the scope `@recourse`. Package managers have other packages from theirs. */
import { execFileSync } from "node:child_process"
import { createHash } from "node:crypto"
import { globSync, readFileSync } from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { join } from "node:path"

export interface Registry {
  readonly url: string
  readonly close: () => void
}

/** Serves the archives in a folder, each as the only version of its package. */
export const serveRegistry = async (archives: string): Promise<Registry> => {
  const files = new Map<string, Uint8Array>()
  const documents = new Map<string, (url: string) => unknown>()
  for (const archive of globSync("*.tgz", { cwd: archives })) {
    const bytes = readFileSync(join(archives, archive))
    const text = execFileSync("tar", ["-xzOf", join(archives, archive), "package/package.json"], { encoding: "utf8" })
    const manifest = JSON.parse(text) as { readonly name: string; readonly version: string }
    const { name, version } = manifest
    files.set(`/${archive}`, bytes)
    documents.set(name, (url) => ({
      name,
      "dist-tags": { latest: version },
      // Package managers may refuse versions of today.
      time: { created: "2026-01-01T00:00:00Z", modified: "2026-01-01T00:00:00Z", [version]: "2026-01-01T00:00:00Z" },
      versions: {
        [version]: {
          ...manifest,
          dist: {
            tarball: `${url}/${archive}`,
            shasum: createHash("sha1").update(bytes).digest("hex"),
            integrity: `sha512-${createHash("sha512").update(bytes).digest("base64")}`
          }
        }
      }
    }))
  }
  const server = createServer((request, response) => {
    const path = decodeURIComponent(request.url ?? "/").replace(/\?.*$/, "")
    const file = files.get(path)
    const document = documents.get(path.slice(1))
    if (file !== undefined) response.writeHead(200, { "content-type": "application/octet-stream" }).end(file)
    else if (document === undefined) response.writeHead(404).end("{}")
    else response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(document(url)))
  })
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { url, close: () => server.close() }
}
