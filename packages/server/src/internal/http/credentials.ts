/** Credentials of a request: its bearer token, its cookies. */
import type { HttpServerRequest } from "effect/http/HttpServerRequest"

/** The bearer token, if the request has one. */
export const bearerToken = ({ headers }: HttpServerRequest): string | undefined =>
  /^Bearer +([^\s]{1,8192})$/i.exec(headers["authorization"] ?? "")?.[1]

/** The value of a cookie, if the request has it. */
export const cookie = ({ cookies }: HttpServerRequest, name: string): string | undefined =>
  Object.hasOwn(cookies, name) ? cookies[name] : undefined
