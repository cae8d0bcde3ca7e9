/** A network between a service and its database: `node network.ts <host> <port> <ms>` passes bytes on, each so many milliseconds later. */
import { type AddressInfo, connect, createServer, type Socket } from "node:net"

const [host, port, delay] = process.argv.slice(2) as [string, string, string]

const pass = (from: Socket, to: Socket): void => {
  from.on("data", (bytes) => setTimeout(() => to.write(bytes), Number(delay)))
  from.on("end", () => setTimeout(() => to.end(), Number(delay)))
  from.on("error", () => to.destroy())
}

const server = createServer((client) => {
  const database = connect({ host, port: Number(port), noDelay: true })
  client.setNoDelay(true)
  pass(client, database)
  pass(database, client)
})

server.listen(0, "127.0.0.1", () => process.send!((server.address() as AddressInfo).port))
process.on("disconnect", () => process.exit())
