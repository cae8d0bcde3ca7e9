export * as OpenAiCompatible from "./OpenAiCompatible.ts"
export * as Presets from "./Presets.ts"
