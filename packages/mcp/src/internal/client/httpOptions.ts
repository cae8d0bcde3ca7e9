/** Options of servers that are reached by HTTP. */
import type { ConnectOptions } from "./stdio.ts"

/**
 * The options of servers that are reached by HTTP.
 *
 * @category options
 * @since 0.2.0
 */
export interface HttpOptions extends ConnectOptions {
  /** Headers of each request, for example `authorization`. For tokens that rotate, map the requests of your `HttpClient`. */
  readonly headers?: Readonly<Record<string, string>> | undefined
}
