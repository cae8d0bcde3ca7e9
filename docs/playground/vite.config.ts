/** Builds the page: static files with relative addresses, which work below any path. */
import react from "@vitejs/plugin-react"
import { join } from "node:path"
import { defineConfig } from "vite"

export default defineConfig({
  root: import.meta.dirname,
  base: "./",
  publicDir: join(import.meta.dirname, ".generated/public"),
  logLevel: "warn",
  plugins: [react()],
  worker: { format: "es" },
  build: {
    outDir: join(import.meta.dirname, "../public/playground"),
    emptyOutDir: true,
    assetsInlineLimit: 0,
    license: { fileName: "licenses.md" },
    modulePreload: { polyfill: false },
    target: "es2023",
    chunkSizeWarningLimit: 5000
  }
})
