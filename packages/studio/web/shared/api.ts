/** Requests to the server's routes, next to the page. A failure has a sentence for the reader. */

/** The server answered no, with a sentence, or it did not answer. */
export class RequestFailed extends Error {
  override readonly name = "RequestFailed"
  /** 0 without an answer. */
  readonly status: number
  /** Reference to the request for an operator. */
  readonly traceId: string | undefined

  constructor(status: number, message: string, traceId?: string) {
    super(message)
    this.status = status
    this.traceId = traceId
  }
}

/** The address of a route, below the prefix that the page is served at. */
export const address = (path: string): string => new URL(path, new URL("./", location.href)).href

const sentences: Readonly<Record<number, string>> = {
  0: "The server cannot be reached.",
  401: "You are not signed in.",
  403: "You are not allowed to do this.",
  404: "There is no such thing here.",
  413: "That is too large.",
  429: "That was too much at once. Try again in a moment."
}

/** The sentence of a problem: its `detail` as RFC 9457 has it, or one for the status. */
const sentenceOf = async (response: Response): Promise<string> => {
  const text = await response.text().catch(() => "")
  try {
    const { detail } = JSON.parse(text) as { readonly detail?: unknown }
    if (typeof detail === "string") return detail
  } catch {
    if (response.headers.get("content-type")?.startsWith("text/plain") && text !== "") return text
  }
  return sentences[response.status] ?? "Something went wrong."
}

/** Reads the failure of an unsuccessful response. */
export const failureOf = async (response: Response): Promise<RequestFailed> =>
  new RequestFailed(response.status, await sentenceOf(response), response.headers.get("x-trace-id") ?? undefined)

/** A starting server accepts requests before it can answer. */
const defaultPatience = 10_000

/** Sends a request; `body` is sent as JSON. */
export const request = async (
  method: "GET" | "POST" | "PATCH" | "DELETE",
  path: string,
  options?: {
    readonly body?: unknown
    readonly signal?: AbortSignal
    /** Milliseconds. Default: 10,000. */
    readonly patience?: number
  }
): Promise<Response> => {
  const { body, patience = defaultPatience, signal } = options ?? {}
  const response = await fetch(address(path), {
    method,
    signal: signal === undefined
      ? AbortSignal.timeout(patience)
      : AbortSignal.any([signal, AbortSignal.timeout(patience)]),
    // `DELETE` and `GET` have no body.
    ...(method === "POST" || method === "PATCH"
      ? { headers: { "content-type": "application/json" }, body: JSON.stringify(body ?? {}) }
      : undefined)
  }).catch((error: unknown) => {
    throw error instanceof DOMException && error.name === "AbortError" ? error : new RequestFailed(0, sentences[0]!)
  })
  if (!response.ok) throw await failureOf(response)
  return response
}

/** The JSON that a route answers. */
export const get = async <A>(path: string, signal?: AbortSignal): Promise<A> =>
  (await request("GET", path, signal === undefined ? undefined : { signal })).json() as Promise<A>
