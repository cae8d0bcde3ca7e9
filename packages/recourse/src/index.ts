export * as TransportRetry from "./TransportRetry.ts"
