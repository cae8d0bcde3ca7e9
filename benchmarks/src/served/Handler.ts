/** What answers a request in memory. */
export type Handler = (request: Request) => Promise<Response> | Response

/** What the model says. */
export const words = ["one ", "two ", "three"] as const
