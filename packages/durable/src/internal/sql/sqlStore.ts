/** Store of durable runs in SQL: a host, a log and lists over the same tables. */
import type * as SqlClient from "effect/sql/SqlClient"
import { sqlHost } from "./host/sqlHost.ts"
import type { SqlWakeUps } from "./host/sqlWakeUps.ts"
import { sqlLists } from "./sqlLists.ts"
import { sqlMessages } from "./sqlMessages.ts"
import { partsOf } from "./sqlParts.ts"
import { sqlPurge } from "./sqlPurge.ts"
import { sqlSignals } from "./sqlSignals.ts"
import { sqlSteps } from "./sqlSteps.ts"
import type { Tables } from "./sqlTables.ts"
import { sqlTransaction } from "./sqlTransaction.ts"
import type { Store } from "../store/store.ts"

/** Makes a store. */
export const sqlStore = (client: SqlClient.SqlClient, tables: Tables, wakeUps: SqlWakeUps): Store => {
  const parts = partsOf(client, tables, wakeUps)
  const ofSteps = sqlSteps(parts)
  const ofMessages = sqlMessages(parts)
  return {
    ...sqlHost(parts, ofSteps, ofMessages),
    ...ofMessages.operations,
    ...sqlSignals(parts),
    events: ofSteps.events,
    transaction: sqlTransaction(parts, ofSteps),
    ...sqlLists(parts),
    purge: sqlPurge(parts, ofMessages)
  }
}
