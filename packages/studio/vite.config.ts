/** Builds the pages: one HTML file for each, and assets with their digest in the name. */
import react from "@vitejs/plugin-react"
import { readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { brotliCompressSync, constants } from "node:zlib"
import { defineConfig, type Plugin } from "vite"

/** A compressed copy beside each text file: the server sends it to whoever takes it. */
const compressed: Plugin = {
  name: "compressed",
  apply: "build",
  writeBundle: ({ dir }) => {
    for (const file of readdirSync(dir!, { recursive: true, encoding: "utf8" })) {
      if (!/\.(js|css|svg)$/.test(file)) continue
      const path = join(dir!, file)
      // The best quality takes ten times as long, for five per cent.
      const params = { [constants.BROTLI_PARAM_QUALITY]: 8 }
      writeFileSync(`${path}.br`, brotliCompressSync(readFileSync(path), { params }))
    }
  }
}

const web = join(import.meta.dirname, "web")

export default defineConfig({
  root: web,
  // Pages find their assets and routes below whatever prefix they are served at.
  base: "./",
  logLevel: "warn",
  plugins: [react(), compressed],
  build: {
    outDir: join(import.meta.dirname, "dist/web"),
    emptyOutDir: true,
    assetsDir: "_studio",
    assetsInlineLimit: 0,
    license: { fileName: "licenses.md" },
    modulePreload: { polyfill: false },
    target: "es2023",
    rolldownOptions: { input: { chat: join(web, "chat.html"), studio: join(web, "studio.html") } }
  }
})
