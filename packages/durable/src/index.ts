export * as Durable from "./Durable.ts"
export * as RunMetrics from "./RunMetrics.ts"
export * as RunStore from "./RunStore.ts"
export * as Signal from "./Signal.ts"
