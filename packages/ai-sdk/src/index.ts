export * as AiSdk from "./AiSdk.ts"
