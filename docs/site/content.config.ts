import { docsSchema } from "@astrojs/starlight/schema"
import { defineCollection } from "astro:content"
import { guides } from "./guides.ts"

export const collections = { docs: defineCollection({ loader: guides, schema: docsSchema() }) }
