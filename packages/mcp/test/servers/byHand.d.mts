export interface Message {
  readonly id?: number | string
  readonly method: string
  readonly params?: { readonly [key: string]: any }
}
export interface Options {
  readonly version: string
  readonly tools?: ReadonlyArray<unknown>
  readonly refusal?: { readonly code: number; readonly message: string; readonly data?: unknown }
  readonly strict?: boolean
  readonly reports?: number
  readonly every?: number
  readonly changes?: boolean
  readonly structured?: unknown
  readonly result?: unknown
  readonly spelling?: string
  readonly handshake?: object
  readonly listRefused?: boolean
  readonly note?: (text: string) => void
}
export interface ServerByHand {
  readonly answer: (message: Message, send: (message: unknown) => void) => Promise<any>
  push: ((message: unknown) => void) | undefined
  readonly version: string
}
export const stateless: string
export const defaultTools: ReadonlyArray<unknown>
export const spellings: { readonly [name: string]: (response: object) => unknown }
export const unnamed: { readonly [name: string]: (response: object) => unknown }
export const textOf: (message: unknown) => string
export const makeServer: (options: Options) => ServerByHand
