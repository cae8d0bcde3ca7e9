import starlight from "@astrojs/starlight"
import { defineConfig, passthroughImageService } from "astro/config"
import { sidebar } from "./site/sidebar.ts"

const base = process.env["DOCS_BASE"] ?? "/"

export default defineConfig({
  srcDir: "./site",
  outDir: "./dist",
  // `DOCS_SITE` and `DOCS_BASE`: address and path at which the pages are served.
  ...(process.env["DOCS_SITE"] === undefined ? {} : { site: process.env["DOCS_SITE"] }),
  base,
  trailingSlash: "always",
  devToolbar: { enabled: false },
  image: { service: passthroughImageService() },
  integrations: [
    starlight({
      title: "Recourse",
      description: "AI agents on Effect whose tools fail well",
      social: [{ icon: "github", label: "GitHub", href: "https://github.com/recourse-ts/recourse" }],
      customCss: ["./site/styles/site.css"],
      markdown: { processedDirs: [".", "./decisions", "./.api", ".."] },
      credits: false,
      sidebar: sidebar()
    })
  ]
})
