export * as OpenAiAgents from "./OpenAiAgents.ts"
