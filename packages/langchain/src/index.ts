export * as LangChain from "./LangChain.ts"
