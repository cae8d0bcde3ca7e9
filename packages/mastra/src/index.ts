export * as Mastra from "./Mastra.ts"
