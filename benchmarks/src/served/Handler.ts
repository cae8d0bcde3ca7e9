/** A request handler in memory. */
export type Handler = (request: Request) => Promise<Response> | Response

/** The model's words. */
export const words = ["one ", "two ", "three"] as const
