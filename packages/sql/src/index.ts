export * as MysqlClient from "./MysqlClient.ts"
export * as NodeSqliteClient from "./NodeSqliteClient.ts"
