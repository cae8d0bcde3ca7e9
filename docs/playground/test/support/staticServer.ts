/** A server of static files below a path, like a host of a site. It knows nothing of the page. */
import { createReadStream, existsSync, statSync } from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { extname, join, normalize } from "node:path"

const types: Readonly<Record<string, string>> = {
  ".css": "text/css",
  ".html": "text/html",
  ".js": "text/javascript",
  ".json": "application/json",
  ".svg": "image/svg+xml"
}

/** Serves a folder at `base`, which begins and ends with a slash. */
export const serveFolder = (folder: string, base: string) =>
  new Promise<{ readonly url: string; readonly close: () => Promise<void> }>((resolve) => {
    const server = createServer((request, response) => {
      const { pathname } = new URL(request.url ?? "/", "http://localhost")
      const path = normalize(decodeURIComponent(pathname.endsWith("/") ? `${pathname}index.html` : pathname))
      const file = join(folder, path.slice(base.length))
      if (!path.startsWith(base) || !existsSync(file) || statSync(file).isDirectory()) {
        response.writeHead(404).end()
        return
      }
      response.writeHead(200, { "content-type": types[extname(file)] ?? "application/octet-stream" })
      createReadStream(file).pipe(response)
    })
    server.listen(0, "127.0.0.1", () => {
      resolve({
        url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${base}`,
        close: () =>
          new Promise((closed) => {
            server.close(() => closed())
            server.closeAllConnections()
          })
      })
    })
  })
