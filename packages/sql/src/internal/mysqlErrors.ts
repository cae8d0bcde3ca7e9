/** Errors of MySQL and MariaDB as reasons of effect's `SqlError`, by the server's number and the driver's code. */
import * as SqlError from "effect/sql/SqlError"

const authentication = new Set([1045, 1251, 1698, 1862])
const authorization = new Set([1044, 1142, 1143, 1227, 1370])
const syntax = new Set([1049, 1054, 1064, 1103, 1146, 1170, 1305])
const constraints = new Set([1048, 1216, 1217, 1364, 1451, 1452, 3819, 4025])
const unique = new Set([1022, 1062, 1169, 1557, 1586, 1859])
const connection = new Set([1040, 1053, 1077, 1129, 1130, 1152, 1158, 1159, 1160, 1161, 1203, 1226, 1927, 2006, 2013])
const statementTimeouts = new Set([1969, 3024])

const driverCodes = /^(?:PROTOCOL_|E(?:CONN|PIPE|TIMEDOUT|HOST|NET|NOTFOUND|AI_)|HANDSHAKE_|POOL_)/

const indexOf = (message: string): string => / for key '([^']*)'$/.exec(message)?.[1] ?? "unknown"

/** Returns the reason of an error of `mysql2`. */
export const classify = (cause: unknown): SqlError.SqlErrorReason => {
  const props = { cause }
  const { code, errno } = (typeof cause === "object" && cause !== null ? cause : {}) as {
    readonly code?: unknown
    readonly errno?: unknown
  }
  if (typeof errno === "number") {
    if (unique.has(errno)) {
      return new SqlError.UniqueViolation({
        ...props,
        constraint: cause instanceof Error ? indexOf(cause.message) : "unknown"
      })
    }
    if (errno === 1213) return new SqlError.DeadlockError(props)
    if (errno === 1020) return new SqlError.SerializationError(props)
    if (errno === 1205) return new SqlError.LockTimeoutError(props)
    if (statementTimeouts.has(errno)) return new SqlError.StatementTimeoutError(props)
    if (authentication.has(errno)) return new SqlError.AuthenticationError(props)
    if (authorization.has(errno)) return new SqlError.AuthorizationError(props)
    if (syntax.has(errno)) return new SqlError.SqlSyntaxError(props)
    if (constraints.has(errno)) return new SqlError.ConstraintError(props)
    if (connection.has(errno)) return new SqlError.ConnectionError(props)
  }
  if (typeof code === "string" && driverCodes.test(code)) return new SqlError.ConnectionError(props)
  return new SqlError.UnknownError(props)
}
