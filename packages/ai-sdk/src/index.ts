export * as AiSdk from "./AiSdk.ts"
export * as AiSdkTools from "./AiSdkTools.ts"
